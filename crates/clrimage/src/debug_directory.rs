//! The PE debug directory: which PDB belongs to an image, and where it may be found.
//!
//! Layout: data directory 6 is an array of 28 bytes: `u32 characteristics, u32 timestamp, u16 major, u16 minor, u32 type,
//! u32 size, u32 RVA, u32 file offset`. The data of the types is described at their readers.

use crate::bytes::Cursor;
use crate::inflate::inflate;
use crate::metadata::Guid;
use crate::pdb::PdbId;
use crate::{Directory, Error, ErrorKind, Layout, Pe};

const DEBUG_DIRECTORY: usize = 6;
const ROW: usize = 28;

const CODE_VIEW: u32 = 2;
const EMBEDDED_PDB: u32 = 17;
const READY_TO_RUN_MAP: u32 = 21;

/// The minor version of a CodeView entry that tells of a Portable PDB: "PM".
const PORTABLE: u16 = 0x504d;

/// The debug directory of an image; cheap to make, and every question reads the bytes again.
#[derive(Clone, Copy, Debug)]
pub struct DebugDirectory<'d> {
    pe: Pe<'d>,
    rows: &'d [u8],
}

/// The Portable PDB that a compiler wrote beside an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodeView<'d> {
    /// First part of its identity.
    pub guid: Guid,
    /// Second part of the identity.
    pub timestamp: u32,
    /// Where the compiler wrote it: a path of another machine, with either kind of slash, or a file name.
    pub path: &'d str,
}

impl<'d> CodeView<'d> {
    /// What the PDB must have as its [`id`](crate::pdb::Pdb::id) to belong to the image.
    #[must_use]
    pub fn pdb_id(&self) -> PdbId {
        PdbId::new(self.guid, self.timestamp)
    }

    /// The PDB's file name: what to look for beside the image, and inside the bundle that has the image.
    #[must_use]
    pub fn file_name(&self) -> &'d str {
        self.path.rsplit(['/', '\\']).next().unwrap_or(self.path)
    }
}

/// The map of symbols that the precompiler can write beside an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadyToRunMap<'d> {
    /// MD5 of the MVIDs of what was compiled and of the target; the map begins with the same.
    pub signature: [u8; 16],
    /// Version of the map's format.
    pub version: u32,
    /// The map's file name, such as `System.Linq.ni.r2rmap`.
    pub name: &'d str,
}

/// One row of the directory.
struct Row {
    timestamp: u32,
    minor: u16,
    kind: u32,
    data: Directory,
    file_offset: u32,
}

impl<'d> DebugDirectory<'d> {
    /// The debug directory of an image, or `None` when it has none.
    ///
    /// # Errors
    /// The directory points outside of the image.
    pub fn read(pe: &Pe<'d>) -> Result<Option<Self>, Error> {
        let Some(place) = pe.directory(DEBUG_DIRECTORY) else { return Ok(None) };
        Ok(Some(Self { pe: *pe, rows: pe.bytes_at(place.rva, place.size)? }))
    }

    /// The Portable PDB beside the image; Windows PDBs are passed over.
    ///
    /// Data: `RSDS`, GUID, `u32` that is 1, path in UTF-8 with a zero behind it.
    ///
    /// # Errors
    /// The entry's data is not in the image or not of this form.
    pub fn code_view(&self) -> Result<Option<CodeView<'d>>, Error> {
        let Some(row) = self.rows_of(CODE_VIEW).find(|row| row.minor == PORTABLE) else { return Ok(None) };
        let mut cursor = self.data(&row, "CodeView entry")?;
        expect(&mut cursor, *b"RSDS", "a CodeView entry")?;
        let guid = Guid(cursor.take(16)?.try_into().unwrap_or_default());
        cursor.take(4)?;
        Ok(Some(CodeView { guid, timestamp: row.timestamp, path: text(&mut cursor)? }))
    }

    /// The Portable PDB inside of the image, inflated, or `None` when there is none.
    ///
    /// Data: `MPDB`, `u32` size, raw deflate stream.
    ///
    /// # Errors
    /// The entry's data is not in the image, not of this form, or does not inflate to the size it claims, which may be at
    /// most 1 GiB.
    pub fn embedded_pdb(&self) -> Result<Option<Vec<u8>>, Error> {
        let Some(row) = self.rows_of(EMBEDDED_PDB).next() else { return Ok(None) };
        let mut cursor = self.data(&row, "embedded PDB")?;
        expect(&mut cursor, *b"MPDB", "an embedded PDB")?;
        let size = cursor.u32()?;
        let offset = u64::try_from(cursor.offset()).unwrap_or(u64::MAX);
        inflate(cursor.rest(), size.into(), offset).map(Some)
    }

    /// What the precompiler says of its map of symbols, or `None` in images from before .NET 6.
    ///
    /// Data: `R2RM`, 16 bytes of signature, `u32` version, file name padded with zeroes.
    ///
    /// # Errors
    /// The entry's data is not in the image or not of this form.
    pub fn ready_to_run_map(&self) -> Result<Option<ReadyToRunMap<'d>>, Error> {
        let Some(row) = self.rows_of(READY_TO_RUN_MAP).next() else { return Ok(None) };
        let mut cursor = self.data(&row, "ReadyToRun map entry")?;
        expect(&mut cursor, *b"R2RM", "a ReadyToRun map entry")?;
        let signature = cursor.take(16)?.try_into().unwrap_or_default();
        let version = cursor.u32()?;
        Ok(Some(ReadyToRunMap { signature, version, name: text(&mut cursor)? }))
    }

    fn rows_of(&self, kind: u32) -> impl Iterator<Item = Row> {
        // What is left when the size is no multiple of a row is no row.
        self.rows.chunks_exact(ROW).filter_map(|row| Row::read(row).ok()).filter(move |row| row.kind == kind)
    }

    fn data(&self, row: &Row, what: &'static str) -> Result<Cursor<'d>, Error> {
        if row.data.rva != 0 || self.pe.layout() == Layout::Memory {
            return self.pe.cursor(row.data, what);
        }
        // Data that is not mapped has only a file offset.
        let mut cursor = Cursor::new(self.pe.bytes(), what).at(usize::try_from(row.file_offset).unwrap_or(usize::MAX));
        cursor.part(usize::try_from(row.data.size).unwrap_or(usize::MAX))
    }
}

impl Row {
    fn read(row: &[u8]) -> Result<Self, Error> {
        let mut cursor = Cursor::new(row, "debug directory");
        cursor.take(4)?;
        let timestamp = cursor.u32()?;
        cursor.take(2)?;
        let minor = cursor.u16()?;
        let kind = cursor.u32()?;
        let size = cursor.u32()?;
        let data = Directory { rva: cursor.u32()?, size };
        Ok(Self { timestamp, minor, kind, data, file_offset: cursor.u32()? })
    }
}

fn expect(cursor: &mut Cursor<'_>, signature: [u8; 4], what: &'static str) -> Result<(), Error> {
    let start = *cursor;
    if cursor.take(4)? == signature { Ok(()) } else { Err(start.error(ErrorKind::Not { what })) }
}

fn text<'d>(cursor: &mut Cursor<'d>) -> Result<&'d str, Error> {
    let start = *cursor;
    str::from_utf8(cursor.zero_terminated()?).map_err(|_| start.error(ErrorKind::Not { what: "a name in UTF-8" }))
}
