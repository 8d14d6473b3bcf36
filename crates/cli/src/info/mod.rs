//! `strata info`.

mod json;
mod text;
mod uses;

use crate::args::InfoArguments;
use crate::failure::{Failure, to_stdout};
use crate::trace;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;
use strata_nettrace::Summary;
use strata_nettrace::survey::{About, Kind, Survey};

/// What a trace holds.
struct Info<'a> {
    path: &'a Path,
    summary: &'a Summary,
    about: About,
    /// Most events first.
    kinds: Vec<Kind>,
    /// Events of each thread.
    threads: BTreeMap<u64, u64>,
}

pub(crate) fn run(arguments: &InfoArguments) -> Result<ExitCode, Failure> {
    let mut survey = Survey::default();
    let whole = trace::read(&arguments.file, |item| survey.take(&item))?;
    let mut kinds = survey.kinds().to_vec();
    kinds.sort_by(|one, other| other.events.cmp(&one.events).then_with(|| one.event_id.cmp(&other.event_id)));
    let (about, threads) = (survey.about().clone(), survey.threads());
    let info = Info { path: &arguments.file, summary: &whole.summary, about, kinds, threads };
    let written = to_stdout(|out| match arguments.json {
        true => json::write(out, &info),
        false => out.write_all(text::text(&info).as_bytes()),
    })?;
    whole.warn(&arguments.file);
    Ok(written)
}

impl Info<'_> {
    /// Nanoseconds from the trace's start to its last event; 0 without events.
    fn duration_ns(&self) -> i128 {
        let end = self.summary.trace.as_ref().zip(self.summary.times);
        end.map_or(0, |(trace, (_, last))| trace.since_start_ns(last).max(0))
    }

    /// Providers with their events and kinds, most events first.
    fn providers(&self) -> Vec<(&str, u64, Vec<&Kind>)> {
        let mut providers: Vec<(&str, u64, Vec<&Kind>)> = Vec::new();
        for kind in &self.kinds {
            match providers.iter_mut().find(|(name, _, _)| *name == &*kind.provider) {
                Some((_, events, kinds)) => {
                    *events += kind.events;
                    kinds.push(kind);
                }
                None => providers.push((&kind.provider, kind.events, vec![kind])),
            }
        }
        providers.sort_by_key(|(_, events, _)| std::cmp::Reverse(*events));
        providers
    }
}
