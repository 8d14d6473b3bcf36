//! A cursor over one record's bytes that cannot read past them.

use crate::record::RecordError;

/// What is left of a record (or of a part of it), and how far into the record that is.
#[derive(Clone, Copy)]
pub(crate) struct Cursor<'a> {
    rest: &'a [u8],
    end: usize,
}

impl<'a> Cursor<'a> {
    /// A cursor over `bytes`, whose first byte lies `start` bytes into what errors count from.
    pub(crate) fn new(bytes: &'a [u8], start: usize) -> Self {
        Self { rest: bytes, end: start.saturating_add(bytes.len()) }
    }

    pub(crate) fn offset(&self) -> usize {
        self.end.saturating_sub(self.rest.len())
    }

    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    #[cold]
    fn cut(&self, field: &'static str, needed: u64) -> RecordError {
        RecordError::Cut { offset: self.offset(), field, needed, present: self.rest.len() as u64 }
    }

    #[inline]
    fn array<const N: usize>(&mut self, field: &'static str) -> Result<[u8; N], RecordError> {
        match self.rest.split_first_chunk::<N>() {
            Some((chunk, rest)) => {
                self.rest = rest;
                Ok(*chunk)
            }
            None => Err(self.cut(field, N as u64)),
        }
    }

    #[inline]
    pub(crate) fn u8(&mut self, field: &'static str) -> Result<u8, RecordError> {
        self.array::<1>(field).map(|[byte]| byte)
    }

    #[inline]
    pub(crate) fn u16(&mut self, field: &'static str) -> Result<u16, RecordError> {
        self.array(field).map(u16::from_le_bytes)
    }

    #[inline]
    pub(crate) fn u32(&mut self, field: &'static str) -> Result<u32, RecordError> {
        self.array(field).map(u32::from_le_bytes)
    }

    #[inline]
    pub(crate) fn i32(&mut self, field: &'static str) -> Result<i32, RecordError> {
        self.array(field).map(i32::from_le_bytes)
    }

    #[inline]
    pub(crate) fn u64(&mut self, field: &'static str) -> Result<u64, RecordError> {
        self.array(field).map(u64::from_le_bytes)
    }

    /// The next `size` bytes; `size` comes from the input and may be anything.
    #[inline]
    pub(crate) fn take(&mut self, size: u64, field: &'static str) -> Result<&'a [u8], RecordError> {
        match usize::try_from(size).ok().and_then(|size| self.rest.split_at_checked(size)) {
            Some((taken, rest)) => {
                self.rest = rest;
                Ok(taken)
            }
            None => Err(self.cut(field, size)),
        }
    }

    /// The next `count` items of `item_size` bytes; `count` comes from the input and may be anything.
    #[inline]
    pub(crate) fn items(&mut self, count: u64, item_size: u64, field: &'static str) -> Result<&'a [u8], RecordError> {
        self.take(count.saturating_mul(item_size), field)
    }

    /// The next `count` groups of eight bytes; `count` comes from the input and may be anything.
    #[inline]
    pub(crate) fn words(&mut self, count: u64, field: &'static str) -> Result<&'a [[u8; 8]], RecordError> {
        Ok(self.items(count, 8, field)?.as_chunks().0)
    }
}

/// `bytes` up to its first NUL, or all of it.
pub(crate) fn until_nul(bytes: &[u8]) -> &[u8] {
    bytes.split(|byte| *byte == 0).next().unwrap_or_default()
}

/// The little-endian u64 at `offset`, zero where the bytes end before it.
pub(crate) fn u64_or_zero(bytes: &[u8], offset: usize) -> u64 {
    bytes.get(offset..).and_then(|rest| rest.first_chunk()).map_or(0, |chunk| u64::from_le_bytes(*chunk))
}

/// The little-endian u32 at `offset`, zero where the bytes end before it.
pub(crate) fn u32_or_zero(bytes: &[u8], offset: usize) -> u32 {
    bytes.get(offset..).and_then(|rest| rest.first_chunk()).map_or(0, |chunk| u32::from_le_bytes(*chunk))
}
