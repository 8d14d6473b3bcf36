//! What a .NET process itself wrote about its code: the jitdump file and, up to .NET 8, the perfinfo file.
//!
//! Written from the formats' descriptions and apart from every parser of strata.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use strata_address::Avma;

/// How many bytes the file's header has.
const HEADER: usize = 40;
/// How many bytes a record's header and the fixed part of a code load have.
const RECORD: usize = 16;
const CODE_LOAD: usize = 40;

/// One method, or one stub, that a jitdump file tells of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Jitted {
    /// Where its code begins.
    pub start: Avma,
    /// The code's size, in bytes: of a precompiled method body and funclets together.
    pub size: u64,
    /// The name as written up to its first NUL, with the tier in brackets at its end.
    pub name: String,
    /// True if the name held a NUL before the one that ends it.
    pub cut: bool,
}

/// One image that a perfinfo file tells of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadedImage {
    /// The image's path.
    pub path: PathBuf,
    /// The image's module version id as written, without braces.
    pub mvid: String,
    /// Where its first byte is in memory; `None` if its precompiled code is not used.
    pub base: Option<Avma>,
}

/// Why a file of the runtime could not be read.
#[derive(Debug)]
pub enum DumpFailure {
    /// It could not be opened or read.
    File(PathBuf, io::Error),
    /// There is none, or more than one, in the folder.
    Count(PathBuf, usize),
    /// It is not what it should be from this byte, or line, on.
    At(usize),
}

impl Jitted {
    /// The name without its tier, if the method is precompiled code of an image.
    pub fn precompiled(&self) -> Option<&str> {
        self.name.strip_suffix("[PreJIT]").or_else(|| self.name.strip_suffix("[PreJit-cold]"))
    }
}

/// Everything in the one jitdump file of a folder, in the file's order.
///
/// # Errors
/// [`DumpFailure`]. A last record that the process did not finish is left out.
pub fn jitdump(folder: &Path) -> Result<Vec<Jitted>, DumpFailure> {
    let path = only(folder, "jit-", ".dump")?;
    let bytes = std::fs::read(&path).map_err(|error| DumpFailure::File(path, error))?;
    parse_jitdump(&bytes)
}

fn parse_jitdump(bytes: &[u8]) -> Result<Vec<Jitted>, DumpFailure> {
    if u32_at(bytes, 0) != Some(0x4A69_5444) || u32_at(bytes, 8) != Some(HEADER as u32) {
        return Err(DumpFailure::At(0));
    }
    let mut found = Vec::new();
    let mut at = HEADER;
    while let (Some(kind), Some(length)) = (u32_at(bytes, at), u32_at(bytes, at + 4)) {
        let length = length as usize;
        let Some(record) = bytes.get(at..at + length) else { break };
        if length < RECORD || (kind == 0 && length < RECORD + CODE_LOAD) {
            return Err(DumpFailure::At(at));
        }
        if kind == 0 {
            found.push(code_load(record).ok_or(DumpFailure::At(at))?);
        }
        at += length;
    }
    Ok(found)
}

fn code_load(record: &[u8]) -> Option<Jitted> {
    let start = u64_at(record, RECORD + 16)?;
    let size = u64_at(record, RECORD + 24)?;
    let rest = record.get(RECORD + CODE_LOAD..)?;
    // .NET 10 leaves the bytes of its stubs out, so that the name ends with the record; else the code is behind it.
    let with_code = usize::try_from(size).ok().and_then(|size| rest.len().checked_sub(size));
    let padded = &rest[..with_code.filter(|&length| length > 0 && rest[length - 1] == 0).unwrap_or(rest.len())];
    let name = padded.split(|&byte| byte == 0).next()?;
    let written = padded.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    Some(Jitted {
        start: Avma(start),
        size,
        name: String::from_utf8_lossy(name).into_owned(),
        cut: with_code.is_some() && written > name.len(),
    })
}

/// Everything in the one perfinfo file of a folder, in the file's order.
///
/// # Errors
/// [`DumpFailure`], with the number of the line that is not as expected, from 0.
pub fn perfinfo(folder: &Path) -> Result<Vec<LoadedImage>, DumpFailure> {
    let path = only(folder, "perfinfo-", ".map")?;
    let text = std::fs::read_to_string(&path).map_err(|error| DumpFailure::File(path, error))?;
    text.lines().enumerate().map(|(number, line)| loaded_image(line).ok_or(DumpFailure::At(number))).collect()
}

fn loaded_image(line: &str) -> Option<LoadedImage> {
    let rest = line.strip_prefix("ImageLoad;")?.strip_suffix(';')?;
    let mut parts = rest.rsplitn(3, ';');
    let (base, mvid, path) = (parts.next()?, parts.next()?, parts.next()?);
    let base = match base {
        "(nil)" => 0,
        base => u64::from_str_radix(base.trim_start_matches("0x"), 16).ok()?,
    };
    Some(LoadedImage {
        path: PathBuf::from(path),
        mvid: mvid.strip_prefix('{')?.strip_suffix('}')?.to_ascii_lowercase(),
        base: (base != 0).then_some(Avma(base)),
    })
}

fn only(folder: &Path, prefix: &str, suffix: &str) -> Result<PathBuf, DumpFailure> {
    let listed = std::fs::read_dir(folder).map_err(|error| DumpFailure::File(folder.to_path_buf(), error))?;
    let mut found: Vec<PathBuf> = listed
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with(prefix) && name.ends_with(suffix)
        })
        .collect();
    match (found.pop(), found.len()) {
        (Some(path), 0) => Ok(path),
        (found, more) => Err(DumpFailure::Count(folder.to_path_buf(), usize::from(found.is_some()) + more)),
    }
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at.checked_add(4)?)?.try_into().ok().map(u32::from_le_bytes)
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..at.checked_add(8)?)?.try_into().ok().map(u64::from_le_bytes)
}

impl fmt::Display for DumpFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DumpFailure::File(path, error) => write!(f, "failed to read {}: {error}", path.display()),
            DumpFailure::Count(folder, count) => {
                write!(f, "expected one file of the runtime in {}, found {count}", folder.display())
            }
            DumpFailure::At(at) => write!(f, "the runtime's file is not as expected from {at} on"),
        }
    }
}

impl std::error::Error for DumpFailure {}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(name: &[u8], size: u64, code: &[u8]) -> Vec<u8> {
        let mut record = Vec::new();
        record.extend(0_u32.to_le_bytes());
        record.extend(((RECORD + CODE_LOAD + name.len() + code.len()) as u32).to_le_bytes());
        record.extend(7_u64.to_le_bytes());
        record.extend([0; 8]);
        for word in [0x1000, 0x1000, size, 1] {
            record.extend(u64::to_le_bytes(word));
        }
        record.extend(name);
        record.extend(code);
        record
    }

    #[test]
    fn a_name_ends_at_its_first_nul_and_code_is_not_taken_for_one() {
        let mut file = vec![0; HEADER];
        file[..4].copy_from_slice(&0x4A69_5444_u32.to_le_bytes());
        file[8] = HEADER as u8;
        file.extend(record(b"void A::B()[PreJIT]\0", 3, b"\x55\x00\xc3"));
        file.extend(record(b"void A::C\0d()[PreJIT]\0", 2, b"\xcc\xc3"));
        file.extend(record(b"stub Block<Thunk>\0\0\0\0", 1024, b""));
        file.extend(&record(b"unfinished\0", 4, b"\xc3\xc3\xc3\xc3")[..40]);
        let found = parse_jitdump(&file).unwrap();
        let shown: Vec<_> = found.iter().map(|jitted| (jitted.name.as_str(), jitted.size, jitted.cut)).collect();
        assert_eq!(
            shown,
            [("void A::B()[PreJIT]", 3, false), ("void A::C", 2, true), ("stub Block<Thunk>", 1024, false)]
        );
        assert_eq!(found[0].precompiled(), Some("void A::B()"));
        assert_eq!(found[2].precompiled(), None);
    }

    #[test]
    fn bases_of_both_spellings_are_read() {
        let check = |line: &str, base: Option<u64>| {
            let found = loaded_image(line).unwrap();
            assert_eq!(found.path, PathBuf::from("/a;b/c.dll"), "{line}");
            assert_eq!((found.mvid.as_str(), found.base), ("0a-1b", base.map(Avma)), "{line}");
        };
        check("ImageLoad;/a;b/c.dll;{0A-1B};0x7f00;", Some(0x7f00));
        check("ImageLoad;/a;b/c.dll;{0a-1b};0000000000007F00;", Some(0x7f00));
        check("ImageLoad;/a;b/c.dll;{0a-1b};(nil);", None);
        assert_eq!(loaded_image("ImageLoad;/c.dll;{0a-1b}"), None);
    }
}
