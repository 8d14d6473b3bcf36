//! How `tree` reads: it moves to the right only where calls part, and straight ways without news are folded.

use super::{CallRow, Calls, RowKind, Tree};
use crate::names::{self, Spelling};
use crate::{Report, Width, text};
use std::fmt::Write as _;

/// The columns before the tree take this much.
const NUMBERS: usize = 26;

/// A tree gets no deeper than this in text, however wide; two columns each.
const DEEPEST: usize = 60;

/// Shorter runs of native frames are shown.
const NATIVE_RUN: usize = 3;

/// Of longer runs of managed frames only the first and the last are shown.
const MANAGED_RUN: usize = 12;
const MANAGED_FIRST: usize = 3;
const MANAGED_LAST: usize = 5;

impl Report for Tree<'_> {
    const NAME: &'static str = "tree";

    fn text(&self, width: Width) -> String {
        if self.all.samples == 0 {
            let [_, samples] = self.all.quantity.samples();
            return format!("No {samples}: there are no calls to show.\n");
        }
        let mut out = String::new();
        let mut sentence = format!("{}; percent is of {}", text::sum(self.all), self.all.quantity.these());
        if self.least_percent > 0.0 {
            let _ = write!(sentence, "; calls under {} % are left out", self.least_percent);
        }
        text::wrap(&mut out, &sentence, width.of_paragraphs());
        let _ = writeln!(out, "\ntotal %  self %  {:>7}", self.all.quantity.samples()[1]);
        let shape = Shape::of(self);
        let mut hidden: Vec<usize> = Vec::new();
        for (index, row) in self.rows.iter().enumerate() {
            match shape.fates[index] {
                Fate::LeftOut => {}
                Fate::Folded if width != Width::Unlimited => hidden.push(index),
                Fate::Folded | Fate::Shown => {
                    self.fold_line(&mut out, &shape, &hidden, width);
                    hidden.clear();
                    if row.parent.is_none() && index > 0 && self.roots == Calls::ByThread {
                        out.push('\n');
                    }
                    let start = shape.start(self, index, width);
                    line(&mut out, row, &start, width);
                }
            }
        }
        out
    }
}

fn line(out: &mut String, row: &CallRow<'_>, start: &str, width: Width) {
    let nested = if row.nested_calls > 1 { format!(" ({} nested calls)", row.nested_calls) } else { String::new() };
    let room = width.beside(NUMBERS + start.chars().count() + nested.len());
    // Most rows have no time of their own; those that have stand out.
    let own = if row.own.samples == 0 { " ".repeat(7) } else { text::percent_column(row.own.percent) };
    let _ = writeln!(
        out,
        "{} {own} {:>8}  {start}{}{nested}",
        text::percent_column(row.total.percent),
        row.total.samples,
        names::function(&row.name, row.module, row.spelling, room),
    );
}

impl Tree<'_> {
    /// One line for all the rows that are not shown here.
    fn fold_line(&self, out: &mut String, shape: &Shape, hidden: &[usize], width: Width) {
        let Some(&first) = hidden.first() else { return };
        let mut modules: Vec<&str> = hidden.iter().filter_map(|&row| self.rows[row].module).collect();
        modules.dedup();
        let managed = if self.rows[first].spelling == Spelling::Managed { "managed" } else { "native" };
        let start = shape.start(self, first, width);
        let line = format!("… {} {managed} frames: {}", hidden.len(), modules.join(", "));
        let room = width.beside(NUMBERS + start.chars().count());
        let line = names::name(line.trim_end_matches([':', ' ']), Spelling::Plain, room).into_owned();
        let _ = writeln!(out, "{:NUMBERS$}{start}{line}", "");
    }

    /// Whether so much of the whole is too little to be shown.
    fn is_little(&self, amount: u64) -> bool {
        let cost = strata_profile::Share { part: amount, whole: self.all.amount };
        cost.percent().is_some_and(|percent| percent < self.least_percent)
    }
}

/// What becomes of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Shown,
    /// In the middle of a straight way.
    Folded,
    /// Too little even in sum.
    LeftOut,
}

/// Where each row stands.
struct Shape {
    fates: Vec<Fate>,
    /// How often calls part on the way to each row.
    indents: Vec<usize>,
    /// Whether a row is the only one that its caller calls.
    alone: Vec<bool>,
}

impl Shape {
    fn of(tree: &Tree<'_>) -> Self {
        let rows = &tree.rows;
        let mut shape =
            Self { fates: vec![Fate::Shown; rows.len()], indents: vec![0; rows.len()], alone: vec![false; rows.len()] };
        let mut calls = vec![0u32; rows.len()];
        for (index, row) in rows.iter().enumerate() {
            if row.kind == RowKind::Pruned && tree.is_little(row.total.amount) {
                shape.fates[index] = Fate::LeftOut;
            } else if let Some(parent) = row.parent {
                calls[parent] += 1;
            }
        }
        for (index, row) in rows.iter().enumerate() {
            if let Some(parent) = row.parent {
                shape.alone[index] = calls[parent] == 1;
                shape.indents[index] = shape.indents[parent] + usize::from(calls[parent] > 1);
            }
        }
        shape.fold(tree, &calls);
        shape
    }

    /// Finds runs of rows that could go: each the only call of the one before, calling one other, with next to no time of
    /// its own, so that nothing but names is between the rows around the run.
    fn fold(&mut self, tree: &Tree<'_>, calls: &[u32]) {
        let mut run: Vec<usize> = Vec::new();
        for (index, row) in tree.rows.iter().enumerate() {
            if self.fates[index] == Fate::LeftOut {
                continue;
            }
            let before = run.first().map_or(row.parent, |&first| tree.rows[first].parent);
            let straight = self.alone[index]
                && calls[index] == 1
                && row.kind == RowKind::Function
                && row.nested_calls == 1
                && tree.is_little(row.own.amount)
                && before.is_some_and(|before| {
                    tree.is_little(tree.rows[before].total.amount.saturating_sub(row.total.amount))
                });
            let managed = row.spelling == Spelling::Managed;
            let continues = run.last().is_none_or(|&last| {
                row.parent == Some(last) && (tree.rows[last].spelling == Spelling::Managed) == managed
            });
            if !continues || !straight {
                self.close(tree, &mut run);
            }
            if straight {
                run.push(index);
            }
        }
        self.close(tree, &mut run);
    }

    fn close(&mut self, tree: &Tree<'_>, run: &mut Vec<usize>) {
        let managed = run.first().is_some_and(|&first| tree.rows[first].spelling == Spelling::Managed);
        let folded = match managed {
            true if run.len() >= MANAGED_RUN => &run[MANAGED_FIRST..run.len() - MANAGED_LAST],
            false if run.len() >= NATIVE_RUN => &run[..],
            _ => &[],
        };
        for &row in folded {
            self.fates[row] = Fate::Folded;
        }
        run.clear();
    }

    /// What stands before a row's name: indentation, and a mark where calls part.
    fn start(&self, tree: &Tree<'_>, index: usize, width: Width) -> String {
        let deepest = match width {
            Width::Columns(columns) => (columns.saturating_sub(NUMBERS) / 4).min(DEEPEST),
            Width::Unlimited => DEEPEST,
        };
        let indent = self.indents[index];
        let mut start = "  ".repeat(indent.min(deepest));
        if indent > deepest {
            let _ = write!(start, "(+{}) ", indent - deepest);
        }
        match tree.rows[index].kind {
            RowKind::Thread => {}
            _ if self.alone[index] => start.push_str("  "),
            _ => start.push_str("- "),
        }
        start
    }
}
