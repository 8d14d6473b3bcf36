//! From a path to a profile.

mod symbols;
mod trace;

use crate::args::InputArguments;
use crate::failure::Failure;
use crate::sniff::{self, FileKind};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use strata_profile::Profile;
use strata_recording::Recording;
use strata_resolve::files::HostFiles;

/// Standard input, where a file is asked for.
const STDIN: &str = "-";

/// Reads and names a recording or a trace.
pub(crate) fn profile(input: &InputArguments) -> Result<Profile, Failure> {
    Ok(match open(&input.file)? {
        Source::Recording(recording) => resolve(&recording, input)?,
        Source::Trace(file) => trace::read(file, input)?.profile,
    })
}

/// Reads a recording or a trace of which something can be shown.
pub(crate) fn profile_with_samples(input: &InputArguments) -> Result<Profile, Failure> {
    match open(&input.file)? {
        Source::Recording(recording) => sampled(resolve(&recording, input)?, &input.file),
        Source::Trace(file) => trace::read_with_samples(file, input),
    }
}

/// Reads a recording that was just made, of which something can be shown.
pub(crate) fn recording_with_samples(folder: &Path) -> Result<Profile, Failure> {
    let recording = Recording::open(folder)?;
    sampled(strata_resolve::resolve(&recording, &HostFiles::default())?, folder)
}

fn resolve(recording: &Recording, input: &InputArguments) -> Result<Profile, Failure> {
    if !input.symbols.is_empty() {
        return Err(Failure::bad_arguments(
            "--symbols is for .nettrace traces",
            "a recording knows which images it is of, and finds them by itself",
        ));
    }
    Ok(strata_resolve::resolve(recording, &HostFiles::default())?)
}

fn sampled(profile: Profile, folder: &Path) -> Result<Profile, Failure> {
    if profile.samples.is_empty() {
        return Err(Failure::nothing_to_show(
            format_args!(
                "{} has no CPU sample: the target used hardly any CPU while it was recorded",
                folder.display()
            ),
            "strata report FILE loss tells what is missing",
        ));
    }
    Ok(profile)
}

/// What is at a path.
enum Source {
    Recording(Recording),
    Trace(Opened),
}

/// A file from its beginning.
struct Opened {
    /// Its first bytes, read already.
    first: Vec<u8>,
    rest: Box<dyn Read>,
    /// Its size, where it has one.
    bytes: Option<u64>,
}

fn open(path: &Path) -> Result<Source, Failure> {
    if path == Path::new(STDIN) {
        return sniffed(path, Box::new(io::stdin().lock()), None);
    }
    match std::fs::metadata(path) {
        Ok(there) if !there.is_dir() => {
            let file = File::open(path).map_err(|error| unreadable(path, &error))?;
            sniffed(path, Box::new(file), there.is_file().then_some(there.len()))
        }
        _ => Ok(Source::Recording(Recording::open(path)?)),
    }
}

fn sniffed(path: &Path, mut rest: Box<dyn Read>, bytes: Option<u64>) -> Result<Source, Failure> {
    let mut first = Vec::new();
    let enough = u64::try_from(sniff::ENOUGH).unwrap_or(u64::MAX);
    (&mut rest).take(enough).read_to_end(&mut first).map_err(|error| unreadable(path, &error))?;
    let what = match sniff::file_kind(&first) {
        FileKind::Trace => return Ok(Source::Trace(Opened { first, rest, bytes })),
        FileKind::Other(Some("empty")) => "it is empty".to_owned(),
        FileKind::Other(Some(kind)) => format!("it begins with {} ({kind})", sniff::hex(&first)),
        FileKind::Other(None) => format!("it begins with {}", sniff::hex(&first)),
    };
    Err(Failure::unreadable(
        format_args!("{} is neither a recording nor a .nettrace trace: {what}", path.display()),
        "a recording is the folder that strata record makes; a trace is what dotnet-trace collect writes",
    ))
}

fn unreadable(path: &Path, error: &io::Error) -> Failure {
    Failure::unreadable(
        format_args!("cannot read {}: {error}", path.display()),
        "a recording is a folder, a trace a file, - standard input",
    )
}
