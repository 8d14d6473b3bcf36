//! What an ELF image says about unwinding through it.

use gimli::{BaseAddresses, CieOrFde, EhFrame, EndianSlice, LittleEndian, UnwindSection};
use object::elf::{FileHeader64, PF_X, PT_LOAD};
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader};
use object::{Endianness, ReadRef};
use std::ops::Range;
use std::sync::Arc;
use strata_address::Svma;

/// The unwind data of one ELF image, shared by all processes that map it.
#[derive(Clone, Debug)]
pub struct ElfUnwindData {
    /// Those with code.
    segments: Vec<Segment>,
    pub(crate) eh_frame: Section,
    pub(crate) eh_frame_hdr: Option<Section>,
    covered: Arc<[Range<u64>]>,
}

/// Bytes of one section with its stated addresses.
#[derive(Clone, Debug, Default)]
pub(crate) struct Section {
    pub(crate) svma: Range<u64>,
    pub(crate) bytes: Arc<[u8]>,
}

#[derive(Clone, Copy, Debug)]
struct Segment {
    file_offset: u64,
    file_size: u64,
    svma: Svma,
}

/// Why an image gives no unwind data.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    /// It is not a readable 64-bit little-endian ELF file.
    #[error("not a readable ELF image: {0}")]
    NotElf(#[from] object::Error),
    /// It has no `.eh_frame`.
    #[error("no .eh_frame section")]
    NoEhFrame,
}

/// Sections larger than this are not believed: the largest known `.eh_frame` is tens of MiB.
const MAX_SECTION_BYTES: u64 = 256 << 20;

impl ElfUnwindData {
    /// Reads segments and unwind sections; only the ranges needed are read from `data`.
    ///
    /// # Errors
    /// When `data` is no 64-bit little-endian ELF image, is cut, or has no `.eh_frame`.
    pub fn parse<'data, R: ReadRef<'data>>(data: R) -> Result<Self, ImageError> {
        let header = FileHeader64::<Endianness>::parse(data)?;
        let endian = header.endian()?;
        let mut segments = Vec::new();
        for segment in header.program_headers(endian, data)? {
            // Neighbouring segments may share a page of the file: only those with code can be meant by a mapping of code.
            if segment.p_type(endian) == PT_LOAD && segment.p_flags(endian).contains(PF_X) {
                segments.push(Segment {
                    file_offset: segment.p_offset(endian),
                    file_size: segment.p_filesz(endian),
                    svma: Svma(segment.p_vaddr(endian)),
                });
            }
        }
        let sections = header.sections(endian, data)?;
        let section = |name: &[u8]| -> Result<Option<Section>, object::Error> {
            let Some((_, found)) = sections.section_by_name(endian, name) else { return Ok(None) };
            let size: u64 = found.sh_size(endian);
            if size > MAX_SECTION_BYTES {
                return Ok(None);
            }
            let start: u64 = found.sh_addr(endian);
            let bytes = Arc::from(found.data(endian, data)?);
            Ok(Some(Section { svma: start..start.saturating_add(size), bytes }))
        };
        let eh_frame =
            section(b".eh_frame")?.filter(|section| !section.bytes.is_empty()).ok_or(ImageError::NoEhFrame)?;
        let eh_frame_hdr = section(b".eh_frame_hdr")?.filter(|section| !section.bytes.is_empty());
        let covered = covered_ranges(&eh_frame).into();
        Ok(Self { segments, eh_frame, eh_frame_hdr, covered })
    }

    /// The stated address that a mapping of code from this offset of the file begins with.
    pub fn svma_at_file_offset(&self, offset: u64) -> Option<Svma> {
        // The mapping starts at a page boundary at or below the segment's first byte.
        const PAGE: u64 = 4096;
        self.segments.iter().find_map(|segment| {
            let page_start = segment.file_offset & !(PAGE - 1);
            let end = segment.file_offset.checked_add(segment.file_size)?;
            if !(page_start..end).contains(&offset) {
                return None;
            }
            segment.svma.0.checked_add(offset)?.checked_sub(segment.file_offset).map(Svma)
        })
    }

    /// Whether the image's call frame information covers this stated address.
    pub(crate) fn covers(&self, svma: u64) -> bool {
        let after = self.covered.partition_point(|range| range.start <= svma);
        after.checked_sub(1).and_then(|index| self.covered.get(index)).is_some_and(|range| range.contains(&svma))
    }
}

/// The stated address ranges that have a frame description, merged where they touch.
fn covered_ranges(section: &Section) -> Vec<Range<u64>> {
    let eh_frame = EhFrame::new(&section.bytes, LittleEndian);
    let bases = BaseAddresses::default().set_eh_frame(section.svma.start);
    let mut ranges = Vec::new();
    let mut entries = eh_frame.entries(&bases);
    // A damaged entry ends the list: what lies behind it cannot be found.
    while let Ok(Some(entry)) = entries.next() {
        let CieOrFde::Fde(partial) = entry else { continue };
        let parsed = partial.parse(|section: &EhFrame<EndianSlice<'_, LittleEndian>>, bases, offset| {
            section.cie_from_offset(bases, offset)
        });
        if let Ok(description) = parsed {
            let start = description.initial_address();
            if let Some(end) = start.checked_add(description.len()).filter(|end| *end > start) {
                ranges.push(start..end);
            }
        }
    }
    ranges.sort_unstable_by_key(|range| range.start);
    ranges.dedup_by(|next, kept| {
        let touches = next.start <= kept.end;
        if touches {
            kept.end = kept.end.max(next.end);
        }
        touches
    });
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libc_is_covered_where_its_functions_are() {
        let bytes = std::fs::read("/lib/x86_64-linux-gnu/libc.so.6").unwrap();
        let image = ElfUnwindData::parse(&*bytes).unwrap();
        let executable = image.segments.first().unwrap();
        assert!(image.covers(executable.svma.0 + 0x10000));
        assert!(!image.covers(0) && !image.covers(u64::MAX));
        assert_eq!(image.svma_at_file_offset(executable.file_offset), Some(executable.svma));
        assert_eq!(image.svma_at_file_offset(u64::MAX), None);
    }

    /// Linkers let segments share a page of the file (libcoreclr of .NET 9 does): the page then is mapped twice, and what
    /// counts is the mapping with code.
    #[test]
    fn a_page_shared_with_the_segment_before_belongs_to_the_code() {
        let segment = |file_offset, file_size, svma| Segment { file_offset, file_size, svma: Svma(svma) };
        let image = ElfUnwindData {
            segments: vec![segment(0x1d2bc0, 0x4eb690, 0x1d3bc0)],
            eh_frame: Section::default(),
            eh_frame_hdr: None,
            covered: Arc::new([]),
        };
        assert_eq!(image.svma_at_file_offset(0x1d2000), Some(Svma(0x1d3000)));
        assert_eq!(image.svma_at_file_offset(0x1d1000), None);
    }

    #[test]
    fn a_cut_image_is_an_error_not_a_panic() {
        let bytes = std::fs::read("/lib/x86_64-linux-gnu/libc.so.6").unwrap();
        for length in [0, 4, 63, 64, 100, 4096, bytes.len() / 2] {
            assert!(ElfUnwindData::parse(&bytes[..length]).is_err(), "{length} bytes");
        }
        assert!(matches!(ElfUnwindData::parse(&b"#!/bin/sh\n"[..]), Err(ImageError::NotElf(_))));
    }
}
