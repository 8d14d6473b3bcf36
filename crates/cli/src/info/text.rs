//! What a trace holds, for reading.

use super::{Info, uses};
use crate::say::typed;
use crate::trace::called;
use std::fmt::Write as _;
use std::path::Path;
use strata_digest::{percent, visible};
use strata_nettrace::{PointerSize, StreamEnd, UtcTime};

/// Rows of a table beyond which the rest is summed up.
const ROWS: usize = 40;

/// Threads whose losses are told in one line.
const LOSSES: usize = 10;

pub(super) fn text(info: &Info<'_>) -> String {
    let mut out = String::new();
    for (label, value) in facts(info) {
        let _ = writeln!(out, "{label:<10} {}", visible(&value));
    }
    providers(&mut out, info);
    threads(&mut out, info);
    out.push_str("\nwhat it can be used for\n");
    for entry in uses::of(info) {
        // What came from a pipe is gone.
        let file = if info.path == Path::new("-") { "FILE".to_owned() } else { typed(info.path) };
        let how = entry.how.replace("FILE", &file);
        let _ = writeln!(out, "  {:<13} {:>10}  {how}", entry.what, entry.events);
    }
    out
}

fn facts(info: &Info<'_>) -> Vec<(&'static str, String)> {
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
    if let Some(trace) = &summary.trace {
        let pointers = if trace.pointer_size == PointerSize::Four { "32-bit" } else { "64-bit" };
        let processors = trace.processors.map(|count| format!("{count} processors"));
        let system = system.into_iter().chain([pointers]).chain(processors.as_deref());
        let system = system.collect::<Vec<_>>().join(", ");
        facts.push(("system", system));
        let command = about.command_line.as_deref().unwrap_or_default();
        let process = match trace.process_id {
            Some(process) => format!("{process} {command}"),
            None => "not told by the trace".to_owned(),
        };
        facts.push(("process", process.trim_end().to_owned()));
        facts.push(("began", utc(&trace.utc)));
        facts.push(("lasted", format!("{} s", seconds(info.duration_ns()))));
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
    facts.push(("lost", lost(info)));
    facts.push(("end", end(&summary.end)));
    facts
}

fn utc(time: &UtcTime) -> String {
    let UtcTime { year, month, day, hour, minute, second, millisecond } = time;
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}.{millisecond:03} UTC")
}

fn seconds(nanoseconds: i128) -> String {
    format!("{}.{:03}", nanoseconds / 1_000_000_000, nanoseconds / 1_000_000 % 1000)
}

fn lost(info: &Info<'_>) -> String {
    let loss = &info.summary.loss;
    if loss.lost == 0 && loss.unknown == 0 {
        return "0 events".to_owned();
    }
    let of_threads = loss.threads.iter().take(LOSSES);
    let mut threads: Vec<String> =
        of_threads.map(|thread| format!("thread {} lost {}", thread.capture_thread, thread.lost)).collect();
    if loss.threads.len() > LOSSES {
        threads.push(format!("{} more threads: --json lists them", loss.threads.len() - LOSSES));
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

fn providers(out: &mut String, info: &Info<'_>) {
    let all = info.summary.events;
    out.push_str("\n    events   share  with stack  provider and event\n");
    let mut rows = 0;
    for (provider, events, kinds) in info.providers() {
        let with_stack: u64 = kinds.iter().map(|kind| kind.with_stack).sum();
        let share = percent(share_of(events, all));
        let _ = writeln!(out, "{events:>10} {share:>7} {with_stack:>11}  {}", visible(provider));
        for kind in &kinds {
            rows += 1;
            if rows <= ROWS {
                let name = format!("{} ({})", kind.name, kind.event_id);
                let _ = writeln!(out, "{:>10} {:>7} {:>11}    {}", kind.events, "", kind.with_stack, visible(&name));
            }
        }
    }
    if rows > ROWS {
        let _ = writeln!(out, "{:>31}  {} more kinds of events: --json lists them", "", rows - ROWS);
    }
}

fn threads(out: &mut String, info: &Info<'_>) {
    let mut threads: Vec<(u64, u64)> = info.threads.iter().map(|(thread, events)| (*thread, *events)).collect();
    threads.sort_by_key(|(thread, events)| (std::cmp::Reverse(*events), *thread));
    out.push_str("\n    events   share  thread\n");
    for (thread, events) in threads.iter().take(ROWS) {
        let _ = writeln!(out, "{events:>10} {:>7}  {thread}", percent(share_of(*events, info.summary.events)));
    }
    if threads.len() > ROWS {
        let _ = writeln!(out, "{:>18}  {} more threads: --json lists them", "", threads.len() - ROWS);
    }
}

#[expect(clippy::cast_precision_loss, reason = "a share for reading")]
fn share_of(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 * 100.0 / whole as f64)
}
