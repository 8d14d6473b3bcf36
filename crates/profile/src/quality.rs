//! How good a profile is: counts over its samples.

use crate::{Found, Handle, NameSource, Profile, StackEnd};
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
    /// Samples whose stack reaches the thread's root, of all of which that is known.
    pub fn whole_stacks(&self) -> Share {
        let told = self.stacks.iter().filter(|(end, _)| **end != StackEnd::Untold);
        Share {
            part: self.stacks.get(&StackEnd::Root).copied().unwrap_or(0),
            whole: told.map(|(_, count)| count).sum(),
        }
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
///
/// Samples are added up along the stack tree, so each stack is visited once, however many samples lie in it.
pub fn quality(profile: &Profile) -> Quality {
    let mut quality = Quality::default();
    let mut samples_in = vec![0u64; profile.stacks.len()];
    // Stacks of one end come in long runs.
    for run in profile.samples.chunk_by(|one, next| one.end == next.end) {
        if let Some(first) = run.first() {
            *quality.stacks.entry(first.end).or_default() += run.len() as u64;
        }
        for stack in run.iter().filter_map(|sample| sample.stack) {
            samples_in[stack.index()] += 1;
        }
    }
    // A stack's handle exists before any stack that it calls, so walking backwards meets callees before callers.
    for (index, stack) in profile.stacks.rows().iter().enumerate().rev() {
        let samples = samples_in[index];
        if samples == 0 {
            continue;
        }
        if let Some(parent) = stack.parent {
            samples_in[parent.index()] += samples;
        }
        let frame = profile.frames[stack.frame];
        *quality.found.entry(frame.found).or_default() += samples;
        *quality.named.entry(frame.named).or_default() += samples;
        if profile.functions[frame.function].kind.is_managed() {
            quality.managed += samples;
            quality.managed_named += if frame.named.is_name() { samples } else { 0 };
        }
    }
    quality
}
