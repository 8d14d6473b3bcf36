//! JSON columns that are never held in memory.

use serde::{Serialize, Serializer};

/// A JSON array made anew from an iterator each time it is written.
pub(crate) struct Column<F>(pub(crate) F);

impl<F, I> Serialize for Column<F>
where
    F: Fn() -> I,
    I: Iterator<Item: Serialize>,
{
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq((self.0)())
    }
}

/// A JSON array of one value many times.
pub(crate) struct Repeated<T>(pub(crate) T, pub(crate) usize);

impl<T: Serialize> Serialize for Repeated<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(std::iter::repeat_n(&self.0, self.1))
    }
}

/// Positions of a profile's samples, by thread.
pub(crate) fn samples_by_thread(profile: &strata_profile::Profile) -> Vec<Vec<u32>> {
    use strata_profile::Handle;
    let mut by_thread = vec![Vec::new(); profile.threads.len()];
    for (position, sample) in (0u32..).zip(&profile.samples) {
        by_thread[sample.thread.index()].push(position);
    }
    by_thread
}
