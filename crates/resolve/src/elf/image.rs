//! Headers of an ELF file: segments, sections, notes.

use object::Endianness;
use object::elf;
use object::read::elf::{FileHeader, NoteIterator, ProgramHeader, SectionHeader};
use strata_address::{Rva, Svma};

use super::{BuildId, ElfError, ElfPart, ElfProblem, Extent, relative};

/// Notes are looked for in at most this many places: a file with more is made to waste time.
const MAX_NOTE_PLACES: usize = 32;

/// One part of the file that is loaded into memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadSegment {
    /// Stated address of the first byte.
    pub svma: Svma,
    /// Where the first byte lies in the file.
    pub file_offset: u64,
    /// Bytes that come from the file.
    pub file_size: u64,
    /// Bytes in memory; those past `file_size` begin as zero.
    pub memory_size: u64,
    /// Whether the bytes may be run.
    pub executable: bool,
}

/// How file offsets, stated addresses and addresses relative to the image base belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageLayout {
    base: Svma,
    segments: Vec<LoadSegment>,
}

const PAGE: u64 = 4096;

impl ImageLayout {
    /// The image base: the lowest loaded address, rounded down to a page (4096 bytes).
    pub const fn base(&self) -> Svma {
        self.base
    }

    /// The loaded segments in the order of the file's program headers.
    pub fn segments(&self) -> &[LoadSegment] {
        &self.segments
    }

    /// The stated address of the byte at `file_offset`, or `None` if that byte is not loaded.
    ///
    /// Mappings are made of whole pages, so one page of the file can be mapped twice: a byte that belongs to a segment
    /// proper is given that segment's address, code first; a byte in the rest of a segment's first or last page comes after.
    pub fn svma_of_file_offset(&self, file_offset: u64) -> Option<Svma> {
        let proper = |segment: &&LoadSegment| {
            file_offset.checked_sub(segment.file_offset).is_some_and(|inside| inside < segment.file_size)
        };
        let in_page = |segment: &&LoadSegment| {
            let first = segment.file_offset & !(PAGE - 1);
            let end = segment.file_offset.saturating_add(segment.file_size).checked_next_multiple_of(PAGE);
            segment.file_size > 0 && first <= file_offset && end.is_none_or(|end| file_offset < end)
        };
        let code = || self.segments.iter().filter(|segment| segment.executable);
        let segment = code()
            .find(proper)
            .or_else(|| self.segments.iter().find(proper))
            .or_else(|| code().find(in_page))
            .or_else(|| self.segments.iter().find(in_page))?;
        // The same distance on both sides; the first page may begin below the segment itself.
        match file_offset.checked_sub(segment.file_offset) {
            Some(inside) => segment.svma.checked_add(inside),
            None => segment.svma.checked_sub(segment.file_offset.checked_sub(file_offset)?),
        }
    }

    /// The address relative to the image base of the byte at `file_offset`, or `None` if that byte is not loaded.
    pub fn rva_of_file_offset(&self, file_offset: u64) -> Option<Rva> {
        self.svma_of_file_offset(file_offset)?.relative_to(self.base)
    }

    /// The address relative to the image base of a stated address, or `None` below the base.
    pub const fn rva_of_svma(&self, address: Svma) -> Option<Rva> {
        address.relative_to(self.base)
    }
}

/// A parsed view of an ELF file.
pub(super) struct Image<'d, E: FileHeader<Endian = Endianness>> {
    pub(super) bytes: &'d [u8],
    pub(super) endian: Endianness,
    pub(super) machine: elf::Machine,
    pub(super) layout: ImageLayout,
    pub(super) sections: &'d [E::SectionHeader],
    programs: &'d [E::ProgramHeader],
    section_names: &'d [u8],
}

impl<'d, E: FileHeader<Endian = Endianness>> Image<'d, E> {
    pub(super) fn parse(bytes: &'d [u8], problems: &mut Vec<ElfProblem>) -> Result<Self, ElfError> {
        let header = E::parse(bytes).map_err(|_| ElfError::Header { reason: "cut short or of an unknown kind" })?;
        let endian = header.endian().map_err(|_| ElfError::Header { reason: "unknown byte order" })?;
        let programs = header.program_headers(endian, bytes).map_err(|_| ElfError::ProgramHeaders {
            offset: header.e_phoff(endian).into(),
            reason: "outside the file or of the wrong size",
        })?;
        let layout = layout::<E>(endian, programs).ok_or(ElfError::NothingLoaded)?;
        let mut section_problem = |reason: &str| {
            problems.push(ElfProblem {
                part: ElfPart::Sections,
                offset: header.e_shoff(endian).into(),
                reason: reason.to_owned(),
            });
        };
        let sections = header.section_headers(endian, bytes).unwrap_or_else(|_| {
            section_problem("outside the file or of the wrong size");
            &[]
        });
        let mut section_names: &[u8] = &[];
        if !sections.is_empty() {
            let strings =
                header.shstrndx(endian, bytes).ok().and_then(|index| sections.get(usize::try_from(index).ok()?));
            match strings.and_then(|strings| strings.data(endian, bytes).ok()) {
                Some(names) => section_names = names,
                None => section_problem("no names"),
            }
        }
        let machine = header.e_machine(endian);
        Ok(Self { bytes, endian, machine, layout, sections, programs, section_names })
    }

    pub(super) fn section_of_type(&self, kind: elf::SectionType) -> Option<&'d E::SectionHeader> {
        self.sections.iter().find(|section| section.sh_type(self.endian) == kind)
    }

    /// The first section of this name. Compares at the name's place instead of reading names out: a table of names
    /// without an end must not be searched for each section.
    pub(super) fn section_named(&self, wanted: &[u8]) -> Option<&'d E::SectionHeader> {
        self.sections.iter().find(|section| {
            let at = usize::try_from(section.sh_name(self.endian)).ok();
            let name = at.and_then(|at| self.section_names.get(at..));
            name.and_then(|name| name.strip_prefix(wanted)).is_some_and(|rest| rest.first() == Some(&0))
        })
    }

    /// The section's bytes in the file; `None` when it has none or they lie outside.
    pub(super) fn data(&self, section: &E::SectionHeader) -> Option<&'d [u8]> {
        if section.sh_type(self.endian) == elf::SHT_NOBITS {
            return None;
        }
        section.data(self.endian, self.bytes).ok()
    }

    /// The bytes loaded from `address` to the end of its segment.
    pub(super) fn loaded_from(&self, address: u64) -> Option<&'d [u8]> {
        self.programs.iter().filter(|program| program.p_type(self.endian) == elf::PT_LOAD).find_map(|program| {
            let inside = address.checked_sub(program.p_vaddr(self.endian).into())?;
            program.data(self.endian, self.bytes).ok()?.get(usize::try_from(inside).ok()?..)
        })
    }

    /// The first segment of this type: its stated address and bytes.
    pub(super) fn segment_of_type(&self, kind: elf::ProgramType) -> Option<(u64, &'d [u8])> {
        let program = self.programs.iter().find(|program| program.p_type(self.endian) == kind)?;
        Some((program.p_vaddr(self.endian).into(), program.data(self.endian, self.bytes).ok()?))
    }

    pub(super) fn problem(&self, part: ElfPart, section: &E::SectionHeader, reason: impl Into<String>) -> ElfProblem {
        ElfProblem { part, offset: section.sh_offset(self.endian).into(), reason: reason.into() }
    }

    pub(super) fn relative(&self, address: u64) -> Option<u64> {
        relative(address, self.layout.base)
    }

    /// Where code lies, sorted and without overlaps: the sections that may be run or, without sections, the segments.
    pub(super) fn code_ranges(&self) -> Vec<Extent> {
        let wanted = elf::SHF_ALLOC.0 | elf::SHF_EXECINSTR.0;
        let mut ranges: Vec<Extent> = self
            .sections
            .iter()
            .filter(|section| section.sh_flags(self.endian).0 & wanted == wanted)
            .filter_map(|section| {
                let start = self.relative(section.sh_addr(self.endian).into())?;
                Some(Extent::sized(start, section.sh_size(self.endian).into()))
            })
            .filter(|range| !range.is_empty())
            .collect();
        if ranges.is_empty() {
            let code = self.layout.segments.iter().filter(|segment| segment.executable);
            ranges = code
                .filter_map(|segment| Some(Extent::sized(self.relative(segment.svma.0)?, segment.memory_size)))
                .filter(|range| !range.is_empty())
                .collect();
        }
        ranges.sort();
        let mut end = 0;
        ranges.retain_mut(|range| {
            range.start = range.start.max(end);
            end = end.max(range.end);
            !range.is_empty()
        });
        ranges
    }

    pub(super) fn build_id(&self) -> Option<BuildId> {
        let sections = self.sections.iter().filter(|section| section.sh_type(self.endian) == elf::SHT_NOTE);
        let from_sections = sections.filter_map(|section| section.notes(self.endian, self.bytes).ok()?);
        let programs = self.programs.iter().filter(|program| program.p_type(self.endian) == elf::PT_NOTE);
        let from_programs = programs.filter_map(|program| program.notes(self.endian, self.bytes).ok()?);
        from_sections
            .take(MAX_NOTE_PLACES)
            .chain(from_programs.take(MAX_NOTE_PLACES))
            .find_map(|notes| self.build_id_in(notes))
    }

    fn build_id_in(&self, mut notes: NoteIterator<'d, E>) -> Option<BuildId> {
        while let Ok(Some(note)) = notes.next() {
            if note.name() == elf::ELF_NOTE_GNU && note.n_type(self.endian) == elf::NT_GNU_BUILD_ID {
                return BuildId::new(note.desc());
            }
        }
        None
    }
}

fn layout<E: FileHeader<Endian = Endianness>>(
    endian: Endianness,
    programs: &[E::ProgramHeader],
) -> Option<ImageLayout> {
    let segments: Vec<LoadSegment> = programs
        .iter()
        .filter(|program| program.p_type(endian) == elf::PT_LOAD)
        .map(|program| LoadSegment {
            svma: Svma(program.p_vaddr(endian).into()),
            file_offset: program.p_offset(endian).into(),
            file_size: program.p_filesz(endian).into(),
            memory_size: program.p_memsz(endian).into(),
            executable: program.p_flags(endian).0 & elf::PF_X.0 != 0,
        })
        .collect();
    let lowest = segments.iter().map(|segment| segment.svma.0).min()?;
    Some(ImageLayout { base: Svma(lowest & !(PAGE - 1)), segments })
}
