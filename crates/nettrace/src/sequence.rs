//! Sequence points.

use crate::cursor::Cursor;
use crate::problem::Damage;

/// A barrier in the stream, with the number each capture thread had reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SequencePoint<'a> {
    /// Time, in ticks of the stream's clock.
    pub time: u64,
    /// Where it begins: bytes from the start of the stream.
    pub offset: u64,
    threads: &'a [[u8; ENTRY]],
}

const ENTRY: usize = 12;

impl<'a> SequencePoint<'a> {
    /// Each capture thread with a lower bound of its last event's number.
    pub fn threads(&self) -> impl ExactSizeIterator<Item = (u64, u32)> + 'a {
        self.threads.iter().map(|entry| {
            let [t0, t1, t2, t3, t4, t5, t6, t7, s0, s1, s2, s3] = *entry;
            (u64::from_le_bytes([t0, t1, t2, t3, t4, t5, t6, t7]), u32::from_le_bytes([s0, s1, s2, s3]))
        })
    }

    pub(crate) fn read(content: &'a [u8], offset: u64) -> Result<Self, (Damage, usize)> {
        let mut cursor = Cursor::new(content);
        let header = |cursor: &mut Cursor<'a>| Ok((cursor.u64()?, cursor.u32()?));
        let (time, count) = header(&mut cursor).map_err(|damage| (damage, 0))?;
        let entries = cursor.rest().as_chunks::<ENTRY>().0;
        let threads = entries.get(..count as usize).ok_or((Damage::BadSize, 8))?;
        Ok(Self { time, offset, threads })
    }
}
