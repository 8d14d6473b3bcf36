//! Portable PDBs: from a method and an offset of its IL to a line of a source file.
//!
//! A Portable PDB is a metadata root as in ECMA-335 II.24 with a stream `#Pdb` and tables of its own (Portable PDB format
//! specification, version 1.0). Where the file lies is not known here: see
//! [`CodeView`](crate::debug_directory::CodeView) and
//! [`embedded_pdb`](crate::debug_directory::DebugDirectory::embedded_pdb).

mod sequence_points;
mod source_link;
mod streams;
mod tables;

use std::fmt;

use crate::metadata::Guid;
use crate::{Error, ErrorKind};
use sequence_points::SequencePoints;
use streams::Streams;
use tables::{Table, Tables};

pub use source_link::SourceLink;

/// The kind of custom debug information that is Source Link JSON: cc110556-a091-4d38-9fec-25ab9a351a6a.
const SOURCE_LINK: Guid =
    Guid([0x56, 0x05, 0x11, 0xcc, 0x91, 0xa0, 0x38, 0x4d, 0x9f, 0xec, 0x25, 0xab, 0x9a, 0x35, 0x1a, 0x6a]);

/// More bytes than any path has; the parts of a path may be told again and again.
const LONGEST_PATH: usize = 64 << 10;

/// What ties a Portable PDB to its image: equal in both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PdbId(pub [u8; 20]);

impl PdbId {
    /// The identity that an image tells in two parts.
    #[must_use]
    pub fn new(guid: Guid, timestamp: u32) -> Self {
        let mut id = [0; 20];
        let (first, second) = id.split_at_mut(16);
        first.copy_from_slice(&guid.0);
        second.copy_from_slice(&timestamp.to_le_bytes());
        Self(id)
    }
}

/// The GUID, a dash, and the second part as eight hexadecimal digits.
impl fmt::Display for PdbId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (guid, timestamp) = self.0.split_at(16);
        let timestamp = u32::from_le_bytes(timestamp.try_into().unwrap_or_default());
        write!(f, "{}-{timestamp:08x}", Guid(guid.try_into().unwrap_or_default()))
    }
}

/// A Portable PDB: borrowed bytes and where its tables are. Cheap to make and to copy.
#[derive(Clone, Copy, Debug)]
pub struct Pdb<'d> {
    id: PdbId,
    streams: Streams<'d>,
    tables: Tables<'d>,
}

/// A place in a source file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceLine {
    /// Row of the source file in the PDB, for [`Pdb::document`].
    pub document: u32,
    /// Line, which counts from 1.
    pub line: u32,
    /// Column, which counts from 1 in UTF-16 units.
    pub column: u32,
}

impl<'d> Pdb<'d> {
    /// Reads the header, the streams' places and the tables' sizes.
    ///
    /// # Errors
    /// The bytes are no Portable PDB, or end before its streams and tables; a Windows PDB is none.
    pub fn parse(bytes: &'d [u8]) -> Result<Self, Error> {
        let streams = Streams::parse(bytes)?;
        let mut header = streams.header;
        let id = PdbId(header.take(20)?.try_into().unwrap_or([0; 20]));
        // The entry point.
        header.take(4)?;
        let counts = tables::counts(&mut header, 0)?;
        let tables = Tables::parse(streams.tables, &counts)?;
        Ok(Self { id, streams, tables })
    }

    /// What the image that the PDB was written with has too.
    #[must_use]
    pub fn id(&self) -> PdbId {
        self.id
    }

    /// How many methods the image has: rows of MethodDef, with and without code.
    #[must_use]
    pub fn method_count(&self) -> u32 {
        self.tables.count(Table::Method)
    }

    /// The source line of an IL offset in the method of row `method` of the image's table MethodDef, or `None` when the
    /// method has no source.
    ///
    /// That is where the last sequence point at or before the offset begins. Hidden ones, which stand for code of the
    /// compiler's own, are passed over. What comes before the first visible one counts to it.
    ///
    /// # Errors
    /// The method's sequence points are damaged before the answer is found.
    pub fn line(&self, method: u32, il_offset: u32) -> Result<Option<SourceLine>, Error> {
        let Some([document, blob]) = self.tables.row(Table::Method, method) else { return Ok(None) };
        let blob = self.streams.blob(blob)?;
        if blob.is_at_end() {
            return Ok(None);
        }
        let mut line = None;
        for point in SequencePoints::new(blob, document)? {
            let point = point?;
            if point.il_offset > il_offset && line.is_some() {
                break;
            }
            if let Some((number, column)) = point.position {
                line = Some(SourceLine { document: point.document, line: number, column });
            }
        }
        Ok(line)
    }

    /// The path of a source file, by its row, as the compiler was given it or mapped it (`/_/src/File.cs`).
    ///
    /// # Errors
    /// There is no such row, or its name is damaged or longer than 64 KiB.
    pub fn document(&self, row: u32) -> Result<String, Error> {
        let impossible = ErrorKind::Impossible { what: "document", value: row.into() };
        let [name] = self.tables.row(Table::Document, row).ok_or(Error { kind: impossible, offset: 0 })?;
        let mut parts = self.streams.blob(name)?;
        let start = parts;
        // One character, or a zero when nothing is between the parts.
        let length =
            parts.rest().utf8_chunks().next().and_then(|chunk| chunk.valid().chars().next()).map_or(1, char::len_utf8);
        let separator = match parts.take(length)? {
            [0] => &[],
            separator => separator,
        };
        let mut path = Vec::new();
        let mut is_first = true;
        while !parts.is_at_end() {
            let part = self.streams.blob(parts.compressed()?)?.rest();
            if !is_first {
                path.extend_from_slice(separator);
            }
            is_first = false;
            path.extend_from_slice(part);
            if path.len() > LONGEST_PATH {
                let value = u64::try_from(path.len()).unwrap_or(u64::MAX);
                return Err(start.error(ErrorKind::Impossible { what: "path length", value }));
            }
        }
        String::from_utf8(path).map_err(|_| start.error(ErrorKind::Not { what: "a path in UTF-8" }))
    }

    /// Where the source files can be read, or `None` when the PDB does not tell.
    ///
    /// # Errors
    /// What tells it is damaged.
    pub fn source_link(&self) -> Result<Option<SourceLink>, Error> {
        for row in 1..=self.tables.count(Table::Custom) {
            let Some([_, kind, value]) = self.tables.row(Table::Custom, row) else { break };
            if self.streams.guid(kind) == Some(SOURCE_LINK) {
                return SourceLink::parse(self.streams.blob(value)?.rest()).map(Some);
            }
        }
        Ok(None)
    }
}
