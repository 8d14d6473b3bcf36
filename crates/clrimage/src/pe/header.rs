//! The headers of a PE file, and the CLI header that makes it a .NET assembly.

use super::Section;
use super::section;
use crate::bytes::Cursor;
use crate::{Error, ErrorKind};

/// Number of the data directory of the CLI header.
pub(super) const CLI_HEADER_DIRECTORY: usize = 14;

/// The Windows loader takes no more sections either; a look-up goes through all of them.
const MOST_SECTIONS: u16 = 96;

/// Where something lies in an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Directory {
    /// RVA of the first byte.
    pub rva: u32,
    /// Bytes.
    pub size: u32,
}

impl Directory {
    pub(crate) fn parse(cursor: &mut Cursor<'_>) -> Result<Self, Error> {
        Ok(Self { rva: cursor.u32()?, size: cursor.u32()? })
    }

    /// Whether it holds no byte.
    pub const fn is_empty(&self) -> bool {
        self.size == 0
    }
}

/// The fields that are used of the file header and the optional header, and the tables that follow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Header<'d> {
    pub(super) machine: u16,
    pub(super) timestamp: u32,
    pub(super) preferred_base: u64,
    pub(super) image_size: u32,
    pub(super) headers_size: u32,
    directories: &'d [u8],
    sections: &'d [u8],
}

impl<'d> Header<'d> {
    pub(super) fn parse(bytes: &'d [u8]) -> Result<Self, Error> {
        let start = Cursor::new(bytes, "PE header");
        let not = |cursor: Cursor<'_>| cursor.error(ErrorKind::Not { what: "a PE file" });
        if !bytes.starts_with(b"MZ") {
            return Err(not(start));
        }
        let mut cursor = start.at(start.at(0x3c).u32().map(super::usize_of)?);
        let signature = cursor;
        if cursor.take(4)? != b"PE\0\0" {
            return Err(not(signature));
        }
        let machine = cursor.u16()?;
        let section_count_place = cursor;
        let section_count = cursor.u16()?;
        if section_count > MOST_SECTIONS {
            let impossible = ErrorKind::Impossible { what: "number of sections", value: section_count.into() };
            return Err(section_count_place.error(impossible));
        }
        let timestamp = cursor.u32()?;
        cursor.take(8)?;
        let optional_size = cursor.u16()?;
        cursor.take(2)?;

        let optional_place = cursor.offset();
        // The fields lie inside the optional header, and the section table right behind it.
        let optional = Cursor::new(cursor.take(optional_size.into())?, "PE optional header");
        let field = |offset: usize| optional.at(offset).u32().map_err(|error| error.moved(optional_place));
        let magic = optional.at(0).u16().map_err(|error| error.moved(optional_place))?;
        let (preferred_base, directories_place) = match magic {
            0x10b => (u64::from(field(28)?), 92),
            0x20b => (optional.at(24).u64().map_err(|error| error.moved(optional_place))?, 108),
            _ => return Err(not(start.at(optional_place))),
        };
        let count = super::usize_of(field(directories_place)?);
        let directories = optional.at(directories_place.saturating_add(4)).rest();
        let directories = directories.get(..count.saturating_mul(8)).unwrap_or(directories);
        let sections = cursor.take(usize::from(section_count).saturating_mul(section::ROW))?;
        Ok(Self {
            machine,
            timestamp,
            preferred_base,
            image_size: field(56)?,
            headers_size: field(60)?,
            directories,
            sections,
        })
    }

    pub(super) fn sections(&self) -> impl Iterator<Item = Section> + use<'d> {
        self.sections.chunks_exact(section::ROW).filter_map(|row| Section::parse(row).ok())
    }

    pub(super) fn directory(&self, index: usize) -> Option<Directory> {
        let mut cursor = Cursor::new(self.directories, "data directory").at(index.checked_mul(8)?);
        Directory::parse(&mut cursor).ok()
    }
}

/// The header that makes a PE file a .NET assembly (`IMAGE_COR20_HEADER`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CliHeader {
    /// The flags of the header; see [`CliHeader::is_il_library`].
    pub flags: u32,
    /// The ECMA-335 metadata.
    pub metadata: Directory,
    /// Where the header of precompiled code is; empty when there is none.
    pub managed_native_header: Directory,
}

impl CliHeader {
    pub(super) fn parse(start: Cursor<'_>) -> Result<Self, Error> {
        let place = |offset: usize| start.at(start.offset().saturating_add(offset));
        let metadata = Directory::parse(&mut place(8))?;
        let flags = place(16).u32()?;
        let managed_native_header = Directory::parse(&mut place(64))?;
        Ok(Self { flags, metadata, managed_native_header })
    }

    /// Whether code in the image was compiled ahead of time, if [`CliHeader::managed_native_header`] is not empty.
    pub const fn is_il_library(&self) -> bool {
        self.flags & 4 != 0
    }
}
