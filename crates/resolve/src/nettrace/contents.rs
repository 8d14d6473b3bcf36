//! What is in a stream, in numbers: for those who find no samples in it.

use rustc_hash::FxHashMap;
use strata_nettrace::Summary;
use strata_nettrace::survey::Survey;

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

impl Contents {
    pub(super) fn of(survey: &Survey, summary: &Summary, has_rundown: bool) -> Self {
        let mut of_provider: FxHashMap<&str, u64> = FxHashMap::default();
        for kind in survey.kinds() {
            let count = of_provider.entry(&kind.provider).or_default();
            *count = count.saturating_add(kind.events);
        }
        let mut providers: Vec<_> =
            of_provider.into_iter().map(|(provider, count)| (provider.to_owned(), count)).collect();
        providers.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        Self { events: summary.events, providers, has_rundown }
    }
}
