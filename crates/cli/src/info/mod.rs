//! `strata info`.

mod header;
mod json;
mod tables;
mod text;
mod uses;

use crate::args::InfoArguments;
use crate::failure::{Failure, to_stdout};
use crate::trace;
use crate::width::width;
use header::{Header, Lasted};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;
use strata_nettrace::Summary;
use strata_nettrace::survey::{About, Kind, Survey, Times};
use strata_nettrace::universal::SYSTEM_PROVIDER;
use text::Layout;

/// What a trace holds.
struct Info<'a> {
    path: &'a Path,
    summary: &'a Summary,
    about: About,
    /// Most events first.
    kinds: Vec<Kind>,
    /// Events of each thread.
    threads: BTreeMap<u64, u64>,
    /// Events of threads that are not among them: there were too many.
    events_of_other_threads: u64,
    times: Times,
}

pub(crate) fn run(arguments: &InfoArguments) -> Result<ExitCode, Failure> {
    let mut survey = Survey::default();
    let whole = trace::read(&arguments.file, |item| survey.take(&item))?;
    let mut kinds = survey.kinds().to_vec();
    kinds.sort_by(|one, other| other.events.cmp(&one.events).then_with(|| one.event_id.cmp(&other.event_id)));
    let info = Info {
        path: &arguments.file,
        summary: &whole.summary,
        about: survey.about().clone(),
        kinds,
        threads: survey.threads(),
        events_of_other_threads: survey.events_of_other_threads(),
        times: survey.times(),
    };
    let written = to_stdout(|out| match arguments.json {
        true => json::write(out, &info),
        false => out.write_all(text::text(&info, Layout::of(width(arguments.width), arguments.all)).as_bytes()),
    })?;
    whole.warn(&arguments.file);
    Ok(written)
}

impl Info<'_> {
    /// Whether the trace tells what is lost. Collectors of whole machines number the events of each block anew, so that
    /// only some losses show.
    fn tells_losses(&self) -> bool {
        let loss = &self.summary.loss;
        let is_of_machine = self.kinds.iter().any(|kind| *kind.provider == *SYSTEM_PROVIDER);
        !is_of_machine || loss.lost > 0 || loss.unknown > 0
    }

    fn header(&self) -> Option<Header> {
        self.summary.trace.as_ref().map(Header::of)
    }

    fn lasted(&self) -> Option<Lasted> {
        let trace = self.summary.trace.as_ref()?;
        Lasted::of(trace, &Header::of(trace), self.times)
    }

    /// Providers with their events and kinds, most events first.
    fn providers(&self) -> Vec<(&str, u64, Vec<&Kind>)> {
        let mut places: BTreeMap<&str, usize> = BTreeMap::new();
        let mut providers: Vec<(&str, u64, Vec<&Kind>)> = Vec::new();
        for kind in &self.kinds {
            let place = *places.entry(&kind.provider).or_insert(providers.len());
            match providers.get_mut(place) {
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
