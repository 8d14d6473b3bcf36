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

/// Samples, what they stand for, and its share of all that the report shows. In JSON the fields are called by what is
/// measured: `cpu_ns`, `cpu_percent`; `thread_time_ns`, `thread_time_percent`; `events`, `events_percent`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// Number of samples.
    pub samples: u64,
    /// In the quantity's unit.
    pub amount: u64,
    /// Percent of the report's whole; `None` when that is zero.
    pub percent: Option<f64>,
    /// What is measured.
    pub quantity: Quantity,
}

impl Cost {
    /// This weight as part of a whole.
    pub fn of(weight: Weight, whole: Whole) -> Self {
        let percent = Share { part: weight.amount, whole: whole.weight.amount }.percent();
        Self { samples: weight.samples, amount: weight.amount, percent, quantity: whole.quantity }
    }
}

impl Serialize for Cost {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Cost", 3)?;
        fields.serialize_field("samples", &self.samples)?;
        fields.serialize_field(self.quantity.amount_field(), &self.amount)?;
        fields.serialize_field(self.quantity.percent_field(), &self.percent)?;
        fields.end()
    }
}
