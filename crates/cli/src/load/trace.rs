//! Reading a .nettrace file, and what is to be said of it.

use super::{Opened, symbols, unreadable};
use crate::args::InputArguments;
use crate::failure::Failure;
use crate::progress::ReadProgress;
use crate::say::say;
use std::io::Read;
use strata_digest::{percent, visible};
use strata_profile::{Profile, quality};
use strata_resolve::files::HostFiles;
use strata_resolve::nettrace::{Contents, ImageFiles, Trace, TraceReader};

/// Read at once.
const CHUNK: usize = 1 << 20;

/// Providers that are named where there is nothing else to show.
const SHOWN_PROVIDERS: usize = 5;

/// Reads and names a trace.
pub(super) fn read(mut file: Opened, input: &InputArguments) -> Result<Trace, Failure> {
    let host = HostFiles::default();
    let images = ImageFiles { files: &host, candidates: symbols::candidates(&input.symbols)? };
    let mut reader = TraceReader::new(&input.file_name());
    let mut progress = ReadProgress::new(file.bytes);
    let refused = |refused| {
        Failure::unreadable(format_args!("cannot read {}: {refused}", input.shown()), "dotnet-trace writes version 4")
    };
    reader.feed(&file.first).map_err(refused)?;
    let mut read = file.first.len() as u64;
    let mut chunk = vec![0; CHUNK];
    loop {
        match file.rest.read(&mut chunk) {
            Ok(0) => break,
            Ok(bytes) => {
                reader.feed(&chunk[..bytes]).map_err(refused)?;
                read += bytes as u64;
                progress.at(read);
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(unreadable(&input.file, &error)),
        }
    }
    progress.naming();
    let trace = reader.finish(&images).map_err(refused)?;
    drop(progress);
    warn_of_end(input, &trace.contents);
    Ok(trace)
}

/// The same of a trace that has samples.
pub(super) fn read_with_samples(file: Opened, input: &InputArguments) -> Result<Profile, Failure> {
    let Trace { profile, contents } = read(file, input)?;
    if profile.samples.is_empty() {
        return Err(nothing_sampled(input, &contents));
    }
    warn_of_names(&profile, &contents);
    Ok(profile)
}

fn warn_of_end(input: &InputArguments, contents: &Contents) {
    let names = if contents.has_rundown { "" } else { "; no list of methods (rundown), so code may be without names" };
    if let Some((offset, block)) = contents.cut {
        let inside = block.map_or_else(String::new, |block| format!(" ({})", block.kind));
        say(&visible(&format!(
            "strata: warning: {} is cut at byte {offset}{inside}: what is whole before that is shown{names}",
            input.shown()
        )));
    } else if let Some(offset) = contents.damaged_at {
        say(&visible(&format!(
            "strata: warning: {} is damaged at byte {offset}: what is before that is shown{names}",
            input.shown()
        )));
    }
}

/// One hint why frames have no names, and how they get them.
fn warn_of_names(profile: &Profile, contents: &Contents) {
    let named = quality(profile).named_frames();
    if contents.has_rundown || named.part >= named.whole {
        return;
    }
    let unnamed = strata_profile::Share { part: named.whole - named.part, ..named };
    say(&format!(
        "strata: {} % of frames have no name: the trace has no whole list of methods (rundown)\n  \
         let a trace end by itself (dotnet-trace: Enter or Ctrl+C), or give the program's images: --symbols DIR",
        percent(unnamed.percent())
    ));
}

fn nothing_sampled(input: &InputArguments, contents: &Contents) -> Failure {
    let providers: Vec<_> = contents
        .providers
        .iter()
        .take(SHOWN_PROVIDERS)
        .map(|(provider, events)| format!("{provider} {events}"))
        .collect();
    let what = match contents.events {
        0 => "it has no events at all".to_owned(),
        1 => format!("its one event is of {}", providers.join(", ")),
        events => format!("its {events} events are of {}", providers.join(", ")),
    };
    let more = contents.providers.len().saturating_sub(SHOWN_PROVIDERS);
    let more = if more > 0 { format!(" and {more} more providers") } else { String::new() };
    Failure::nothing_to_show(
        format_args!("{} has no samples of threads: {what}{more}", input.shown()),
        "strata info FILE tells what it is good for, strata events FILE lists its events; samples come from the provider \
         Microsoft-DotNETCore-SampleProfiler",
    )
}
