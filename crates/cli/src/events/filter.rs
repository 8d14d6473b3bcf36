//! Which events are wanted.

use crate::args::EventsArguments;
use std::collections::BTreeMap;
use strata_digest::visible;
use strata_nettrace::{Event, TraceInfo};

/// What is wanted, and what there was.
pub(super) struct Filter<'a> {
    wanted: &'a EventsArguments,
    /// Events of each provider of the trace.
    seen: BTreeMap<Box<str>, u64>,
    matched: u64,
}

impl<'a> Filter<'a> {
    pub(super) fn new(wanted: &'a EventsArguments) -> Self {
        Self { wanted, seen: BTreeMap::new(), matched: 0 }
    }

    pub(super) fn matches(&mut self, event: &Event<'_>, trace: Option<&TraceInfo>) -> bool {
        let provider = &event.metadata.provider;
        match self.seen.get_mut(provider) {
            Some(count) => *count += 1,
            None => drop(self.seen.insert(provider.clone(), 1)),
        }
        let wanted = self.wanted;
        let is_one_of = |names: &[String], name: &str| {
            names.is_empty() || names.iter().any(|wanted| wanted.eq_ignore_ascii_case(name))
        };
        let matches = is_one_of(&wanted.provider, provider)
            && is_one_of(&wanted.name, &event.metadata.display_name())
            && (wanted.thread.is_empty() || wanted.thread.contains(&event.header.thread))
            && self.is_in_time(event, trace);
        self.matched += u64::from(matches);
        matches
    }

    fn is_in_time(&self, event: &Event<'_>, trace: Option<&TraceInfo>) -> bool {
        let (from, to) = (self.wanted.from, self.wanted.to);
        let Some(trace) = trace.filter(|_| from.is_some() || to.is_some()) else { return true };
        let time = trace.since_start_ns(event.header.time);
        from.is_none_or(|from| time >= nanoseconds(from)) && to.is_none_or(|to| time < nanoseconds(to))
    }

    pub(super) fn matched(&self) -> u64 {
        self.matched
    }

    /// Providers that were asked for and have no event.
    pub(super) fn never_seen(&self) -> impl Iterator<Item = &String> {
        self.wanted.provider.iter().filter(|wanted| !self.seen.keys().any(|seen| seen.eq_ignore_ascii_case(wanted)))
    }

    /// The providers there are, in words.
    pub(super) fn providers(&self) -> String {
        let names: Vec<_> = self.seen.keys().map(|name| visible(name)).collect();
        if names.is_empty() { "none".to_owned() } else { names.join(", ") }
    }
}

#[expect(clippy::cast_possible_wrap, reason = "no duration has 2^127 nanoseconds")]
fn nanoseconds(duration: std::time::Duration) -> i128 {
    duration.as_nanos() as i128
}
