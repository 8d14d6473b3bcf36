//! The samples of the runtime's sampler, or the events that are shown instead, as the stream has them.

use super::stacks::{RawStack, Stacks};
use rustc_hash::FxHashMap;
use strata_nettrace::Event;
use strata_nettrace::runtime::SampleType;
use strata_profile::{ThreadState, Timestamp};

/// One sample, its stack not named yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct RawSample {
    pub(super) time: Timestamp,
    /// Position in [`Samples::threads`].
    pub(super) thread: u32,
    pub(super) stack: Option<RawStack>,
    pub(super) state: ThreadState,
    pub(super) weight: u64,
}

/// A thread that was sampled.
#[derive(Clone, Debug)]
pub(super) struct RawThread {
    /// As the operating system numbers it.
    pub(super) id: u64,
    /// Empty where the stream has none, as before version 6.
    pub(super) name: Box<str>,
}

/// All samples so far.
#[derive(Debug, Default)]
pub(super) struct Samples {
    pub(super) all: Vec<RawSample>,
    pub(super) threads: Vec<RawThread>,
    pub(super) stacks: Stacks,
    of_id: FxHashMap<u64, u32>,
}

impl Samples {
    /// Takes the next sample, or another event that stands for itself.
    pub(super) fn take(&mut self, state: ThreadState, event: &Event<'_>, time: Timestamp) {
        let Some(thread) = self.thread(event) else { return };
        let stack = event.stack.as_ref().and_then(|stack| self.stacks.intern(stack));
        self.all.push(RawSample { time, thread, stack, state, weight: 1 });
    }

    /// What was defined as a stack so far is not spoken of any more.
    pub(super) fn stacks_restart(&mut self) {
        self.stacks.restart();
    }

    fn thread(&mut self, event: &Event<'_>) -> Option<u32> {
        let id = event.header.thread;
        if let Some(known) = self.of_id.get(&id) {
            return Some(*known);
        }
        let new = u32::try_from(self.threads.len()).ok()?;
        self.threads.push(RawThread { id, name: event.thread_name().unwrap_or_default().into() });
        self.of_id.insert(id, new);
        Some(new)
    }
}

/// What the thread was doing, in the words of profiles.
pub(super) const fn state_of(state: SampleType) -> ThreadState {
    match state {
        SampleType::Managed => ThreadState::Managed,
        SampleType::External => ThreadState::External,
        SampleType::Error | SampleType::Other(_) => ThreadState::Unknown,
    }
}
