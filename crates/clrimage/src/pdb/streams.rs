//! The streams of a Portable PDB, and what its heaps hold.

use crate::bytes::Cursor;
use crate::metadata::{Guid, Heap, streams};
use crate::{Error, ErrorKind};

/// Where the streams are. Offsets of errors count from the beginning of the file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Streams<'d> {
    /// `#Pdb`: identity, entry point, and row counts of the image's tables.
    pub(super) header: Cursor<'d>,
    /// `#~`.
    pub(super) tables: Cursor<'d>,
    blobs: Option<Cursor<'d>>,
    guids: Heap<'d>,
}

impl<'d> Streams<'d> {
    pub(super) fn parse(bytes: &'d [u8]) -> Result<Self, Error> {
        let [mut header, mut tables, mut blobs] = [None; 3];
        let mut guids = Heap::default();
        for stream in streams(bytes)? {
            let stream = stream?;
            let mut cursor = forward(Cursor::new(bytes, "PDB stream"), stream.offset);
            let cursor = cursor.part(stream.bytes.len())?;
            match stream.name {
                b"#Pdb" => header = Some(cursor),
                b"#~" | b"#-" => tables = Some(cursor),
                b"#Blob" => blobs = Some(cursor),
                b"#GUID" => guids = Heap::new(stream.bytes, stream.offset),
                _ => {}
            }
        }
        let missing = Error { kind: ErrorKind::Not { what: "a Portable PDB" }, offset: 0 };
        Ok(Self { header: header.ok_or(missing)?, tables: tables.ok_or(missing)?, blobs, guids })
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
        self.guids.guid(number)
    }
}

fn forward(cursor: Cursor<'_>, bytes: u32) -> Cursor<'_> {
    cursor.at(cursor.offset().saturating_add(usize::try_from(bytes).unwrap_or(usize::MAX)))
}
