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

/// How the stacks of threads begin.
#[derive(Default)]
pub(crate) struct Roots {
    /// The outermost frames of each thread's last whole stack, the thread's first frame last.
    of_thread: FxHashMap<u32, Vec<Avma>>,
    /// By process and by the frame that a thread's first frame called: that first frame. It calls nothing else.
    first_frame: FxHashMap<(u32, Avma), Avma>,
}

impl Roots {
    /// Keeps the outer frames of a whole stack.
    pub(crate) fn learn(&mut self, sample: &SampledStack<'_>, frames: &[FoundFrame]) {
        let outer = self.of_thread.entry(sample.thread).or_default();
        outer.clear();
        outer.extend(frames.iter().skip(frames.len().saturating_sub(KEPT)).map(|frame| frame.address));
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
        frames.extend(beyond.iter().map(|&address| FoundFrame { address, found: Found::KnownRoot }));
        true
    }

    fn beyond(&self, sample: &SampledStack<'_>, last: Avma) -> Option<&[Avma]> {
        let outer = self.of_thread.get(&sample.thread).map(Vec::as_slice).unwrap_or_default();
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
    }
}
