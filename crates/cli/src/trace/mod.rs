//! Reading a trace of runtime events piece by piece: a file, a pipe, or standard input.

mod formats;
mod selection;
mod warnings;

use crate::failure::Failure;
use crate::status::ReadingLine;
use std::cell::Cell;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use strata_nettrace::{Decoder, Gap, Item, Problem, Refused, Summary};

pub(crate) use selection::{Kept, Scope, Selection};
pub(crate) use warnings::{warn, warn_of_order};

/// Large enough that the calls cost nothing, small enough to stay in the processor's cache.
const PIECE: usize = 256 << 10;

/// Whether a reader wants more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    GoOn,
    /// It has seen enough: the rest is not read.
    Enough,
}

/// What a trace that was read to its end was.
pub(crate) struct Whole {
    pub(crate) summary: Summary,
    first_problem: Option<Problem>,
    first_gap: Option<Gap>,
}

/// How a trace is called in messages.
pub(crate) fn called(path: &Path) -> String {
    if path == Path::new("-") { "standard input".to_owned() } else { path.display().to_string() }
}

/// Hands all items of a trace to `sink`; `-` is standard input.
///
/// # Errors
/// When it cannot be read or is no trace.
pub(crate) fn read(path: &Path, mut sink: impl FnMut(Item<'_>)) -> Result<Whole, Failure> {
    let whole = read_until(path, |item| {
        sink(item);
        Flow::GoOn
    })?;
    // A reader that never has enough sees all.
    whole.ok_or_else(|| Failure::unreadable(format_args!("{} was not read to its end", called(path)), "try again"))
}

/// The same until `sink` has enough: then `None`.
///
/// # Errors
/// When it cannot be read or is no trace.
pub(crate) fn read_until(path: &Path, mut sink: impl FnMut(Item<'_>) -> Flow) -> Result<Option<Whole>, Failure> {
    let mut input = open(path)?;
    let mut progress = ReadingLine::new(length(path));
    let mut decoder = Decoder::new();
    let flow = Cell::new(Flow::GoOn);
    let (mut first_problem, mut first_gap) = (None, None);
    let mut take = |item: Item<'_>| {
        match &item {
            Item::Problem(problem) => first_problem = first_problem.or(Some(*problem)),
            Item::Gap(gap) => first_gap = first_gap.or(Some(*gap)),
            _ => {}
        }
        if flow.get() == Flow::GoOn {
            flow.set(sink(item));
        }
    };
    let mut piece = vec![0; PIECE];
    let mut bytes = 0_u64;
    loop {
        let count = match input.read(&mut piece) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(cannot_read(path, &error)),
        };
        decoder.feed(&piece[..count], &mut take).map_err(|refused| refuse(path, &refused))?;
        if flow.get() == Flow::Enough {
            return Ok(None);
        }
        bytes += count as u64;
        progress.reached(bytes);
    }
    drop(progress);
    let summary = decoder.finish(&mut take).map_err(|refused| refuse(path, &refused))?;
    Ok(Some(Whole { summary, first_problem, first_gap }))
}

fn open(path: &Path) -> Result<Box<dyn Read>, Failure> {
    if path == Path::new("-") {
        return Ok(Box::new(io::stdin().lock()));
    }
    let file = File::open(path).map_err(|error| cannot_read(path, &error))?;
    if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
        return Err(Failure::unreadable(
            format_args!("{} is a folder; a trace is a .nettrace file", path.display()),
            "a recording of strata keeps its traces as .nettrace files inside of its folder",
        ));
    }
    Ok(Box::new(file))
}

/// Whether a trace is a file, and no pipe.
pub(crate) fn can_be_read_again(path: &Path) -> bool {
    path != Path::new("-") && length(path).is_some()
}

/// Bytes of a file; `None` for what has no length before its end.
fn length(path: &Path) -> Option<u64> {
    std::fs::metadata(path).ok().filter(|metadata| metadata.is_file()).map(|metadata| metadata.len())
}

fn cannot_read(path: &Path, error: &io::Error) -> Failure {
    Failure::unreadable(
        format_args!("cannot read {}: {error}", called(path)),
        "a .nettrace file, or - for standard input, is wanted",
    )
}

fn refuse(path: &Path, refused: &Refused) -> Failure {
    let hint = match refused {
        Refused::NotNettrace { first } => formats::hint(first),
        _ => "dotnet-trace of .NET 3.1 to 10 writes versions that are read",
    };
    Failure::unreadable(format_args!("{}: {refused}", called(path)), hint)
}
