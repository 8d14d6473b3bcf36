//! Functions of an ELF image by address: from its symbol tables, its separate debug file, its mini debug information, its
//! call stubs and, where no name is left, its unwind table.
//!
//! Sources: System V ABI (ELF), the Linux Standard Base on `.eh_frame`, GDB's manual on separate debug files and
//! `MiniDebugInfo`.

mod candidate;
mod debug_file;
mod image;
mod mini_debug;
mod plt;
mod table;
mod unwind_table;

use std::fmt;
use std::path::{Path, PathBuf};

use object::Endianness;
use object::elf::{FileHeader32, FileHeader64};
use object::read::elf::FileHeader;
use strata_address::{Rva, Svma};

use crate::files::{FilePath, Files};
use candidate::Candidate;
use image::Image;
use table::Table;

pub use image::{ImageLayout, LoadSegment};

/// Where a function's name comes from, from the surest to the least sure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SymbolSource {
    /// The image's own `.symtab` or `.dynsym`.
    SymbolTable,
    /// The separate debug file, found by build id or debug link and checked.
    DebugFile,
    /// The compressed symbol table in `.gnu_debugdata`.
    MiniDebugInfo,
    /// A stub that jumps to an imported function, called `name@plt`.
    Plt,
    /// No symbol at all: the unwind table says where a function begins and ends, and it is called `fun_<rva>`.
    UnwindTable,
}

/// A function of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Symbol<'a> {
    /// The name as the file spells it, mangled if the compiler mangled it, without a version ending.
    pub name: &'a str,
    /// First byte, relative to the image base.
    pub start: Rva,
    /// Bytes; for a symbol that states none, up to the next symbol or the end of its unwind entry or section.
    pub size: u64,
    /// Where the name comes from.
    pub source: SymbolSource,
}

/// The identity that the linker gave to a build, any number of bytes (mostly 20).
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct BuildId(Box<[u8]>);

impl BuildId {
    /// The bytes of a build id, as in `.note.gnu.build-id`; `None` when there are none.
    pub fn new(bytes: &[u8]) -> Option<Self> {
        (!bytes.is_empty()).then(|| Self(bytes.into()))
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

/// Lower-case hex without spaces, as in debug file names.
impl fmt::Display for BuildId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for BuildId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BuildId({self})")
    }
}

/// Why bytes are no image with symbols at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ElfError {
    /// The first bytes are not those of an ELF file.
    #[error("not an ELF file")]
    NotElf,
    /// The header at byte 0 is cut short or says something impossible.
    #[error("bad ELF header: {reason}")]
    Header {
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The program headers cannot be read, so nothing tells where the image's bytes go.
    #[error("bad program headers at byte {offset}: {reason}")]
    ProgramHeaders {
        /// Where they should be, in bytes from the start of the file.
        offset: u64,
        /// What is wrong with them.
        reason: &'static str,
    },
    /// No segment is loaded into memory: an object file or a kernel module, not an image.
    #[error("no segment is loaded into memory")]
    NothingLoaded,
}

/// A part of an image that could not be read; the other parts are used all the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ElfProblem {
    /// Which part.
    pub part: ElfPart,
    /// Where it is, in bytes from the start of the file that holds it; 0 when not even that is known.
    pub offset: u64,
    /// What is wrong with it.
    pub reason: String,
}

/// The parts of an image that are read one by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElfPart {
    /// Section headers.
    Sections,
    /// `.symtab` of the image.
    SymbolTable,
    /// `.dynsym` of the image.
    DynamicSymbols,
    /// The separate debug file.
    DebugFile,
    /// `.gnu_debugdata`.
    MiniDebugInfo,
    /// Relocations of the call stubs.
    Relocations,
    /// `.eh_frame`.
    UnwindTable,
    /// The names together: more than memory or good sense allow.
    Names,
}

/// All functions of one ELF image, by address.
#[derive(Clone, Debug)]
pub struct ElfSymbols {
    layout: ImageLayout,
    build_id: Option<BuildId>,
    debug_file: Option<PathBuf>,
    table: Table,
    problems: Vec<ElfProblem>,
}

impl ElfSymbols {
    /// Reads what the image alone says.
    ///
    /// # Errors
    /// [`ElfError`] when the bytes are no loadable ELF image; lesser damage is told by [`Self::problems`].
    pub fn parse(bytes: &[u8]) -> Result<Self, ElfError> {
        by_class(bytes, None)
    }

    /// Reads what the image says and, if it has no full symbol table of its own, what its separate debug file says.
    ///
    /// `path` is where the image lies; the debug file is looked for beside it and under `/usr/lib/debug`, and used only
    /// if its build id (or, without one, its checksum) agrees.
    ///
    /// # Errors
    /// As [`Self::parse`].
    pub fn parse_with_debug_files(bytes: &[u8], path: &FilePath, files: &dyn Files) -> Result<Self, ElfError> {
        by_class(bytes, Some((path, files)))
    }

    /// The function that holds `address`, or `None` outside any known function.
    pub fn lookup(&self, address: Rva) -> Option<Symbol<'_>> {
        self.table.lookup(address.0)
    }

    /// All functions in the order of their first byte.
    pub fn symbols(&self) -> impl Iterator<Item = Symbol<'_>> {
        self.table.symbols()
    }

    /// The image's build id, if the linker gave it one.
    pub const fn build_id(&self) -> Option<&BuildId> {
        self.build_id.as_ref()
    }

    /// How file offsets, stated addresses and addresses relative to the image base belong together.
    pub const fn layout(&self) -> &ImageLayout {
        &self.layout
    }

    /// The separate debug file that was used.
    pub fn debug_file(&self) -> Option<&Path> {
        self.debug_file.as_deref()
    }

    /// What could not be read.
    pub fn problems(&self) -> &[ElfProblem] {
        &self.problems
    }

    /// Bytes of memory that the table of functions holds.
    pub fn memory(&self) -> usize {
        self.table.memory()
    }
}

/// Where a separate debug file may be asked for.
type DebugFiles<'a> = Option<(&'a FilePath, &'a dyn Files)>;

fn by_class(bytes: &[u8], debug_files: DebugFiles<'_>) -> Result<ElfSymbols, ElfError> {
    if !bytes.starts_with(&object::elf::ELFMAG) {
        return Err(ElfError::NotElf);
    }
    match bytes.get(4) {
        Some(1) => read::<FileHeader32<Endianness>>(bytes, debug_files),
        Some(2) => read::<FileHeader64<Endianness>>(bytes, debug_files),
        Some(_) => Err(ElfError::Header { reason: "neither 32 nor 64 bits" }),
        None => Err(ElfError::Header { reason: "cut short" }),
    }
}

fn read<E: FileHeader<Endian = Endianness>>(bytes: &[u8], debug_files: DebugFiles<'_>) -> Result<ElfSymbols, ElfError> {
    let mut problems = Vec::new();
    let image = Image::<E>::parse(bytes, &mut problems)?;
    let build_id = image.build_id();

    let mut candidates: Vec<Candidate<'_>> = Vec::new();
    let own = image.section_of_type(object::elf::SHT_SYMTAB).map(|section| {
        candidate::of_table(&image, section, SymbolSource::SymbolTable)
            .map(|found| candidates.extend(found))
            .map_err(|reason| problems.push(image.problem(ElfPart::SymbolTable, section, reason)))
    });
    let complete = own == Some(Ok(())) && !candidates.is_empty();
    if let Some(section) = image.section_of_type(object::elf::SHT_DYNSYM) {
        match candidate::of_table(&image, section, SymbolSource::SymbolTable) {
            Ok(found) => candidates.extend(found),
            Err(reason) => problems.push(image.problem(ElfPart::DynamicSymbols, section, reason)),
        }
    }

    // The bytes must outlive the candidates, which borrow their names.
    let debug_file = if complete {
        None
    } else {
        debug_files.and_then(|(path, files)| debug_file::find(&image, build_id.as_ref(), path, files))
    };
    let mut used_debug_file = None;
    if let Some(found) = &debug_file {
        match candidate::of_other_file::<E>(&found.bytes, SymbolSource::DebugFile) {
            Ok(more) => {
                used_debug_file = Some(found.path.clone());
                candidates.extend(more);
            }
            Err(reason) => problems.push(ElfProblem { part: ElfPart::DebugFile, offset: 0, reason }),
        }
    }
    let mini = match image.section_named(b".gnu_debugdata") {
        Some(section) if !complete && used_debug_file.is_none() => {
            let data = image.data(section).ok_or_else(|| "outside the file".to_owned());
            match data.and_then(|data| mini_debug::decompress(data).map_err(|error| error.to_string())) {
                Ok(bytes) => Some((section, bytes)),
                Err(reason) => {
                    problems.push(image.problem(ElfPart::MiniDebugInfo, section, reason));
                    None
                }
            }
        }
        _ => None,
    };
    if let Some((section, bytes)) = &mini {
        match candidate::of_other_file::<E>(bytes, SymbolSource::MiniDebugInfo) {
            Ok(more) => candidates.extend(more),
            Err(reason) => problems.push(image.problem(ElfPart::MiniDebugInfo, section, reason)),
        }
    }
    candidates.sort_by_key(|candidate| candidate.start);
    match plt::stubs(&image, &candidates) {
        Ok(stubs) if stubs.is_empty() => {}
        Ok(stubs) => {
            candidates.extend(stubs);
            candidates.sort_by_key(|candidate| candidate.start);
        }
        Err(reason) => problems.push(ElfProblem { part: ElfPart::Relocations, offset: 0, reason }),
    }
    let unwind_entries = unwind_table::functions(&image, &mut problems);
    let debug_bytes = debug_file.as_ref().map_or(0, |found| found.bytes.len());
    let mini_bytes = mini.as_ref().map_or(0, |(_, bytes)| bytes.len());
    let names_limit = bytes.len().saturating_add(debug_bytes).saturating_add(mini_bytes).saturating_mul(4);
    let table = Table::build(&candidates, &unwind_entries, &image.code_ranges(), names_limit, &mut problems);
    Ok(ElfSymbols { layout: image.layout, build_id, debug_file: used_debug_file, table, problems })
}

/// A half-open range of addresses relative to the image base.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Extent {
    start: u64,
    end: u64,
}

impl Extent {
    fn sized(start: u64, size: u64) -> Self {
        Self { start, end: start.saturating_add(size) }
    }

    const fn is_empty(self) -> bool {
        self.start >= self.end
    }
}

/// Relative to the image base, or `None` below it.
fn relative(address: u64, base: Svma) -> Option<u64> {
    Svma(address).relative_to(base).map(|rva| rva.0)
}

#[cfg(test)]
mod tests;
