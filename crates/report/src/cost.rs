//! What something cost, beside its share of the whole.

use serde::Serialize;
use strata_digest::Weight;
use strata_profile::Share;

/// Samples, CPU time, and the CPU time's share of all that the report shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Cost {
    /// Number of samples.
    pub samples: u64,
    /// CPU time in nanoseconds.
    pub cpu_ns: u64,
    /// Percent of the report's CPU time; `None` when that is zero.
    pub cpu_percent: Option<f64>,
}

impl Cost {
    /// This weight as part of a whole.
    pub fn of(weight: Weight, whole: Weight) -> Self {
        let percent = Share { part: weight.cpu_ns, whole: whole.cpu_ns }.percent();
        Self { samples: weight.samples, cpu_ns: weight.cpu_ns, cpu_percent: percent }
    }
}
