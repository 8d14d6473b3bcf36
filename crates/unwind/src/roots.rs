//! How the stacks of each thread begin, to complete those whose last frames could not be walked.
//!
//! A thread's outermost frames stay as they are while it runs: `start_thread` above the runtime's thread entry, or `main`
//! and the host above the program's `Main`. The kernel's chain often ends exactly there, because those frames are the ones
//! without frame pointers. Where the last known frame is one of them, an earlier whole stack of the thread tells the rest.

use crate::sample::{FoundFrame, SampledStack};
use crate::space::{AddressSpace, Code};
use rustc_hash::FxHashMap;
use strata_address::Avma;
use strata_stack::Found;

/// Frames kept of each thread, counted from its first.
const KEPT: usize = 32;

/// The outermost frames of a thread's last whole stack.
#[derive(Default)]
struct Outer {
    process: u32,
    /// The thread's first frame last.
    frames: Vec<Avma>,
}

/// How the stacks of threads begin.
#[derive(Default)]
pub(crate) struct Roots {
    of_thread: FxHashMap<u32, Outer>,
    /// By process and by the frame that a thread's first frame called: that first frame. It calls nothing else.
    first_frame: FxHashMap<(u32, Avma), Avma>,
}

impl Roots {
    /// Keeps the outer frames of a whole stack.
    pub(crate) fn learn(&mut self, sample: &SampledStack<'_>, frames: &[FoundFrame]) {
        let outer = self.of_thread.entry(sample.thread).or_default();
        outer.process = sample.process;
        outer.frames.clear();
        outer.frames.extend(frames.iter().skip(frames.len().saturating_sub(KEPT)).map(|frame| frame.address));
        if let [.., called, first] = frames {
            self.first_frame.insert((sample.process, called.address), first.address);
        }
    }

    /// Appends what lies beyond the last frame, if earlier stacks tell it without doubt.
    pub(crate) fn complete(
        &self,
        sample: &SampledStack<'_>,
        space: &AddressSpace,
        frames: &mut Vec<FoundFrame>,
    ) -> bool {
        let Some(last) = frames.last().map(|frame| frame.address) else { return false };
        // Managed code is called from everywhere; the frames in question are native.
        if !matches!(space.code_at(last), Some(Code::Elf { .. })) {
            return false;
        }
        let Some(beyond) = self.beyond(sample, last) else { return false };
        // What was mapped there then may be gone.
        if !beyond.iter().all(|address| space.code_at(before(*address)).is_some()) {
            return false;
        }
        frames.extend(beyond.iter().map(|&address| FoundFrame { address, found: Found::KnownRoot }));
        true
    }

    fn beyond(&self, sample: &SampledStack<'_>, last: Avma) -> Option<&[Avma]> {
        let outer = self.of_thread.get(&sample.thread).filter(|outer| outer.process == sample.process);
        let outer = outer.map(|outer| outer.frames.as_slice()).unwrap_or_default();
        let mut places = outer.iter().enumerate().filter(|(_, address)| **address == last);
        match (places.next(), places.next()) {
            (Some((place, _)), None) => outer.get(place + 1..),
            _ => self.first_frame.get(&(sample.process, last)).map(std::slice::from_ref),
        }
    }

    pub(crate) fn forget_thread(&mut self, thread: u32) {
        self.of_thread.remove(&thread);
    }

    pub(crate) fn forget_process(&mut self, process: u32) {
        self.first_frame.retain(|(known, _), _| *known != process);
        self.of_thread.retain(|_, outer| outer.process != process);
    }
}

/// A return address belongs to the call before it.
fn before(return_address: Avma) -> Avma {
    return_address.checked_sub(1).unwrap_or(return_address)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::image::ElfUnwindData;
    use std::sync::Arc;
    use strata_address::AvmaRange;

    const PROCESS: u32 = 7;

    fn sample(process: u32, thread: u32) -> SampledStack<'static> {
        SampledStack { process, thread, ip: Avma(0), sp: Avma(0), fp: Avma(0), copy: &[], kernel_chain: &[] }
    }

    fn frames(addresses: &[u64]) -> Vec<FoundFrame> {
        addresses.iter().map(|&address| FoundFrame { address: Avma(address), found: Found::Cfi }).collect()
    }

    fn space() -> AddressSpace {
        let libc = std::fs::read("/lib/x86_64-linux-gnu/libc.so.6").unwrap();
        let image = Arc::new(ElfUnwindData::parse(&*libc).unwrap());
        let mut space = AddressSpace::new();
        for start in [0x1000, 0x5000] {
            let range = AvmaRange::sized(Avma(start), 0x1000).unwrap();
            space.map(range, Code::Elf { image: Arc::clone(&image), bias: 0 });
        }
        space
    }

    /// What completing a stack that ends at 0x1100 appends.
    fn completed(roots: &Roots, process: u32, thread: u32, space: &AddressSpace) -> Option<Vec<u64>> {
        let mut stack = frames(&[0x1100]);
        roots
            .complete(&sample(process, thread), space, &mut stack)
            .then(|| stack.iter().skip(1).map(|frame| frame.address.0).collect())
    }

    #[test]
    fn a_known_root_is_that_of_the_thread_in_its_process() {
        let mut roots = Roots::default();
        roots.learn(&sample(PROCESS, 8), &frames(&[0x1050, 0x1100, 0x1200, 0x5100]));
        let space = space();
        assert_eq!(completed(&roots, PROCESS, 8, &space), Some(vec![0x1200, 0x5100]));
        assert_eq!(completed(&roots, PROCESS + 1, 8, &space), None, "the thread's number in another process");
        roots.forget_process(PROCESS + 1);
        assert!(completed(&roots, PROCESS, 8, &space).is_some());
        roots.forget_process(PROCESS);
        assert_eq!(completed(&roots, PROCESS, 8, &space), None, "after the process replaced its program");
    }

    #[test]
    fn a_known_root_that_is_unmapped_is_none() {
        let mut roots = Roots::default();
        roots.learn(&sample(PROCESS, 8), &frames(&[0x1100, 0x5100]));
        let mut space = space();
        assert_eq!(completed(&roots, PROCESS, 9, &space), Some(vec![0x5100]), "another thread's first frame");
        space.unmap(AvmaRange::sized(Avma(0x5000), 0x1000).unwrap());
        assert_eq!(completed(&roots, PROCESS, 8, &space), None);
        assert_eq!(completed(&roots, PROCESS, 9, &space), None);
    }
}
