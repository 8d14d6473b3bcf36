//! The hash table of ReadyToRun images, of which only "all its objects" is wanted.

use core::ops::ControlFlow;

use crate::bytes::Cursor;
use crate::pe::usize_of;
use crate::{Directory, Error, ErrorKind, Pe};

/// A hash table whose objects lie anywhere in its section.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NativeHashtable<'d> {
    /// The first byte after the header, which offsets are relative to.
    base: Cursor<'d>,
    buckets: usize,
    /// Bytes of an entry of the bucket index: 1, 2 or 4.
    width: usize,
}

impl<'d> NativeHashtable<'d> {
    /// Reads the header at `place`.
    ///
    /// # Errors
    /// When the header or the bucket index is cut off.
    pub(crate) fn parse(pe: &Pe<'d>, place: Directory, what: &'static str) -> Result<Self, Error> {
        let mut base = pe.cursor(place, what)?;
        let start = base;
        let header = base.u8()?;
        let impossible = |what| start.error(ErrorKind::Impossible { what, value: header.into() });
        let width = match header & 3 {
            0 => 1,
            1 => 2,
            2 => 4,
            _ => return Err(impossible("width of a bucket index")),
        };
        let buckets = 1_usize.checked_shl(u32::from(header >> 2)).ok_or_else(|| impossible("number of buckets"))?;
        let mut index = base;
        index.take(buckets.saturating_add(1).saturating_mul(width))?;
        Ok(Self { base, buckets, width })
    }

    /// Calls `visit` with the place of every object, and with an error for every damaged bucket.
    ///
    /// Each place leads to the end of the section, as an object does not say how long it is.
    pub(crate) fn for_each<V>(&self, mut visit: V)
    where
        V: FnMut(Result<Cursor<'d>, Error>) -> ControlFlow<()>,
    {
        let mut index = self.base;
        let Ok(mut start) = self.offset(&mut index) else { return };
        for _ in 0..self.buckets {
            let Ok(end) = self.offset(&mut index) else { return };
            // Buckets follow each other; if they did not, going through them would not be bounded by the bytes.
            if end < start {
                let impossible = ErrorKind::Impossible { what: "bucket", value: end.into() };
                let _ = visit(Err(index.error(impossible)));
                return;
            }
            let walked = self.bucket(start, end, &mut visit);
            if walked.unwrap_or_else(|error| visit(Err(error))).is_break() {
                return;
            }
            start = end;
        }
    }

    fn bucket<V>(&self, start: u32, end: u32, visit: &mut V) -> Result<ControlFlow<()>, Error>
    where
        V: FnMut(Result<Cursor<'d>, Error>) -> ControlFlow<()>,
    {
        let place = |offset: u32| self.base.offset().saturating_add(usize_of(offset));
        let mut entry = self.base.at(place(start));
        while entry.offset() < place(end) {
            // The low byte of the hash.
            entry.u8()?;
            let position = entry;
            let distance = entry.native_signed()?;
            let object = isize::try_from(distance).ok().and_then(|by| position.offset().checked_add_signed(by));
            let impossible =
                ErrorKind::Impossible { what: "place of an object", value: distance.cast_unsigned().into() };
            let object = object.map(|offset| position.at(offset)).ok_or_else(|| position.error(impossible));
            if visit(object).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn offset(&self, index: &mut Cursor<'d>) -> Result<u32, Error> {
        match self.width {
            1 => index.u8().map(u32::from),
            2 => index.u16().map(u32::from),
            _ => index.u32(),
        }
    }
}
