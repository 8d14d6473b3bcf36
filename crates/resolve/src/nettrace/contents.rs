//! What is in a stream, in numbers: for those who find no samples in it.

use rustc_hash::FxHashMap;
use strata_nettrace::{Event, Summary};

/// What is in a stream.
#[derive(Clone, Debug)]
pub struct Contents {
    /// Events in all.
    pub events: u64,
    /// Providers and how many events each has, most first.
    pub providers: Vec<(String, u64)>,
    /// Whether the runtime's list of methods at the end is there to its last entry.
    pub has_rundown: bool,
}

/// Counts events as they come.
#[derive(Default)]
pub(super) struct Counting {
    of_provider: FxHashMap<Box<str>, u64>,
    has_rundown: bool,
}

impl Counting {
    pub(super) fn event(&mut self, event: &Event<'_>) {
        let provider = &event.metadata.provider;
        match self.of_provider.get_mut(provider) {
            Some(count) => *count = count.saturating_add(1),
            None => drop(self.of_provider.insert(provider.clone(), 1)),
        }
    }

    pub(super) fn rundown_is_complete(&mut self) {
        self.has_rundown = true;
    }

    pub(super) fn finish(&self, summary: &Summary) -> Contents {
        let mut providers: Vec<_> =
            self.of_provider.iter().map(|(provider, count)| (provider.to_string(), *count)).collect();
        providers.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        Contents { events: summary.events, providers, has_rundown: self.has_rundown }
    }
}
