//! What the lines of a function cost.

use crate::{Cost, Whole};
use serde::Serialize;
use std::collections::BTreeMap;
use std::num::NonZeroU32;
use strata_digest::{Groups, Sources, Weight};
use strata_profile::{Profile, SourceLine};

/// One line of source.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LineRow<'p> {
    /// Path of the file on the machine that compiled it.
    pub file: &'p str,
    /// Where its content can be had, where the compiler wrote that down (Source Link).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<&'p str>,
    /// The line, counted from 1.
    pub line: NonZeroU32,
    /// Samples that have it as their leaf.
    #[serde(rename = "self")]
    pub own: Cost,
}

/// For each group of functions what its lines cost as the leaf of samples.
pub(super) struct OwnByLine(Vec<BTreeMap<SourceLine, Weight>>);

impl OwnByLine {
    pub(super) fn of(profile: &Profile, groups: &Groups) -> Self {
        let mut of_group: Vec<BTreeMap<SourceLine, Weight>> = vec![BTreeMap::new(); groups.len()];
        for sample in &profile.samples {
            let Some(stack) = sample.stack else { continue };
            let frame = profile.frames[profile.stacks[stack].frame];
            let Some(line) = frame.line else { continue };
            let lines = &mut of_group[groups.of(frame.function).0 as usize];
            lines.entry(line).or_default().add(Weight::of_sample(sample));
        }
        Self(of_group)
    }

    /// The lines of a group, the costliest first.
    pub(super) fn rows<'p>(&self, profile: &'p Profile, group: usize, all: Whole) -> Vec<LineRow<'p>> {
        let mut lines: Vec<_> = self.0[group].iter().map(|(&line, &weight)| (line, weight)).collect();
        lines.sort_by_key(|&(line, weight)| (std::cmp::Reverse((weight.amount, weight.samples)), line));
        let row = |(line, weight): (SourceLine, Weight)| LineRow {
            file: Sources::path(profile, line),
            link: profile.source_files[line.file].link.as_deref(),
            line: line.line,
            own: Cost::of(weight, all),
        };
        lines.into_iter().map(row).collect()
    }
}
