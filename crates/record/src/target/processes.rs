//! What each recorded process has mapped, kept up to date record by record.

use super::images::{Content, Image, Images};
use super::proc::{self, ExecutableMapping};
use rustc_hash::FxHashMap;
use std::sync::Arc;
use strata_perfdata::record::{Mmap, MmapIdentity};
use strata_unwind::{AddressSpace, Code};

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

    /// Takes over a mapping that was there before recording began; returns the image's build id.
    pub(crate) fn found(&mut self, pid: u32, mapping: &ExecutableMapping) -> Option<Vec<u8>> {
        let image = self.images.get(pid, mapping.range, &mapping.path, None);
        let code = code(&image, mapping.range.start().0, mapping.file_offset);
        self.spaces.entry(pid).or_default().map(mapping.range, code);
        image.build_id
    }

    /// Takes over a mapping that the kernel told of.
    pub(crate) fn mapped(&mut self, pid: u32, mapping: &Mmap<'_>) {
        let (Some(range), true) = (mapping.range(), mapping.is_executable()) else { return };
        let path = String::from_utf8_lossy(mapping.filename);
        let build_id = match mapping.more.map(|more| more.identity) {
            Some(MmapIdentity::BuildId(build_id)) => Some(build_id),
            _ => None,
        };
        let image = self.images.get(pid, range, &path, build_id.as_ref().map(|id| id.as_bytes()));
        let code = code(&image, range.start().0, mapping.file_offset);
        self.spaces.entry(pid).or_default().map(range, code);
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

/// How code in a mapping is unwound. Parts of an image that no ELF segment describes (precompiled code inside a
/// single-file program) are no code of that image.
fn code(image: &Image, start: u64, file_offset: u64) -> Code {
    match &image.content {
        Content::Elf(unwind) => match unwind.svma_at_file_offset(file_offset) {
            Some(svma) => Code::Elf { image: Arc::clone(unwind), bias: start.wrapping_sub(svma.0) },
            None => Code::FramePointers,
        },
        Content::Undescribed => Code::Undescribed,
        Content::NotElf => Code::FramePointers,
    }
}

/// Whether a mapping's path tells that its process runs the .NET runtime.
pub(crate) fn tells_of_runtime(path: &[u8]) -> bool {
    path.ends_with(b"/libcoreclr.so") || path.starts_with(b"/memfd:doublemapper")
}

/// Mappings of a process that is there, for the recording's first records.
pub(crate) fn existing_mappings(pid: u32) -> Vec<ExecutableMapping> {
    // A process that is gone has none; the rings tell the rest.
    let mut mappings = proc::executable_mappings(pid).unwrap_or_default();
    mappings.retain(|mapping| !mapping.path.starts_with("[vsyscall"));
    mappings
}
