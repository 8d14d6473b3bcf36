//! ECMA-335 metadata: the tables that tell what the types and methods of an assembly are called.
//!
//! Source of the format: ECMA-335, partition II, chapters 22 to 24.

mod guid;
mod heaps;
mod layout;
mod rows;
mod streams;
mod tables;

pub use guid::Guid;
pub use layout::Table;
pub use rows::{MemberReference, MethodDefinition, TypeDefinition, TypeReference};
pub use tables::Token;

pub(crate) use heaps::Heap;
pub(crate) use streams::streams;

use crate::{Error, ErrorKind};
use layout::Coded;
use tables::{Order, Tables};

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
        let [mut strings, mut blobs, mut guids] = [Heap::default(); 3];
        let mut tables = None;
        for stream in streams(metadata)? {
            let stream = stream?;
            match stream.name {
                b"#~" => tables = Some(Tables::parse(stream.bytes, stream.offset, Order::Sorted)?),
                b"#-" => tables = Some(Tables::parse(stream.bytes, stream.offset, Order::Unknown)?),
                b"#Strings" => strings = Heap::new(stream.bytes, stream.offset),
                b"#Blob" => blobs = Heap::new(stream.bytes, stream.offset),
                b"#GUID" => guids = Heap::new(stream.bytes, stream.offset),
                _ => {}
            }
        }
        let tables = tables.ok_or(Error { kind: ErrorKind::Not { what: "metadata with tables" }, offset: 0 })?;
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
