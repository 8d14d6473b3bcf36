//! PE files: headers, sections, and bytes by relative address, on disk or as mapped into a process.

mod exports;
mod header;
mod machine;
mod section;

use core::ops::Range;

use strata_address::Rva;

use crate::bytes::Cursor;
use crate::{Error, ErrorKind};

pub use header::{CliHeader, Directory};
pub use machine::{Architecture, Machine, System};
pub use section::Section;

use header::Header;

/// How the bytes of an image lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Layout {
    /// As in the file: sections are at their file offsets.
    File,
    /// As mapped into a process: everything is at its RVA.
    Memory,
}

/// A PE file or a mapped PE image, 32-bit or 64-bit.
///
/// Holds only slices of the bytes it was made from, so it is cheap to make and to copy. RVAs are bytes from the image base.
#[derive(Clone, Copy, Debug)]
pub struct Pe<'d> {
    bytes: &'d [u8],
    layout: Layout,
    header: Header<'d>,
}

impl<'d> Pe<'d> {
    /// Reads the headers; nothing else is looked at yet.
    ///
    /// `bytes` may go on after the image's end.
    ///
    /// # Errors
    /// When the bytes are no PE file, or end inside its headers.
    pub fn parse(bytes: &'d [u8], layout: Layout) -> Result<Self, Error> {
        let header = Header::parse(bytes)?;
        Ok(Self { bytes, layout, header })
    }

    /// The bytes the image was made from.
    pub const fn bytes(&self) -> &'d [u8] {
        self.bytes
    }

    /// How the bytes lie.
    pub const fn layout(&self) -> Layout {
        self.layout
    }

    /// What the code was compiled for, or `None` when the value is not known.
    pub const fn machine(&self) -> Option<Machine> {
        Machine::from_value(self.header.machine)
    }

    /// The `TimeDateStamp` of the file header; a hash in reproducible builds.
    pub const fn timestamp(&self) -> u32 {
        self.header.timestamp
    }

    /// The address the file was linked for; .NET never loads it there on Linux.
    pub const fn preferred_base(&self) -> u64 {
        self.header.preferred_base
    }

    /// Bytes of address space the mapped image takes (`SizeOfImage`).
    pub const fn image_size(&self) -> u32 {
        self.header.image_size
    }

    /// The bytes of the headers (`SizeOfHeaders`), or as many as are there.
    pub fn headers(&self) -> &'d [u8] {
        let length = usize_of(self.header.headers_size).min(self.bytes.len());
        self.bytes.get(..length).unwrap_or_default()
    }

    /// The sections in the order of the header.
    pub fn sections(&self) -> impl Iterator<Item = Section> + use<'d> {
        self.header.sections()
    }

    /// The section with the image's code: the first that is executable.
    pub fn code_section(&self) -> Option<Section> {
        self.sections().find(|section| section.is_executable)
    }

    /// The section whose address range holds `rva`.
    pub fn section_of(&self, rva: u32) -> Option<Section> {
        self.sections().find(|section| section.contains(rva))
    }

    /// A data directory by its number, or `None` when it is absent or empty.
    pub fn directory(&self, index: usize) -> Option<Directory> {
        self.header.directory(index).filter(|directory| !directory.is_empty())
    }

    /// The CLI header (data directory 14), or `None` when this is not a .NET assembly.
    ///
    /// # Errors
    /// When the directory points outside the image.
    pub fn cli_header(&self) -> Result<Option<CliHeader>, Error> {
        self.directory(header::CLI_HEADER_DIRECTORY).map(|place| self.cli_header_at(place)).transpose()
    }

    /// The CLI header at `place`: of this image or of an assembly that is embedded in it.
    ///
    /// # Errors
    /// When it lies outside the image or is cut off.
    pub fn cli_header_at(&self, place: Directory) -> Result<CliHeader, Error> {
        CliHeader::parse(self.cursor(place, "CLI header")?)
    }

    /// The RVA that is exported as `name`, or `None` when none of the first 64 exports is called so or the table is damaged.
    pub fn export(&self, name: &str) -> Option<u32> {
        exports::find(self, name)
    }

    /// `length` bytes from `rva`, which must lie inside one section or the headers.
    ///
    /// # Errors
    /// When they do not, or when the bytes are not there.
    pub fn bytes_at(&self, rva: u32, length: u32) -> Result<&'d [u8], Error> {
        let place = Directory { rva, size: length };
        let range = self.range(place, "image")?;
        Ok(self.bytes.get(range).unwrap_or_default())
    }

    /// The bytes from `rva` to the end of its section's data.
    ///
    /// # Errors
    /// When `rva` is in no section, or only in the part of one that has no bytes.
    pub fn rest_of_section(&self, rva: u32) -> Result<&'d [u8], Error> {
        let range = self.extent(rva).ok_or_else(|| self.outside(rva, "image"))?;
        Ok(self.bytes.get(range).unwrap_or_default())
    }

    /// The RVA at which the byte at `offset` of the file is mapped.
    ///
    /// The offset is one of the file also when the bytes lie as in memory.
    pub fn rva_of_file_offset(&self, offset: u64) -> Option<Rva> {
        if offset < u64::from(self.header.headers_size) {
            return Some(Rva(offset));
        }
        self.sections().find_map(|section| section.rva_of_file_offset(offset))
    }

    /// A cursor at the beginning of `place` that ends with it; its offsets are offsets into the image's bytes.
    pub(crate) fn cursor(&self, place: Directory, what: &'static str) -> Result<Cursor<'d>, Error> {
        let range = self.range(place, what)?;
        Ok(Cursor::new(self.bytes.get(..range.end).unwrap_or_default(), what).at(range.start))
    }

    /// Where the bytes of `place` are.
    fn range(&self, place: Directory, what: &'static str) -> Result<Range<usize>, Error> {
        let extent = self.extent(place.rva).ok_or_else(|| self.outside(place.rva, what))?;
        let end = extent.start.checked_add(usize_of(place.size)).filter(|end| *end <= extent.end);
        end.map(|end| extent.start..end).ok_or_else(|| self.outside(place.rva, what))
    }

    /// Where the bytes from `rva` to the end of its section are.
    fn extent(&self, rva: u32) -> Option<Range<usize>> {
        let extent = if rva < self.header.headers_size {
            usize_of(rva)..usize_of(self.header.headers_size)
        } else {
            let section = self.section_of(rva)?;
            match self.layout {
                Layout::File => section.file_range_from(rva)?,
                Layout::Memory => usize_of(rva)..usize_of(section.end()),
            }
        };
        let end = extent.end.min(self.bytes.len());
        (extent.start <= end).then_some(extent.start..end)
    }

    /// An error about something at `rva`, at its place in the bytes as far as there is one.
    pub(crate) fn outside(&self, rva: u32, what: &'static str) -> Error {
        let offset = self.extent(rva).map_or(self.bytes.len(), |extent| extent.start);
        Cursor::new(self.bytes, what).at(offset).error(ErrorKind::Cut { what })
    }
}

/// A 32-bit count or offset as an index.
pub(crate) fn usize_of(value: u32) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX)
}
