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
    threads: Threads<'a>,
}

/// Capture threads with their numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Threads<'a> {
    /// As versions 4 and 5 write them.
    Written(&'a [[u8; ENTRY]]),
    Resolved(&'a [(u64, u32)]),
}

const ENTRY: usize = 12;

impl<'a> SequencePoint<'a> {
    /// Each capture thread (its OS thread id, as in [`crate::EventHeader::capture_thread`]) with a lower bound of its last
    /// event's number.
    pub fn threads(&self) -> impl ExactSizeIterator<Item = (u64, u32)> + 'a {
        let threads = self.threads;
        let count = match threads {
            Threads::Written(entries) => entries.len(),
            Threads::Resolved(entries) => entries.len(),
        };
        (0..count).map(move |index| match threads {
            Threads::Written(entries) => entries.get(index).map(read_entry).unwrap_or_default(),
            Threads::Resolved(entries) => entries.get(index).copied().unwrap_or_default(),
        })
    }

    /// A point whose threads are known already.
    pub(crate) fn resolved(time: u64, offset: u64, threads: &'a [(u64, u32)]) -> Self {
        Self { time, offset, threads: Threads::Resolved(threads) }
    }

    /// Reads the content of a sequence point of versions 4 and 5.
    pub(crate) fn read(content: &'a [u8], offset: u64) -> Result<Self, (Damage, usize)> {
        let mut cursor = Cursor::new(content);
        let header = |cursor: &mut Cursor<'a>| Ok((cursor.u64()?, cursor.u32()?));
        let (time, count) = header(&mut cursor).map_err(|damage| (damage, 0))?;
        let entries = cursor.rest().as_chunks::<ENTRY>().0;
        let threads = entries.get(..count as usize).ok_or((Damage::BadSize, 8))?;
        Ok(Self { time, offset, threads: Threads::Written(threads) })
    }
}

fn read_entry(entry: &[u8; ENTRY]) -> (u64, u32) {
    let [t0, t1, t2, t3, t4, t5, t6, t7, s0, s1, s2, s3] = *entry;
    (u64::from_le_bytes([t0, t1, t2, t3, t4, t5, t6, t7]), u32::from_le_bytes([s0, s1, s2, s3]))
}
