//! From a path to a profile.

mod part;
pub(crate) mod symbols;

use crate::args::{InputArguments, SelectionArguments};
use crate::failure::Failure;
use crate::say::{say, typed};
use crate::trace::{self, Kept, Scope, Selection};
use std::path::Path;
use strata_digest::percent;
use strata_nettrace::Item;
use strata_profile::{Gap, Profile, Quantity, Share, quality};
use strata_recording::Recording;
use strata_resolve::files::HostFiles;
use strata_resolve::nettrace::{Contents, ImageFiles, Shown, Trace, TraceReader};

/// Providers that are named where there is nothing else to show.
const SHOWN_PROVIDERS: usize = 5;

/// A recording or trace that was read whole.
struct Read {
    profile: Profile,
    /// Why there is nothing to show of it, if there is nothing.
    nothing: Option<Failure>,
}

/// Reads and names a recording or a trace, as much of it as is wanted.
pub(crate) fn profile(input: &InputArguments, wanted: &SelectionArguments) -> Result<Profile, Failure> {
    Ok(part::of(read(input, wanted)?.profile, wanted))
}

/// Reads a recording or a trace of which something can be shown.
pub(crate) fn profile_with_samples(input: &InputArguments, wanted: &SelectionArguments) -> Result<Profile, Failure> {
    let Read { profile, nothing } = read(input, wanted)?;
    if let Some(nothing) = nothing {
        return Err(nothing);
    }
    let profile = part::with_samples(profile, input, wanted)?;
    warn_of_names(&profile, input);
    Ok(profile)
}

/// Reads a recording that was just made, of which something can be shown.
pub(crate) fn recording_with_samples(folder: &Path) -> Result<Profile, Failure> {
    let Read { profile, nothing } = of_recording(folder)?;
    nothing.map_or(Ok(profile), Err)
}

fn read(input: &InputArguments, wanted: &SelectionArguments) -> Result<Read, Failure> {
    Selection::check(wanted)?;
    if !input.file.is_dir() {
        return of_trace(input, wanted);
    }
    if !input.symbols.is_empty() {
        return Err(Failure::bad_arguments(
            "--symbols is for .nettrace traces",
            "a recording knows which images it is of, and finds them by itself",
        ));
    }
    if wanted.asks_for_events() {
        return Err(Failure::bad_arguments(
            "--name and --provider choose events of a .nettrace trace",
            "of a recording, reports show CPU samples",
        ));
    }
    of_recording(&input.file)
}

fn of_recording(folder: &Path) -> Result<Read, Failure> {
    let profile = strata_resolve::resolve(&Recording::open(folder)?, &HostFiles::default())?;
    let nothing = profile.samples.is_empty().then(|| {
        Failure::nothing_to_show(
            format_args!(
                "{} has no CPU sample: the target used hardly any CPU while it was recorded",
                folder.display()
            ),
            "strata report FILE loss tells what is missing",
        )
    });
    Ok(Read { profile, nothing })
}

fn of_trace(input: &InputArguments, wanted: &SelectionArguments) -> Result<Read, Failure> {
    let host = HostFiles::default();
    let images = ImageFiles { files: &host, candidates: symbols::candidates(&input.symbols)? };
    let mut selection = Selection::new(wanted, Scope::Kinds);
    let mut counts = |item: &Item<'_>| selection.take(item) == Kept::Wanted;
    let counts_events = wanted.asks_for_events();
    let shown = match counts_events {
        true => Shown::Events { what: wanted.events_in_words(), counts: &mut counts },
        false => Shown::Samples,
    };
    let mut reader = TraceReader::new(&input.file_name(), shown);
    let whole = trace::read(&input.file, |item| reader.take(&item))?;
    whole.warn(&input.file);
    let Trace { profile, contents } = reader.finish(&whole.summary, &images);
    if !input.symbols.is_empty() && profile.recording.measure.quantity() == Quantity::CpuTime {
        trace::warn(
            &input.file,
            "--symbols is not used: a trace of a whole machine has the names that its collector found",
        );
    }
    let nothing = if counts_events {
        selection.warn_of_missing(&input.file);
        selection.judge(&input.file).err()
    } else {
        profile.samples.is_empty().then(|| nothing_sampled(input, &contents))
    };
    Ok(Read { profile, nothing })
}

/// One hint why frames have no names, and how they get them.
fn warn_of_names(profile: &Profile, input: &InputArguments) {
    if !profile.loss.gaps.contains(&Gap::NoRundown) {
        return;
    }
    let images = match input.symbols.as_slice() {
        [] => ", or give the program's images: --symbols DIR",
        _ => "; strata report FILE loss says which images were not used, and why",
    };
    let named = quality(profile).named_frames();
    let unnamed = Share { part: named.whole - named.part, ..named };
    say(&format!(
        "strata: {} % of frames have no name: the trace has no whole list of methods (rundown)\n  \
         stop the session that records it (dotnet-trace: Enter) and do not kill it{images}",
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
            "strata info {file} tells what it is good for, strata report {file} --name EVENT shows where events happened; \
             samples come from the provider Microsoft-DotNETCore-SampleProfiler, or from a collector of CPU samples (dotnet-trace collect-linux)",
            file = typed(&input.file)
        ),
    )
}
