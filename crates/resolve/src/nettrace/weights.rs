//! How much time each sample stands for.

use super::samples::RawSample;
use strata_profile::{LongGaps, Timestamp};

/// A gap this many times as long as usual is told.
const FAR_ABOVE: u64 = 10;

/// What samples of thread time weigh.
pub(super) struct Weights {
    /// Nanoseconds of each: the time since its thread's sample before it; a thread's first sample has none.
    pub(super) of_samples: Vec<u64>,
    /// The usual length of a gap between two samples of a thread.
    pub(super) usual_gap_ns: Option<u64>,
    /// Gaps far above that.
    pub(super) long_gaps: Option<LongGaps>,
}

/// Weighs samples that are in the order of time, of so many threads.
pub(super) fn weigh(samples: &[RawSample], threads: usize) -> Weights {
    let mut last: Vec<Option<Timestamp>> = vec![None; threads];
    let mut gaps = Vec::with_capacity(samples.len());
    let weight = |sample: &RawSample| {
        let last = usize::try_from(sample.thread).ok().and_then(|thread| last.get_mut(thread));
        let gap = last.and_then(|last| last.replace(sample.time)).map(|before| sample.time.since(before));
        gaps.extend(gap);
        gap.unwrap_or(0)
    };
    let of_samples = samples.iter().map(weight).collect();
    let usual_gap_ns = median(&mut gaps);
    let long = usual_gap_ns.map(|usual| usual.saturating_mul(FAR_ABOVE)).filter(|from| *from > 0);
    let long_gaps = long.and_then(|from_ns| {
        let long = gaps.iter().filter(|gap| **gap > from_ns);
        let (count, total_ns) =
            long.fold((0_u64, 0_u64), |(count, total), gap| (count.saturating_add(1), total.saturating_add(*gap)));
        (count > 0).then_some(LongGaps { count, total_ns, from_ns })
    });
    Weights { of_samples, usual_gap_ns, long_gaps }
}

fn median(gaps: &mut [u64]) -> Option<u64> {
    let middle = gaps.len().checked_div(2).filter(|_| !gaps.is_empty())?;
    Some(*gaps.select_nth_unstable(middle).1)
}
