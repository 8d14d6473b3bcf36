//! What a trace holds, as JSON.

use super::{Info, uses};
use serde_json::{Value, json};
use std::io::{self, Write};
use strata_digest::visible_json;
use strata_nettrace::{PointerSize, StreamEnd};

/// Name and version of the JSON below; the version grows when a field changes its meaning or goes.
const SCHEMA: &str = "strata-info/1";

pub(super) fn write(out: &mut dyn Write, info: &Info<'_>) -> io::Result<()> {
    let (about, summary) = (&info.about, &info.summary);
    let trace = summary.trace.as_ref().zip(info.header()).map(|(trace, header)| {
        let not_valid: Vec<Value> =
            header.not_valid().into_iter().map(|(what, value)| json!({ "what": what, "value": value })).collect();
        json!({
            "format_version": trace.version.to_string(),
            "process_id": header.process_id.valid(),
            "processors": header.processors.valid(),
            "pointer_bytes": if trace.pointer_size == PointerSize::Four { 4 } else { 8 },
            "began_unix_ms": header.began.valid(),
            "ticks_per_second": header.ticks_per_second.valid(),
            "not_valid": not_valid,
        })
    });
    let lasted = info.lasted();
    let rundown = lasted.and_then(|lasted| lasted.rundown);
    let kinds: Vec<Value> = info
        .kinds
        .iter()
        .map(|kind| {
            json!({
                "provider": kind.provider,
                "event": kind.name,
                "id": kind.event_id,
                "events": kind.events,
                "events_with_stack": kind.with_stack,
                "payload_bytes": kind.payload_bytes,
            })
        })
        .collect();
    let threads: Vec<Value> =
        info.threads.iter().map(|(thread, events)| json!({ "thread": thread, "events": events })).collect();
    let problems: Vec<Value> =
        summary.problems.iter().map(|(kind, count)| json!({ "what": kind.to_string(), "count": count })).collect();
    let uses: Vec<Value> =
        uses::of(info).iter().map(|entry| json!({ "what": entry.what, "events": entry.events })).collect();
    let attributes: Vec<Value> =
        summary.attributes.iter().map(|(key, value)| json!({ "key": key, "value": value })).collect();
    let document = json!({
        "schema": SCHEMA,
        "bytes": summary.bytes,
        "trace": trace,
        "attributes": attributes,
        "runtime_version": about.runtime.map(|version| version.to_string()),
        "runtime_path": about.runtime_path,
        "command_line": about.command_line,
        "operating_system": about.operating_system,
        "architecture": about.architecture,
        "duration_ns": lasted.map(|lasted| lasted.events),
        "rundown": rundown.map(|(first, last)| json!({ "from_ns": first, "to_ns": last })),
        "events": summary.events,
        "events_without_stack": summary.events_without_stack,
        "stacks": summary.stacks,
        "kinds": kinds,
        "threads": threads,
        "events_of_other_threads": info.events_of_other_threads,
        "loss": loss(info),
        "end": end(&summary.end),
        "problems": problems,
        "uses": uses,
    });
    let json = serde_json::to_string_pretty(&document).map_err(io::Error::from)?;
    writeln!(out, "{}", visible_json(json))
}

fn loss(info: &Info<'_>) -> Value {
    let loss = &info.summary.loss;
    let threads: Vec<Value> = loss
        .threads
        .iter()
        .map(|thread| {
            json!({ "thread": thread.capture_thread, "events": thread.lost, "places": thread.gaps, "places_of_unknown_size": thread.unknown })
        })
        .collect();
    let events = info.tells_losses().then_some(loss.lost);
    json!({ "events": events, "places_of_unknown_size": loss.unknown, "threads": threads, "threads_not_followed": loss.forgotten_threads })
}

fn end(end: &StreamEnd) -> Value {
    match end {
        StreamEnd::Complete => json!({ "how": "complete" }),
        StreamEnd::Cut { offset, .. } => json!({ "how": "cut", "at_byte": offset }),
        StreamEnd::Damaged { offset } => json!({ "how": "damaged", "at_byte": offset }),
    }
}
