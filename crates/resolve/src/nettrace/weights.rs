//! How much time each sample stands for.

use super::samples::{RawSample, Samples};
use strata_profile::{LongGaps, Timestamp};

/// A gap this many times as long as usual is told.
const FAR_ABOVE: u64 = 10;

/// Takes the samples in time order, each with the time since its thread's sample before it; a thread's first sample has
/// none. With them comes the usual length of a gap, and those far above it.
pub(super) fn weigh(samples: &mut Samples) -> (Vec<RawSample>, Option<u64>, Option<LongGaps>) {
    let mut all = std::mem::take(&mut samples.all);
    all.sort_by_key(|sample| sample.time);
    let mut last: Vec<Option<Timestamp>> = vec![None; samples.threads.len()];
    let mut gaps = Vec::with_capacity(all.len());
    for sample in &mut all {
        let Some(last) = usize::try_from(sample.thread).ok().and_then(|thread| last.get_mut(thread)) else { continue };
        sample.weight = match last.replace(sample.time) {
            None => 0,
            Some(before) => {
                let gap = sample.time.since(before);
                gaps.push(gap);
                gap
            }
        };
    }
    let usual = median(&mut gaps);
    let long = usual.map(|usual| usual.saturating_mul(FAR_ABOVE)).filter(|from| *from > 0).and_then(|from_ns| {
        let long = gaps.iter().filter(|gap| **gap > from_ns);
        let (count, total_ns) =
            long.fold((0_u64, 0_u64), |(count, total), gap| (count.saturating_add(1), total.saturating_add(*gap)));
        (count > 0).then_some(LongGaps { count, total_ns, from_ns })
    });
    (all, usual, long)
}

fn median(gaps: &mut [u64]) -> Option<u64> {
    let middle = gaps.len().checked_div(2).filter(|_| !gaps.is_empty())?;
    Some(*gaps.select_nth_unstable(middle).1)
}
