//! `strata events`.

mod csv;
mod json;
mod stacks;
mod text;

use crate::args::EventsArguments;
use crate::failure::{Failure, to_stdout};
use crate::load::symbols;
use crate::trace::{self, Flow, Kept, Scope, Selection};
use crate::width::width;
use stacks::Stacks;
use std::io::{self, Write};
use std::process::ExitCode;
use strata_nettrace::order::TimeOrder;
use strata_nettrace::{Event, Item, TraceInfo};
use strata_report::Width;
use strata_resolve::files::HostFiles;
use strata_resolve::nettrace::{ImageFiles, TracedFrame};

/// How events are written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Text(Width),
    Json,
    Csv,
}

/// An event as it is written.
struct Told<'a, 'e> {
    event: &'a Event<'e>,
    /// Nanoseconds since the trace began; below zero for what came before.
    time_ns: i128,
    /// Its stack, where that is wanted.
    stack: Option<Vec<TracedFrame>>,
}

pub(crate) fn run(arguments: &EventsArguments) -> Result<ExitCode, Failure> {
    let path = &arguments.input.file;
    Selection::check(&arguments.wanted)?;
    let host = HostFiles::default();
    let candidates = symbols::candidates(&arguments.input.symbols)?;
    let stacks = match arguments.stacks {
        true => Stacks::shown(&arguments.input, &ImageFiles { files: &host, candidates })?,
        false => Stacks::Hidden,
    };
    let mut selection = Selection::new(&arguments.wanted, Scope::All);
    let mut read = Ok(None);
    let mut counts = None;
    let written = to_stdout(|out| {
        let mut writer = Writer::begin(arguments, stacks, out)?;
        let mut order = TimeOrder::new();
        read = trace::read_until(path, |item| {
            let kept = selection.take(&item);
            let mut write = |item: Item<'_>| writer.take(&item);
            match &item {
                Item::Event(_) if kept == Kept::Wanted => order.push(item, &mut write),
                Item::Event(event) if event.header.sorted => order.reached(event.header.time, &mut write),
                Item::Event(_) => {}
                _ => order.push(item, &mut write),
            }
            writer.flow()
        });
        if matches!(read, Ok(Some(_))) {
            counts = Some(order.finish(&mut |item| writer.take(&item)));
        }
        writer.failed.map_or(Ok(()), Err)
    })?;
    // One that had enough, as a limit or a reader that went away has, says nothing of the rest.
    if let Some(whole) = read? {
        whole.warn(path);
        counts.into_iter().for_each(|counts| trace::warn_of_order(path, counts));
        selection.warn_of_missing(path);
        selection.judge(path)?;
    }
    Ok(written)
}

/// Writes events one after the other.
struct Writer<'w> {
    out: &'w mut dyn Write,
    form: Form,
    stacks: Stacks<'w>,
    /// Events that may still be written.
    left: u64,
    trace: Option<TraceInfo>,
    failed: Option<io::Error>,
}

impl<'w> Writer<'w> {
    fn begin(arguments: &EventsArguments, stacks: Stacks<'w>, out: &'w mut dyn Write) -> io::Result<Self> {
        let form = match (arguments.json, arguments.csv) {
            (true, _) => Form::Json,
            (_, true) => Form::Csv,
            _ => Form::Text(width(arguments.width)),
        };
        if form == Form::Csv {
            csv::header(out, &stacks)?;
        }
        Ok(Self { out, form, stacks, left: arguments.limit.unwrap_or(u64::MAX), trace: None, failed: None })
    }

    fn take(&mut self, item: &Item<'_>) {
        match (item, &self.trace) {
            (Item::Trace(trace), _) => self.trace = Some(*trace),
            (Item::Event(event), Some(trace)) if self.flow() == Flow::GoOn => {
                let stack = self.stacks.of(event);
                let told = Told { event, time_ns: trace.since_start_ns(event.header.time), stack };
                let written = match self.form {
                    Form::Text(width) => text::write(self.out, &told, width),
                    Form::Json => json::write(self.out, &told),
                    Form::Csv => csv::write(self.out, &told),
                };
                self.left -= 1;
                self.failed = written.err();
            }
            _ => {}
        }
    }

    /// Whether more is wanted: a reader that went away wants nothing.
    fn flow(&self) -> Flow {
        if self.left == 0 || self.failed.is_some() { Flow::Enough } else { Flow::GoOn }
    }
}
