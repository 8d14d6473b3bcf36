//! Which events of a trace are wanted, and how many there were.

use super::warn;
use crate::args::SelectionArguments;
use crate::failure::Failure;
use crate::say::typed;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;
use strata_nettrace::runtime::names_code;
use strata_nettrace::{Event, Item, Metadata, TraceInfo};

/// Names listed in a message before it says how many more there are.
const MOST_NAMES: usize = 20;

/// What was asked for, in the words of one trace.
#[derive(Debug)]
pub(crate) struct Selection<'a> {
    arguments: &'a SelectionArguments,
    scope: Scope,
    /// Ticks from which, and before which.
    times: (Option<u64>, Option<u64>),
    /// What was found out about each definition, by its id.
    definitions: FxHashMap<u32, Kind>,
    last: Option<(u32, Kind)>,
    found: Found,
}

/// What there was.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// Events.
    pub(crate) events: u64,
    /// Events that are what was asked for.
    pub(crate) wanted: u64,
    /// Events that are not, but name code.
    pub(crate) naming: u64,
    /// Names of providers that had events, as they are written there.
    providers: BTreeSet<Box<str>>,
    /// Those of the names asked for that had events, by their place among these.
    names: BTreeSet<usize>,
    /// Names that contain one that is asked for.
    alike: BTreeSet<String>,
    /// Those of the threads asked for that had events.
    threads: BTreeSet<u64>,
}

/// What is looked at of that which was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// All of it.
    All,
    /// Kinds of events only: whoever goes on with them knows times and threads.
    Kinds,
}

#[derive(Clone, Copy, Debug)]
struct Kind {
    is_wanted: bool,
    names_code: bool,
}

/// Why an event is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    /// It was asked for.
    Wanted,
    /// Only because it names code.
    Naming,
    /// Not at all.
    No,
}

impl<'a> Selection<'a> {
    /// # Errors
    /// When no event can be what is asked for.
    pub(crate) fn check(arguments: &SelectionArguments) -> Result<(), Failure> {
        match (arguments.from, arguments.to) {
            (Some(from), Some(to)) if from >= to => Err(Failure::bad_arguments(
                format_args!("--from {from:?} is not before --to {to:?}"),
                "both count from the start of the trace",
            )),
            _ => Ok(()),
        }
    }

    pub(crate) fn new(arguments: &'a SelectionArguments, scope: Scope) -> Self {
        let definitions = FxHashMap::default();
        Self { arguments, scope, times: (None, None), definitions, last: None, found: Found::default() }
    }

    /// Looks at an item of the trace; says of an event whether and why it is to be kept, and counts it.
    pub(crate) fn take(&mut self, item: &Item<'_>) -> Kept {
        match item {
            Item::Trace(trace) if self.scope == Scope::All => {
                let at = |after: Option<Duration>| after.map(|after| moment(trace, after));
                self.times = (at(self.arguments.from), at(self.arguments.to));
                Kept::No
            }
            Item::Event(event) => self.event(event),
            Item::SequencePoint(_) => {
                // From version 6 on, ids can get another meaning there.
                self.definitions.clear();
                self.last = None;
                Kept::No
            }
            _ => Kept::No,
        }
    }

    fn event(&mut self, event: &Event<'_>) -> Kept {
        let kind = self.kind(event.metadata);
        let (from, to) = self.times;
        let (time, thread, threads) = (event.header.time, event.header.thread, self.threads());
        let thread_wanted = threads.is_empty() || threads.contains(&thread);
        if thread_wanted && !threads.is_empty() {
            self.found.threads.insert(thread);
        }
        let in_time = from.is_none_or(|from| time >= from) && to.is_none_or(|to| time < to);
        let wanted = kind.is_wanted && thread_wanted && in_time;
        self.found.events += 1;
        self.found.wanted += u64::from(wanted);
        self.found.naming += u64::from(!wanted && kind.names_code);
        match (wanted, kind.names_code) {
            (true, _) => Kept::Wanted,
            (false, true) => Kept::Naming,
            (false, false) => Kept::No,
        }
    }

    /// What there was so far.
    pub(crate) fn found(&self) -> &Found {
        &self.found
    }

    /// The threads that are looked at, where not at all.
    fn threads(&self) -> &'a [u64] {
        if self.scope == Scope::All { &self.arguments.threads } else { &[] }
    }

    /// Says which of the providers and threads asked for had no event.
    pub(crate) fn warn_of_missing(&self, path: &Path) {
        let found = &self.found;
        let is_there = |asked: &str| found.providers.iter().any(|there| is_same(there, asked));
        for missing in self.arguments.providers.iter().filter(|asked| !is_there(asked)) {
            warn(path, &format!("no event of a provider {missing}; those in the trace are {}", self.providers()));
        }
        for (_, missing) in self.arguments.names.iter().enumerate().filter(|(place, _)| !found.names.contains(place)) {
            let wanted = missing.trim_matches('*').to_lowercase();
            let alike: Vec<&str> =
                found.alike.iter().filter(|name| name.to_lowercase().contains(&wanted)).map(String::as_str).collect();
            let alike = if alike.is_empty() { String::new() } else { format!("; there are {}", listed(&alike)) };
            warn(path, &format!("no event of the name {missing}{alike}"));
        }
        for thread in self.threads().iter().filter(|thread| !found.threads.contains(thread)) {
            warn(path, &format!("no event about a thread {thread}"));
        }
    }

    /// Whether anything was what was asked for.
    ///
    /// # Errors
    /// When nothing was.
    pub(crate) fn judge(&self, path: &Path) -> Result<(), Failure> {
        match (self.found.events, self.found.wanted) {
            (0, _) => Err(Failure::nothing_to_show(
                format_args!("{} has no event", super::called(path)),
                "what recorded it was stopped before anything happened, or no provider was on",
            )),
            (events, 0) => Err(Failure::nothing_to_show(
                format_args!("none of the {events} events of {} is what was asked for", super::called(path)),
                format_args!("strata info {} lists providers, events and threads", typed(path)),
            )),
            _ => Ok(()),
        }
    }

    /// The providers there are, not too many of them.
    fn providers(&self) -> String {
        let names: Vec<&str> = self.found.providers.iter().map(|name| &**name).collect();
        if names.is_empty() { "none".to_owned() } else { listed(&names) }
    }

    fn kind(&mut self, metadata: &Metadata) -> Kind {
        if let Some((id, kind)) = self.last
            && id == metadata.id
        {
            return kind;
        }
        let kind = *self.definitions.entry(metadata.id).or_insert_with(|| {
            self.found.providers.insert(metadata.provider.clone());
            let SelectionArguments { providers, names, .. } = self.arguments;
            let of_provider = providers.is_empty() || providers.iter().any(|asked| is_same(asked, &metadata.provider));
            let name = metadata.display_name();
            let of_name = names.iter().enumerate().filter(|(_, asked)| is_same(asked, &name)).map(|(place, _)| place);
            let of_name: Vec<usize> = of_name.filter(|_| of_provider).collect();
            let is_wanted = of_provider && (names.is_empty() || !of_name.is_empty());
            self.found.names.extend(of_name);
            let lower = name.to_lowercase();
            if !is_wanted && names.iter().any(|asked| lower.contains(asked.trim_matches('*').to_lowercase().as_str())) {
                self.found.alike.insert(name.into_owned());
            }
            Kind { is_wanted, names_code: names_code(metadata) }
        });
        self.last = Some((metadata.id, kind));
        kind
    }
}

/// Not too many of these names.
fn listed(names: &[&str]) -> String {
    let shown = names.get(..MOST_NAMES).unwrap_or(names).join(", ");
    match names.len().saturating_sub(MOST_NAMES) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// Names are told apart whatever their case.
fn is_same(one: &str, other: &str) -> bool {
    one.eq_ignore_ascii_case(other) || one.to_lowercase() == other.to_lowercase()
}

/// The first tick that is not before this long after the trace's start.
fn moment(trace: &TraceInfo, after: Duration) -> u64 {
    let ticks = after.as_nanos().saturating_mul(trace.ticks_per_second.into()).div_ceil(1_000_000_000);
    trace.sync_ticks.saturating_add(u64::try_from(ticks).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use strata_nettrace::{FormatVersion, PointerSize, UtcTime};

    #[test]
    fn moments_are_ticks_of_the_trace() {
        let check = |ticks_per_second, after: Duration, expected| {
            let utc = UtcTime { year: 2026, month: 1, day: 1, hour: 0, minute: 0, second: 0, millisecond: 0 };
            let trace = TraceInfo {
                utc,
                sync_ticks: 1000,
                ticks_per_second,
                pointer_size: PointerSize::Eight,
                version: FormatVersion { major: 4, minor: 0 },
                process_id: None,
                processors: None,
                sampling_period_ns: None,
            };
            assert_eq!(moment(&trace, after), expected);
        };
        check(1_000_000_000, Duration::from_nanos(7), 1007);
        check(10_000_000, Duration::from_nanos(100), 1001);
        check(10_000_000, Duration::from_nanos(101), 1002);
        check(3_124_099, Duration::from_secs(2), 6_249_198);
        check(1_000_000_000, Duration::ZERO, 1000);
        check(u64::MAX, Duration::MAX, u64::MAX);
    }
}
