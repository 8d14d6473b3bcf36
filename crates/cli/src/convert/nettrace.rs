//! `strata convert` from a .nettrace file to another: all of it in the order of time, or a part.

use crate::args::ConvertArguments;
use crate::failure::Failure;
use crate::output::{self, Unwritten};
use crate::say::{say, typed};
use crate::status;
use crate::trace::{self, Flow, Kept, Scope, Selection, Whole};
use std::io::{self, Write};
use std::process::ExitCode;
use strata_nettrace::order::TimeOrder;
use strata_nettrace::write::{EventTooLong, WriteCounts, Writer};
use strata_nettrace::{Item, TraceInfo};

/// Bytes that gather before they are written.
const READY: usize = 1 << 20;

pub(crate) fn run(arguments: &ConvertArguments) -> Result<ExitCode, Failure> {
    Selection::check(&arguments.wanted)?;
    let written = output::replace_unless(&arguments.output, |out| {
        let mut cut = Cut::new(arguments, out);
        let whole = trace::read_until(&arguments.input.file, |item| cut.take(item))?;
        cut.finish(whole)
    })?;
    say(&written);
    Ok(ExitCode::SUCCESS)
}

/// Chooses, puts in order and writes.
struct Cut<'a> {
    arguments: &'a ConvertArguments,
    out: &'a mut dyn Write,
    /// Why writing ended early.
    failed: Option<Unwritten>,
    selection: Selection<'a>,
    order: TimeOrder,
    target: Option<Target>,
}

/// What is written, once a trace has said what it is.
struct Target {
    writer: Writer,
    too_long: Option<EventTooLong>,
    too_long_count: u64,
}

impl Target {
    fn begin(arguments: &ConvertArguments, trace: &TraceInfo) -> Result<Self, Failure> {
        let writer = Writer::new(trace).map_err(|error| {
            Failure::bad_arguments(
                format_args!("{}: {error}", trace::called(&arguments.input.file)),
                "only parts of traces of one runtime (version 4) can be written as .nettrace; of this one strata convert writes a \
                 part in its other formats (-o part.json.gz --from 1s --to 2s), and strata report and strata events show one",
            )
        })?;
        Ok(Self { writer, too_long: None, too_long_count: 0 })
    }

    fn write(&mut self, item: &Item<'_>) {
        if let Err(error) = self.writer.item(item) {
            self.too_long.get_or_insert(error);
            self.too_long_count += 1;
        }
    }

    fn drain(&mut self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(self.writer.bytes())?;
        self.writer.clear();
        Ok(())
    }
}

impl<'a> Cut<'a> {
    fn new(arguments: &'a ConvertArguments, out: &'a mut dyn Write) -> Self {
        Self {
            arguments,
            out,
            failed: None,
            selection: Selection::new(&arguments.wanted, Scope::All),
            order: TimeOrder::new(),
            target: None,
        }
    }

    fn take(&mut self, item: Item<'_>) -> Flow {
        let kept = self.selection.take(&item);
        if let Item::Trace(trace) = &item {
            match Target::begin(self.arguments, trace) {
                Ok(target) => self.target = Some(target),
                Err(failure) => self.failed = Some(failure.into()),
            }
        }
        if let Some(target) = &mut self.target {
            let mut write = |item: Item<'_>| target.write(&item);
            match &item {
                Item::Event(event) if kept == Kept::No && event.header.sorted => {
                    self.order.reached(event.header.time, &mut write);
                }
                Item::Event(_) if kept == Kept::No => {}
                _ => self.order.push(item, &mut write),
            }
            if target.writer.bytes().len() >= READY {
                self.failed = target.drain(self.out).err().map(Unwritten::from);
            }
        }
        if self.failed.is_some() { Flow::Enough } else { Flow::GoOn }
    }

    /// Writes the rest, if all of the trace was read, and gives the words on what was written.
    fn finish(self, whole: Option<Whole>) -> Result<String, Unwritten> {
        let Self { arguments, out, failed, selection, order, target } = self;
        if let Some(failed) = failed {
            return Err(failed);
        }
        let path = &arguments.input.file;
        // Reading ends early only when writing failed.
        let Some(whole) = whole else { return Err(io::Error::other("the trace was not read to its end").into()) };
        whole.warn(path);
        let Some(mut target) = target else {
            let ended = format!("{} has no event that can be read", trace::called(path));
            return Err(Failure::nothing_to_show(ended, "strata info tells what is in a trace").into());
        };
        let counts = order.finish(&mut |item: Item<'_>| target.write(&item));
        target.writer.finish();
        target.drain(out)?;
        trace::warn_of_order(path, counts);
        if let Some(error) = target.too_long {
            let count = target.too_long_count;
            trace::warn(path, &format!("{count} events are left out, the first because {error}"));
        }
        let WriteCounts { events, bytes, hidden_gaps, .. } = target.writer.counts();
        if hidden_gaps > 0 {
            let places = format!("{hidden_gaps} of the places where events were lost do not show in what is written");
            trace::warn(path, &places);
        }
        selection.warn_of_missing(path);
        selection.judge(path)?;
        let (size, found) = (status::bytes(bytes), selection.found());
        let mut line = format!("wrote {} ({size}): {events} of {} events", typed(&arguments.output), found.events);
        if found.naming > 0 {
            line.push_str(&format!(", {} of them only to name methods, modules and the process", found.naming));
        }
        Ok(line)
    }
}
