//! The assemblies of a composite image.

use crate::bytes::Cursor;
use crate::pe::usize_of;
use crate::{Directory, Error, Pe};

use super::{CoreHeader, ReadyToRun, SectionKind};

/// The list of assemblies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Components<'d>(&'d [u8]);

/// An assembly: where its headers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ComponentRow {
    /// Its CLI header; empty when the composite image does not have the assembly itself.
    pub(crate) cli_header: Directory,
    /// Flags and tables of its code.
    pub(crate) core: Directory,
}

impl ComponentRow {
    const SIZE: usize = 16;
}

impl<'d> Components<'d> {
    /// Finds the list; in other images it is empty.
    ///
    /// # Errors
    /// When it is not there in full.
    pub(crate) fn parse(pe: &Pe<'d>, header: &ReadyToRun<'d>) -> Result<Self, Error> {
        let Some(place) = header.core().section(SectionKind::ComponentAssemblies) else { return Ok(Self(&[])) };
        pe.cursor(place, "component assemblies").map(|rows| Self(rows.rest()))
    }

    /// How many there are.
    pub(crate) const fn len(&self) -> usize {
        self.0.len() / ComponentRow::SIZE
    }

    /// Assembly number `index`, from 0.
    pub(crate) fn row(&self, index: u32) -> Result<ComponentRow, Error> {
        let place = usize_of(index).saturating_mul(ComponentRow::SIZE);
        let mut cursor = Cursor::new(self.0, "component assemblies").at(place);
        Ok(ComponentRow { cli_header: Directory::parse(&mut cursor)?, core: Directory::parse(&mut cursor)? })
    }
}

impl<'d> ReadyToRun<'d> {
    /// The headers of the assemblies whose methods the image has: its own, or those of its components.
    pub(crate) fn assemblies(
        &self,
        pe: &Pe<'d>,
    ) -> Result<impl Iterator<Item = Result<CoreHeader<'d>, Error>> + use<'d>, Error> {
        let components = Components::parse(pe, self)?;
        let own = (!self.is_composite()).then_some(Ok(*self.core()));
        let (pe, count) = (*pe, u32::try_from(components.len()).unwrap_or(u32::MAX));
        let others = (0..count).map(move |index| CoreHeader::parse(&pe, components.row(index)?.core.rva));
        Ok(own.into_iter().chain(others))
    }
}
