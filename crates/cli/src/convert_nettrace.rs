//! `strata convert` from a .nettrace file to another: all of it in the order of time, or a part.

use crate::args::ConvertArguments;
use crate::convert_selection::Selection;
use crate::failure::Failure;
use crate::output::{self, Unwritten};
use crate::say::{say, typed};
use crate::status;
use std::fs::File;
use std::io::{self, IsTerminal, Read, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use strata_digest::visible;
use strata_nettrace::order::{OrderCounts, TimeOrder};
use strata_nettrace::write::{EventTooLong, WriteCounts, Writer};
use strata_nettrace::{Decoder, Item, Problem, StreamEnd, Summary};

/// Bytes that are read at once.
const CHUNK: usize = 1 << 20;

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
    let mut input = Input::open(&arguments.file)?;
    output::replace_unless(&arguments.output, |out| {
        let mut cut = Cut::new(arguments);
        input.read(&mut cut, out)
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Where a trace is read from.
struct Input<'a> {
    path: &'a Path,
    from: Box<dyn Read>,
    /// Its size, where that is known.
    bytes: Option<u64>,
}

impl<'a> Input<'a> {
    fn open(path: &'a Path) -> Result<Self, Failure> {
        if path == Path::new("-") {
            return Ok(Self { path, from: Box::new(io::stdin()), bytes: None });
        }
        let failed = |error| unreadable(path, error);
        let file = File::open(path).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        if metadata.is_dir() {
            return Err(Failure::unreadable(
                format_args!("{} is a folder, not a .nettrace file", path.display()),
                "the event streams of a recording are the .nettrace files in it",
            ));
        }
        Ok(Self { path, from: Box::new(file), bytes: metadata.is_file().then_some(metadata.len()) })
    }

    /// Writes what is wanted of it.
    fn read(&mut self, cut: &mut Cut<'_>, out: &mut dyn Write) -> Result<(), Unwritten> {
        let mut decoder = Decoder::new();
        let mut buffer = vec![0; CHUNK];
        let mut progress = Progress::new(self.bytes);
        let mut offset = 0;
        loop {
            let read = self.fill(&mut buffer)?;
            let chunk = buffer.get(..read).unwrap_or_default();
            if chunk.is_empty() {
                break;
            }
            if offset == 0 {
                refuse_newer(self.path, chunk)?;
            }
            offset += read as u64;
            let refused = decoder.feed(chunk, &mut |item: Item<'_>| cut.take(item));
            refused.map_err(|refused| unreadable(self.path, refused))?;
            cut.drain(out)?;
            progress.tell(offset);
        }
        let summary = decoder.finish(&mut |item: Item<'_>| cut.take(item));
        let summary = summary.map_err(|refused| unreadable(self.path, refused))?;
        drop(progress);
        cut.finish(out)?;
        cut.say(self.path, &summary)?;
        Ok(())
    }

    /// Reads until the buffer is full or nothing more comes: a pipe gives little at a time.
    fn fill(&mut self, buffer: &mut [u8]) -> Result<usize, Failure> {
        let mut filled = 0;
        while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match self.from.read(rest) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(unreadable(self.path, error)),
            }
        }
        Ok(filled)
    }
}

fn unreadable(path: &Path, error: impl std::fmt::Display) -> Failure {
    Failure::unreadable(format_args!("cannot read {}: {error}", path.display()), "a .nettrace file is wanted")
}

/// Streams of version 6 say things that version 4, which is written, has no place for.
fn refuse_newer(path: &Path, start: &[u8]) -> Result<(), Failure> {
    if !start.starts_with(b"Nettrace\0\0\0\0") {
        return Ok(());
    }
    Err(Failure::unreadable(
        format_args!(
            "{} is a nettrace stream of version 6 or later: only streams of versions 4 and 5 can be written again",
            path.display()
        ),
        "strata convert and strata report can read it as it is where they read its events",
    ))
}

/// Chooses, puts in order and writes.
struct Cut<'a> {
    arguments: &'a ConvertArguments,
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

impl<'a> Cut<'a> {
    fn new(arguments: &'a ConvertArguments) -> Self {
        Self {
            arguments,
            order: TimeOrder::new(),
            counts: OrderCounts::default(),
            target: None,
            problems: Vec::new(),
            first_gap: None,
        }
    }

    fn take(&mut self, item: Item<'_>) {
        match &item {
            Item::Trace(trace) => {
                let (selection, writer) = (Selection::new(self.arguments, trace), Writer::new(trace));
                self.target = Some(Target { selection, writer, too_long: None, too_long_count: 0 });
            }
            Item::Problem(problem) => self.problems.push(*problem),
            Item::Gap(gap) => self.first_gap = self.first_gap.or(Some(gap.offset)),
            _ => {}
        }
        let Some(Target { selection, writer, too_long, too_long_count }) = &mut self.target else { return };
        if let Item::Event(event) = &item
            && !selection.keeps(event)
        {
            return;
        }
        self.order.push(item, &mut |item: Item<'_>| {
            if let Err(error) = writer.item(&item) {
                too_long.get_or_insert(error);
                *too_long_count += 1;
            }
        });
    }

    fn drain(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let Some(Target { writer, .. }) = &mut self.target else { return Ok(()) };
        out.write_all(writer.bytes())?;
        writer.clear();
        Ok(())
    }

    fn finish(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let Some(Target { writer, too_long, too_long_count, .. }) = &mut self.target else { return Ok(()) };
        let order = std::mem::take(&mut self.order);
        self.counts = order.finish(&mut |item: Item<'_>| {
            if let Err(error) = writer.item(&item) {
                too_long.get_or_insert(error);
                *too_long_count += 1;
            }
        });
        writer.finish();
        self.drain(out)
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

/// How far reading is: a line that changes at a terminal, plain lines elsewhere.
struct Progress {
    total: Option<u64>,
    live: bool,
    shown: bool,
    last: Instant,
}

impl Progress {
    fn new(total: Option<u64>) -> Self {
        Self { total, live: io::stderr().is_terminal(), shown: false, last: Instant::now() }
    }

    fn tell(&mut self, read: u64) {
        let every = if self.live { Duration::from_millis(250) } else { Duration::from_secs(10) };
        if self.last.elapsed() < every {
            return;
        }
        self.last = Instant::now();
        let of = self.total.map(|total| format!(" of {}", status::bytes(total))).unwrap_or_default();
        let line = format!("read {}{of}", status::bytes(read));
        if !self.live {
            return say(&line);
        }
        self.clear();
        self.shown = true;
        let _ = io::stderr().write_all(line.as_bytes());
    }

    fn clear(&mut self) {
        if std::mem::take(&mut self.shown) {
            // Back to the line's start, and everything on it away.
            let _ = io::stderr().write_all(b"\r\x1b[2K");
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}
