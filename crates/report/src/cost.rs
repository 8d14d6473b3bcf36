//! What something cost, beside its share of the whole.

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};
use strata_digest::Weight;
use strata_profile::{Profile, Quantity, Share};

/// All samples that a report shows, and what they measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Whole {
    /// What is measured.
    pub quantity: Quantity,
    /// What all samples weigh together.
    pub weight: Weight,
}

impl Whole {
    /// All samples of a profile.
    pub fn of(profile: &Profile) -> Self {
        Self { quantity: profile.recording.measure.quantity(), weight: Weight::of(&profile.samples) }
    }
}

/// Samples, the time they stand for, and its share of all that the report shows. In JSON the fields of time are called by
/// what is measured: `cpu_ns`, `cpu_percent`, or `thread_time_ns`, `thread_time_percent`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// Number of samples.
    pub samples: u64,
    /// Time in nanoseconds.
    pub time_ns: u64,
    /// Percent of the report's time; `None` when that is zero.
    pub percent: Option<f64>,
    /// Which kind of time.
    pub quantity: Quantity,
}

impl Cost {
    /// This weight as part of a whole.
    pub fn of(weight: Weight, whole: Whole) -> Self {
        let percent = Share { part: weight.time_ns, whole: whole.weight.time_ns }.percent();
        Self { samples: weight.samples, time_ns: weight.time_ns, percent, quantity: whole.quantity }
    }
}

impl Serialize for Cost {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Cost", 3)?;
        fields.serialize_field("samples", &self.samples)?;
        fields.serialize_field(self.quantity.ns_field(), &self.time_ns)?;
        fields.serialize_field(self.quantity.percent_field(), &self.percent)?;
        fields.end()
    }
}
