//! What a trace holds, for reading.

use super::header::{Header, Lasted, Said, utc};
use super::uses::{self, How};
use super::{Info, tables};
use crate::say::typed;
use crate::trace::called;
use crate::width::Line;
use std::path::Path;
use strata_digest::visible;
use strata_nettrace::{PointerSize, StreamEnd, TraceInfo};
use strata_report::Width;

/// Threads whose losses are told in one line.
const LOSSES: usize = 10;

/// Columns before what is said of a trace, and before how it can be used.
const FACT_COLUMN: usize = 11;
const USE_COLUMN: usize = 28;

/// How much is shown, and how wide.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    pub(super) width: Width,
    /// Whether the rest of long tables is summed up.
    is_summed_up: bool,
}

impl Layout {
    pub(super) fn of(width: Width, is_all_wanted: bool) -> Self {
        Self { width, is_summed_up: width != Width::Unlimited && !is_all_wanted }
    }

    /// The rows that are shown, and those that are summed up: never a single one, whose sum would take its place.
    pub(super) fn split<T>(self, rows: &[T], most: usize) -> (&[T], &[T]) {
        let shown = if self.is_summed_up && rows.len() > most + 1 { most } else { rows.len() };
        rows.split_at(shown)
    }
}

pub(super) fn text(info: &Info<'_>, layout: Layout) -> String {
    let mut out = String::new();
    for (label, value) in facts(info, layout) {
        paragraph(&mut out, format!("{label:<10}"), FACT_COLUMN, &visible(&value), layout.width);
    }
    tables::providers(&mut out, info, layout);
    tables::threads(&mut out, info, layout);
    out.push_str("\nwhat it can be used for\n");
    for entry in uses::of(info) {
        let start = format!("  {:<13} {:>10} ", entry.what, entry.events);
        match entry.how {
            How::Command(command) => {
                // What came from a pipe is gone.
                let file = if info.path == Path::new("-") { "FILE".to_owned() } else { typed(info.path) };
                // A command stays on one line, so that it can be copied.
                out.push_str(&format!("{start} {}\n", command.replace("FILE", &file)));
            }
            How::Words(words) => paragraph(&mut out, start, USE_COLUMN, words, layout.width),
        }
    }
    out
}

fn paragraph(out: &mut String, start: String, indent: usize, text: &str, width: Width) {
    let mut line = Line::new(start, indent, width);
    text.split(' ').for_each(|word| line.word(word));
    out.push_str(&line.text());
    out.push('\n');
}

fn facts(info: &Info<'_>, layout: Layout) -> Vec<(&'static str, String)> {
    let (about, summary) = (&info.about, &info.summary);
    let version = summary.trace.as_ref().map(|trace| format!(", nettrace {}", trace.version)).unwrap_or_default();
    let mut facts = vec![("trace", format!("{}, {} bytes{version}", called(info.path), summary.bytes))];
    let runtime = match (&about.runtime, &about.runtime_path) {
        (Some(version), Some(path)) if !path.is_empty() => format!(".NET {version} ({path})"),
        (Some(version), _) => format!(".NET {version}"),
        _ => "not told by the trace".to_owned(),
    };
    facts.push(("runtime", runtime));
    let system = [&about.operating_system, &about.architecture].into_iter().flatten();
    let system: Vec<&str> = system.map(String::as_str).filter(|text| !text.is_empty()).collect();
    if let Some((trace, header)) = summary.trace.as_ref().zip(info.header()) {
        let pointers = if trace.pointer_size == PointerSize::Four { "32-bit" } else { "64-bit" };
        let processors = match header.processors {
            Said::Nothing => None,
            Said::Valid(count) => Some(format!("{count} processors")),
            Said::NotValid(count) => Some(format!("number of processors not valid ({count})")),
        };
        let system = system.into_iter().chain([pointers]).chain(processors.as_deref());
        let system = system.collect::<Vec<_>>().join(", ");
        facts.push(("system", system));
        let command = about.command_line.as_deref().unwrap_or_default();
        let process = match header.process_id {
            Said::Nothing => "not told by the trace".to_owned(),
            Said::Valid(process) => format!("{process} {command}"),
            Said::NotValid(process) => format!("id not valid ({process}) {command}"),
        };
        facts.push(("process", process.trim_end().to_owned()));
        facts.push(("began", began(trace, &header)));
        facts.push(("lasted", lasted(&header, info.lasted())));
    }
    for (key, value) in summary.attributes.iter() {
        facts.push(("says", format!("{key} = {value}")));
    }
    facts.push((
        "events",
        format!(
            "{}, {} of them without a stack; {} stacks",
            summary.events, summary.events_without_stack, summary.stacks
        ),
    ));
    facts.push(("lost", lost(info, layout)));
    facts.push(("end", end(&summary.end)));
    facts
}

fn began(trace: &TraceInfo, header: &Header) -> String {
    match header.began {
        Said::NotValid(time) => format!("not valid ({})", utc(&time)),
        _ => utc(&trace.utc),
    }
}

/// The time in which something happened, and apart from it that of the rundown.
fn lasted(header: &Header, lasted: Option<Lasted>) -> String {
    match (header.ticks_per_second, lasted) {
        (Said::NotValid(ticks), _) => format!("not known: the clock's ticks in a second are not valid ({ticks})"),
        (_, None) => "not known: the events come before the start of the trace".to_owned(),
        (_, Some(Lasted { events, rundown: None })) => format!("{} s", seconds(events)),
        (_, Some(Lasted { events, rundown: Some((first, last)) })) => {
            format!("{} s, and a rundown from {} s to {} s", seconds(events), seconds(first), seconds(last))
        }
    }
}

fn seconds(nanoseconds: u64) -> String {
    format!("{}.{:03}", nanoseconds / 1_000_000_000, nanoseconds / 1_000_000 % 1000)
}

fn lost(info: &Info<'_>, layout: Layout) -> String {
    let loss = &info.summary.loss;
    if !info.tells_losses() {
        return "not told by the trace".to_owned();
    }
    if loss.lost == 0 && loss.unknown == 0 {
        return "0 events".to_owned();
    }
    let (shown, rest) = layout.split(&loss.threads, LOSSES);
    let mut threads: Vec<String> =
        shown.iter().map(|thread| format!("thread {} lost {}", thread.capture_thread, thread.lost)).collect();
    if !rest.is_empty() {
        threads.push(format!("{} more threads: --all lists them", rest.len()));
    }
    if loss.forgotten_threads > 0 {
        threads.push(format!("{} threads are not followed, there were too many at once", loss.forgotten_threads));
    }
    let unknown =
        if loss.unknown > 0 { format!(", and {} times an unknown number", loss.unknown) } else { String::new() };
    format!("{} events{unknown}: {}", loss.lost, threads.join(", "))
}

fn end(end: &StreamEnd) -> String {
    match end {
        StreamEnd::Complete => "complete".to_owned(),
        StreamEnd::Cut { offset, .. } => format!("cut at byte {offset}"),
        StreamEnd::Damaged { offset } => format!("damaged at byte {offset}"),
    }
}
