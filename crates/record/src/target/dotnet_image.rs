//! .NET images, of which only the parts that are needed are read: from the file that is mapped, from inside a single-file
//! program, or from the memory that they were copied to.

use super::memory;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use strata_address::{Avma, AvmaRange};
use strata_clrimage::metadata::Metadata;
use strata_clrimage::{Architecture, Directory, ImageIdentity, Layout, Pe, Section};
use strata_perfdata::record::ProgramImage;
use strata_unwind::{Code, ReadyToRunUnwindData};

/// What the recorder knows of one .NET image.
#[derive(Clone, Debug)]
pub(crate) struct DotnetImage {
    /// Which image it is.
    pub(crate) identity: ImageIdentity,
    /// Its sections of code.
    code: Box<[Section]>,
    unwind: Arc<ReadyToRunUnwindData>,
}

/// Where an image's bytes are.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Source<'a> {
    /// In a file, from an offset on.
    File(&'a File, u64),
    /// In the memory of a process, laid out as it is mapped.
    Memory { pid: u32, base: Avma },
}

/// Metadata larger than this are not believed: the largest known are 20 MiB.
const MAX_METADATA: u32 = 32 << 20;

/// Nor is a table of more functions (700,000), nor more unwind records: a whole framework compiled into one image has half.
const MAX_FUNCTIONS: u32 = 8 << 20;
const MAX_RECORDS: u32 = 16 << 20;

/// Where mappings begin and end.
pub(crate) const PAGE: u64 = 4096;

/// Number of the data directory with the table of functions.
const EXCEPTION_DIRECTORY: usize = 3;

/// Number of the data directory with the CLI header, and where that says where the metadata are.
const CLI_DIRECTORY: usize = 14;
const METADATA_FIELD: usize = 8;

/// It has 72 bytes.
const MAX_CLI_HEADER: u32 = 4096;

impl Source<'_> {
    /// The headers, and perhaps some of what follows.
    pub(crate) fn headers(self) -> Vec<u8> {
        let mut headers = vec![0; ImageIdentity::HEADERS];
        let length = match self {
            Source::File(file, start) => file.read_at(&mut headers, start).unwrap_or(0),
            Source::Memory { pid, base } => memory::read(pid, base, &mut headers),
        };
        headers.truncate(length);
        headers
    }

    fn part(self, pe: &Pe<'_>, part: Directory, at_most: u32) -> Option<Vec<u8>> {
        let section = pe.section_of(part.rva)?;
        let into = part.rva.checked_sub(section.virtual_address)?;
        let room = section.file_size.checked_sub(into)?;
        if part.size > room.min(at_most) {
            return None;
        }
        let mut bytes = vec![0; usize::try_from(part.size).ok()?];
        let length = match self {
            Source::File(file, start) => {
                file.read_exact_at(
                    &mut bytes,
                    start.checked_add(section.file_offset.into())?.checked_add(into.into())?,
                )
                .ok()?;
                bytes.len()
            }
            Source::Memory { pid, base } => memory::read(pid, base.checked_add(part.rva.into())?, &mut bytes),
        };
        (length == bytes.len()).then_some(bytes)
    }
}

/// An image's headers and metadata: enough to tell which it is.
pub(crate) struct Identified {
    headers: Vec<u8>,
    pub(crate) identity: ImageIdentity,
    /// Simple name of its assembly; none for the code of several (a composite image).
    assembly: Option<String>,
}

impl Identified {
    /// Reads headers and metadata; `None` when it is no PE image.
    pub(crate) fn read(source: Source<'_>) -> Option<Self> {
        Self::with_headers(source, source.headers())
    }

    /// As [`Self::read`], when the headers were read already.
    pub(crate) fn with_headers(source: Source<'_>, headers: Vec<u8>) -> Option<Self> {
        let pe = Pe::parse(&headers, Layout::File).ok()?;
        let metadata = read_metadata(source, &pe);
        let metadata = metadata.as_deref().and_then(|bytes| Metadata::parse(bytes).ok());
        let identity = ImageIdentity::new(metadata.and_then(|metadata| metadata.mvid()), pe.headers());
        let assembly = metadata.and_then(|metadata| metadata.assembly_name()).map(str::to_owned);
        Some(Self { headers, identity, assembly })
    }

    /// What recordings call it inside a program.
    pub(crate) fn path_in(&self, executable: &[u8]) -> Vec<u8> {
        let assembly = self.assembly.as_deref().unwrap_or("?").as_bytes();
        ProgramImage { executable, assembly }.path()
    }

    /// Reads the unwind data too; `None` when the image has no code.
    pub(crate) fn image(&self, source: Source<'_>) -> Option<DotnetImage> {
        let pe = Pe::parse(&self.headers, Layout::File).ok()?;
        let code: Box<[Section]> = pe.sections().filter(|section| section.is_executable).collect();
        if code.is_empty() {
            return None;
        }
        let unwind = read_unwind_data(source, &pe).unwrap_or_default();
        Some(DotnetImage { identity: self.identity, code, unwind: Arc::new(unwind) })
    }
}

fn read_metadata(source: Source<'_>, pe: &Pe<'_>) -> Option<Vec<u8>> {
    let header = source.part(pe, pe.directory(CLI_DIRECTORY)?, MAX_CLI_HEADER)?;
    let (numbers, _) = header.get(METADATA_FIELD..)?.as_chunks::<4>();
    let [rva, size, ..] = *numbers else { return None };
    let place = Directory { rva: u32::from_le_bytes(rva), size: u32::from_le_bytes(size) };
    source.part(pe, place, MAX_METADATA)
}

fn read_unwind_data(source: Source<'_>, pe: &Pe<'_>) -> Option<ReadyToRunUnwindData> {
    if pe.machine()?.architecture != Architecture::Amd64 {
        return None;
    }
    let rows = source.part(pe, pe.directory(EXCEPTION_DIRECTORY)?, MAX_FUNCTIONS)?;
    let place = ReadyToRunUnwindData::records(&rows)?;
    let section = pe.section_of(place.start)?;
    let end = place.end.min(section.virtual_address.checked_add(section.file_size)?);
    let records = source.part(pe, Directory { rva: place.start, size: end.checked_sub(place.start)? }, MAX_RECORDS)?;
    let record_at = |rva: u32| records.get(usize::try_from(rva.checked_sub(place.start)?).ok()?..);
    Some(ReadyToRunUnwindData::parse(&rows, record_at))
}

impl DotnetImage {
    /// Where its RVA 0 is when a mapping shows code of it, in a file in which it begins at `image_offset`; `None` when the
    /// mapping shows no section of code.
    pub(crate) fn base_in_file(&self, mapping: AvmaRange, file_offset: u64, image_offset: u64) -> Option<Avma> {
        // One section may end in the page that the next begins in; a mapping begins with the page that its section begins in.
        let is_shown = |section: &&Section| {
            let start = image_offset.checked_add(section.file_offset.into());
            let pages = start.and_then(|start| pages(start, section.file_size));
            pages.is_some_and(|(start, end)| (start..end).contains(&file_offset))
        };
        let section = self.code.iter().filter(is_shown).max_by_key(|section| section.file_offset)?;
        let code_offset = image_offset.wrapping_add(section.file_offset.into());
        let code_start = mapping.start().0.wrapping_add(code_offset).wrapping_sub(file_offset);
        Some(Avma(code_start.wrapping_sub(section.virtual_address.into())))
    }

    /// Whether it has precompiled code that is described.
    pub(crate) fn has_code(&self) -> bool {
        !self.unwind.is_empty()
    }

    /// How its code is unwound when its RVA 0 is at `base`.
    pub(crate) fn code_at(&self, base: Avma) -> Code {
        if !self.has_code() {
            return Code::FramePointers;
        }
        Code::ReadyToRun { image: Arc::clone(&self.unwind), base: base.0 }
    }
}

/// The range of addresses, or of file offsets, that the pages of a section of code take.
pub(crate) fn pages(start: u64, size: u32) -> Option<(u64, u64)> {
    Some((start & !(PAGE - 1), start.checked_add(size.into())?.checked_next_multiple_of(PAGE)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_base_follows_from_the_section_that_is_mapped() {
        let section = |file_offset, virtual_address| Section {
            name: *b".text\0\0\0",
            virtual_address,
            virtual_size: 0x1800,
            file_offset,
            file_size: 0x1800,
            is_executable: true,
        };
        let image = DotnetImage {
            identity: ImageIdentity::new(None, b""),
            code: [section(0x400, 0x1_0400), section(0x1c00, 0x2_1c00)].into(),
            unwind: Arc::default(),
        };
        let mapping = AvmaRange::sized(Avma(0x7f00_0001_0000), 0x2000).unwrap();
        let below = |file_offset, image_offset| {
            Some(mapping.start().0.wrapping_sub(image.base_in_file(mapping, file_offset, image_offset)?.0))
        };
        assert_eq!(below(0, 0), Some(0x1_0000));
        assert_eq!(below(0x1000, 0), Some(0x2_1000), "the page that both have is where the second is mapped");
        assert_eq!(below(0x2000, 0), Some(0x2_2000));
        assert_eq!([below(0x4000, 0), below(0, 0x5000)], [None, None], "no code of the image");
        assert_eq!(below(0x5000, 0x5000), Some(0x1_0000), "inside a program");
    }
}
