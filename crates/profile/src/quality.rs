//! How good a profile is: counts over its samples.

use crate::{Found, NameSource, Profile, StackEnd};
use serde::Serialize;
use std::collections::BTreeMap;

/// Counts over the samples of a profile. A frame counts once for each sample whose stack it is in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Quality {
    /// Samples by how their stack ended.
    pub stacks: BTreeMap<StackEnd, u64>,
    /// Frames by how they were found.
    pub found: BTreeMap<Found, u64>,
    /// Frames by how they were named.
    pub named: BTreeMap<NameSource, u64>,
    /// Managed frames (JIT and precompiled code) that have a name.
    pub managed_named: u64,
    /// Managed frames, named or not: code in memory that only the runtime writes counts as managed.
    pub managed: u64,
}

/// A share of a whole that never divides by zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Share {
    /// The counted part.
    pub part: u64,
    /// The whole.
    pub whole: u64,
}

impl Share {
    /// Percent, or `None` of nothing.
    #[expect(clippy::cast_precision_loss, reason = "a percentage for reading")]
    pub fn percent(self) -> Option<f64> {
        (self.whole > 0).then(|| self.part as f64 * 100.0 / self.whole as f64)
    }
}

impl Quality {
    /// Samples whose stack reaches the thread's root, of all samples.
    pub fn whole_stacks(&self) -> Share {
        Share { part: self.stacks.get(&StackEnd::Root).copied().unwrap_or(0), whole: self.stacks.values().sum() }
    }

    /// Frames with a name, of all frames.
    pub fn named_frames(&self) -> Share {
        let part = self.named.iter().filter(|(source, _)| source.is_name()).map(|(_, count)| count).sum();
        Share { part, whole: self.named.values().sum() }
    }

    /// Managed frames with a name, of all managed frames.
    pub fn named_managed_frames(&self) -> Share {
        Share { part: self.managed_named, whole: self.managed }
    }
}

/// Counts how good a profile is.
pub fn quality(profile: &Profile) -> Quality {
    let mut quality = Quality::default();
    for sample in &profile.samples {
        *quality.stacks.entry(sample.end).or_default() += 1;
        for frame in sample.stack.into_iter().flat_map(|stack| profile.frames_from_leaf(stack)) {
            let frame = profile.frames[frame];
            *quality.found.entry(frame.found).or_default() += 1;
            *quality.named.entry(frame.named).or_default() += 1;
            if profile.functions[frame.function].kind.is_managed() {
                quality.managed += 1;
                quality.managed_named += u64::from(frame.named.is_name());
            }
        }
    }
    quality
}
