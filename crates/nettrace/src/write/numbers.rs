//! New numbers for the events of each capture thread.

use rustc_hash::FxHashMap;

use crate::loss::Gap;

/// Most sequence points that are added in a stream so that gaps in front of a thread's first event show. Each makes stacks
/// be written again, so that a hostile stream must not have one with every event.
const MAX_ADDED_POINTS: u32 = 256;

/// How far back a number goes where the source's went back by an amount that means nothing: so far that readers do not take
/// it for a thread's new beginning, nor for a loss of so many.
const BACK: u32 = 1 << 30;

/// Threads kept although the source no longer names them; no real process comes near it.
const MAX_THREADS: usize = 20_000;

/// The numbers of each capture thread.
#[derive(Default)]
pub(super) struct Numbers {
    threads: FxHashMap<u64, Thread>,
    /// Sequence points so far, and those of them that were added.
    points: u64,
    added_points: u32,
}

#[derive(Clone, Copy)]
struct Thread {
    /// The number of its last event.
    last: u32,
    /// Sequence points there were when one last named it, or when it was new.
    named: u64,
    /// Whether a gap of unknown size lies behind that event: with it, the size of no other one there can show.
    unknown: bool,
}

/// Which sequence point has to be written so that a gap shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum PointFor {
    /// None is needed.
    None,
    /// One that names the gap's thread with this number.
    Thread(u32),
    /// There were too many already: the gap cannot show.
    TooMany,
}

impl Numbers {
    /// The number of the thread's next event.
    pub(super) fn next(&mut self, thread: u64) -> u32 {
        let named = self.points;
        let thread = self.threads.entry(thread).or_insert(Thread { last: 0, named, unknown: false });
        thread.unknown = false;
        thread.last = thread.last.wrapping_add(1);
        thread.last
    }

    /// Leaves out as many numbers as events were lost.
    pub(super) fn gap(&mut self, gap: &Gap) {
        let Some(thread) = self.threads.get_mut(&gap.capture_thread) else { return };
        match gap.lost {
            _ if thread.unknown => {}
            Some(lost) => thread.last = thread.last.wrapping_add(lost),
            None => {
                thread.last = thread.last.wrapping_sub(BACK);
                thread.unknown = true;
            }
        }
    }

    /// Finds out what readers have to know of the thread first: some number of its own, and for a gap of unknown size also
    /// that the thread was not gone at the last sequence point, since then it may come back with any number.
    pub(super) fn point_for(&mut self, gap: &Gap) -> PointFor {
        let thread = self.threads.get(&gap.capture_thread);
        if thread.is_some_and(|thread| gap.lost.is_some() || thread.named == self.points) {
            return PointFor::None;
        }
        if self.added_points >= MAX_ADDED_POINTS {
            return PointFor::TooMany;
        }
        self.added_points = self.added_points.saturating_add(1);
        self.points = self.points.saturating_add(1);
        // As if the thread had written one event: readers take 0 for no number at all.
        let last = thread.map_or(1, |thread| thread.last);
        self.threads.insert(gap.capture_thread, Thread { last, named: self.points, unknown: false });
        PointFor::Thread(last)
    }

    /// A sequence point of the source has these threads with their numbers; gives ours.
    pub(super) fn sequence_point(&mut self, threads: impl Iterator<Item = (u64, u32)>) -> Vec<(u64, u32)> {
        self.points = self.points.saturating_add(1);
        let points = self.points;
        let mut name = |(id, number)| {
            let thread = match self.threads.get_mut(&id) {
                Some(thread) => thread,
                // 0 is no number at all.
                None if number == 0 => return None,
                // It wrote something, of which nothing is kept: as if it had been one event.
                None => self.threads.entry(id).or_insert(Thread { last: 1, named: points, unknown: false }),
            };
            thread.named = points;
            Some((id, thread.last))
        };
        let named: Vec<_> = threads.filter_map(&mut name).collect();
        if self.threads.len() > MAX_THREADS {
            // Those that are gone by what the source says. One that comes back begins with 1, which is no loss.
            self.threads.retain(|_, thread| thread.named == points);
        }
        named
    }
}
