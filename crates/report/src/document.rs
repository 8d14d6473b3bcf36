//! A report beside what was recorded and what was lost.

use crate::{Width, text};
use serde::Serialize;
use std::io::{self, Write};
use strata_digest::{LossSummary, visible_json};
use strata_profile::{Measure, Profile};

/// The value of the field `schema`: changes when a field changes its meaning or goes away.
pub const SCHEMA: &str = "strata-report/1";

/// A value that can be shown.
pub trait Report: Serialize {
    /// What users call it, such as `top`.
    const NAME: &'static str;

    /// Lines for people.
    fn text(&self, width: Width) -> String;
}

/// What was recorded, as far as every report says it.
#[derive(Clone, Debug, Serialize)]
pub struct Recording<'p> {
    /// What was recorded, in words.
    pub target: &'p str,
    /// What its samples measure.
    #[serde(flatten)]
    pub measure: &'p Measure,
    /// Nanoseconds from the recording's first moment to its last.
    pub duration_ns: u64,
    /// The program that recorded.
    pub recorder: &'p str,
}

/// A report with its surroundings.
#[derive(Clone, Debug, Serialize)]
pub struct Document<'p, R> {
    /// Always [`SCHEMA`].
    pub schema: &'static str,
    /// The report's name.
    pub report: &'static str,
    /// What was recorded.
    pub recording: Recording<'p>,
    /// The report.
    pub data: R,
    /// What is missing.
    pub loss: LossSummary,
}

impl<'p, R: Report> Document<'p, R> {
    /// Puts a report beside its profile's surroundings.
    pub fn new(profile: &'p Profile, data: R) -> Self {
        let recording = &profile.recording;
        Self {
            schema: SCHEMA,
            report: R::NAME,
            recording: Recording {
                target: &recording.target,
                measure: &recording.measure,
                duration_ns: profile.duration_ns(),
                recorder: &recording.recorder,
            },
            data,
            loss: LossSummary::of(profile),
        }
    }

    /// Writes JSON with indentation and a line end.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_json(&self, out: &mut dyn Write) -> io::Result<()> {
        let json = visible_json(serde_json::to_string_pretty(self)?);
        writeln!(out, "{json}")
    }

    /// The report as text, ended by a paragraph on what was lost; before it stands which events it is about, if it is.
    pub fn text(&self, width: Width) -> String {
        let mut text = String::new();
        if let Measure::Events { what } = self.recording.measure {
            text::wrap(&mut text, &format!("Events: {what}"), width.of_paragraphs());
        }
        text.push_str(&self.data.text(width));
        if !text.is_empty() {
            text.push('\n');
        }
        text::wrap(&mut text, &self.loss.paragraph(), width.of_paragraphs());
        text
    }
}
