//! `loss`: everything known to be missing.

use crate::{Report, Width, text};
use serde::Serialize;
use std::fmt::Write as _;
use strata_digest::{Counted, LossSummary};
use strata_profile::{Profile, Share};

/// The report `loss`. Its numbers are those that every document carries, so here it only tells how to show them.
#[derive(Clone, Debug, Serialize)]
pub struct Losses {
    #[serde(skip)]
    summary: LossSummary,
    /// Number of samples that were looked at.
    pub samples: u64,
}

impl Losses {
    /// Looks for what is missing.
    pub fn of(profile: &Profile) -> Self {
        Self { summary: LossSummary::of(profile), samples: profile.samples.len() as u64 }
    }
}

impl Report for Losses {
    const NAME: &'static str = "loss";

    fn text(&self, width: Width) -> String {
        let loss = &self.summary;
        let mut out = String::new();
        for (label, count) in loss.counts() {
            let _ = writeln!(out, "{count:>12}  {label}");
        }
        for gap in &loss.gaps {
            let mut line = String::new();
            text::wrap(&mut line, gap, width.of_paragraphs().saturating_sub(14));
            for (index, line) in line.lines().enumerate() {
                let _ = writeln!(out, "{:>12}  {line}", if index == 0 { "gap" } else { "" });
            }
        }
        if self.samples == 0 {
            out.push_str("\nNo samples: there are no stacks and frames to judge.\n");
            return out;
        }
        section(&mut out, "stacks, by how they end", &loss.stacks_by_end);
        section(&mut out, "frames, by how they were found", &loss.frames_by_found);
        section(&mut out, "frames, by how they were named", &loss.frames_by_named);
        out
    }
}

fn section(out: &mut String, title: &str, rows: &[Counted]) {
    let whole = rows.iter().map(|row| row.count).sum();
    let _ = writeln!(out, "\n{:>12}      %    {title}", "count");
    for row in rows {
        let percent = text::percent_column(Share { part: row.count, whole }.percent());
        let _ = writeln!(out, "{:>12}  {percent}  {}", row.count, row.label);
    }
    if rows.is_empty() {
        let _ = writeln!(out, "{:>12}  {}  none", 0, text::percent_column(None));
    }
}
