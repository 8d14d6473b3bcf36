//! The Firefox Profiler's processed profile: JSON, version 60 (all tables but the samples are shared between threads).
//!
//! One thread per thread of the operating system, with its process. A function is one function in all its tiers, with its
//! source file where that is known; its frames carry the kind of code as category, the tier as subcategory, and the line. Times are milliseconds from the recording's
//! start (or from the first sample, should that be earlier), weights are milliseconds of what is measured; of CPU time,
//! `threadCPUDelta` is the same in nanoseconds. Where no sample has any, samples are counted instead, and so are events. What was lost is in `meta.extra`.
//! Addresses are `-1`: the model does not say where images begin. Source of the format: the type definitions and the
//! format changelog of the Firefox Profiler.

mod category;
mod meta;
mod shared;
mod spots;
mod thread;

use crate::json::{Column, samples_by_thread};
use serde::Serialize;
use std::io::{self, BufWriter, Write};
use strata_digest::CallTree;
use strata_profile::{Profile, Quantity, Timestamp, Unit};

#[derive(Serialize)]
struct Document<M, L, S, T> {
    meta: M,
    libs: L,
    shared: S,
    threads: T,
}

/// Writes the profile for the Firefox Profiler.
///
/// # Errors
/// Those of `out`.
pub fn write(profile: &Profile, out: &mut dyn Write) -> io::Result<()> {
    let spots = spots::Spots::of(profile);
    let tree = CallTree::over_frames(profile, |frame| spots.of_frame(frame), |_| None);
    let by_thread = samples_by_thread(profile);
    let clock = Clock::of(profile);
    let strings = shared::Strings::of(profile, &tree);
    let document = Document {
        meta: meta::meta(profile, clock.zero),
        libs: shared::libs(profile),
        shared: shared::shared(profile, &tree, &spots, &strings),
        threads: Column(|| {
            let nobody = profile.threads.is_empty().then(thread::Identity::nobody).map(|nobody| (nobody, &[][..]));
            let threads = profile.threads.rows().iter().zip(&by_thread);
            let threads = threads.map(|(row, positions)| (thread::Identity::of(profile, row), positions.as_slice()));
            let threads = threads.chain(nobody);
            threads.map(|(identity, positions)| thread::thread(profile, &tree, clock, identity, positions))
        }),
    };
    let mut out = BufWriter::with_capacity(1 << 16, out);
    serde_json::to_writer(&mut out, &document)?;
    out.flush()
}

/// Where time zero lies and how samples are weighed.
#[derive(Clone, Copy)]
struct Clock {
    zero: Timestamp,
    /// Whether samples are weighed by time at all.
    weighs_time: bool,
    quantity: Quantity,
}

impl Clock {
    fn of(profile: &Profile) -> Self {
        let start = profile.recording.start;
        let zero = profile.samples.first().map_or(start, |sample| sample.time.min(start));
        let quantity = profile.recording.measure.quantity();
        let is_time = quantity.unit() == Unit::Nanoseconds;
        let weighs_time = is_time && profile.samples.iter().any(|sample| sample.weight > 0);
        Self { zero, weighs_time, quantity }
    }

    fn ms(self, time: Timestamp) -> f64 {
        milliseconds(time.since(self.zero))
    }
}

#[expect(clippy::cast_precision_loss, reason = "exact up to 2^53 ns, which is 104 days")]
fn milliseconds(ns: u64) -> f64 {
    ns as f64 / 1e6
}
