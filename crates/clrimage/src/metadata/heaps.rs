//! The heaps that table rows point into.

use super::Guid;
use crate::bytes::Cursor;
use crate::{Error, ErrorKind};

/// One heap: its bytes and where they begin in the metadata.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Heap<'d> {
    bytes: &'d [u8],
    offset: u32,
}

impl<'d> Heap<'d> {
    pub(crate) const fn new(bytes: &'d [u8], offset: u32) -> Self {
        Self { bytes, offset }
    }

    fn cursor(self, index: u32, what: &'static str) -> Cursor<'d> {
        Cursor::new(self.bytes, what).at(usize::try_from(index).unwrap_or(usize::MAX))
    }

    fn error(self, kind: ErrorKind, index: u32) -> Error {
        Error { kind, offset: u64::from(self.offset).saturating_add(index.into()) }
    }

    /// The text at an index of the string heap. An assembly without a heap has empty texts at index 0.
    pub(crate) fn string(self, index: u32) -> Result<&'d str, Error> {
        if index == 0 {
            return Ok("");
        }
        let bytes = self.cursor(index, "a name").zero_terminated().map_err(|error| self.error(error.kind, index))?;
        str::from_utf8(bytes).map_err(|_| self.error(ErrorKind::Not { what: "a name in UTF-8" }, index))
    }

    /// The bytes at an index of the blob heap.
    pub(crate) fn blob(self, index: u32) -> Result<&'d [u8], Error> {
        if index == 0 {
            return Ok(&[]);
        }
        let mut cursor = self.cursor(index, "a blob");
        let length = cursor.compressed();
        length
            .and_then(|length| cursor.take(usize::try_from(length).unwrap_or(usize::MAX)))
            .map_err(|error| self.error(error.kind, index))
    }

    /// The GUID of a number, which counts from 1.
    pub(crate) fn guid(self, number: u32) -> Option<Guid> {
        let start = usize::try_from(number.checked_sub(1)?).ok()?.checked_mul(16)?;
        let bytes = self.bytes.get(start..start.checked_add(16)?)?;
        bytes.try_into().ok().map(Guid)
    }
}
