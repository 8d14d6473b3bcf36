//! Events as comma-separated values, as RFC 4180 has them.

use super::{Stacks, Told, json};
use std::io::{self, Write};

/// The names of the columns.
pub(super) fn header(out: &mut dyn Write, stacks: Stacks) -> io::Result<()> {
    let stack = if stacks == Stacks::Shown { ",stack" } else { "" };
    write!(out, "time_ns,thread,provider,event,id,version,fields,payload_problem{stack}\r\n")
}

/// One event; its fields are a JSON object, its stack addresses with spaces between.
pub(super) fn write(out: &mut dyn Write, told: &Told<'_, '_>) -> io::Result<()> {
    let Told { event, time_ns, stacks } = told;
    let metadata = event.metadata;
    write!(
        out,
        "{time_ns},{},{},{},{},{},{},{}",
        event.header.thread,
        quoted(&metadata.provider),
        quoted(&metadata.display_name()),
        metadata.event_id,
        metadata.version,
        quoted(&json::fields(event).map_err(io::Error::from)?),
        json::misfit(event).map_or("", |(problem, _)| problem),
    )?;
    if *stacks == Stacks::Shown {
        let addresses = event.stack.iter().flat_map(|stack| stack.addresses());
        let addresses: Vec<String> = addresses.map(|address| address.to_string()).collect();
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
