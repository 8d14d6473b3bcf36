//! Ranges of addresses that were told of, each at its time.

use strata_address::Avma;
use strata_profile::Timestamp;

/// Who asks for an address looks at so many ranges at most: more over one address are made to waste time.
const MOST_LOOKED_AT: usize = 1024;

/// A range, when it was told of, and what is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) start: Avma,
    /// The last address that belongs to it.
    pub(super) last: Avma,
    pub(super) at: Timestamp,
    pub(super) what: u32,
}

/// All of them: what was where, and when.
#[derive(Debug, Default)]
pub(super) struct ToldRanges {
    /// By where they start; those of one start in the order they were told.
    ranges: Vec<Told>,
    /// By place in `ranges`: the last address of all up to there.
    reach: Vec<Avma>,
}

impl ToldRanges {
    /// `ranges` are in the order they were told.
    pub(super) fn new(mut ranges: Vec<Told>) -> Self {
        ranges.sort_by_key(|told| told.start);
        let mut furthest = Avma(0);
        let reach = ranges.iter().map(|told| {
            furthest = furthest.max(told.last);
            furthest
        });
        Self { reach: reach.collect(), ranges }
    }

    /// What was at an address at a time: what was told last before, since that took the place of all earlier ones. Where
    /// nothing was told yet, what was told first after it: collectors tell of much when they stop. Of several that were told
    /// at one time it is the innermost.
    pub(super) fn find(&self, address: Avma, at: Timestamp) -> Option<&Told> {
        let begun = self.ranges.partition_point(|told| told.start <= address);
        let candidates = self.ranges.iter().zip(&self.reach).take(begun).rev();
        candidates
            .take_while(|(_, reach)| **reach >= address)
            .take(MOST_LOOKED_AT)
            .map(|(told, _)| told)
            .filter(|told| told.last >= address)
            .reduce(|best, other| if nearness(other, at) > nearness(best, at) { other } else { best })
    }
}

/// The larger, the rather it is what was there.
fn nearness(told: &Told, at: Timestamp) -> (bool, u64, Avma) {
    let is_before = told.at <= at;
    (is_before, if is_before { told.at.0 } else { u64::MAX.saturating_sub(told.at.0) }, told.start)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(ranges: &[(u64, u64, u64)], address: u64, at: u64) -> Option<u32> {
        let told = (0..).zip(ranges).map(|(what, (start, last, at))| Told {
            start: Avma(*start),
            last: Avma(*last),
            at: Timestamp(*at),
            what,
        });
        ToldRanges::new(told.collect()).find(Avma(address), Timestamp(at)).map(|told| told.what)
    }

    #[test]
    fn what_was_told_last_counts_and_else_what_comes_first() {
        // Start, last address, time.
        let ranges = [
            (0x1000, 0x1fff, 10),
            (0x1800, 0x1900, 20),
            (0x1000, 0x17ff, 30),
            (0x5000, u64::MAX, 40),
            (0x5000, 0x6000, 50),
        ];
        let check = |address, at, expected| assert_eq!(find(&ranges, address, at), expected, "{address:#x} at {at}");
        check(0xfff, 99, None);
        check(0x1000, 10, Some(0));
        check(0x1000, 29, Some(0));
        check(0x1000, 30, Some(2));
        check(0x1850, 19, Some(0));
        check(0x1850, 20, Some(1));
        check(0x1901, 99, Some(0));
        check(0x2000, 99, None);
        // Nothing was told before.
        check(0x1850, 1, Some(0));
        check(0x5800, 1, Some(3));
        check(0x5800, 99, Some(4));
        check(u64::MAX, 99, Some(3));
    }

    #[test]
    fn of_one_time_the_innermost_counts_and_then_the_last() {
        let ranges = [(0x1000, 0x10ff, 5), (0x1010, 0x101f, 5), (0x1010, 0x101f, 5), (0x10ff, 0x1200, 5)];
        let check = |address, expected| assert_eq!(find(&ranges, address, 9), expected, "{address:#x}");
        check(0x1010, Some(2));
        check(0x1020, Some(0));
        // The end of one is the start of another: for some writers it belongs to the latter.
        check(0x10ff, Some(3));
    }
}
