//! Ranges of process addresses that never overlap, each with a value.

use crate::{Avma, AvmaRange};
use std::collections::BTreeMap;

/// Ranges of process addresses that never overlap, each with a value; a later range cuts what it covers, as `mmap` does.
#[derive(Clone, Debug)]
pub struct RangeMap<T> {
    entries: BTreeMap<Avma, (AvmaRange, T)>,
}

impl<T> Default for RangeMap<T> {
    fn default() -> Self {
        Self { entries: BTreeMap::new() }
    }
}

impl<T: Clone> RangeMap<T> {
    /// Puts a value over a range; what was there before is cut. Returns the entries that were cut, as they were.
    pub fn insert(&mut self, range: AvmaRange, value: T) -> Vec<(AvmaRange, T)> {
        let cut = self.remove(range);
        self.entries.insert(range.start(), (range, value));
        cut
    }

    /// Empties a range; entries that reach into it keep their parts outside ([`AvmaRange::without`]). Returns the entries
    /// that were cut, as they were.
    pub fn remove(&mut self, range: AvmaRange) -> Vec<(AvmaRange, T)> {
        let starts: Vec<Avma> = self
            .entries
            .range(..range.end())
            .rev()
            .take_while(|(_, (entry, _))| entry.overlaps(&range))
            .map(|(start, _)| *start)
            .collect();
        let mut cut = Vec::with_capacity(starts.len());
        for start in starts {
            let Some((old, value)) = self.entries.remove(&start) else { continue };
            for part in old.without(&range) {
                self.entries.insert(part.start(), (part, value.clone()));
            }
            cut.push((old, value));
        }
        cut
    }
}

impl<T> RangeMap<T> {
    /// The range that holds an address, with its value.
    pub fn get(&self, address: Avma) -> Option<(AvmaRange, &T)> {
        let (_, (range, value)) = self.entries.range(..=address).next_back()?;
        range.contains(address).then_some((*range, value))
    }

    /// Whether any range shares an address with this one.
    pub fn overlaps(&self, range: &AvmaRange) -> bool {
        self.entries.range(..range.end()).next_back().is_some_and(|(_, (entry, _))| entry.overlaps(range))
    }

    /// All ranges with their values, in order.
    pub fn iter(&self) -> impl Iterator<Item = (AvmaRange, &T)> {
        self.entries.values().map(|(range, value)| (*range, value))
    }

    /// Number of ranges.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is no range.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(start: u64, end: u64) -> AvmaRange {
        AvmaRange::new(Avma(start), Avma(end)).unwrap()
    }

    #[test]
    fn a_later_range_cuts_the_earlier_ones() {
        let mut map = RangeMap::default();
        assert!(map.insert(range(0x10, 0x50), 'a').is_empty());
        assert!(map.insert(range(0x60, 0x70), 'b').is_empty());
        assert_eq!(map.insert(range(0x20, 0x30), 'c'), [(range(0x10, 0x50), 'a')]);
        let at = |address| map.get(Avma(address)).map(|(_, value)| *value);
        let seen = [0xf, 0x10, 0x1f, 0x20, 0x2f, 0x30, 0x4f, 0x50, 0x60, 0x70].map(at);
        assert_eq!(
            seen,
            [None, Some('a'), Some('a'), Some('c'), Some('c'), Some('a'), Some('a'), None, Some('b'), None]
        );
        assert!(map.overlaps(&range(0x6f, 0x100)) && !map.overlaps(&range(0x50, 0x60)));
        assert_eq!(map.iter().map(|(range, _)| range.start().0).collect::<Vec<_>>(), [0x10, 0x20, 0x30, 0x60]);
        assert_eq!(map.insert(range(0, 0x1000), 'd').len(), 4);
        assert_eq!(map.len(), 1);
        map.remove(range(0, 0x1000));
        assert!(map.is_empty());
    }
}
