//! What one process has mapped as code.

use crate::image::ElfUnwindData;
use crate::ready_to_run::ReadyToRunUnwindData;
use framehop::x86_64::UnwinderX86_64;
use framehop::{ExplicitModuleSectionInfo, MayAllocateDuringUnwind, Module, Unwinder as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use strata_address::{Avma, AvmaRange, RangeMap};

pub(crate) type CfiUnwinder = UnwinderX86_64<Arc<[u8]>, MayAllocateDuringUnwind>;

/// How code in a mapping is unwound.
#[derive(Clone, Debug)]
pub enum Code {
    /// An ELF image with call frame information.
    Elf {
        /// The image's unwind data.
        image: Arc<ElfUnwindData>,
        /// What is added to a stated address of the image to get the actual one (wrapping).
        bias: u64,
    },
    /// A precompiled .NET image.
    ReadyToRun {
        /// The image's unwind data.
        image: Arc<ReadyToRunUnwindData>,
        /// Where its RVA 0 is, or would be (wrapping).
        base: u64,
    },
    /// Code that keeps frame pointers and has no unwind data: JIT code, precompiled managed code that cannot be read.
    FramePointers,
    /// Native code of which nothing is known: an image that has no call frame information, was replaced, or could not be
    /// read. Compilers leave frame pointers out, so following one could skip callers.
    Undescribed,
}

/// What tells the caller of code at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ToldBy {
    /// The image's call frame information.
    CallFrameInformation,
    /// The unwind codes of a function of a precompiled .NET image.
    UnwindCodes,
    /// Its instructions where it is one of the image's stubs, else the frame pointer.
    Thunk,
    /// The frame pointer.
    FramePointer,
    /// Its instructions at most. Images have such code too: stubs of the linker, functions written in assembly.
    Instructions,
}

/// The executable mappings of one process at one moment, changed as mapping records arrive.
#[derive(Clone)]
pub struct AddressSpace {
    mappings: RangeMap<Code>,
    cfi: CfiUnwinder,
    generation: u64,
}

impl Default for AddressSpace {
    fn default() -> Self {
        Self { mappings: RangeMap::default(), cfi: CfiUnwinder::new(), generation: next_generation() }
    }
}

impl AddressSpace {
    /// Nothing mapped.
    pub fn new() -> Self {
        Self::default()
    }

    /// Maps code; what was mapped in this range before is gone.
    pub fn map(&mut self, range: AvmaRange, code: Code) {
        self.unmap(range);
        self.describe(range, &code);
        self.mappings.insert(range, code);
    }

    /// Unmaps a range; mappings that reach into it keep their other parts.
    pub fn unmap(&mut self, range: AvmaRange) {
        self.generation = next_generation();
        for (old, code) in self.mappings.remove(range) {
            if matches!(code, Code::Elf { .. }) {
                self.cfi.remove_module(old.start().0);
            }
            for part in old.without(&range) {
                self.describe(part, &code);
            }
        }
    }

    fn describe(&mut self, range: AvmaRange, code: &Code) {
        if let Code::Elf { image, bias } = code {
            self.cfi.add_module(cfi_module(range, image, *bias));
        }
    }

    /// How code at this address is unwound; `None` when nothing executable is mapped there.
    pub fn code_at(&self, address: Avma) -> Option<&Code> {
        self.mappings.get(address).map(|(_, code)| code)
    }

    /// A number that no other state of this or any other address space has.
    pub(crate) fn generation(&self) -> u64 {
        self.generation
    }

    /// What tells the caller of code at an address; `None` when nothing executable is mapped there.
    pub(crate) fn told_by(&self, address: Avma) -> Option<ToldBy> {
        Some(match self.code_at(address)? {
            Code::Elf { image, bias } if image.covers(address.0.wrapping_sub(*bias)) => ToldBy::CallFrameInformation,
            Code::Elf { .. } | Code::Undescribed => ToldBy::Instructions,
            Code::ReadyToRun { image, base } => match image.function(address.0.wrapping_sub(*base)) {
                Some(_) => ToldBy::UnwindCodes,
                None => ToldBy::Thunk,
            },
            Code::FramePointers => ToldBy::FramePointer,
        })
    }

    /// Number of executable mappings.
    pub fn len(&self) -> usize {
        self.mappings.len()
    }

    /// Whether nothing is mapped.
    pub fn is_empty(&self) -> bool {
        self.mappings.is_empty()
    }

    pub(crate) fn cfi(&self) -> &CfiUnwinder {
        &self.cfi
    }
}

fn next_generation() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

fn cfi_module(range: AvmaRange, image: &ElfUnwindData, bias: u64) -> Module<Arc<[u8]>> {
    let header = image.eh_frame_hdr.clone();
    let sections = ExplicitModuleSectionInfo {
        base_svma: 0,
        eh_frame_svma: Some(image.eh_frame.svma.clone()),
        eh_frame: Some(image.eh_frame.bytes.clone()),
        eh_frame_hdr_svma: header.as_ref().map(|section| section.svma.clone()),
        eh_frame_hdr: header.map(|section| section.bytes),
        ..Default::default()
    };
    Module::new(String::new(), range.start().0..range.end().0, bias, sections)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(start: u64, end: u64) -> AvmaRange {
        AvmaRange::new(Avma(start), Avma(end)).unwrap()
    }

    #[test]
    fn a_new_mapping_cuts_the_old_ones_under_it() {
        let mut space = AddressSpace::new();
        space.map(range(0x1000, 0x5000), Code::FramePointers);
        space.map(range(0x6000, 0x7000), Code::FramePointers);
        space.unmap(range(0x2000, 0x3000));
        let mapped: Vec<bool> =
            [0x1fff, 0x2000, 0x2fff, 0x3000, 0x4fff, 0x5000, 0x6000].map(|at| space.code_at(Avma(at)).is_some()).into();
        assert_eq!(mapped, [true, false, false, true, true, false, true]);
        space.map(range(0x0, 0x10000), Code::FramePointers);
        assert_eq!(space.len(), 1);
    }
}
