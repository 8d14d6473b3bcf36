//! Events as comma-separated values, as RFC 4180 has them.

use super::{Stacks, Told, json};
use std::io::{self, Write};
use strata_digest::visible;

/// The names of the columns. Only traces of whole machines tell the process of an event.
pub(super) fn header(out: &mut dyn Write, stacks: &Stacks<'_>) -> io::Result<()> {
    let stack = if matches!(stacks, Stacks::Hidden) { "" } else { ",stack" };
    write!(out, "time_ns,process,thread,provider,event,id,version,fields,payload_problem,payload{stack}\r\n")
}

/// One event; its fields are a JSON object, its payload hexadecimal digits where the fields are not all of it, its stack addresses with spaces between.
pub(super) fn write(out: &mut dyn Write, told: &Told<'_, '_>) -> io::Result<()> {
    let Told { event, time_ns, stack } = told;
    let metadata = event.metadata;
    let (fields, misfit) = json::fields(event).map_err(io::Error::from)?;
    write!(
        out,
        "{time_ns},{},{},{},{},{},{},{},{},{}",
        event.process_id().map(|process| process.to_string()).unwrap_or_default(),
        event.header.thread,
        quoted(&visible(&metadata.provider)),
        quoted(&visible(&metadata.display_name())),
        metadata.event_id,
        event.version(),
        quoted(&fields),
        misfit.as_ref().map_or("", |misfit| misfit.problem),
        misfit.map(|_| json::hexadecimal(event.payload)).unwrap_or_default(),
    )?;
    if let Some(stack) = stack {
        let addresses: Vec<String> = stack.iter().map(|frame| frame.address.to_string()).collect();
        write!(out, ",{}", addresses.join(" "))?;
    }
    write!(out, "\r\n")
}

fn quoted(text: &str) -> String {
    match text.contains(['"', ',', '\r', '\n']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}
