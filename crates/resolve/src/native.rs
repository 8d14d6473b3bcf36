//! Names of code in ELF images.

use crate::demangle::demangle;
use crate::elf::{ElfSymbols, SymbolSource};
use crate::files::{FileBytes, FilePath};
use crate::images::Bundled;
use crate::symbols::{MappedPlace, Named};
use std::cell::OnceCell;
use strata_address::Rva;
use strata_profile::{NameSource, Unnamed};

/// An ELF file that was mapped, and the assemblies that may be behind its code.
pub(crate) struct ElfFile {
    pub(crate) symbols: Result<ElfSymbols, Unnamed>,
    pub(crate) bytes: FileBytes,
    pub(crate) path: FilePath,
    /// Looked for when first asked for.
    pub(crate) bundled: OnceCell<Option<Bundled>>,
}

/// The function at an address of an image.
pub(crate) fn named(symbols: &ElfSymbols, rva: Rva, place: &MappedPlace<'_>) -> Named {
    let Some(symbol) = symbols.lookup(rva) else { return place.unnamed(Unnamed::NoSymbol) };
    let (name, source) = match symbol.source {
        SymbolSource::UnwindTable => (format!("{}!{}", place.file_name, symbol.name), NameSource::UnwindTable),
        _ => (demangle(symbol.name).into_owned(), NameSource::ElfSymbol),
    };
    Named { name, module: Some(place.module.clone()), kind: place.kind(), source, line: None }
}
