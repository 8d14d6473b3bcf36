//! .NET images, of which only the parts that are needed are read: from the file that is mapped, from inside a single-file
//! program, or from the memory that they were copied to.

use super::memory;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use strata_address::{Avma, AvmaRange};
use strata_clrimage::metadata::Metadata;
use strata_clrimage::{Architecture, Directory, ImageIdentity, Layout, Pe, Section};
use strata_unwind::{Code, ReadyToRunUnwindData};

/// What the recorder knows of one .NET image.
#[derive(Clone, Debug)]
pub(crate) struct DotnetImage {
    /// Which image it is.
    pub(crate) identity: ImageIdentity,
    /// Its section of code.
    code: Section,
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

/// The headers of images are one file alignment long, 512 bytes; this is room for others.
const HEADERS: usize = 4096;

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
        let mut headers = vec![0; HEADERS];
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
    pub(crate) assembly: Option<String>,
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

    /// Reads the unwind data too; `None` when the image has no code.
    pub(crate) fn image(&self, source: Source<'_>) -> Option<DotnetImage> {
        let pe = Pe::parse(&self.headers, Layout::File).ok()?;
        let code = pe.sections().find(|section| section.is_executable)?;
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
    /// How its code is unwound in a mapping of a file in which the image begins at `image_offset`.
    pub(crate) fn code_in_file(&self, mapping: AvmaRange, file_offset: u64, image_offset: u64) -> Code {
        let code_offset = image_offset.wrapping_add(self.code.file_offset.into());
        // The mapping begins with the page that the section begins in.
        let code_start = mapping.start().0.wrapping_add(code_offset).wrapping_sub(file_offset);
        self.code_at(code_start.wrapping_sub(self.code.virtual_address.into()))
    }

    /// Whether it has precompiled code that is described.
    pub(crate) fn has_code(&self) -> bool {
        !self.unwind.is_empty()
    }

    /// How its code is unwound when its RVA 0 is at `base`.
    pub(crate) fn code_at(&self, base: u64) -> Code {
        if !self.has_code() {
            return Code::FramePointers;
        }
        Code::ReadyToRun { image: Arc::clone(&self.unwind), base }
    }
}

/// The range of addresses, or of file offsets, that the pages of a section of code take.
pub(crate) fn pages(start: u64, size: u32) -> Option<(u64, u64)> {
    Some((start & !(PAGE - 1), start.checked_add(size.into())?.checked_next_multiple_of(PAGE)?))
}
