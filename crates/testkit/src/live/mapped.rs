//! The .NET images in a live process's memory, found by their own headers there.
//!
//! Written from how the runtime maps images and apart from every parser of strata.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use strata_address::Avma;

/// How much of each mapping is searched for an image's header: two pages, as an image in a bundle need not begin a page.
const SEARCHED: u64 = 0x2000;

/// One image in memory that has executable pages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MappedImage {
    /// Where its first byte is: what its relative addresses count from.
    pub base: Avma,
    /// How many bytes of address space it takes, as its header says.
    pub size: u32,
    /// Where its bytes come from.
    pub source: Source,
}

/// Where a mapped image's bytes come from.
#[derive(Clone, PartialEq, Eq)]
pub enum Source {
    /// A file, alone or within a bundle.
    File {
        /// The file's path.
        path: PathBuf,
        /// Where in it the image's first byte is.
        offset: u64,
    },
    /// No file: these are its bytes as they lie in memory, by relative address, with 0 where nothing is mapped.
    Memory(Vec<u8>),
}

impl std::fmt::Debug for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Source::File { path, offset } => write!(f, "{}+{offset:#x}", path.display()),
            Source::Memory(bytes) => write!(f, "{:#x} bytes of memory", bytes.len()),
        }
    }
}

impl MappedImage {
    /// True if the address is inside the image's address space.
    pub fn contains(&self, address: Avma) -> bool {
        address.0.checked_sub(self.base.0).is_some_and(|distance| distance < u64::from(self.size))
    }
}

/// The images of a process that have executable pages, by rising base. The process must be one that this one may inspect.
///
/// # Errors
/// When its mappings cannot be read, or its memory not at all.
pub fn mapped_images(pid: u32) -> io::Result<Vec<MappedImage>> {
    let memory = File::open(format!("/proc/{pid}/mem"))?;
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps"))?;
    let mappings: Vec<Mapping> = maps.lines().filter_map(Mapping::parse).collect();
    let mut found: Vec<MappedImage> = Vec::new();
    for (number, code) in mappings.iter().enumerate() {
        if !code.access.starts_with("r-xp") || found.last().is_some_and(|image| image.contains(Avma(code.start))) {
            continue;
        }
        // The header is in one of the mappings before the code, without a hole between them. In the lowest of them: a
        // section whose file offset is rounded down to 0 is mapped with the header in front of it.
        let mut next = code.start;
        let mut lowest = None;
        for before in mappings[..number].iter().rev() {
            if before.end != next {
                break;
            }
            next = before.start;
            lowest = header_in(before, code, &memory).or(lowest);
        }
        if let Some(image) = lowest {
            found.push(image.with_bytes(&mappings, &memory));
        }
    }
    Ok(found)
}

fn header_in(mapping: &Mapping, code: &Mapping, memory: &File) -> Option<MappedImage> {
    if !mapping.access.starts_with('r') || mapping.path != code.path {
        return None;
    }
    let mut bytes = vec![0; usize::try_from(SEARCHED.min(mapping.end - mapping.start)).ok()?];
    memory.read_exact_at(&mut bytes, mapping.start).ok()?;
    (0..bytes.len()).step_by(16).find_map(|at| {
        let size = image_size(&bytes[at..])?;
        let base = mapping.start + at as u64;
        (code.start - base < u64::from(size)).then(|| MappedImage {
            base: Avma(base),
            size,
            source: match &mapping.path {
                Some(path) => Source::File { path: path.clone(), offset: mapping.offset + at as u64 },
                None => Source::Memory(Vec::new()),
            },
        })
    })
}

/// `SizeOfImage`, if a PE file begins here.
fn image_size(bytes: &[u8]) -> Option<u32> {
    if !bytes.starts_with(b"MZ") {
        return None;
    }
    let u32_at = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let headers = u32_at(0x3c)? as usize;
    if bytes.get(headers..headers.checked_add(4)?)? != b"PE\0\0" {
        return None;
    }
    u32_at(headers + 24 + 56)
}

impl MappedImage {
    fn with_bytes(mut self, mappings: &[Mapping], memory: &File) -> MappedImage {
        if let Source::Memory(bytes) = &mut self.source {
            bytes.resize(self.size as usize, 0);
            let end = self.base.0 + u64::from(self.size);
            for mapping in mappings.iter().filter(|mapping| mapping.access.starts_with('r')) {
                let (from, to) = (mapping.start.max(self.base.0), mapping.end.min(end));
                if from < to {
                    let range = &mut bytes[(from - self.base.0) as usize..(to - self.base.0) as usize];
                    // The process runs on: what it unmapped since is not mapped.
                    if memory.read_exact_at(range, from).is_err() {
                        range.fill(0);
                    }
                }
            }
        }
        self
    }
}

/// One line of `/proc/PID/maps`.
struct Mapping {
    start: u64,
    end: u64,
    access: String,
    offset: u64,
    /// The file behind it; `None` for memory of the process alone.
    path: Option<PathBuf>,
}

impl Mapping {
    fn parse(line: &str) -> Option<Mapping> {
        let mut fields = line.splitn(6, ' ');
        let (start, end) = fields.next()?.split_once('-')?;
        let access = fields.next()?.to_owned();
        let offset = u64::from_str_radix(fields.next()?, 16).ok()?;
        let path = fields.nth(2).unwrap_or_default().trim_start();
        Some(Mapping {
            start: u64::from_str_radix(start, 16).ok()?,
            end: u64::from_str_radix(end, 16).ok()?,
            access,
            offset,
            path: path.starts_with('/').then(|| PathBuf::from(path)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_both_kinds_are_read() {
        let line = "7f3590e70000-7f35917af000 r-xp 00010000 08:01 1234     /a b/c.dll";
        let file = Mapping::parse(line).unwrap();
        assert_eq!((file.start, file.end, file.offset), (0x7f35_90e7_0000, 0x7f35_917a_f000, 0x10000));
        assert_eq!((file.access.as_str(), file.path), ("r-xp", Some(PathBuf::from("/a b/c.dll"))));
        assert_eq!(Mapping::parse("7f00-8f00 rw-p 00000000 00:00 0 ").unwrap().path, None);
        assert_eq!(Mapping::parse("7f00-8f00 rw-p 00000000 00:00 0    [heap]").unwrap().path, None);
    }

    #[test]
    fn only_a_whole_header_is_an_image() {
        let mut bytes = vec![0; 0x200];
        bytes[..2].copy_from_slice(b"MZ");
        bytes[0x3c] = 0x80;
        bytes[0x80..0x84].copy_from_slice(b"PE\0\0");
        bytes[0x80 + 80..0x80 + 84].copy_from_slice(&0x1234_u32.to_le_bytes());
        assert_eq!(image_size(&bytes), Some(0x1234));
        assert_eq!(image_size(&bytes[..0xd3]), None);
        bytes[0x80] = b'X';
        assert_eq!(image_size(&bytes), None);
    }
}
