//! The cells through which code reaches what lies elsewhere, and what they are to hold.

use crate::bytes::Cursor;
use crate::pe::usize_of;
use crate::{Directory, Error, ErrorKind, Pe};

use super::{CoreHeader, SectionKind};

/// Bytes of a row of the list.
const ROW: usize = 20;

/// Compilers write about ten; the list is gone through for each cell.
const MOST_SECTIONS: usize = 64;

/// The fixup that stands for a helper of the runtime (`READYTORUN_FIXUP_Helper`).
const HELPER: u8 = 0x1a;

/// The import sections of an image.
pub(super) struct Imports<'d> {
    pe: Pe<'d>,
    sections: Vec<ImportSection>,
}

/// An array of cells, and a signature for each.
struct ImportSection {
    cells: Directory,
    cell_size: u32,
    /// RVA of the array of the signatures' RVAs.
    signatures: u32,
}

impl<'d> Imports<'d> {
    /// Reads the list; it is empty where there is none.
    ///
    /// # Errors
    /// When it is not there in full, or longer than any compiler makes it.
    pub(super) fn parse(pe: &Pe<'d>, core: &CoreHeader<'d>) -> Result<Self, Error> {
        let Some(place) = core.section(SectionKind::ImportSections) else {
            return Ok(Self { pe: *pe, sections: Vec::new() });
        };
        let rows = pe.cursor(place, "import sections")?;
        let count = usize_of(place.size) / ROW;
        if count > MOST_SECTIONS {
            let value = u64::try_from(count).unwrap_or(u64::MAX);
            return Err(rows.error(ErrorKind::Impossible { what: "number of import sections", value }));
        }
        let sections = rows.rest().chunks_exact(ROW).map(ImportSection::parse).collect::<Result<_, _>>()?;
        Ok(Self { pe: *pe, sections })
    }

    /// The helper whose address the cell at an RVA gets when the image is loaded.
    pub(super) fn helper(&self, cell: u32) -> Option<u32> {
        let place = self.sections.iter().find_map(|section| section.signature_of(cell))?;
        let rva = self.pe.cursor(Directory { rva: place, size: 4 }, "import signature").ok()?.u32().ok()?;
        let mut signature = Cursor::new(self.pe.rest_of_section(rva).ok()?, "import signature");
        (signature.u8().ok()? == HELPER).then(|| signature.compressed().ok()).flatten()
    }
}

impl ImportSection {
    fn parse(row: &[u8]) -> Result<Self, Error> {
        let mut cursor = Cursor::new(row, "import section");
        let cells = Directory::parse(&mut cursor)?;
        // Flags and the kind of what is imported.
        cursor.take(3)?;
        let cell_size = match cursor.u8()? {
            0 => 8,
            size => size.into(),
        };
        Ok(Self { cells, cell_size, signatures: cursor.u32()? })
    }

    /// Where the RVA of a cell's signature is, if the cell is one of this section.
    fn signature_of(&self, cell: u32) -> Option<u32> {
        let into = cell.checked_sub(self.cells.rva).filter(|into| *into < self.cells.size)?;
        self.signatures.checked_add(into.checked_div(self.cell_size)?.checked_mul(4)?)
    }
}
