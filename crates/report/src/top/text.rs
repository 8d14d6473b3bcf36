//! How `top` reads: where the time went in the first lines, then one line for each function.

use super::{FunctionRow, Top};
use crate::names::{self, Spelling};
use crate::{Report, ThreadRow, Width, text};
use std::fmt::Write as _;
use strata_digest::percent;

/// Threads that the summary names.
const SUMMARY_THREADS: usize = 5;

/// The columns before the kind take this much.
const NUMBERS: usize = 27;

/// Text with fewer columns has better use for them than shares of tiers.
const ROOM_FOR_SHARES: usize = 100;

impl Report for Top<'_> {
    const NAME: &'static str = "top";

    fn text(&self, width: Width) -> String {
        if self.all.samples == 0 {
            let [_, samples] = self.all.quantity.samples();
            return format!("No {samples}: there is no function to show.\n");
        }
        let mut out = String::new();
        let threads = text::counted(self.threads.len() as u64, "thread");
        let sentence = format!("{} on {threads}; percent is of {}", text::sum(self.all), self.all.quantity.these());
        text::wrap(&mut out, &sentence, width.of_paragraphs());
        let states = self.states.iter().map(|row| format!("{} {} %", row.state, percent(row.cost.percent)));
        if !self.states.is_empty() {
            text::list(&mut out, "states", &states.collect::<Vec<_>>(), width);
        }
        let kinds = self.categories.iter().map(|row| format!("{} {} %", row.category, percent(row.cost.percent)));
        text::list(&mut out, "kinds", &kinds.collect::<Vec<_>>(), width);
        text::list(&mut out, "threads", &self.costliest_threads(), width);

        let kinds: Vec<_> = self.functions.iter().map(|row| kind(row, width)).collect();
        let kind_columns = kinds.iter().map(|kind| kind.chars().count()).max().unwrap_or(0).max("kind or tier".len());
        // A tier that is wider, of which there are few, moves its own line only.
        let kind_columns = kind_columns.min(kind_room(width));
        let [_, samples] = self.all.quantity.samples();
        let _ = writeln!(out, "\n self %  {samples:>7}  total %  {:kind_columns$}  function", "kind or tier");
        for (row, kind) in self.functions.iter().zip(&kinds) {
            let taken = NUMBERS + kind.chars().count().max(kind_columns) + 2;
            let _ = writeln!(
                out,
                "{} {:>8}  {}  {kind:kind_columns$}  {}",
                text::percent_column(row.own.percent),
                row.own.samples,
                text::percent_column(row.total.percent),
                names::function(row.name, row.module, row.spelling, width.beside(taken))
            );
        }
        if let Some(more) = self.functions_in_all.checked_sub(self.functions.len()).filter(|&more| more > 0) {
            let _ = writeln!(out, "{:NUMBERS$}and {} with less", "", text::counted(more as u64, "more function"));
        }
        out
    }
}

impl Top<'_> {
    fn costliest_threads(&self) -> Vec<String> {
        let namesakes = |row: &ThreadRow<'_>| self.threads.iter().filter(|other| other.thread == row.thread).count();
        let is_one_process = self.threads.windows(2).all(|two| two[0].pid == two[1].pid);
        let mut items: Vec<_> = self
            .threads
            .iter()
            .take(SUMMARY_THREADS)
            .map(|row| {
                let name = names::name(row.thread, Spelling::Plain, Width::Columns(32));
                let percent = percent(row.cost.percent);
                let thread = match (row.thread.is_empty(), namesakes(row) > 1) {
                    (true, _) => format!("tid {}", row.tid),
                    (false, true) => format!("{name} (tid {})", row.tid),
                    (false, false) => name.into_owned(),
                };
                if is_one_process || row.process.is_empty() || row.process == row.thread {
                    return format!("{thread} {percent} %");
                }
                format!("{thread} of {} {percent} %", names::name(row.process, Spelling::Plain, Width::Columns(32)))
            })
            .collect();
        if let Some(more) = self.threads.len().checked_sub(SUMMARY_THREADS).filter(|&more| more > 0) {
            items.push(format!("and {more} more"));
        }
        items
    }
}

/// A tier loses its share when it gets wider than this, and moves its line when it is wider without.
fn kind_room(width: Width) -> usize {
    match width {
        Width::Unlimited => usize::MAX,
        Width::Columns(columns) if columns < ROOM_FOR_SHARES => "OptimizedTier1".len(),
        Width::Columns(_) => "OptimizedTier1 88.6%".len(),
    }
}

/// JIT code goes by the tier in which most of its time was spent, with that tier's share if there are others.
fn kind(row: &FunctionRow<'_>, width: Width) -> String {
    let Some(tier) = row.tiers.first() else { return row.category.to_owned() };
    // `Unknown` alone would read as if nothing were known of the function.
    let name = if tier.tier == "Unknown" { row.category } else { tier.tier };
    if row.tiers.len() == 1 {
        return name.to_owned();
    }
    let whole = format!("{name} {}%", percent(tier.share_percent));
    if whole.len() > kind_room(width) { name.to_owned() } else { whole }
}
