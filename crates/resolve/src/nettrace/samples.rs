//! The samples of the runtime's sampler, or the events that are shown instead, as the stream has them.

use super::stacks::{RawStack, Stacks};
use rustc_hash::FxHashMap;
use strata_nettrace::Event;
use strata_nettrace::runtime::SampleType;
use strata_profile::{ThreadState, Timestamp};

/// One sample of a thread, its stack not named yet.
#[derive(Clone, Copy, Debug)]
struct OfThread {
    time: Timestamp,
    stack: Option<RawStack>,
    state: ThreadState,
}

/// The same beside those of other threads.
#[derive(Clone, Copy, Debug)]
pub(super) struct RawSample {
    pub(super) time: Timestamp,
    /// Position in [`Samples::threads`].
    pub(super) thread: u32,
    pub(super) stack: Option<RawStack>,
    pub(super) state: ThreadState,
}

/// A thread that was sampled.
#[derive(Clone, Debug)]
pub(super) struct RawThread {
    /// As the operating system numbers it.
    pub(super) id: u64,
    /// Empty where the stream has none, as before version 6.
    pub(super) name: Box<str>,
    /// Mostly in the order of time.
    samples: Vec<OfThread>,
}

/// All samples so far.
#[derive(Debug, Default)]
pub(super) struct Samples {
    pub(super) threads: Vec<RawThread>,
    pub(super) stacks: Stacks,
    of_id: FxHashMap<u64, u32>,
}

impl Samples {
    /// Takes the next sample, or another event that stands for itself.
    pub(super) fn take(&mut self, state: ThreadState, event: &Event<'_>, time: Timestamp) {
        let Self { threads, stacks, of_id } = self;
        let Some(thread) = thread(threads, of_id, event) else { return };
        let stack = event.stack.as_ref().and_then(|stack| stacks.intern(stack));
        thread.samples.push(OfThread { time, stack, state });
    }

    /// What was defined as a stack so far is not spoken of any more.
    pub(super) fn stacks_restart(&mut self) {
        self.stacks.restart();
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.threads.iter().map(|thread| thread.samples.len()).sum()
    }

    /// Takes all of them, in the order of time.
    pub(super) fn in_order(&mut self) -> Vec<RawSample> {
        let mut all = Vec::with_capacity(self.count());
        for (number, thread) in (0..).zip(&mut self.threads) {
            let samples = std::mem::take(&mut thread.samples).into_iter();
            all.extend(samples.map(|OfThread { time, stack, state }| RawSample { time, thread: number, stack, state }));
        }
        // Threads are runs that this merges.
        all.sort_by_key(|sample| sample.time);
        all
    }
}

fn thread<'t>(
    threads: &'t mut Vec<RawThread>,
    of_id: &mut FxHashMap<u64, u32>,
    event: &Event<'_>,
) -> Option<&'t mut RawThread> {
    let id = event.header.thread;
    let number = match of_id.get(&id) {
        Some(known) => *known,
        None => {
            let new = u32::try_from(threads.len()).ok()?;
            let name = event.thread_name().unwrap_or_default().into();
            threads.push(RawThread { id, name, samples: Vec::new() });
            of_id.insert(id, new);
            new
        }
    };
    threads.get_mut(usize::try_from(number).ok()?)
}

/// What the thread was doing, in the words of profiles.
pub(super) const fn state_of(state: SampleType) -> ThreadState {
    match state {
        SampleType::Managed => ThreadState::Managed,
        SampleType::External => ThreadState::External,
        SampleType::Error | SampleType::Other(_) => ThreadState::Unknown,
    }
}
