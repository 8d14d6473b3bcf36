//! `strata images`: what precompiled methods an image has, or every image of a program or a process.

mod json;
mod listing;
mod source;
mod text;

use crate::args::ImagesArguments;
use crate::failure::{Failure, to_stdout};
use crate::output;
use crate::say::{say, typed};
use listing::Listing;
use source::{Found, Source};
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use strata_clrimage::{NoAssemblies, map_lines};
use text::Summary;

/// How the list is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Text,
    Json,
    Map,
}

pub(crate) fn run(arguments: &ImagesArguments) -> Result<ExitCode, Failure> {
    let form = match (arguments.json, arguments.perfmap) {
        (true, _) => Form::Json,
        (_, true) => Form::Map,
        _ => Form::Text,
    };
    let path = Path::new(&arguments.target);
    let bytes = source::read(path)?;
    let found = source::images(path, &bytes)?;
    let found = match &arguments.image {
        Some(name) => Found::One(found.named(name)?),
        None => found,
    };
    match found {
        Found::One(source) => of_one(&source, form, arguments),
        Found::Many(_) if form == Form::Map => Err(Failure::bad_arguments(
            format_args!("{} holds several images, and a map is of one", typed(path)),
            "--image NAME chooses one; strata images lists them",
        )),
        Found::Many(sources) => of_many(sources, form, arguments),
    }
}

/// Everything of one image.
fn of_one(source: &Source<'_>, form: Form, arguments: &ImagesArguments) -> Result<ExitCode, Failure> {
    let unreadable = |error| Failure::unreadable(format_args!("{}: {error}", source.path), source::HINT);
    let listing = Listing::read(source).map_err(unreadable)?;
    if listing.methods.methods().is_empty() {
        return Err(Failure::nothing_to_show(
            format_args!("{} has no precompiled code", source.path),
            "its methods are compiled while the program runs: strata record -p PID shows them",
        ));
    }
    let names = listing.image.names(&NoAssemblies);
    deliver(arguments, |out| match form {
        Form::Text => text::write_methods(out, &listing, &names),
        Form::Json => {
            let mut document = json::Document::begin(out)?;
            document.image(&listing, &names)?;
            document.end()
        }
        Form::Map => {
            let mut lines = map_lines(&listing.image, &listing.methods, &names);
            lines.try_for_each(|line| writeln!(out, "{}", strata_digest::visible(&line.to_string())))
        }
    })
}

/// A line for each image, or all of each as JSON. One that cannot be read is told of and left out.
fn of_many<'d>(
    sources: impl Iterator<Item = Result<Source<'d>, Failure>>,
    form: Form,
    arguments: &ImagesArguments,
) -> Result<ExitCode, Failure> {
    let mut readable = sources.filter_map(|source| match source {
        Ok(source) => Some(source),
        Err(failure) => {
            failure.warn();
            None
        }
    });
    deliver(arguments, |out| {
        let mut document = None;
        let mut summaries = Vec::new();
        if form == Form::Json {
            document = Some(json::Document::begin(out)?);
        }
        for source in readable.by_ref() {
            match (Listing::read(&source), &mut document) {
                (Ok(listing), Some(document)) => document.image(&listing, &listing.image.names(&NoAssemblies))?,
                (Ok(listing), None) => summaries.push(Summary::of(&listing)),
                (Err(error), _) => say(&format!("strata: left out: {}: {error}", strata_digest::visible(&source.path))),
            }
        }
        match document {
            Some(document) => document.end(),
            None => text::write_summaries(out, &summaries),
        }
    })
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
