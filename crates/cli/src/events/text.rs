//! Events as lines for reading.

use super::Told;
use crate::width::Line;
use std::fmt::Write as _;
use std::io::{self, Write};
use strata_digest::visible;
use strata_nettrace::{Fit, Value};
use strata_report::Width;
use strata_resolve::nettrace::TracedFrame;

/// Where a stack, and further in an event that goes on below, begins.
const STACK_COLUMN: usize = 24;
const FIELD_COLUMN: usize = STACK_COLUMN + 4;

/// Bytes of a payload that a line shows when nothing describes them.
const SHOWN: usize = 64;

/// Seconds since the trace began, thread, provider and name, fields.
pub(super) fn write(out: &mut dyn Write, told: &Told<'_, '_>, width: Width) -> io::Result<()> {
    let Told { event, time_ns, stack } = told;
    let sign = if *time_ns < 0 { "-" } else { "" };
    let microseconds = time_ns.unsigned_abs() / 1000;
    let time = format!("{sign}{}.{:06}", microseconds / 1_000_000, microseconds % 1_000_000);
    let thread = match event.process_id() {
        // Only traces of whole machines tell the process.
        Some(process) => format!("{process}:{}", event.header.thread),
        None => event.header.thread.to_string(),
    };
    let mut line = Line::new(format!("{time:>13} {thread:>8}"), FIELD_COLUMN, width);
    line.word(&format!("{}/{}", visible(&event.metadata.provider), visible(&event.metadata.display_name())));
    let mut fields = event.fields();
    let mut word = String::new();
    for (name, value) in fields.by_ref() {
        word.clear();
        // Writing to a text cannot fail.
        let _ = write!(word, "{}={}", visible(name), shown(&value));
        line.word(&word);
    }
    let payload = fields.bytes();
    let note = match fields.fit() {
        Fit::Whole => None,
        Fit::Longer { at } => {
            Some(format!("(longer than described: {})", hexadecimal(payload.get(at..).unwrap_or_default())))
        }
        Fit::Short { at } => Some(format!("(shorter than described, from byte {at} on: {})", hexadecimal(payload))),
        Fit::Opaque => Some(format!("(not described: {})", hexadecimal(payload))),
    };
    note.iter().for_each(|note| line.word(note));
    writeln!(out, "{}", line.text())?;
    for TracedFrame { address, name } in stack.iter().flatten() {
        let mut line = Line::new(format!("{:STACK_COLUMN$}{address}", ""), FIELD_COLUMN, width);
        if let Some(name) = name {
            line.word(&visible(&name.function));
            name.module.iter().for_each(|module| line.word(&format!("[{}]", visible(module))));
        }
        writeln!(out, "{}", line.text())?;
    }
    Ok(())
}

/// A value whose end can be seen.
fn shown(value: &Value<'_>) -> String {
    match value {
        Value::Char(_) | Value::Utf16(_) | Value::Utf8(_) => format!("{:?}", value.to_string()),
        Value::Bytes(bytes) => hexadecimal(bytes),
        other => visible(&other.to_string()).into_owned(),
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    let mut text = "0x".to_owned();
    for byte in bytes.iter().take(SHOWN) {
        let _ = write!(text, "{byte:02x}");
    }
    if bytes.len() > SHOWN {
        let _ = write!(text, "... {} bytes", bytes.len());
    }
    text
}
