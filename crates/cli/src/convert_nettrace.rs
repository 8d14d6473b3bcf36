//! `strata convert` from a .nettrace file to another: all of it in the order of time, or a part.

use crate::args::ConvertArguments;
use crate::convert_selection::Selection;
use crate::failure::Failure;
use crate::output::{self, Unwritten};
use crate::say::{say, typed};
use crate::status;
use crate::trace::{self, Flow};
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use strata_digest::visible;
use strata_nettrace::order::{OrderCounts, TimeOrder};
use strata_nettrace::write::{EventTooLong, WriteCounts, Writer};
use strata_nettrace::{Item, Problem, StreamEnd, Summary, TraceInfo};

/// Bytes that gather before they are written.
const READY: usize = 1 << 20;

/// Names listed in a message before it says how many more there are.
const MOST_NAMES: usize = 20;

pub(crate) fn run(arguments: &ConvertArguments) -> Result<ExitCode, Failure> {
    if let (Some(from), Some(to)) = (arguments.from, arguments.to)
        && from >= to
    {
        return Err(Failure::bad_arguments(
            format_args!("--from {from:?} is not before --to {to:?}"),
            "both count from the start of the trace",
        ));
    }
    output::replace_unless(&arguments.output, |out| {
        let mut cut = Cut::new(arguments, out);
        let summary = trace::read(&arguments.file, |item| cut.take(item))?;
        cut.finish(summary)
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Chooses, puts in order and writes.
struct Cut<'a> {
    arguments: &'a ConvertArguments,
    out: &'a mut dyn Write,
    /// Why writing ended early.
    failed: Option<Unwritten>,
    order: TimeOrder,
    counts: OrderCounts,
    target: Option<Target>,
    problems: Vec<Problem>,
    /// Where the first gap shows.
    first_gap: Option<u64>,
}

/// What begins once a trace has said what it is.
struct Target {
    selection: Selection,
    writer: Writer,
    too_long: Option<EventTooLong>,
    too_long_count: u64,
}

impl Target {
    fn begin(arguments: &ConvertArguments, trace: &TraceInfo) -> Result<Self, Failure> {
        let writer = Writer::new(trace).map_err(|error| {
            Failure::unreadable(
                format_args!("{}: {error}", arguments.file.display()),
                "strata events, strata report and the other formats of strata convert read it as it is",
            )
        })?;
        Ok(Self { selection: Selection::new(arguments, trace), writer, too_long: None, too_long_count: 0 })
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
            order: TimeOrder::new(),
            counts: OrderCounts::default(),
            target: None,
            problems: Vec::new(),
            first_gap: None,
        }
    }

    fn take(&mut self, item: Item<'_>) -> Flow {
        match &item {
            Item::Trace(trace) => match Target::begin(self.arguments, trace) {
                Ok(target) => self.target = Some(target),
                Err(failure) => self.failed = Some(failure.into()),
            },
            Item::Problem(problem) => self.problems.push(*problem),
            Item::Gap(gap) => self.first_gap = self.first_gap.or(Some(gap.offset)),
            _ => {}
        }
        let Some(target) = &mut self.target else { return self.flow() };
        if let Item::Event(event) = &item
            && !target.selection.keeps(event)
        {
            return Flow::GoOn;
        }
        self.order.push(item, &mut |item: Item<'_>| target.write(&item));
        if target.writer.bytes().len() >= READY {
            self.failed = target.drain(self.out).err().map(Unwritten::from);
        }
        self.flow()
    }

    fn flow(&self) -> Flow {
        if self.failed.is_some() { Flow::Enough } else { Flow::GoOn }
    }

    /// Writes the rest and says what was written, if all of the trace was read.
    fn finish(mut self, summary: Option<Summary>) -> Result<(), Unwritten> {
        if let Some(failed) = self.failed {
            return Err(failed);
        }
        let Some(summary) = summary else { return Ok(()) };
        if let Some(target) = &mut self.target {
            self.counts = std::mem::take(&mut self.order).finish(&mut |item: Item<'_>| target.write(&item));
            target.writer.finish();
            target.drain(self.out)?;
        }
        Ok(self.say(&self.arguments.file, &summary)?)
    }

    /// Says what was written and what is wrong with it.
    fn say(&self, path: &Path, summary: &Summary) -> Result<(), Failure> {
        for line in self.warnings(summary) {
            say(&visible(&format!("warning: {}: {line}", path.display())));
        }
        let Some(target) = &self.target else {
            return Err(Failure::nothing_to_show(
                format_args!("{} ends before its first event", path.display()),
                "what recorded it was stopped at once",
            ));
        };
        let found = target.selection.found();
        let providers: Vec<_> = found.providers.iter().map(|name| &**name).collect();
        for missing in target.selection.missing_providers(&self.arguments.providers) {
            let there = listed(&providers);
            say(&visible(&format!("warning: no event of a provider {missing}; those in the trace are {there}")));
        }
        for thread in self.arguments.threads.iter().filter(|thread| !found.threads.contains(thread)) {
            say(&format!("warning: no event about a thread {thread}"));
        }
        if found.wanted == 0 {
            let (hint, message) = if found.events == 0 {
                ("what recorded it was stopped at once", format!("{} has no event", path.display()))
            } else {
                ("nothing was written", format!("none of {} events is what was asked for", found.events))
            };
            return Err(Failure::nothing_to_show(message, hint));
        }
        let WriteCounts { events, bytes, .. } = target.writer.counts();
        let size = status::bytes(bytes);
        let mut line = format!("wrote {} ({size}): {events} of {} events", typed(&self.arguments.output), found.events);
        if found.naming > 0 {
            line.push_str(&format!(", {} of them only to name methods, modules and the process", found.naming));
        }
        say(&line);
        Ok(())
    }

    fn warnings(&self, summary: &Summary) -> Vec<String> {
        let mut lines: Vec<String> = self.problems.iter().map(ToString::to_string).collect();
        let untold = summary.problems.total().saturating_sub(self.problems.len() as u64);
        if untold > 0 {
            lines.push(format!("{untold} more problems like these"));
        }
        if !matches!(summary.end, StreamEnd::Complete) {
            lines.push("its end is missing, and with it perhaps the names of methods".to_owned());
        }
        let loss = &summary.loss;
        if let Some(offset) = self.first_gap {
            let unknown = match loss.unknown {
                0 => String::new(),
                places => format!(" and an unknown number at {places} places"),
            };
            let threads = loss.threads.len() as u64 + loss.forgotten_threads;
            lines.push(format!(
                "{} events{unknown} were lost when it was recorded, of {threads} threads, the first before byte {offset}; \
                 they show as lost in what is written too",
                loss.lost
            ));
        }
        if self.counts.out_of_order > 0 {
            lines.push(format!(
                "{} events are earlier than one before them in what is written: the trace is not in the order it promises",
                self.counts.out_of_order
            ));
        }
        if let Some(Target { writer, too_long, too_long_count, .. }) = &self.target {
            if let Some(error) = too_long {
                lines.push(format!("{too_long_count} events are left out, the first because {error}"));
            }
            let hidden = writer.counts().hidden_gaps;
            if hidden > 0 {
                lines.push(format!("{hidden} of the places where events were lost do not show in what is written"));
            }
        }
        lines
    }
}

/// Names in a row, not too many of them.
fn listed(names: &[&str]) -> String {
    let shown = names.get(..MOST_NAMES).unwrap_or(names).join(", ");
    match names.len().saturating_sub(MOST_NAMES) {
        0 if names.is_empty() => "none".to_owned(),
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
