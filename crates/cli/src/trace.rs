//! Reading a trace of runtime events piece by piece: a file, a pipe, or standard input.

use crate::failure::Failure;
use crate::say::{say, typed};
use crate::status::ReadingLine;
use std::cell::Cell;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use strata_digest::visible;
use strata_nettrace::{Decoder, Item, Refused, StreamEnd, Summary};

/// Large enough that the calls cost nothing, small enough to stay in the processor's cache.
const PIECE: usize = 256 << 10;

/// Whether a reader wants more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    GoOn,
    /// It has seen enough: the rest is not read.
    Enough,
}

/// Hands the items of a trace to `sink` until it has seen enough; `-` is standard input. Gives the sum of what was read, or
/// `None` when that is not all.
///
/// # Errors
/// When it cannot be read or is no trace.
pub(crate) fn read(path: &Path, mut sink: impl FnMut(Item<'_>) -> Flow) -> Result<Option<Summary>, Failure> {
    let mut input = open(path)?;
    let mut progress = ReadingLine::new(length(path));
    let mut decoder = Decoder::new();
    let flow = Cell::new(Flow::GoOn);
    let mut take = |item: Item<'_>| {
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
    progress.clear();
    decoder.finish(&mut take).map(Some).map_err(|refused| refuse(path, &refused))
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

/// Bytes of a file; `None` for what has no length before its end.
fn length(path: &Path) -> Option<u64> {
    std::fs::metadata(path).ok().filter(|metadata| metadata.is_file()).map(|metadata| metadata.len())
}

fn cannot_read(path: &Path, error: &io::Error) -> Failure {
    Failure::unreadable(
        format_args!("cannot read {}: {error}", path.display()),
        "a .nettrace file, or - for standard input, is wanted",
    )
}

fn refuse(path: &Path, refused: &Refused) -> Failure {
    let hint = match refused {
        Refused::NotNettrace { first } => known_format(first),
        _ => "dotnet-trace of .NET 3.1 to 10 writes versions that are read",
    };
    Failure::unreadable(format_args!("{}: {refused}", path.display()), hint)
}

/// What a file is that is no trace, by its first bytes, and what to do with it.
pub(crate) fn known_format(first: &[u8]) -> &'static str {
    match first {
        [] => "the file is empty",
        [0x1f, 0x8b, ..] => "it is compressed with gzip: gunzip -c FILE | strata events -",
        [b'P', b'K', 3, 4, ..] => "it is a zip archive: unzip it; a .nettrace file inside of it can be read",
        [0x28, 0xb5, 0x2f, 0xfd, ..] => "it is compressed with zstd: zstd -dc FILE | strata events -",
        [b'P', b'E', b'R', b'F', b'I', b'L', b'E', b'2'] => "it is a perf.data file",
        [b'{' | b'[', ..] => "it looks like JSON: an exported profile is not a trace",
        // A trace buffer of Windows begins with its own size.
        [_, _, 0x01 | 0x02 | 0x00, 0x00, _, _, 0x00, 0x00] => "if it is an .etl file of Windows, PerfView reads it",
        _ => {
            "a .nettrace file begins with the word Nettrace (one that was cut at its front cannot be read); a recording is the \
             folder that strata record makes"
        }
    }
}

/// Says on standard error what is missing from a trace that was read.
pub(crate) fn warn(path: &Path, summary: &Summary) {
    let warn = |text: &str| say(&format!("strata: warning: {}", visible(&format!("{}: {text}", typed(path)))));
    match &summary.end {
        StreamEnd::Complete => {}
        StreamEnd::Cut { offset, block: None } => {
            warn(&format!("the trace is cut at byte {offset}, without its end mark; {AFTER}"))
        }
        StreamEnd::Cut { offset, block: Some(block) } => warn(&format!(
            "the trace is cut at byte {offset}, in the {} at byte {} which has {} of {} bytes; {AFTER}",
            block.kind, block.offset, block.present, block.declared
        )),
        StreamEnd::Damaged { offset } => {
            warn(&format!("the trace is damaged at byte {offset}; nothing behind it is read"))
        }
    }
    let unreadable: Vec<String> = summary
        .problems
        .iter()
        .filter(|(kind, _)| *kind != strata_nettrace::ProblemKind::Cut)
        .map(|(kind, count)| format!("{kind} ({count})"))
        .collect();
    if !unreadable.is_empty() {
        warn(&format!("not all of it can be read: {}", unreadable.join(", ")));
    }
    if summary.loss.lost > 0 || summary.loss.unknown > 0 {
        let at_least = if summary.loss.unknown > 0 { "at least " } else { "" };
        // Events in blocks that could not be read are missing in the same way.
        let why = if unreadable.is_empty() { ": its buffer was full" } else { ", or they are in what cannot be read" };
        warn(&format!("the runtime dropped {at_least}{} events{why}", summary.loss.lost));
    }
}

/// What a cut means.
const AFTER: &str = "the list of methods at the end is missing";
