//! Which managed code was where, and when.
//!
//! Memory for JIT code is reused: an address alone names nothing. A [`CodeMap`] has all bodies of code of one process, each
//! with what is known of its birth and death, and tells what was at an address at a time.
//!
//! # Laws
//!
//! 1. A body is told of once: at its birth, or when something lists it as being there. At an address counts what was told of
//!    last. It takes the place of all that was there before, for good: once it is gone, nothing is there.
//! 2. A death ends its own body, not what took the body's place meanwhile.
//! 3. Where nothing is known to be, counts what is told of next, for code that runs is there: a listed body was there for an
//!    unknown time, back to the last known death at the address; a born one runs up to a second before the event of its birth.
//! 4. Where a process begins another program, what was told of before is gone, and what is told of later was not there before.
//! 5. Of bodies that were told of at one time the one with the higher number counts as told of later.
//! 6. Nothing else counts: not the order in which bodies come here, and no body over other addresses.
//!
//! So no answer is a body that was dead by then, or, more than a second before its birth, one that was not born yet. Building takes
//! `n log n` time and memory in the worst case, memory in proportion to `n` where few bodies share addresses; a look-up takes
//! logarithmic time, squared where many do.

mod layer;
#[cfg(test)]
mod tests;

use layer::Layer;
use strata_address::{Avma, AvmaRange};
use strata_profile::Timestamp;

/// Names one body of code: a row of whatever table the map's maker keeps.
pub type CodeId = u32;

/// How long a body may run before the event that announces it has its time: the thread that compiled it, in the background
/// since tiers exist, may be kept waiting between making the body callable and telling of it.
pub(crate) const EARLY_NS: u64 = 1_000_000_000;

/// After every moment.
const NEVER: Timestamp = Timestamp(u64::MAX);

/// One body of code in its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Life {
    /// Where it is.
    pub range: AvmaRange,
    /// How it is known.
    pub told: Told,
    /// From when on it is gone, where it is known to go.
    pub until: Option<Timestamp>,
    /// What it is.
    pub code: CodeId,
}

/// When and how a body was told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// It came to be then.
    Born(Timestamp),
    /// It was there then, since an unknown time. One that went just then was there before.
    Listed(Timestamp),
}

impl Told {
    /// The moment.
    pub const fn at(self) -> Timestamp {
        match self {
            Self::Born(at) | Self::Listed(at) => at,
        }
    }
}

/// What is at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The body, where one is known.
    pub code: Option<CodeId>,
    /// The answer is the same for all later times before this one.
    pub until: Timestamp,
}

/// All bodies of code of one process, by address and time.
#[derive(Clone, Debug, Default)]
pub struct CodeMap {
    /// In the order in which they were told of.
    rows: Vec<Row>,
    /// Bodies that were there when they were told of.
    there: Layer,
    /// Bodies that were told of when they went.
    parting: Layer,
    /// When the process began other programs, in order.
    programs: Vec<Timestamp>,
}

/// A body, without its range.
#[derive(Clone, Copy, Debug)]
struct Row {
    told: Timestamp,
    until: Timestamp,
    code: CodeId,
    is_born: bool,
}

impl Row {
    /// From when on it holds where nothing else is known to be.
    fn early(&self) -> Timestamp {
        if self.is_born { Timestamp(self.told.0.saturating_sub(EARLY_NS)) } else { Timestamp(0) }
    }
}

impl CodeMap {
    /// Of these bodies, in any order.
    pub fn new(mut lives: Vec<Life>) -> Self {
        lives.sort_unstable_by_key(|life| (life.told.at(), life.code));
        let rows = lives.iter().map(|life| Row {
            told: life.told.at(),
            until: life.until.unwrap_or(NEVER),
            code: life.code,
            is_born: matches!(life.told, Told::Born(_)),
        });
        let ranges = (0..)
            .zip(&lives)
            .map(|(row, life)| (row, life.range, life.until.is_some_and(|until| until <= life.told.at())));
        let layer = |parting| {
            let ranges = ranges.clone().filter(|(.., is_parting)| *is_parting == parting);
            Layer::new(&ranges.map(|(row, range, _)| (row, range)).collect::<Vec<_>>())
        };
        Self { rows: rows.collect(), there: layer(false), parting: layer(true), programs: Vec::new() }
    }

    /// The process runs another program from then on, or none.
    pub fn begin_program(&mut self, at: Timestamp) {
        let place = self.programs.partition_point(|program| *program <= at);
        self.programs.insert(place, at);
    }

    /// What is at an address at a time.
    pub fn look_up(&self, address: Avma, at: Timestamp) -> Answer {
        let (last, next) = self.there.around(address, |row| self.is_told(row, at));
        self.answer(at, last, next, || self.parting.around(address, |row| self.is_told(row, at)).1)
    }

    /// What is still there after all that is known, in the order of addresses.
    pub fn remaining(&self) -> impl Iterator<Item = (AvmaRange, CodeId)> {
        let program = self.programs.last().copied().unwrap_or_default();
        let mut pieces = self.there.pieces().filter_map(move |range| {
            let last = self.there.around(range.start(), |_| true).0?;
            let row = self.rows.get(last as usize).filter(|row| row.until == NEVER && row.told >= program)?;
            Some((range, row.code))
        });
        let mut waiting = pieces.next();
        std::iter::from_fn(move || {
            let (mut range, code) = waiting.take()?;
            for (further, other) in pieces.by_ref() {
                match AvmaRange::new(range.start(), further.end()) {
                    Some(joined) if other == code && further.start() == range.end() => range = joined,
                    _ => {
                        waiting = Some((further, other));
                        break;
                    }
                }
            }
            Some((range, code))
        })
    }

    fn is_told(&self, row: u32, at: Timestamp) -> bool {
        self.rows.get(row as usize).is_some_and(|row| row.told <= at)
    }

    /// `last` and `next`: what was told of around this time of bodies that stayed; `parting`: what was told of next of others.
    fn answer(
        &self,
        at: Timestamp,
        last: Option<u32>,
        next: Option<u32>,
        parting: impl FnOnce() -> Option<u32>,
    ) -> Answer {
        let row = |row: u32| self.rows.get(row as usize);
        let begun = self.programs.partition_point(|program| *program <= at);
        let program = begun.checked_sub(1).and_then(|last| self.programs.get(last));
        let next_program = self.programs.get(begun).copied().unwrap_or(NEVER);
        let next_told = next.and_then(row).map_or(NEVER, |next| next.told);
        let last = last.and_then(row).filter(|last| program.is_none_or(|program| *program <= last.told));
        if let Some(last) = last.filter(|last| at < last.until) {
            let until = last.until.min(next_told).min(next_program);
            return Answer { code: Some(last.code), until };
        }
        let next = match (next, parting()) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
        match next.and_then(row).filter(|next| next.told < next_program) {
            None => Answer { code: None, until: next_program },
            Some(next) if at < next.early() => Answer { code: None, until: next.early() },
            Some(next) => Answer { code: Some(next.code), until: next.told },
        }
    }

    /// Number of bodies.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is no body.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// How many bytes it holds.
    pub fn memory(&self) -> usize {
        let rows = self.rows.capacity().saturating_mul(size_of::<Row>());
        rows.saturating_add(self.there.memory()).saturating_add(self.parting.memory())
    }
}
