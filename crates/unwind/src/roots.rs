//! How the stacks of each thread begin, to complete those whose last frames could not be walked.
//!
//! A thread's outermost frames stay as they are while it runs: `start_thread` above the runtime's thread entry, or `main`
//! and the host above the program's `Main`. The kernel's chain often ends exactly there, because those frames are the ones
//! without frame pointers. Where the last known frame is one of them, an earlier whole stack of the thread tells the rest.

use crate::space::{AddressSpace, Code};
use crate::walk::FoundFrame;
use rustc_hash::FxHashMap;
use strata_address::Avma;
use strata_stack::Found;

/// Frames kept of each thread, counted from its first.
const KEPT: usize = 32;

/// The outermost frames of each thread's last whole stack, the thread's first frame last.
#[derive(Default)]
pub(crate) struct Roots {
    of_thread: FxHashMap<u32, Vec<Avma>>,
}

impl Roots {
    /// Keeps the outer frames of a whole stack.
    pub(crate) fn learn(&mut self, thread: u32, frames: &[FoundFrame]) {
        if frames.iter().any(|frame| frame.found == Found::KnownRoot) {
            return;
        }
        let outer = self.of_thread.entry(thread).or_default();
        outer.clear();
        outer.extend(frames.iter().skip(frames.len().saturating_sub(KEPT)).map(|frame| frame.address));
    }

    /// Appends what lies beyond the last frame, if an earlier stack of the thread tells it without doubt.
    pub(crate) fn complete(&self, thread: u32, space: &AddressSpace, frames: &mut Vec<FoundFrame>) -> bool {
        let (Some(outer), Some(last)) = (self.of_thread.get(&thread), frames.last()) else { return false };
        // Managed code is called from everywhere; the frames in question are native.
        let native = matches!(space.code_at(last.address), Some(Code::Elf { .. }));
        let mut places = outer.iter().enumerate().filter(|(_, address)| **address == last.address);
        let (true, Some((place, _)), None) = (native, places.next(), places.next()) else { return false };
        let beyond = outer[place + 1..].iter();
        frames.extend(beyond.map(|&address| FoundFrame { address, found: Found::KnownRoot }));
        true
    }

    pub(crate) fn forget(&mut self, thread: u32) {
        self.of_thread.remove(&thread);
    }
}
