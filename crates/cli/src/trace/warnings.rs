//! Words on what is missing from a trace.

use super::{Whole, called};
use crate::say::say;
use std::path::Path;
use strata_digest::visible;
use strata_nettrace::order::OrderCounts;
use strata_nettrace::{ProblemKind, StreamEnd};

/// Says one warning about a trace.
pub(crate) fn warn(path: &Path, text: &str) {
    say(&format!("strata: warning: {}", visible(&format!("{}: {text}", called(path)))));
}

impl Whole {
    /// Says on standard error what is missing from the trace.
    pub(crate) fn warn(&self, path: &Path) {
        for text in [self.end(), self.unreadable(), self.lost()].into_iter().flatten() {
            warn(path, &text);
        }
    }

    fn end(&self) -> Option<String> {
        Some(match &self.summary.end {
            StreamEnd::Complete => return None,
            StreamEnd::Cut { offset, block: None } => format!("the trace is cut at byte {offset}; {AFTER}"),
            StreamEnd::Cut { offset, block: Some(block) } => format!(
                "the trace is cut at byte {offset}, in the {} at byte {} which has {} of {} bytes; {AFTER}",
                block.kind, block.offset, block.present, block.declared
            ),
            StreamEnd::Damaged { offset } => match self.first_problem {
                Some(problem) if self.summary.problems.total() == 1 => {
                    format!("the trace is damaged at byte {offset} ({problem}); nothing behind it is read")
                }
                _ => format!("the trace is damaged at byte {offset}; nothing behind it is read"),
            },
        })
    }

    /// What could not be read, beside the end.
    fn unreadable(&self) -> Option<String> {
        let ended_by_damage = matches!(self.summary.end, StreamEnd::Damaged { .. });
        if ended_by_damage && self.summary.problems.total() == 1 {
            return None;
        }
        let problems = self.summary.problems.iter().filter(|(kind, _)| *kind != ProblemKind::Cut);
        let problems: Vec<String> = problems.map(|(kind, count)| format!("{kind} ({count} times)")).collect();
        let first = self.first_problem.filter(|problem| problem.kind != ProblemKind::Cut);
        let first = first.map(|problem| format!("; the first: {problem}")).unwrap_or_default();
        (!problems.is_empty()).then(|| format!("not all of it can be read: {}{first}", problems.join(", ")))
    }

    fn lost(&self) -> Option<String> {
        let loss = &self.summary.loss;
        let first = self.first_gap.map(|gap| format!(", the first before byte {}", gap.offset)).unwrap_or_default();
        // Events in blocks that could not be read are missing in the same way.
        let why = if self.unreadable().is_some() { " or are in what cannot be read" } else { "" };
        match (loss.lost, loss.unknown) {
            (0, 0) => None,
            (0, places) => Some(format!("events were lost{why} at {places} places, nobody knows how many{first}")),
            (lost, 0) => Some(format!("{lost} events were lost when it was recorded{why}{first}")),
            (lost, places) => Some(format!(
                "{lost} events were lost when it was recorded{why}, and an unknown number at {places} places{first}"
            )),
        }
    }
}

/// Says where the order of time could not be kept.
pub(crate) fn warn_of_order(path: &Path, counts: OrderCounts) {
    if counts.out_of_order > 0 {
        let events = counts.out_of_order;
        warn(path, &format!("{events} events come after later ones: the trace is not in the order it promises"));
    }
}

/// What a cut means.
const AFTER: &str = "what came behind is missing, such as the list of methods at the end";
