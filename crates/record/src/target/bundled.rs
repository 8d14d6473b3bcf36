//! Images inside single-file programs that are mapped from the program itself.

use super::dotnet_image::pages;
use object::elf::{FileHeader64, PF_W, PT_LOAD};
use object::read::elf::{FileHeader, ProgramHeader};
use object::{Endianness, ReadCache};
use std::fs::File;
use std::os::unix::fs::FileExt;
use strata_clrimage::bundle::Bundle;
use strata_clrimage::{Layout, Pe};

/// Where the assemblies are that a single-file program holds as they are: their offsets in its file, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct BundledImages {
    offsets: Box<[u64]>,
}

/// Initialised data beyond this are not searched: hosts have less than a mebibyte.
const MAX_DATA: u64 = 8 << 20;

/// Programs larger than this are not looked into.
const MAX_PROGRAM: u64 = 1 << 30;

/// The list of files is the last thing in the program: this is enough for 20,000 files.
const MAX_LIST: u64 = 2 << 20;

/// An image's headers, up to its sections.
const HEADERS: usize = 1024;

impl BundledImages {
    /// Reads the list of a program's files; empty when it is no bundle.
    pub(crate) fn read(program: &File) -> Self {
        Self::read_if_any(program).unwrap_or_default()
    }

    fn read_if_any(program: &File) -> Option<Self> {
        let size = program.metadata().ok()?.len();
        if size > MAX_PROGRAM {
            return None;
        }
        // As long as the program, with only those of its pages that can matter: what is not written takes no memory.
        let mut bytes = vec![0; usize::try_from(size).ok()?];
        let end = bytes.len();
        let mut fill = |start: u64, end: u64| {
            let range = usize::try_from(start).ok()?..usize::try_from(end).ok()?;
            program.read_exact_at(bytes.get_mut(range)?, start).ok()
        };
        for (start, end) in initialised_data(program)? {
            fill(start, end)?;
        }
        fill(size.saturating_sub(MAX_LIST), size)?;
        let bundle = Bundle::find(bytes.get(..end)?).ok().flatten()?;
        let images = bundle.entries().iter().filter(|entry| entry.may_be_image() && entry.compressed_size.is_none());
        let mut offsets: Vec<u64> = images.map(|entry| entry.offset).collect();
        offsets.sort_unstable();
        Some(Self { offsets: offsets.into() })
    }

    /// The image whose code is what is mapped from `file_offset` on for `length` bytes: where it begins in the file.
    pub(crate) fn mapped(&self, program: &File, file_offset: u64, length: u64) -> Option<u64> {
        let end = file_offset.checked_add(length)?;
        let after = self.offsets.partition_point(|offset| *offset < end);
        // From the last one back: code makes up most of an image, so it is hardly ever further than the first.
        let candidates = self.offsets.get(..after)?.iter().rev().copied();
        candidates.take(MAX_CANDIDATES).find(|offset| code_pages(program, *offset) == Some((file_offset, end)))
    }
}

/// Images so small that this many lie in the pages of another's code have no code of their own.
const MAX_CANDIDATES: usize = 64;

/// The pages of the file that the code of an image takes.
fn code_pages(program: &File, offset: u64) -> Option<(u64, u64)> {
    let mut headers = [0; HEADERS];
    let length = program.read_at(&mut headers, offset).ok()?;
    let pe = Pe::parse(headers.get(..length)?, Layout::File).ok()?;
    let code = pe.code_section()?;
    pages(offset.checked_add(code.file_offset.into())?, code.file_size)
}

/// Where a program keeps the data that it starts with: one of them says where the list of files is.
fn initialised_data(program: &File) -> Option<Vec<(u64, u64)>> {
    let cache = ReadCache::new(program);
    let header = FileHeader64::<Endianness>::parse(&cache).ok()?;
    let endian = header.endian().ok()?;
    let mut ranges = Vec::new();
    let mut left = MAX_DATA;
    for segment in header.program_headers(endian, &cache).ok()? {
        let (start, size): (u64, u64) = (segment.p_offset(endian), segment.p_filesz(endian));
        if segment.p_type(endian) == PT_LOAD && segment.p_flags(endian).contains(PF_W) && size != 0 {
            left = left.checked_sub(size)?;
            ranges.push((start, start.checked_add(size)?));
        }
    }
    Some(ranges)
}
