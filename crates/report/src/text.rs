//! Pieces of text: numbers, lists, lines of a width.

use crate::{Cost, Width};
use strata_digest::{identified, visible};
use strata_profile::Unit;

/// A percentage as a column of seven, the decimal points below each other.
pub(crate) fn percent_column(percent: Option<f64>) -> String {
    let text = strata_digest::percent(percent);
    let decimals = text.find('.').map_or(0, |point| text.len() - point);
    let missing = 3usize.saturating_sub(decimals);
    format!("{:>7}", text + &" ".repeat(missing))
}

/// Milliseconds with two decimals.
#[expect(clippy::cast_precision_loss, reason = "a time for reading")]
pub(crate) fn ms(ns: u64) -> String {
    format!("{:.2}", ns as f64 / 1e6)
}

/// `17 samples, 18.50 ms of CPU time`, or of what else is measured; `17 events`.
pub(crate) fn sum(cost: Cost) -> String {
    let [sample, samples] = cost.quantity.samples();
    let samples = format!("{} {}", cost.samples, if cost.samples == 1 { sample } else { samples });
    match cost.quantity.unit() {
        Unit::Nanoseconds => format!("{samples}, {} ms of {}", ms(cost.amount), cost.quantity.name()),
        Unit::Events => samples,
    }
}

/// `1 thread`, `2 threads`.
pub(crate) fn counted(count: u64, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

/// Appends a paragraph broken between words; a word longer than `width` gets a line of its own.
pub(crate) fn wrap(out: &mut String, paragraph: &str, width: usize) {
    let mut column = 0;
    // A number keeps its percent sign.
    const NO_BREAK: &str = "\u{a0}%";
    for word in visible(paragraph).replace(" %", NO_BREAK).split(' ') {
        let length = word.chars().count();
        if column > 0 && column + 1 + length > width {
            out.push('\n');
            column = 0;
        }
        if column > 0 {
            out.push(' ');
            column += 1;
        }
        out.push_str(&word.replace(NO_BREAK, " %"));
        column += length;
    }
    out.push('\n');
}

/// Appends `label    item, item, item`, broken between items; the label's column is nine wide.
pub(crate) fn list(out: &mut String, label: &str, items: &[String], width: Width) {
    let width = width.of_paragraphs();
    out.push_str(&format!("{label:<9}"));
    let mut column = 9;
    for (index, item) in items.iter().enumerate() {
        let comma = if index + 1 < items.len() { "," } else { "" };
        let length = item.chars().count() + comma.len();
        if column > 9 && column + 1 + length > width {
            out.push_str(&format!("\n{:9}", ""));
            column = 9;
        } else if column > 9 {
            out.push(' ');
            column += 1;
        }
        out.push_str(item);
        out.push_str(comma);
        column += length;
    }
    out.push('\n');
}

/// `worker (tid 12) of app (pid 10)`; what has no name goes by its number alone.
pub(crate) fn thread((process, pid): (&str, u32), (thread, tid): (&str, u32)) -> String {
    format!("{} of {}", identified(thread, "tid", tid), identified(process, "pid", pid))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimal_points_are_below_each_other() {
        let lines: Vec<_> = [Some(100.0), Some(99.996), Some(7.0), Some(0.01), None].map(percent_column).into();
        assert_eq!(lines, [" 100.0 ", "  99.99", "   7.0 ", "  <0.1 ", "   -   "]);
    }

    #[test]
    fn lists_are_broken_between_their_items() {
        let mut out = String::new();
        let items = ["one 1 %", "two 2 %", "three 3 %"].map(str::to_owned);
        list(&mut out, "all", &items, Width::Columns(25));
        assert_eq!(out, "all      one 1 %,\n         two 2 %,\n         three 3 %\n");
    }

    #[test]
    fn paragraphs_keep_to_the_width() {
        let mut out = String::new();
        wrap(&mut out, "aa bb cc dddddddddd e\x07", 5);
        assert_eq!(out, "aa bb\ncc\ndddddddddd\ne\\u{7}\n");
        out.clear();
        wrap(&mut out, "all (99.9 %) of it", 9);
        assert_eq!(out, "all\n(99.9 %)\nof it\n");
    }
}
