//! Metadata of the assemblies that a composite image holds in itself.

use crate::metadata::{Metadata, Table};
use crate::{Directory, Pe};

/// Bytes of an entry of ReadyToRun section 115: places of a CLI header and of the assembly's ReadyToRun header.
const ENTRY: u32 = 16;

/// The list of a composite image's assemblies (ReadyToRun section 115).
#[derive(Clone, Copy, Debug)]
pub(super) struct Embedded<'d> {
    pub(super) pe: Pe<'d>,
    pub(super) list: Directory,
}

impl<'d> Embedded<'d> {
    /// The metadata of an assembly, by the name that the manifest's references have, which are in the list's order.
    pub(super) fn find(&self, manifest: &Metadata<'d>, simple_name: &str) -> Option<Metadata<'d>> {
        let count = (self.list.size / ENTRY).min(manifest.count(Table::ASSEMBLY_REF));
        let number = (0..count).find(|number| {
            manifest.assembly_reference(number.saturating_add(1)).is_ok_and(|name| name == simple_name)
        })?;
        let rva = self.list.rva.checked_add(number.checked_mul(ENTRY)?)?;
        let mut cursor = self.pe.cursor(Directory { rva, size: ENTRY }, "component assembly").ok()?;
        let header = Directory { rva: cursor.u32().ok()?, size: cursor.u32().ok()? };
        let place = self.pe.cli_header_at(header).ok()?.metadata;
        Metadata::parse(self.pe.bytes_at(place.rva, place.size).ok()?).ok()
    }
}
