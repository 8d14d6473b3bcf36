//! ECMA-335 metadata: the tables that tell what the types and methods of an assembly are called.
//!
//! Source of the format: ECMA-335, partition II, chapters 22 to 24.

mod guid;
mod heaps;
mod layout;
mod rows;
mod tables;

pub use guid::Guid;
pub use layout::Table;
pub use rows::{MemberReference, MethodDefinition, TypeDefinition, TypeReference};
pub use tables::Token;

use crate::bytes::Cursor;
use crate::{Error, ErrorKind};
use heaps::Heap;
use layout::Coded;
use tables::Tables;

/// More streams than any metadata has: five, and one of portable PDBs.
const MAX_STREAMS: u16 = 64;

/// The metadata of one assembly: borrowed bytes and where its tables and heaps are in them.
///
/// Cheap to read and to copy, and nothing is allocated. Row numbers count from 1, as they do in tokens. Offsets of errors
/// count from the beginning of the metadata.
#[derive(Clone, Copy, Debug)]
pub struct Metadata<'d> {
    strings: Heap<'d>,
    blobs: Heap<'d>,
    guids: Heap<'d>,
    tables: Tables<'d>,
}

impl<'d> Metadata<'d> {
    /// Reads the streams' places and the tables' sizes of metadata that begins with `BSJB`.
    ///
    /// # Errors
    /// The bytes do not begin as metadata does, or end before their streams and tables.
    pub fn parse(metadata: &'d [u8]) -> Result<Self, Error> {
        let mut cursor = Cursor::new(metadata, "metadata");
        if cursor.u32()? != u32::from_le_bytes(*b"BSJB") {
            return Err(cursor.at(0).error(ErrorKind::Not { what: "metadata" }));
        }
        cursor.take(8)?;
        let version = cursor.u32()?;
        cursor.take(usize::try_from(version).unwrap_or(usize::MAX))?;
        cursor.take(2)?;
        let streams = cursor.u16()?;
        if streams > MAX_STREAMS {
            return Err(cursor.error(ErrorKind::Impossible { what: "number of streams", value: streams.into() }));
        }
        let [mut strings, mut blobs, mut guids] = [Heap::default(); 3];
        let mut tables = None;
        for _ in 0..streams {
            let (offset, size) = (cursor.u32()?, cursor.u32()?);
            let name = cursor.zero_terminated()?;
            // The zero is padded until the next multiple of four.
            cursor = cursor.at(cursor.offset().checked_next_multiple_of(4).unwrap_or(usize::MAX));
            let stream = stream(metadata, offset, size).map_err(|kind| cursor.error(kind));
            match name {
                b"#~" | b"#-" => tables = Some(Tables::parse(stream?, offset, name == b"#-")?),
                b"#Strings" => strings = Heap::new(stream?, offset),
                b"#Blob" => blobs = Heap::new(stream?, offset),
                b"#GUID" => guids = Heap::new(stream?, offset),
                _ => {}
            }
        }
        let tables = tables.ok_or_else(|| cursor.error(ErrorKind::Not { what: "metadata with tables" }))?;
        Ok(Self { strings, blobs, guids, tables })
    }

    /// The identity of the file (MVID): two builds that differ have two.
    pub fn mvid(&self) -> Option<Guid> {
        self.guids.guid(self.tables.row(Table::MODULE, 1).ok()?.value(2))
    }

    /// The simple name of the assembly, such as `System.Private.CoreLib`; none in a module that is not an assembly.
    pub fn assembly_name(&self) -> Option<&'d str> {
        self.strings.string(self.tables.row(Table::ASSEMBLY, 1).ok()?.value(7)).ok()
    }

    /// The file name of the module, such as `System.Private.CoreLib.dll`.
    pub fn module_name(&self) -> Option<&'d str> {
        self.strings.string(self.tables.row(Table::MODULE, 1).ok()?.value(1)).ok()
    }

    /// How many rows a table has; 0 for tables that there are not.
    pub fn count(&self, table: Table) -> u32 {
        self.tables.count(table)
    }

    /// How many methods there are, with and without code.
    pub fn method_count(&self) -> u32 {
        self.count(Table::METHOD_DEF)
    }

    /// The type that a compressed token of a signature means (TypeDefOrRefOrSpecEncoded, ECMA-335 II.23.2.8).
    pub(crate) fn type_token(encoded: u32) -> Option<Token> {
        tables::decode(Coded::TypeDefOrRef, encoded)
    }
}

fn stream(metadata: &[u8], offset: u32, size: u32) -> Result<&[u8], ErrorKind> {
    let cut = ErrorKind::Cut { what: "a metadata stream" };
    let start = usize::try_from(offset).map_err(|_| cut)?;
    let end = usize::try_from(size).ok().and_then(|size| start.checked_add(size)).ok_or(cut)?;
    metadata.get(start..end).ok_or(cut)
}
