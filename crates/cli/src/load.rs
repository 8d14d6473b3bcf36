//! From a path to a profile.

mod part;
mod symbols;

use crate::args::{InputArguments, SelectionArguments};
use crate::failure::Failure;
use crate::say::{say, typed};
use crate::trace::{self, Kept, Selection};
use std::path::Path;
use strata_digest::percent;
use strata_nettrace::Item;
use strata_profile::{Profile, Quantity, Share, quality};
use strata_recording::Recording;
use strata_resolve::files::HostFiles;
use strata_resolve::nettrace::{Contents, ImageFiles, Shown, Trace, TraceReader};

/// Providers that are named where there is nothing else to show.
const SHOWN_PROVIDERS: usize = 5;

/// Reads and names a recording or a trace, as much of it as is wanted.
pub(crate) fn profile(input: &InputArguments, wanted: &SelectionArguments) -> Result<Profile, Failure> {
    Selection::check(wanted)?;
    let profile = if input.file.is_dir() { of_recording(input, wanted)? } else { of_trace(input, wanted)?.profile };
    Ok(part::of(profile, input, wanted))
}

/// Reads a recording or a trace of which something can be shown.
pub(crate) fn profile_with_samples(input: &InputArguments, wanted: &SelectionArguments) -> Result<Profile, Failure> {
    Selection::check(wanted)?;
    if input.file.is_dir() {
        let profile = sampled(of_recording(input, wanted)?, &input.file)?;
        return part::with_samples(profile, input, wanted);
    }
    let Trace { profile, contents } = of_trace(input, wanted)?;
    if profile.samples.is_empty() {
        return Err(nothing_sampled(input, &contents));
    }
    let profile = part::with_samples(profile, input, wanted)?;
    warn_of_names(&profile, &contents);
    Ok(profile)
}

/// Reads a recording that was just made, of which something can be shown.
pub(crate) fn recording_with_samples(folder: &Path) -> Result<Profile, Failure> {
    let recording = Recording::open(folder)?;
    sampled(strata_resolve::resolve(&recording, &HostFiles::default())?, folder)
}

fn of_recording(input: &InputArguments, wanted: &SelectionArguments) -> Result<Profile, Failure> {
    if !input.symbols.is_empty() {
        return Err(Failure::bad_arguments(
            "--symbols is for .nettrace traces",
            "a recording knows which images it is of, and finds them by itself",
        ));
    }
    if wanted.kinds().is_some() {
        return Err(Failure::bad_arguments(
            "--name and --provider choose events of a .nettrace trace",
            "of a recording, reports show CPU samples",
        ));
    }
    Ok(strata_resolve::resolve(&Recording::open(&input.file)?, &HostFiles::default())?)
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

fn of_trace(input: &InputArguments, wanted: &SelectionArguments) -> Result<Trace, Failure> {
    let host = HostFiles::default();
    let images = ImageFiles { files: &host, candidates: symbols::candidates(&input.symbols)? };
    let Some(what) = wanted.kinds() else {
        let mut reader = TraceReader::new(&input.file_name(), Shown::Samples);
        let whole = trace::read(&input.file, |item| reader.take(&item))?;
        whole.warn(&input.file);
        return Ok(reader.finish(&whole.summary, &images));
    };
    let mut reader = TraceReader::new(&input.file_name(), Shown::Events { what });
    let mut selection = Selection::new(wanted);
    let whole = trace::read(&input.file, |item| {
        reader.take(&item);
        let kept = selection.take(&item);
        if let (Kept::Wanted, Item::Event(event)) = (kept, &item) {
            reader.count(event);
        }
    })?;
    whole.warn(&input.file);
    selection.judge(&input.file)?;
    Ok(reader.finish(&whole.summary, &images))
}

/// One hint why frames have no names, and how they get them.
fn warn_of_names(profile: &Profile, contents: &Contents) {
    // Collectors of whole machines name what they can by themselves.
    if contents.has_rundown || profile.recording.measure.quantity() == Quantity::CpuTime {
        return;
    }
    let named = quality(profile).named_frames();
    if named.part >= named.whole {
        return;
    }
    let unnamed = Share { part: named.whole - named.part, ..named };
    say(&format!(
        "strata: {} % of frames have no name: the trace has no whole list of methods (rundown)\n  \
         stop the session that records it (dotnet-trace: Enter) and do not kill it, or give the program's images: --symbols DIR",
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
        format_args!(
            "strata info {file} tells what it is good for, strata events {file} lists its events; samples come from the \
             provider Microsoft-DotNETCore-SampleProfiler, or from a collector of CPU samples (dotnet-trace collect-linux)",
            file = typed(&input.file)
        ),
    )
}
