//! What each recorded process has mapped, kept up to date record by record.

use super::images::{Content, Images, InProgram};
use super::mapping::Mapping;
use super::proc::{self, ExecutableMapping};
use rustc_hash::FxHashMap;
use std::sync::Arc;
use strata_perfdata::BuildId;
use strata_perfdata::record::{Mmap, Mmap2Fields, MmapIdentity, ProgramImage, TaskId};
use strata_unwind::{AddressSpace, Code};

/// What a mapping turned out to be, for its record.
#[derive(Clone, Debug)]
pub(crate) enum Recognized {
    /// A file with this ELF build id, or identity of a .NET image.
    File(BuildId),
    /// A .NET image inside a single-file program, or copied out of one.
    ProgramImage {
        /// What recordings call it.
        path: Vec<u8>,
        /// Where in the image the mapping begins.
        rva: u64,
        identity: BuildId,
    },
}

impl Recognized {
    /// Completes the record of the mapping.
    pub(crate) fn complete<'a>(&'a self, mapping: &mut Mmap<'a>) {
        let Some(more) = &mut mapping.more else { return };
        match self {
            // With an identity it would be taken for an image inside a program.
            Self::File(_) if ProgramImage::of_path(mapping.filename).is_some() => {}
            Self::File(build_id) => more.identity = MmapIdentity::BuildId(*build_id),
            Self::ProgramImage { path, rva, identity } => {
                more.identity = MmapIdentity::BuildId(*identity);
                mapping.filename = path;
                mapping.file_offset = *rva;
            }
        }
    }
}

/// The address spaces of all recorded processes at the moment of the last record.
#[derive(Default)]
pub(crate) struct Processes {
    spaces: FxHashMap<u32, AddressSpace>,
    images: Images,
    nothing: AddressSpace,
}

impl Processes {
    /// The code a process has mapped now.
    pub(crate) fn space(&self, pid: u32) -> &AddressSpace {
        self.spaces.get(&pid).unwrap_or(&self.nothing)
    }

    /// Takes over the mappings of code that a process has now, and hands over a record of each. A process that is gone has
    /// none; the rings tell the rest.
    pub(crate) fn found<E>(&mut self, pid: u32, mut take: impl FnMut(&Mmap<'_>) -> Result<(), E>) -> Result<(), E> {
        let mappings = proc::executable_mappings(pid).unwrap_or_default();
        for found in mappings.iter().filter(|mapping| !mapping.path.starts_with("[vsyscall")) {
            let mut record = mapping_record(pid, found);
            let recognized = self.mapped(&record);
            if let Some(recognized) = &recognized {
                recognized.complete(&mut record);
            }
            take(&record)?;
        }
        Ok(())
    }

    /// Takes over a mapping; `None` when its record needs nothing more, or is not of code.
    pub(crate) fn mapped(&mut self, record: &Mmap<'_>) -> Option<Recognized> {
        let mapping = Mapping::of(record)?;
        let (code, recognized) = self.recognize(&mapping);
        self.spaces.entry(mapping.pid).or_default().map(mapping.range, code);
        recognized
    }

    /// How code in a mapping is unwound, and what the recording says of it.
    fn recognize(&mut self, mapping: &Mapping<'_>) -> (Code, Option<Recognized>) {
        let (range, file_offset) = (mapping.range, mapping.file_offset);
        let image = self.images.get(mapping);
        let mut in_program = None;
        let code = match &image.content {
            Content::Elf(unwind) => match unwind.svma_at_file_offset(file_offset) {
                Some(svma) => Code::Elf { image: Arc::clone(unwind), bias: range.start().0.wrapping_sub(svma.0) },
                // No code of the ELF image itself: precompiled code inside a single-file program.
                None => {
                    in_program = self.images.bundled(mapping);
                    Code::FramePointers
                }
            },
            Content::Dotnet(image) => {
                let base = image.base_in_file(range, file_offset, 0);
                base.map_or(Code::FramePointers, |base| image.code_at(base))
            }
            Content::Undescribed => Code::Undescribed,
            Content::NoImage => {
                in_program = mapping.may_be_copied().then(|| self.images.copied(mapping)).flatten();
                Code::FramePointers
            }
        };
        if let Some(InProgram { image, base, path }) = in_program {
            let rva = range.start().0.wrapping_sub(base.0);
            let identity = BuildId::new(image.identity.as_bytes()).ok();
            let recognized = identity.map(|identity| Recognized::ProgramImage { path, rva, identity });
            return (image.code_at(base), recognized);
        }
        let build_id = image.build_id.and_then(|bytes| BuildId::new(&bytes).ok());
        (code, build_id.map(Recognized::File))
    }

    /// A process began as a copy of its parent.
    pub(crate) fn forked(&mut self, parent: u32, child: u32) {
        if parent != child
            && let Some(space) = self.spaces.get(&parent).cloned()
        {
            self.spaces.insert(child, space);
        }
    }

    /// A process ended, or replaced its program: nothing of before is mapped.
    pub(crate) fn forget(&mut self, pid: u32) {
        self.spaces.remove(&pid);
    }
}

/// Whether a mapping's path tells that its process runs the .NET runtime.
pub(crate) fn tells_of_runtime(path: &[u8]) -> bool {
    path.ends_with(b"/libcoreclr.so") || path.starts_with(b"/memfd:doublemapper")
}

fn mapping_record(pid: u32, mapping: &ExecutableMapping) -> Mmap<'_> {
    let identity =
        MmapIdentity::Inode { major: mapping.device.0, minor: mapping.device.1, inode: mapping.inode, generation: 0 };
    Mmap {
        task: TaskId { pid: pid.cast_signed(), tid: pid.cast_signed() },
        start: mapping.range.start(),
        length: mapping.range.len(),
        file_offset: mapping.file_offset,
        filename: mapping.path.as_bytes(),
        is_data: false,
        more: Some(Mmap2Fields { identity, protection: mapping.protection, flags: mapping.flags }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use strata_address::{Avma, AvmaRange};

    #[test]
    fn a_file_that_is_named_like_an_image_inside_a_program_is_told_by_its_inode() {
        let check = |path: &str, expected: fn(MmapIdentity) -> bool| {
            let mapping = ExecutableMapping {
                range: AvmaRange::sized(Avma(0x1000), 0x1000).unwrap(),
                file_offset: 0,
                device: (8, 1),
                inode: 7,
                protection: 5,
                flags: 2,
                path: path.to_owned(),
            };
            let mut record = mapping_record(1, &mapping);
            let recognized = Recognized::File(BuildId::new(&[1; 20]).unwrap());
            recognized.complete(&mut record);
            assert!(expected(record.more.unwrap().identity), "{path}");
        };
        check("/opt/app/x.dll", |identity| matches!(identity, MmapIdentity::BuildId(_)));
        check("/opt/app!/x.dll", |identity| matches!(identity, MmapIdentity::Inode { inode: 7, .. }));
    }
}
