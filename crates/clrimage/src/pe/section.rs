//! One row of the section table.

use core::ops::Range;

use strata_address::Rva;

use super::usize_of;
use crate::Error;
use crate::bytes::Cursor;

/// Bytes of a row.
pub(super) const ROW: usize = 40;

/// A section of a PE file: a range of addresses and the bytes of the file that are mapped there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Section {
    /// The name as in the header, padded with zeroes.
    pub name: [u8; 8],
    /// RVA of the first byte.
    pub virtual_address: u32,
    /// Bytes in memory, as the header says; [`Section::end`] is what the loader maps.
    pub virtual_size: u32,
    /// Offset of the first byte in the file.
    pub file_offset: u32,
    /// Bytes in the file.
    pub file_size: u32,
    /// Whether the section is mapped executable.
    pub is_executable: bool,
}

impl Section {
    pub(super) fn parse(row: &[u8]) -> Result<Self, Error> {
        let mut cursor = Cursor::new(row, "section header");
        let mut name = [0; 8];
        name.copy_from_slice(cursor.take(8)?);
        let virtual_size = cursor.u32()?;
        let virtual_address = cursor.u32()?;
        let file_size = cursor.u32()?;
        let file_offset = cursor.u32()?;
        let characteristics = cursor.at(36).u32()?;
        let is_executable = characteristics & 0x2000_0000 != 0;
        Ok(Self { name, virtual_address, virtual_size, file_offset, file_size, is_executable })
    }

    /// The first RVA after the section.
    pub const fn end(&self) -> u32 {
        let size = if self.virtual_size > self.file_size { self.virtual_size } else { self.file_size };
        self.virtual_address.saturating_add(size)
    }

    /// Whether `rva` is inside.
    pub const fn contains(&self, rva: u32) -> bool {
        self.virtual_address <= rva && rva < self.end()
    }

    /// Where the file has the bytes from `rva` on, as far as the section goes.
    pub(super) fn file_range_from(&self, rva: u32) -> Option<Range<usize>> {
        let into = rva.checked_sub(self.virtual_address).filter(|into| *into <= self.file_size)?;
        let start = usize_of(self.file_offset).checked_add(usize_of(into))?;
        let end = usize_of(self.file_offset).checked_add(usize_of(self.file_size))?;
        Some(start..end)
    }

    /// The RVA of a byte of the file, if it is one of this section.
    pub(super) fn rva_of_file_offset(&self, offset: u64) -> Option<Rva> {
        let into = offset.checked_sub(self.file_offset.into())?;
        (into < self.file_size.into()).then_some(Rva(into)).and_then(|rva| rva.checked_add(self.virtual_address.into()))
    }
}
