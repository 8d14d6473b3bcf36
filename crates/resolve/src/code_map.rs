//! Which managed code was where, and when.
//!
//! Memory for JIT code is reused: an address alone names nothing. A [`CodeHistory`] holds every change with its time; a
//! [`CodeCursor`] walks through it together with the samples and knows what is alive at each.

use strata_address::{Avma, AvmaRange, RangeMap};
use strata_profile::Timestamp;

/// Names one body of code: a row of whatever table the history's maker keeps.
pub type CodeId = u32;

/// How long a body may run before the event that announces it has its time: the thread that compiled it, in the background
/// since tiers exist, may be kept waiting between making the body callable and telling of it.
const EARLY_NS: u64 = 1_000_000_000;

/// One change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Change {
    at: Timestamp,
    what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Load(AvmaRange, CodeId),
    Unload(AvmaRange),
}

/// All changes of one process, in time order.
#[derive(Clone, Debug, Default)]
pub struct CodeHistory {
    before: Vec<(AvmaRange, CodeId)>,
    changes: Vec<Change>,
}

impl CodeHistory {
    /// Code that was there before the history begins. Of several over one address the first that was added stays.
    pub fn add_before(&mut self, range: AvmaRange, code: CodeId) {
        self.before.push((range, code));
    }

    /// Code that came to be at a time; what was there before is gone from then on.
    pub fn add_load(&mut self, at: Timestamp, range: AvmaRange, code: CodeId) {
        self.changes.push(Change { at, what: What::Load(range, code) });
    }

    /// Code that went at a time.
    pub fn add_unload(&mut self, at: Timestamp, range: AvmaRange) {
        self.changes.push(Change { at, what: What::Unload(range) });
    }

    /// Puts the changes in time order (those of one time keep the order they were added in) and begins at the start.
    pub fn cursor(mut self) -> CodeCursor {
        self.changes.sort_by_key(|change| change.at);
        let mut alive = RangeMap::default();
        for (range, code) in self.before {
            if !alive.overlaps(&range) {
                alive.insert(range, code);
            }
        }
        CodeCursor { alive, changes: self.changes, ..CodeCursor::default() }
    }
}

/// What is alive at one moment; it only moves forward in time.
#[derive(Clone, Debug, Default)]
pub struct CodeCursor {
    alive: RangeMap<CodeId>,
    changes: Vec<Change>,
    next: usize,
    /// What will be announced soon, of several over one address the first.
    upcoming: RangeMap<CodeId>,
    /// The first change that is not looked at for `upcoming` yet.
    ahead: usize,
}

impl CodeCursor {
    /// Moves to a moment; returns whether anything changed.
    pub fn advance(&mut self, to: Timestamp) -> bool {
        let from = self.next;
        self.look_ahead(to);
        while let Some(change) = self.changes.get(self.next).filter(|change| change.at <= to) {
            match change.what {
                What::Load(range, code) => {
                    drop(self.alive.insert(range, code));
                    if self.upcoming.get(range.start()).is_some_and(|(_, upcoming)| *upcoming == code) {
                        drop(self.upcoming.remove(range));
                    }
                }
                What::Unload(range) => drop(self.alive.remove(range)),
            }
            self.next = self.next.saturating_add(1);
        }
        self.next != from
    }

    fn look_ahead(&mut self, now: Timestamp) {
        let limit = Timestamp(now.0.saturating_add(EARLY_NS));
        while let Some(change) = self.changes.get(self.ahead).filter(|change| change.at <= limit) {
            if let What::Load(range, code) = change.what
                && !self.upcoming.overlaps(&range)
            {
                self.upcoming.insert(range, code);
            }
            self.ahead = self.ahead.saturating_add(1);
        }
    }

    /// Moves to a moment from which on nothing of what was there before is there.
    pub fn clear(&mut self, at: Timestamp) {
        self.advance(at);
        self.alive = RangeMap::default();
    }

    /// The code at an address at the moment the cursor stands at, with its range: what is alive, or else what is announced
    /// a moment later. Code that runs is there: where nothing is known yet, it is what will be told of next.
    pub fn look_up(&self, address: Avma) -> Option<(AvmaRange, CodeId)> {
        let found = self.alive.get(address).or_else(|| self.upcoming.get(address));
        found.map(|(range, code)| (range, *code))
    }

    /// All code at the moment the cursor stands at, in the order of addresses.
    pub fn alive(&self) -> impl Iterator<Item = (AvmaRange, CodeId)> {
        self.alive.iter().map(|(range, code)| (range, *code))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(start: u64, bytes: u64) -> AvmaRange {
        AvmaRange::sized(Avma(start), bytes).unwrap()
    }

    #[test]
    fn a_reused_address_has_the_name_it_had_then() {
        let mut history = CodeHistory::default();
        history.add_before(range(0x1000, 0x100), 1);
        history.add_before(range(0x1080, 0x100), 9);
        history.add_load(Timestamp(5_000_000_000), range(0x1040, 0x20), 3);
        history.add_load(Timestamp(20_000_000), range(0x1000, 0x80), 2);
        history.add_unload(Timestamp(30_000_000), range(0x1000, 0x80));
        let mut cursor = history.cursor();
        let mut at = |milliseconds: u64, address| {
            cursor.advance(Timestamp(milliseconds * 1_000_000));
            cursor.look_up(Avma(address)).map(|(_, code)| code)
        };
        assert_eq!(at(1, 0x1040), Some(1), "known since before");
        assert_eq!(at(1, 0x1180), None, "the first said of two that overlap");
        assert_eq!(at(20, 0x1040), Some(2), "loaded");
        assert_eq!(at(20, 0x1090), Some(1), "the part that was not covered is still there");
        assert_eq!(at(30, 0x1040), None, "unloaded");
        assert_eq!(at(4_500, 0x1040), Some(3), "announced soon");
        assert_eq!(at(6_000, 0x105f), Some(3));
        assert_eq!(at(6_000, 0x1060), None);
    }

    #[test]
    fn code_may_run_before_it_is_announced() {
        let mut history = CodeHistory::default();
        history.add_load(Timestamp(900_000_000), range(0x1000, 0x100), 1);
        history.add_unload(Timestamp(950_000_000), range(0x1000, 0x100));
        history.add_load(Timestamp(1_000_000_000), range(0x1000, 0x100), 2);
        history.add_load(Timestamp(2_500_000_000), range(0x3000, 0x100), 3);
        let mut cursor = history.cursor();
        let mut at = |milliseconds: u64, address| {
            cursor.advance(Timestamp(milliseconds * 1_000_000));
            cursor.look_up(Avma(address)).map(|(_, code)| code)
        };
        assert_eq!(at(1, 0x1000), Some(1), "of two that come, the first");
        assert_eq!(at(1, 0x3000), None, "not for any length of time");
        assert_eq!(at(900, 0x10ff), Some(1));
        assert_eq!(at(1_000, 0x1000), Some(2));
        assert_eq!(at(1_500, 0x3000), Some(3));
        assert_eq!(at(2_600, 0x3000), Some(3));
    }
}
