//! Events the runtime dropped, by the numbers it gives them.

use rustc_hash::FxHashMap;

/// Capture threads remembered at once; beyond, those silent for longest are let go.
const MAX_THREADS: usize = 5000;

/// Events of one capture thread that never reached the stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Gap {
    /// The thread that tried to write them: OS thread id, as in [`crate::EventHeader::capture_thread`].
    pub capture_thread: u64,
    /// How many, or `None` when the numbers went backwards without starting again, so that it cannot be told.
    pub lost: Option<u32>,
    /// Time of the thread's last event before them, ticks; 0 when there was none.
    pub after: u64,
    /// Time of the event or sequence point that shows them, ticks. The removal of a thread (version 6) has no time of its
    /// own: it is that of the latest event before it.
    pub before: u64,
    /// Where that is: bytes from the start of the stream.
    pub offset: u64,
}

/// What was lost of one capture thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ThreadLoss {
    /// OS thread id in the traced process' pid namespace.
    pub capture_thread: u64,
    /// Events known to be lost.
    pub lost: u64,
    /// Places where something was lost.
    pub gaps: u64,
    /// Places among these where the amount is unknown.
    pub unknown: u64,
    /// Time of the last event before the first gap, ticks.
    pub after: u64,
    /// Time of the event or sequence point behind the last gap, ticks.
    pub before: u64,
}

impl ThreadLoss {
    /// Takes in what another thread with the same id lost.
    fn add(&mut self, other: &Self) {
        self.lost = self.lost.saturating_add(other.lost);
        self.gaps = self.gaps.saturating_add(other.gaps);
        self.unknown = self.unknown.saturating_add(other.unknown);
        self.after = self.after.min(other.after);
        self.before = self.before.max(other.before);
    }
}

/// What the stream says the runtime dropped.
///
/// Before version 6 a thread's first number is taken as it comes: an attached session may begin with any. Numbers that fall
/// back to 1, or at all after a sequence point that no longer named the thread, are a new thread with a used id, not a loss.
/// In version 6 the stream says when a thread is a new one, which counts from 1. Events in blocks that this reader had to drop
/// look the same as events the runtime dropped, and are in these counts too.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Loss {
    /// Events known to be lost, of all threads.
    pub lost: u64,
    /// Places where the amount is unknown, of all threads.
    pub unknown: u64,
    /// Per thread, by thread id; only threads that lost something. Leaves out threads that were let go because there were
    /// too many.
    pub threads: Vec<ThreadLoss>,
    /// Capture threads that were let go because over 5000 were alive at once, or because over 5000 that lost something are
    /// gone; their losses are in the totals.
    pub forgotten_threads: u64,
}

/// Where the numbers of a thread begin.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Numbers {
    /// Anywhere, and again with another thread of the same id: it turned up by itself.
    Anywhere,
    /// With 1, and never again: the stream said that it is a new one (version 6).
    AtOne,
}

#[derive(Clone, Copy)]
struct Thread {
    /// What its numbers are counted under: its OS thread id, or its index in version 6.
    key: u64,
    /// OS thread id.
    id: u64,
    numbers: Numbers,
    sequence: u32,
    time: u64,
    seen: u64,
    /// Sequence points there were when one last named the thread, or when it was new.
    named: u64,
    loss: Option<ThreadLoss>,
}

/// Follows the numbers of each capture thread.
#[derive(Default)]
pub(crate) struct LossTracker {
    threads: Vec<Thread>,
    index: FxHashMap<u64, u32>,
    /// Index of the thread spoken of last.
    current: usize,
    /// Counts thread changes: a clock for "silent for longest".
    clock: u64,
    /// Sequence points so far.
    points: u64,
    total: Loss,
    /// Losses of threads that the stream said are gone.
    gone: Vec<ThreadLoss>,
}

impl LossTracker {
    /// The stream says that there is a thread, which counts under `key` and has this OS id (version 6).
    pub(crate) fn introduce(&mut self, key: u64, id: u64) {
        let (state, new) = self.thread(key);
        state.id = id;
        if new {
            state.numbers = Numbers::AtOne;
        }
    }

    /// An event with a number of its own. Events numbered one up need no call each: [`LossTracker::settle`] afterwards.
    pub(crate) fn event(&mut self, thread: u64, sequence: u32, time: u64, offset: u64) -> Option<Gap> {
        let points = self.points;
        let (state, new) = self.thread(thread);
        let (expected, after) = (state.sequence.wrapping_add(1), state.time);
        state.sequence = sequence;
        state.time = time;
        let distance = sequence.wrapping_sub(expected);
        if new || distance == 0 {
            return None;
        }
        let lost = match distance.cast_signed() {
            1.. => Some(distance),
            // A new thread with a used id: it begins at 1, or the old one was already gone at the last sequence point.
            _ if state.numbers == Numbers::Anywhere && (sequence == 1 || state.named < points) => {
                state.named = points;
                return None;
            }
            _ => None,
        };
        let capture_thread = state.id;
        Some(self.record(thread, Gap { capture_thread, lost, after, before: time, offset }))
    }

    /// The last event so far of the thread spoken of last had this number and time.
    pub(crate) fn settle(&mut self, (sequence, time): (u32, u64)) {
        if let Some(state) = self.threads.get_mut(self.current) {
            state.sequence = sequence;
            state.time = time;
        }
    }

    /// A sequence point begins. It names all capture threads that are still there.
    pub(crate) fn begin_sequence_point(&mut self) {
        self.points = self.points.saturating_add(1);
    }

    /// The sequence point that began says that the thread's last number was at least this.
    pub(crate) fn sequence_point(&mut self, thread: u64, sequence: u32, time: u64, offset: u64) -> Option<Gap> {
        let points = self.points;
        let (state, new) = self.thread(thread);
        state.named = points;
        let (seen, after) = (state.sequence, state.time);
        let lost = sequence.wrapping_sub(seen);
        // It is a lower bound: a smaller number than seen is no loss.
        if !new && lost.cast_signed() <= 0 {
            return None;
        }
        state.sequence = sequence;
        if new {
            state.time = time;
        }
        // A number for a thread of which nothing was seen, or 0, tells of no loss if the thread may have been there before
        // the session, or have a used id.
        if state.numbers == Numbers::Anywhere && (new || seen == 0) {
            return None;
        }
        let capture_thread = state.id;
        Some(self.record(thread, Gap { capture_thread, lost: Some(lost), after, before: time, offset }))
    }

    /// A thread is gone, and this was its last number (version 6).
    pub(crate) fn remove(&mut self, key: u64, sequence: u32, time: u64, offset: u64) -> Option<Gap> {
        let gap = self.sequence_point(key, sequence, time, offset);
        if let Some(place) = self.index.remove(&key) {
            let place = place as usize;
            let gone = (place < self.threads.len()).then(|| self.threads.swap_remove(place));
            if let Some(moved) = self.threads.get(place) {
                self.index.insert(moved.key, place as u32);
            }
            self.keep_loss(gone.and_then(|thread| thread.loss));
        }
        gap
    }

    /// All threads are gone, and what comes are others (version 6).
    pub(crate) fn remove_all(&mut self) {
        self.index.clear();
        for thread in core::mem::take(&mut self.threads) {
            self.keep_loss(thread.loss);
        }
    }

    fn keep_loss(&mut self, loss: Option<ThreadLoss>) {
        let Some(loss) = loss else { return };
        // One thread may go and come many times under the same id.
        if let Some(last) = self.gone.last_mut().filter(|last| last.capture_thread == loss.capture_thread) {
            last.add(&loss);
        } else if self.gone.len() < MAX_THREADS {
            self.gone.push(loss);
        } else {
            self.total.forgotten_threads = self.total.forgotten_threads.saturating_add(1);
        }
    }

    fn record(&mut self, key: u64, gap: Gap) -> Gap {
        let lost = u64::from(gap.lost.unwrap_or(0));
        let unknown = u64::from(gap.lost.is_none());
        self.total.lost = self.total.lost.saturating_add(lost);
        self.total.unknown = self.total.unknown.saturating_add(unknown);
        let (thread, _) = self.thread(key);
        let loss = thread.loss.get_or_insert(ThreadLoss {
            capture_thread: gap.capture_thread,
            lost: 0,
            gaps: 0,
            unknown: 0,
            after: gap.after,
            before: gap.before,
        });
        loss.lost = loss.lost.saturating_add(lost);
        loss.gaps = loss.gaps.saturating_add(1);
        loss.unknown = loss.unknown.saturating_add(unknown);
        loss.before = gap.before;
        gap
    }

    /// The state of a thread, and whether it is new.
    #[expect(clippy::indexing_slicing, reason = "every index in the map is one of the vector's, both change together")]
    fn thread(&mut self, key: u64) -> (&mut Thread, bool) {
        self.clock = self.clock.wrapping_add(1);
        let seen = self.clock;
        let current = self.threads.get(self.current).is_some_and(|thread| thread.key == key);
        if !current && let Some(index) = self.index.get(&key) {
            self.current = *index as usize;
        } else if !current {
            return (self.add_thread(key), true);
        }
        let thread = &mut self.threads[self.current];
        thread.seen = seen;
        (thread, false)
    }

    #[expect(clippy::indexing_slicing, reason = "the index is that of the element pushed just before")]
    fn add_thread(&mut self, key: u64) -> &mut Thread {
        if self.threads.len() >= MAX_THREADS {
            self.forget_silent();
        }
        let index = self.threads.len();
        self.index.insert(key, index as u32);
        self.threads.push(Thread {
            key,
            id: key,
            numbers: Numbers::Anywhere,
            sequence: 0,
            time: 0,
            seen: self.clock,
            named: self.points,
            loss: None,
        });
        self.current = index;
        &mut self.threads[index]
    }

    /// Lets the half go that was silent for longest: half, so that a stream of ever new threads pays for a sort once in a
    /// few thousand of them.
    fn forget_silent(&mut self) {
        self.threads.sort_unstable_by_key(|thread| core::cmp::Reverse(thread.seen));
        let gone = self.threads.len().saturating_sub(MAX_THREADS / 2);
        self.threads.truncate(MAX_THREADS / 2);
        self.total.forgotten_threads = self.total.forgotten_threads.saturating_add(gone as u64);
        self.index.clear();
        self.index.extend(self.threads.iter().zip(0..).map(|(thread, index)| (thread.key, index)));
    }

    /// Everything lost so far.
    pub(crate) fn loss(&self) -> Loss {
        let mut loss = self.total.clone();
        let alive = self.threads.iter().filter_map(|thread| thread.loss);
        loss.threads = self.gone.iter().copied().chain(alive).collect();
        loss.threads.sort_unstable_by_key(|thread| (thread.capture_thread, thread.before));
        // A later thread with the id of an earlier one.
        loss.threads.dedup_by(|later, first| {
            let same = later.capture_thread == first.capture_thread;
            if same {
                first.add(later);
            }
            same
        });
        loss
    }
}
