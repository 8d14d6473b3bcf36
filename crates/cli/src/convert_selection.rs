//! Which events of a trace are wanted, and how many there were.

use crate::args::ConvertArguments;
use std::collections::{BTreeSet, HashMap};
use std::time::Duration;
use strata_nettrace::runtime::names_code;
use strata_nettrace::{Event, Metadata, TraceInfo};

/// What was asked for, in the words of one trace.
#[derive(Debug)]
pub(crate) struct Selection {
    /// Ticks from which, and before which.
    times: (Option<u64>, Option<u64>),
    threads: Vec<u64>,
    /// In lower case.
    providers: Vec<String>,
    /// What was found out about each definition, by its id.
    definitions: HashMap<u32, Kind>,
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
    pub(crate) providers: BTreeSet<Box<str>>,
    /// Those of the threads asked for that had events.
    pub(crate) threads: BTreeSet<u64>,
}

#[derive(Clone, Copy, Debug)]
struct Kind {
    provider_wanted: bool,
    names_code: bool,
}

impl Selection {
    pub(crate) fn new(arguments: &ConvertArguments, trace: &TraceInfo) -> Self {
        let at = |after: Option<Duration>| after.map(|after| moment(trace, after));
        Self {
            times: (at(arguments.from), at(arguments.to)),
            threads: arguments.threads.clone(),
            providers: arguments.providers.iter().map(|name| name.to_lowercase()).collect(),
            definitions: HashMap::new(),
            last: None,
            found: Found::default(),
        }
    }

    /// Whether the event is to be kept; counts it.
    pub(crate) fn keeps(&mut self, event: &Event<'_>) -> bool {
        let kind = self.kind(event.metadata);
        let (from, to) = self.times;
        let time = event.header.time;
        let thread_wanted = self.threads.is_empty() || self.threads.contains(&event.header.thread);
        if thread_wanted && !self.threads.is_empty() {
            self.found.threads.insert(event.header.thread);
        }
        let in_time = from.is_none_or(|from| time >= from) && to.is_none_or(|to| time < to);
        let wanted = kind.provider_wanted && thread_wanted && in_time;
        self.found.events += 1;
        self.found.wanted += u64::from(wanted);
        self.found.naming += u64::from(!wanted && kind.names_code);
        wanted || kind.names_code
    }

    /// What there was so far.
    pub(crate) fn found(&self) -> &Found {
        &self.found
    }

    /// Those of the providers asked for that had no event.
    pub(crate) fn missing_providers<'a>(&self, asked_for: &'a [String]) -> Vec<&'a str> {
        let there: Vec<_> = self.found.providers.iter().map(|name| name.to_lowercase()).collect();
        asked_for.iter().filter(|name| !there.contains(&name.to_lowercase())).map(String::as_str).collect()
    }

    fn kind(&mut self, metadata: &Metadata) -> Kind {
        if let Some((id, kind)) = self.last
            && id == metadata.id
        {
            return kind;
        }
        // In the versions that can be written, an id means the same all through a stream.
        let kind = *self.definitions.entry(metadata.id).or_insert_with(|| {
            let name = metadata.provider.to_lowercase();
            self.found.providers.insert(metadata.provider.clone());
            Kind {
                provider_wanted: self.providers.is_empty() || self.providers.contains(&name),
                names_code: names_code(metadata),
            }
        });
        self.last = Some((metadata.id, kind));
        kind
    }
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
