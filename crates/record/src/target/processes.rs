//! What each recorded process has mapped, kept up to date record by record.

use super::images::{Content, Images};
use super::proc::{self, ANONYMOUS, ExecutableMapping};
use rustc_hash::FxHashMap;
use std::sync::Arc;
use strata_address::AvmaRange;
use strata_perfdata::BuildId;
use strata_perfdata::record::{Mmap, Mmap2Fields, MmapIdentity, TaskId};
use strata_unwind::{AddressSpace, Code};

/// A mapping of code.
struct Mapping<'a> {
    pid: u32,
    range: AvmaRange,
    path: &'a str,
    file_offset: u64,
    /// `PROT_*` bits.
    protection: u32,
}

impl Mapping<'_> {
    /// Whether it can be an image that was copied there. A runtime that writes code leaves its memory writable, or maps a
    /// file in memory twice.
    fn may_be_copied(&self) -> bool {
        const READ_AND_EXECUTE: u32 = (libc::PROT_READ | libc::PROT_EXEC).unsigned_abs();
        self.path == ANONYMOUS && self.protection == READ_AND_EXECUTE
    }
}

/// What a mapping turned out to be, for its record.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recognized {
    /// ELF build id, or identity of a .NET image.
    build_id: Option<BuildId>,
    is_dotnet: bool,
    /// Path and RVA of an image that was copied out of a single-file program.
    copied: Option<(Vec<u8>, u64)>,
}

impl Recognized {
    /// Whether the kernel could not say it.
    pub(crate) fn is_more_than_the_kernel_said(&self) -> bool {
        self.is_dotnet
    }

    /// Completes the record of the mapping.
    pub(crate) fn complete<'a>(&'a self, mapping: &mut Mmap<'a>) {
        if let (Some(build_id), Some(more)) = (self.build_id, &mut mapping.more) {
            more.identity = MmapIdentity::BuildId(build_id);
        }
        if let Some((path, rva)) = &self.copied {
            mapping.filename = path;
            mapping.file_offset = *rva;
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
            let mapping = Mapping {
                pid,
                range: found.range,
                path: &found.path,
                file_offset: found.file_offset,
                protection: found.protection,
            };
            let recognized = self.map(&mapping, None);
            let mut record = mapping_record(pid, found);
            recognized.complete(&mut record);
            take(&record)?;
        }
        Ok(())
    }

    /// Takes over a mapping that the kernel told of; `None` when it is not of code.
    pub(crate) fn mapped(&mut self, pid: u32, mapping: &Mmap<'_>) -> Option<Recognized> {
        let range = mapping.range().filter(|_| mapping.is_executable())?;
        let build_id = match mapping.more.map(|more| more.identity) {
            Some(MmapIdentity::BuildId(build_id)) => Some(build_id),
            _ => None,
        };
        let mapping = Mapping {
            pid,
            range,
            path: &String::from_utf8_lossy(mapping.filename),
            file_offset: mapping.file_offset,
            protection: mapping.more.map_or(0, |more| more.protection),
        };
        Some(self.map(&mapping, build_id.as_ref().map(BuildId::as_bytes)))
    }

    fn map(&mut self, mapping: &Mapping<'_>, build_id: Option<&[u8]>) -> Recognized {
        let (code, recognized) = self.recognize(mapping, build_id);
        self.spaces.entry(mapping.pid).or_default().map(mapping.range, code);
        recognized
    }

    /// How code in a mapping is unwound, and what the recording says of it.
    fn recognize(&mut self, mapping: &Mapping<'_>, build_id: Option<&[u8]>) -> (Code, Recognized) {
        let Mapping { pid, range, path, file_offset, .. } = *mapping;
        let image = self.images.get(pid, range, path, build_id);
        let code = match &image.content {
            Content::Elf(unwind) => match unwind.svma_at_file_offset(file_offset) {
                Some(svma) => Code::Elf { image: Arc::clone(unwind), bias: range.start().0.wrapping_sub(svma.0) },
                // No code of the ELF image itself: precompiled code inside a single-file program.
                None => match self.images.bundled(pid, range, path, file_offset) {
                    Some(bundled) => bundled.image.code_in_file(range, file_offset, bundled.offset),
                    None => Code::FramePointers,
                },
            },
            Content::Dotnet(image) => image.code_in_file(range, file_offset, 0),
            Content::Undescribed => Code::Undescribed,
            Content::NoImage => {
                let copied = mapping.may_be_copied().then(|| self.images.copied(pid, range)).flatten();
                let Some(copied) = copied else { return (Code::FramePointers, Recognized::default()) };
                let rva = range.start().0.wrapping_sub(copied.base.0);
                let build_id = BuildId::new(copied.image.identity.as_bytes()).ok();
                let recognized = Recognized { build_id, is_dotnet: true, copied: Some((copied.path, rva)) };
                return (copied.image.code_at(copied.base.0), recognized);
            }
        };
        let build_id = image.build_id.and_then(|bytes| BuildId::new(&bytes).ok());
        (code, Recognized { build_id, is_dotnet: matches!(image.content, Content::Dotnet(_)), copied: None })
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
