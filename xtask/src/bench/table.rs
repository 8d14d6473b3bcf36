//! The results as Markdown.

use std::fmt::Write as _;

use crate::bench::contender::{Contender, Profiler};
use crate::bench::measure::{Results, Row, Slowdown};
use crate::bench::statistics::{Quartiles, median};
use crate::bench::trial::Costs;

const KIBIBYTE: f64 = 1024.0;

/// Everything, the facts first.
pub(crate) fn markdown(facts: &[(&str, String)], results: &Results) -> String {
    let mut out = String::new();
    for (name, value) in facts {
        let _ = writeln!(out, "- {name}: {value}");
    }
    if !results.slices.is_empty() {
        out.push('\n');
        out.push_str(&slowdowns(results));
        for line in against_perf(results) {
            let _ = writeln!(out, "\n{line}");
        }
    }
    out.push('\n');
    out.push_str(&costs(&results.rows));
    out
}

fn slowdowns(results: &Results) -> String {
    let head = ["profiler", "slower by (median)", "quartiles", "in thread CPU time", "quartiles"];
    let mut rows = vec![slowdown_row("none: the noise".to_owned(), &results.noise)];
    rows.extend(results.rows.iter().map(|row| slowdown_row(code(&row.contender), &row.slowdowns)));
    table(&head, &rows)
}

fn slowdown_row(name: String, slowdowns: &[Slowdown]) -> Vec<String> {
    let mut cells = vec![name];
    for clock in [(|slowdown| slowdown.wall) as fn(&Slowdown) -> f64, |slowdown| slowdown.cpu] {
        match Quartiles::of(slowdowns.iter().map(clock)) {
            Some(quartiles) => {
                cells.push(format!("{:+.2} %", quartiles.median));
                cells.push(format!("{:+.2} to {:+.2}", quartiles.lower, quartiles.upper));
            }
            None => cells.extend(["-".to_owned(), "-".to_owned()]),
        }
    }
    cells
}

/// At each frequency at which both were measured: strata less `perf record -g`, of one round each time.
fn against_perf(results: &Results) -> Vec<String> {
    let of = |profiler| results.rows.iter().filter(move |row| row.contender.profiler == profiler);
    let mut lines = Vec::new();
    for strata in of(Profiler::Strata { stack_bytes: None }) {
        for perf in of(Profiler::PerfFramePointers) {
            if perf.contender.frequency_hz != strata.contender.frequency_hz {
                continue;
            }
            let differences =
                strata.slowdowns.iter().zip(&perf.slowdowns).map(|(ours, theirs)| ours.wall - theirs.wall);
            if let Some(quartiles) = Quartiles::of(differences) {
                lines.push(format!(
                    "At {} Hz strata slows the program by {:+.2} percentage points against `perf record -g` (median of the \
                     rounds; quartiles {:+.2} to {:+.2}).",
                    strata.contender.frequency_hz, quartiles.median, quartiles.lower, quartiles.upper,
                ));
            }
        }
    }
    lines
}

fn costs(rows: &[Row]) -> String {
    let head = [
        "profiler",
        "own CPU per busy CPU",
        "quartiles",
        "CPU to start and end",
        "time to end",
        "peak memory",
        "written per busy second",
        "recording",
        "samples per busy second",
        "whole stacks",
    ];
    let rows: Vec<Vec<String>> = rows.iter().map(cost_row).collect();
    table(&head, &rows)
}

fn cost_row(row: &Row) -> Vec<String> {
    let middle = |of: fn(&Costs) -> f64| median(row.costs.iter().map(of)).unwrap_or(f64::NAN);
    let cpu = Quartiles::of(row.costs.iter().map(|costs| costs.cpu_percent));
    vec![
        code(&row.contender),
        cpu.map_or_else(|| "-".to_owned(), |cpu| format!("{:.2} %", cpu.median)),
        cpu.map_or_else(|| "-".to_owned(), |cpu| format!("{:.2} to {:.2}", cpu.lower, cpu.upper)),
        format!("{:.0} ms", middle(|costs| costs.cpu_outside.as_secs_f64() * 1e3)),
        format!("{:.0} ms", middle(|costs| costs.stopping.as_secs_f64() * 1e3)),
        format!("{:.1} MiB", middle(|costs| costs.peak_memory) / KIBIBYTE / KIBIBYTE),
        written(row),
        format!("{:.0} KiB", middle(|costs| costs.bytes) / KIBIBYTE),
        format!("{:.0}", middle(|costs| costs.samples_per_second)),
        row.whole.map_or_else(|| "-".to_owned(), percent_rounded_down),
    ]
}

/// The mean of the rounds, as some write seldom and much. One that wrote nothing in any window says nothing of its rate.
#[expect(clippy::cast_precision_loss, reason = "a figure for reading")]
fn written(row: &Row) -> String {
    let mean = row.costs.iter().map(|costs| costs.bytes_per_second).sum::<f64>() / row.costs.len() as f64;
    if mean > 0.0 { format!("{:.0} KiB", mean / KIBIBYTE) } else { "-".to_owned() }
}

/// 99.96 % must not read as all of them.
#[expect(clippy::cast_precision_loss, reason = "a percentage for reading")]
fn percent_rounded_down((part, whole): (u64, u64)) -> String {
    if whole == 0 {
        return "-".to_owned();
    }
    format!("{:.1} %", (part as f64 * 1000.0 / whole as f64).floor() / 10.0)
}

fn code(contender: &Contender) -> String {
    format!("`{}`", contender.label())
}

/// Columns of one width each, all but the first set to the right.
fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let head: Vec<String> = head.iter().map(|cell| (*cell).to_owned()).collect();
    let lines: Vec<&Vec<String>> = std::iter::once(&head).chain(rows).collect();
    let widths: Vec<usize> = (0..head.len())
        .map(|column| lines.iter().filter_map(|line| line.get(column)).map(|cell| cell.chars().count()).max())
        .map(Option::unwrap_or_default)
        .collect();
    let mut out = String::new();
    for (index, line) in lines.iter().enumerate() {
        for (column, (cell, width)) in line.iter().zip(&widths).enumerate() {
            let _ = if column == 0 { write!(out, "| {cell:<width$} ") } else { write!(out, "| {cell:>width$} ") };
        }
        out.push_str("|\n");
        if index == 0 {
            for (column, width) in widths.iter().enumerate() {
                let dashes = "-".repeat(width.saturating_sub(1));
                let _ = if column == 0 { write!(out, "| -{dashes} ") } else { write!(out, "| {dashes}: ") };
            }
            out.push_str("|\n");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_lines_up() {
        let rows = [vec!["a".to_owned(), "+1.00 %".to_owned()], vec!["`bb c`".to_owned(), "-".to_owned()]];
        let expected = "\
| name   |   value |
| ------ | ------: |
| a      | +1.00 % |
| `bb c` |       - |
";
        assert_eq!(table(&["name", "value"], &rows), expected);
    }

    #[test]
    fn what_was_measured_is_told() {
        let row = |profiler, slowdowns: [f64; 3], whole| Row {
            contender: Contender { profiler, frequency_hz: 999 },
            slowdowns: slowdowns.map(|wall| Slowdown { wall, cpu: wall + 1.0 }).to_vec(),
            costs: Vec::new(),
            whole,
        };
        let results = Results {
            rows: vec![
                row(Profiler::Strata { stack_bytes: None }, [0.5, 0.25, 9.0], Some((9999, 10000))),
                row(Profiler::PerfFramePointers, [1.5, 0.25, 8.5], None),
            ],
            noise: vec![Slowdown { wall: -0.125, cpu: 0.0 }],
            slices: vec![75e6],
        };
        let text = markdown(&[("kernel", "Linux 1".to_owned())], &results);
        let squeezed = text.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
        for expected in [
            "- kernel: Linux 1\n",
            "| none: the noise | -0.12 % |",
            "| `strata record -F 999` | +0.50 % | +0.38 to +4.75 | +1.50 % |",
            "by +0.00 percentage points",
            "quartiles -0.50 to +0.25",
            "| 99.9 % |",
        ] {
            assert!(squeezed.contains(expected), "{expected} is not in\n{squeezed}");
        }
    }
}
