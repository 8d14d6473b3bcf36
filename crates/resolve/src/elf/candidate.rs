//! Symbols that may name code, as the tables of a file list them.

use memchr::memchr;
use object::Endianness;
use object::elf;
use object::read::elf::{FileHeader, SectionHeader, Sym};

use super::SymbolSource;
use super::image::Image;
use crate::readable::Binding;

/// Longest name, in bytes, that is taken from a file; compilers stay far below.
pub(super) const MAX_NAME: usize = 16 * 1024;

/// A name for the code that begins at an address.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate<'d> {
    /// Relative to the image base.
    pub(super) start: u64,
    /// Bytes; 0 when the file states none.
    pub(super) size: u64,
    pub(super) name: &'d [u8],
    pub(super) binding: Binding,
    pub(super) source: SymbolSource,
}

/// The functions that one symbol table of `image` lists.
pub(super) fn of_table<'d, E: FileHeader<Endian = Endianness>>(
    image: &Image<'d, E>,
    section: &E::SectionHeader,
    source: SymbolSource,
) -> Result<Vec<Candidate<'d>>, String> {
    let endian = image.endian;
    let data = image.data(section).ok_or("outside the file")?;
    // The tail of a table that is cut short is lost, not the whole table.
    let count = data.len().checked_div(size_of::<E::Sym>()).unwrap_or(0);
    let (symbols, _) = object::slice_from_bytes::<E::Sym>(data, count).map_err(|()| "not a whole number of symbols")?;
    let names = strings_of(image, section).ok_or("its names lie outside the file")?;
    let mut found = Vec::new();
    for symbol in symbols {
        if !may_be_code(symbol, endian) {
            continue;
        }
        let Some(name) = name_at(names, symbol.st_name(endian)) else { continue };
        let name = readable_part(name);
        let kind = symbol.st_type();
        if name.is_empty() || (kind == elf::STT_NOTYPE && is_mapping_mark(name)) {
            continue;
        }
        let Some(start) = image.relative(symbol.st_value(endian).into()) else { continue };
        let binding = match symbol.st_bind() {
            elf::STB_LOCAL => Binding::Local,
            elf::STB_WEAK => Binding::Weak,
            _ => Binding::Global,
        };
        found.push(Candidate { start, size: symbol.st_size(endian).into(), name, binding, source });
    }
    Ok(found)
}

/// The functions in the `.symtab` of a whole other file about the same image: a debug file, unpacked mini debug
/// information. Addresses are relative to that file's own base, so that a prelinked image still fits.
pub(super) fn of_other_file<'d, E: FileHeader<Endian = Endianness>>(
    bytes: &'d [u8],
    source: SymbolSource,
) -> Result<Vec<Candidate<'d>>, String> {
    let mut problems = Vec::new();
    let other = Image::<E>::parse(bytes, &mut problems).map_err(|error| error.to_string())?;
    let section = other.section_of_type(elf::SHT_SYMTAB).ok_or("no symbol table")?;
    of_table(&other, section, source)
}

/// The bytes of the string table that belongs to a symbol table.
pub(super) fn strings_of<'d, E: FileHeader<Endian = Endianness>>(
    image: &Image<'d, E>,
    section: &E::SectionHeader,
) -> Option<&'d [u8]> {
    image.data(image.sections.get(usize::try_from(section.sh_link(image.endian)).ok()?)?)
}

/// The name at `offset` of a string table; `None` when it has no end within [`MAX_NAME`].
pub(super) fn name_at(strings: &[u8], offset: u32) -> Option<&[u8]> {
    let rest = strings.get(usize::try_from(offset).ok()?..)?;
    let rest = rest.get(..MAX_NAME).unwrap_or(rest);
    rest.get(..memchr(0, rest)?)
}

fn may_be_code<S: Sym<Endian = Endianness>>(symbol: &S, endian: Endianness) -> bool {
    let kind = symbol.st_type();
    let section = symbol.st_shndx(endian);
    // An assembler function often has no type; whether it is code is then decided by the section it lies in.
    (kind == elf::STT_FUNC || kind == elf::STT_GNU_IFUNC || kind == elf::STT_NOTYPE)
        && section != elf::SHN_UNDEF
        && section != elf::SHN_ABS
        && section != elf::SHN_COMMON
}

/// The name without its version: `.symtab` writes `memcpy@@GLIBC_2.14` where `.dynsym` writes `memcpy`.
fn readable_part(name: &[u8]) -> &[u8] {
    match memchr(b'@', name) {
        Some(at) if at > 0 => name.get(..at).unwrap_or(name),
        _ => name,
    }
}

/// Marks of assemblers between code and data (`$x`, `$d.1`) and their private labels (`.L12`): no names of functions.
fn is_mapping_mark(name: &[u8]) -> bool {
    name.starts_with(b"$") || name.starts_with(b".L")
}
