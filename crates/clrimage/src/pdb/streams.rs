//! The streams of a Portable PDB, and what its heaps hold.

use crate::bytes::Cursor;
use crate::metadata::Guid;
use crate::{Error, ErrorKind};

/// More streams than any PDB has, which is six.
const MAX_STREAMS: u16 = 64;

/// Where the streams are. Offsets of errors count from the beginning of the file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Streams<'d> {
    /// `#Pdb`: identity, entry point, and row counts of the image's tables.
    pub(super) header: Cursor<'d>,
    /// `#~`.
    pub(super) tables: Cursor<'d>,
    blobs: Option<Cursor<'d>>,
    guids: Option<Cursor<'d>>,
}

impl<'d> Streams<'d> {
    pub(super) fn parse(bytes: &'d [u8]) -> Result<Self, Error> {
        let mut cursor = Cursor::new(bytes, "PDB");
        if cursor.take(4)? != b"BSJB" {
            return Err(cursor.at(0).error(ErrorKind::Not { what: "a Portable PDB" }));
        }
        cursor.take(8)?;
        let version = cursor.u32()?;
        cursor.take(usize::try_from(version).unwrap_or(usize::MAX))?;
        cursor.take(2)?;
        let count = cursor.u16()?;
        if count > MAX_STREAMS {
            return Err(cursor.error(ErrorKind::Impossible { what: "number of streams", value: count.into() }));
        }
        let [mut header, mut tables, mut blobs, mut guids] = [None; 4];
        for _ in 0..count {
            let (offset, size) = (cursor.u32()?, cursor.u32()?);
            let name = cursor.zero_terminated()?;
            // The zero is padded until the next multiple of four.
            cursor = cursor.at(cursor.offset().checked_next_multiple_of(4).unwrap_or(usize::MAX));
            let slot = match name {
                b"#Pdb" => &mut header,
                b"#~" | b"#-" => &mut tables,
                b"#Blob" => &mut blobs,
                b"#GUID" => &mut guids,
                _ => continue,
            };
            *slot = Some(stream(bytes, offset, size).ok_or_else(|| cursor.error(CUT_STREAM))?);
        }
        let missing = || cursor.error(ErrorKind::Not { what: "a Portable PDB with its own streams" });
        Ok(Self { header: header.ok_or_else(missing)?, tables: tables.ok_or_else(missing)?, blobs, guids })
    }

    /// A cursor over the blob at an index of the heap.
    pub(super) fn blob(&self, index: u32) -> Result<Cursor<'d>, Error> {
        let Some(heap) = self.blobs.filter(|_| index != 0) else { return Ok(Cursor::new(&[], "PDB blob")) };
        let mut cursor = forward(heap, index);
        let length = cursor.compressed()?;
        cursor.part(usize::try_from(length).unwrap_or(usize::MAX))
    }

    /// The GUID of a number, which counts from 1.
    pub(super) fn guid(&self, number: u32) -> Option<Guid> {
        let mut cursor = forward(self.guids?, number.checked_sub(1)?.checked_mul(16)?);
        cursor.take(16).ok()?.try_into().ok().map(Guid)
    }
}

const CUT_STREAM: ErrorKind = ErrorKind::Cut { what: "PDB stream" };

fn stream(bytes: &[u8], offset: u32, size: u32) -> Option<Cursor<'_>> {
    let mut cursor = Cursor::new(bytes, "PDB stream").at(usize::try_from(offset).ok()?);
    cursor.part(usize::try_from(size).ok()?).ok()
}

fn forward(cursor: Cursor<'_>, bytes: u32) -> Cursor<'_> {
    cursor.at(cursor.offset().saturating_add(usize::try_from(bytes).unwrap_or(usize::MAX)))
}
