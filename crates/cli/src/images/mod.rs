//! `strata images`: what precompiled methods an image has, or every image of a program or a process.

mod json;
mod listing;
mod perf_map;
mod process;
mod source;
mod text;

use crate::args::ImagesArguments;
use crate::failure::{Failure, to_stdout};
use crate::output;
use crate::say::{say, typed};
use listing::Listing;
use process::Process;
use source::{ImageFile, Source, Take};
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::Path;
use std::process::ExitCode;
use strata_clrimage::map_lines;
use strata_resolve::files::HostFiles;
use text::Summary;

/// How the list is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Text,
    Json,
    Map,
}

impl Form {
    fn of(arguments: &ImagesArguments) -> Self {
        match (arguments.json, arguments.perfmap) {
            (true, _) => Self::Json,
            (_, true) => Self::Map,
            _ => Self::Text,
        }
    }
}

/// Where images are looked for.
enum Place<'p> {
    Process(Process<'p>),
    File(ImageFile<'p>),
}

impl Place<'_> {
    fn for_each(&mut self, take: &mut Take<'_>) {
        match self {
            Self::Process(process) => process.for_each(take),
            Self::File(file) => file.for_each(take),
        }
    }
}

/// Writes an image as a map.
type WriteMap = fn(&mut dyn Write, &Listing<'_>) -> io::Result<()>;

pub(crate) fn run(arguments: &ImagesArguments) -> Result<ExitCode, Failure> {
    let files = HostFiles::default();
    let mut place = match arguments.target.to_str().and_then(|text| text.parse().ok()) {
        Some(pid) => Place::Process(Process::open(pid, &files)?),
        None => Place::File(ImageFile::read(Path::new(&arguments.target), &files)?),
    };
    match (&place, &arguments.image) {
        (_, Some(name)) => first(&mut place, arguments, &|source| source.is_called(name)),
        (Place::File(file), None) if file.is_image() => first(&mut place, arguments, &|_| true),
        _ => all(&mut place, arguments),
    }
}

/// All of the first image that is meant.
fn first(
    place: &mut Place<'_>,
    arguments: &ImagesArguments,
    is_meant: &dyn Fn(&Source<'_>) -> bool,
) -> Result<ExitCode, Failure> {
    let mut done = None;
    let write_map: WriteMap = match place {
        Place::Process(_) => perf_map::write_image,
        Place::File(_) => write_map_of_file,
    };
    place.for_each(&mut |source| {
        match source {
            Ok(source) if is_meant(&source) => done = Some(one(&source, arguments, write_map)),
            Ok(_) => {}
            Err(failure) => failure.warn(),
        }
        if done.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    done.unwrap_or_else(|| {
        let name = arguments.image.as_deref().unwrap_or_default();
        let hint = match place {
            Place::Process(_) => {
                "without --image all are listed; assemblies without precompiled code are not among them"
            }
            Place::File(_) => "without --image all that the file holds are listed",
        };
        Err(Failure::nothing_to_show(format_args!("no image is called {name}"), hint))
    })
}

fn one(source: &Source<'_>, arguments: &ImagesArguments, write_map: WriteMap) -> Result<ExitCode, Failure> {
    let listing = read(source)?;
    if !listing.is_dotnet() {
        return Err(Failure::unreadable(
            format_args!("{} has no CLI header: it is no .NET image", source.path),
            source::HINT,
        ));
    }
    if listing.methods.methods().is_empty() {
        return Err(Failure::nothing_to_show(
            format_args!("{} has no precompiled code", source.path),
            "its methods are compiled while the program runs: strata record -p PID shows them",
        ));
    }
    deliver(arguments, |out| match Form::of(arguments) {
        Form::Text => text::write_methods(out, &listing),
        Form::Json => {
            let mut document = json::Document::begin(out)?;
            document.image(&listing)?;
            document.end()
        }
        Form::Map => write_map(out, &listing),
    })
}

/// The map of an image that is not loaded: its places relative to its base.
fn write_map_of_file(out: &mut dyn Write, listing: &Listing<'_>) -> io::Result<()> {
    listing.with_names(|names| {
        let mut lines = map_lines(&listing.image, &listing.methods, names);
        lines.try_for_each(|line| writeln!(out, "{}", strata_digest::visible(&line.to_string())))
    })
}

/// A line for each image, or all of each as JSON or as a map of the process.
fn all(place: &mut Place<'_>, arguments: &ImagesArguments) -> Result<ExitCode, Failure> {
    match (Form::of(arguments), &*place) {
        (Form::Text, _) => {
            let mut summaries = Vec::new();
            // Nothing is written yet.
            let _ = each_listing(place, |listing| {
                summaries.push(Summary::of(listing));
                Ok(())
            });
            if summaries.is_empty() {
                return Err(no_image(arguments));
            }
            deliver(arguments, |out| text::write_summaries(out, &summaries))
        }
        (Form::Json, _) => deliver(arguments, |out| {
            let mut document = json::Document::begin(out)?;
            each_listing(place, |listing| document.image(listing))?;
            document.end()
        }),
        (Form::Map, Place::Process(process)) => {
            let jitted = perf_map::jitted(process.pid())?;
            let mut is_loaded = false;
            place.for_each(&mut |_| {
                is_loaded = true;
                ControlFlow::Break(())
            });
            if !is_loaded {
                return Err(no_image(arguments));
            }
            deliver(arguments, |out| {
                each_listing(place, |listing| perf_map::write_image(out, listing))?;
                perf_map::write_jitted(out, &jitted)
            })
        }
        (Form::Map, Place::File(_)) => Err(Failure::bad_arguments(
            format_args!("{} holds several images, and a map is of one", typed(Path::new(&arguments.target))),
            "--image NAME chooses one; without --perfmap they are listed",
        )),
    }
}

fn no_image(arguments: &ImagesArguments) -> Failure {
    Failure::nothing_to_show(
        format_args!("{} has no precompiled .NET image", arguments.target.to_string_lossy()),
        "strata ps lists the .NET processes; one that just starts has none yet",
    )
}

/// Reads one image after the other; one that cannot be read is told of and left out.
fn each_listing(place: &mut Place<'_>, mut take: impl FnMut(&Listing<'_>) -> io::Result<()>) -> io::Result<()> {
    let mut written = Ok(());
    place.for_each(&mut |source| {
        match source.and_then(|source| read(&source).map(|listing| take(&listing))) {
            Ok(done) => written = done,
            Err(failure) => failure.warn(),
        }
        if written.is_err() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    written
}

fn read<'d>(source: &Source<'d>) -> Result<Listing<'d>, Failure> {
    Listing::read(source).map_err(|error| Failure::unreadable(format_args!("{}: {error}", source.path), source::HINT))
}

/// To the file that was asked for, else to standard output.
fn deliver(
    arguments: &ImagesArguments,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<ExitCode, Failure> {
    let Some(path) = &arguments.output else { return to_stdout(write) };
    output::replace(path, write)?;
    say(&format!("wrote {}", typed(path)));
    Ok(ExitCode::SUCCESS)
}
