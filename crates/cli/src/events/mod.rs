//! `strata events`.

mod csv;
mod filter;
mod json;
mod text;

use crate::args::EventsArguments;
use crate::failure::{Failure, to_stdout};
use crate::say::{say, typed};
use crate::trace::{self, Flow};
use filter::Filter;
use std::io::{self, Write};
use std::process::ExitCode;
use strata_digest::visible;
use strata_nettrace::order::TimeOrder;
use strata_nettrace::{Event, Item, TraceInfo};

/// How events are written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Text,
    Json,
    Csv,
}

/// Whether the addresses of an event's stack are written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stacks {
    Shown,
    Hidden,
}

/// An event as it is written.
struct Told<'a, 'e> {
    event: &'a Event<'e>,
    /// Nanoseconds since the trace began; below zero for what came before.
    time_ns: i128,
    stacks: Stacks,
}

pub(crate) fn run(arguments: &EventsArguments) -> Result<ExitCode, Failure> {
    let mut filter = Filter::new(arguments);
    let mut read = Ok(None);
    let written = to_stdout(|out| {
        let mut writer = Writer::begin(arguments, out)?;
        let mut order = TimeOrder::new();
        read = trace::read(&arguments.file, |item| {
            if let Item::Trace(trace) = &item {
                writer.trace = Some(trace.clone());
            }
            if !matches!(&item, Item::Event(event) if !filter.matches(event, writer.trace.as_ref())) {
                order.push(item, &mut |item| writer.take(&item));
            }
            writer.flow()
        });
        if !matches!(read, Ok(None)) {
            order.finish(&mut |item| writer.take(&item));
        }
        writer.failed.map_or(Ok(()), Err)
    })?;
    if let Some(summary) = read? {
        trace::warn(&arguments.file, &summary);
        for provider in filter.never_seen() {
            say(&format!(
                "strata: warning: no event is of a provider {}; there are: {}",
                visible(&provider),
                filter.providers()
            ));
        }
        if filter.matched() == 0 {
            return Err(nothing(arguments, summary.events));
        }
    }
    Ok(written)
}

fn nothing(arguments: &EventsArguments, events: u64) -> Failure {
    let file = typed(&arguments.file);
    match events {
        0 => Failure::nothing_to_show(
            format_args!("{} has no event", arguments.file.display()),
            format_args!("strata info {file} tells what is in it"),
        ),
        _ => Failure::nothing_to_show(
            format_args!("none of the {events} events of {} was asked for", arguments.file.display()),
            format_args!("strata info {file} lists providers, events and threads"),
        ),
    }
}

/// Writes events one after the other.
struct Writer<'w> {
    out: &'w mut dyn Write,
    form: Form,
    stacks: Stacks,
    /// Events that may still be written.
    left: u64,
    trace: Option<TraceInfo>,
    failed: Option<io::Error>,
}

impl<'w> Writer<'w> {
    fn begin(arguments: &EventsArguments, out: &'w mut dyn Write) -> io::Result<Self> {
        let form = match (arguments.json, arguments.csv) {
            (true, _) => Form::Json,
            (_, true) => Form::Csv,
            _ => Form::Text,
        };
        let stacks = if arguments.stacks { Stacks::Shown } else { Stacks::Hidden };
        if form == Form::Csv {
            csv::header(out, stacks)?;
        }
        Ok(Self { out, form, stacks, left: arguments.limit.unwrap_or(u64::MAX), trace: None, failed: None })
    }

    fn take(&mut self, item: &Item<'_>) {
        let (Item::Event(event), Some(trace)) = (item, &self.trace) else { return };
        if self.flow() == Flow::Enough {
            return;
        }
        let told = Told { event, time_ns: trace.since_start_ns(event.header.time), stacks: self.stacks };
        let written = match self.form {
            Form::Text => text::write(self.out, &told),
            Form::Json => json::write(self.out, &told),
            Form::Csv => csv::write(self.out, &told),
        };
        self.left -= 1;
        self.failed = written.err();
    }

    /// Whether more is wanted: a reader that went away wants nothing.
    fn flow(&self) -> Flow {
        if self.left == 0 || self.failed.is_some() { Flow::Enough } else { Flow::GoOn }
    }
}
