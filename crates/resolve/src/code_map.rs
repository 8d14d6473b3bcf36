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

mod crowd;
mod search_tree;
#[cfg(test)]
mod tests;

use crowd::Crowd;
use rustc_hash::FxHashMap;
use search_tree::SearchTree;
use std::ops::Range;
use strata_address::{Avma, AvmaRange};
use strata_profile::Timestamp;

/// Names one body of code: a row of whatever table the map's maker keeps.
pub type CodeId = u32;

/// How long a body may run before the event that announces it has its time: the thread that compiled it, in the background
/// since tiers exist, may be kept waiting between making the body callable and telling of it.
pub(crate) const EARLY_NS: u64 = 1_000_000_000;

/// So many bodies that share addresses are gone through one by one.
const FEW: usize = 16;

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
///
/// An island is a body with all that share addresses with it, and with these, and so on: mostly one alone.
#[derive(Clone, Debug, Default)]
pub struct CodeMap {
    /// Where each island begins.
    starts: SearchTree,
    islands: Vec<Island>,
    /// Bodies that are not alone, by island, and there in the order in which they were told of.
    rows: Vec<Row>,
    /// The islands of more than a few.
    crowds: FxHashMap<usize, Crowd>,
    /// When the process began other programs, in order.
    programs: Vec<Timestamp>,
}

#[derive(Clone, Debug)]
enum Island {
    Alone(Row),
    /// Places in [`CodeMap::rows`].
    Several(Range<usize>),
}

/// A body.
#[derive(Clone, Copy, Debug)]
struct Row {
    range: AvmaRange,
    told: Timestamp,
    until: Timestamp,
    code: CodeId,
    is_born: bool,
}

impl Row {
    fn new(life: &Life) -> Self {
        Self {
            range: life.range,
            told: life.told.at(),
            until: life.until.unwrap_or(NEVER),
            code: life.code,
            is_born: matches!(life.told, Told::Born(_)),
        }
    }

    /// Whether it was told of when it went.
    fn is_parting(&self) -> bool {
        self.until <= self.told
    }

    /// From when on it holds where nothing else is known to be.
    fn early(&self) -> Timestamp {
        if self.is_born { Timestamp(self.told.0.saturating_sub(EARLY_NS)) } else { Timestamp(0) }
    }
}

impl CodeMap {
    /// Of these bodies, in any order.
    pub fn new(lives: &[Life]) -> Self {
        let mut bodies: Vec<Row> = lives.iter().map(Row::new).collect();
        bodies.sort_unstable_by_key(|row| row.range.start());
        let (mut starts, mut islands, mut rows, mut crowds) = (vec![], vec![], vec![], FxHashMap::default());
        let mut reach = Avma(0);
        let touching = bodies.chunk_by_mut(|row, next| {
            reach = reach.max(row.range.end());
            next.range.start() < reach
        });
        for island in touching {
            let Some(&row) = island.first() else { continue };
            starts.push(row.range.start().0);
            if island.len() == 1 {
                islands.push(Island::Alone(row));
                continue;
            }
            island.sort_unstable_by_key(|row| (row.told, row.code));
            if island.len() > FEW {
                crowds.insert(islands.len(), Crowd::new(island.iter().map(|row| (row.range, row.is_parting()))));
            }
            islands.push(Island::Several(rows.len()..rows.len().saturating_add(island.len())));
            rows.extend_from_slice(island);
        }
        rows.shrink_to_fit();
        islands.shrink_to_fit();
        Self { starts: SearchTree::new(starts.into_iter()), islands, rows, crowds, programs: Vec::new() }
    }

    /// The process runs another program from then on, or none.
    pub fn begin_program(&mut self, at: Timestamp) {
        let place = self.programs.partition_point(|program| *program <= at);
        self.programs.insert(place, at);
    }

    /// What is at an address at a time.
    pub fn look_up(&self, address: Avma, at: Timestamp) -> Answer {
        let around = self.starts.find(address.0).map(|island| self.around(island, address, at));
        let (last, next) = around.unwrap_or_default();
        let begun = self.programs.partition_point(|program| *program <= at);
        let program = begun.checked_sub(1).and_then(|last| self.programs.get(last)).copied().unwrap_or_default();
        let next_program = self.programs.get(begun).copied().unwrap_or(NEVER);
        let next = next.filter(|next| next.told < next_program);
        if let Some(last) = last.filter(|last| program <= last.told && at < last.until) {
            let next = next.map_or(next_program, |next| next.told);
            return Answer { code: Some(last.code), until: last.until.min(next) };
        }
        match next {
            None => Answer { code: None, until: next_program },
            Some(next) if at < next.early() => Answer { code: None, until: next.early() },
            Some(next) => Answer { code: Some(next.code), until: next.told },
        }
    }

    /// Of an island's bodies over an address: the last that was told of by then and was there, and the first that is told of
    /// later.
    fn around(&self, island: usize, address: Avma, at: Timestamp) -> (Option<&Row>, Option<&Row>) {
        let rows = self.rows_of(island);
        if rows.len() > FEW
            && let Some(crowd) = self.crowds.get(&island)
        {
            let told = rows.partition_point(|row| row.told <= at);
            let (last, next) = crowd.around(address, u32::try_from(told).unwrap_or(u32::MAX));
            let row = |row: u32| rows.get(row as usize);
            return (last.and_then(row), next.and_then(row));
        }
        let mut last = None;
        for row in rows.iter().filter(|row| row.range.contains(address)) {
            if row.told > at {
                return (last, Some(row));
            }
            if !row.is_parting() {
                last = Some(row);
            }
        }
        (last, None)
    }

    fn rows_of(&self, island: usize) -> &[Row] {
        match self.islands.get(island) {
            Some(Island::Alone(row)) => std::slice::from_ref(row),
            Some(Island::Several(places)) => self.rows.get(places.clone()).unwrap_or_default(),
            None => &[],
        }
    }

    /// What is still there after all that is known, in the order of addresses.
    pub fn remaining(&self) -> impl Iterator<Item = (AvmaRange, CodeId)> {
        let program = self.programs.last().copied().unwrap_or_default();
        (0..self.islands.len()).flat_map(move |island| {
            let rows = self.rows_of(island);
            let mut edges: Vec<Avma> = rows.iter().flat_map(|row| [row.range.start(), row.range.end()]).collect();
            edges.sort_unstable();
            edges.dedup();
            let mut remaining: Vec<(AvmaRange, CodeId)> = Vec::new();
            for piece in edges.windows(2).filter_map(|edges| AvmaRange::new(*edges.first()?, *edges.last()?)) {
                let last = self.around(island, piece.start(), NEVER).0;
                let Some(row) = last.filter(|row| row.until == NEVER && row.told >= program) else { continue };
                match remaining.last_mut() {
                    Some((range, code)) if *code == row.code && range.end() == piece.start() => {
                        *range = AvmaRange::new(range.start(), piece.end()).unwrap_or(*range);
                    }
                    _ => remaining.push((piece, row.code)),
                }
            }
            remaining
        })
    }

    /// How many bytes it holds.
    pub fn memory(&self) -> usize {
        let islands = self.islands.capacity().saturating_mul(size_of::<Island>());
        let rows = self.rows.capacity().saturating_mul(size_of::<Row>());
        let crowds = self.crowds.values().map(|crowd| crowd.memory().saturating_add(size_of::<(usize, Crowd)>()));
        crowds.fold(self.starts.memory().saturating_add(islands).saturating_add(rows), usize::saturating_add)
    }
}
