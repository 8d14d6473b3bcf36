//! As much of a profile as is wanted.

use crate::args::{InputArguments, SelectionArguments};
use crate::failure::Failure;
use crate::say::typed;
use crate::trace::warn;
use std::time::Duration;
use strata_profile::{Part, Profile, Timestamp};

/// The wanted part.
pub(super) fn of(profile: Profile, wanted: &SelectionArguments) -> Profile {
    let start = profile.recording.start;
    let moment = |after: Option<Duration>| {
        after.map(|after| Timestamp(start.0.saturating_add(u64::try_from(after.as_nanos()).unwrap_or(u64::MAX))))
    };
    // No thread has an id of more than 32 bits.
    let threads = wanted.threads.iter().map(|tid| u32::try_from(*tid).unwrap_or(u32::MAX)).collect();
    profile.part(&Part { from: moment(wanted.from), to: moment(wanted.to), threads })
}

/// The same, of which something can be shown; says which of the threads asked for there are not.
pub(super) fn with_samples(
    profile: Profile,
    input: &InputArguments,
    wanted: &SelectionArguments,
) -> Result<Profile, Failure> {
    let (all, lasted) = (profile.samples.len(), Duration::from_nanos(profile.duration_ns()));
    let [sample, samples] = profile.recording.measure.quantity().samples();
    let is_there = |tid: &u64| profile.threads.rows().iter().any(|thread| u64::from(thread.tid) == *tid);
    for missing in wanted.threads.iter().filter(|tid| !is_there(tid)) {
        warn(&input.file, &format!("no {sample} of a thread {missing}"));
    }
    let part = of(profile, wanted);
    if part.samples.is_empty() {
        return Err(Failure::nothing_to_show(
            format_args!("none of the {all} {samples} of {} is what was asked for", input.shown()),
            format_args!("strata report {} threads lists the threads; it lasts {lasted:.3?}", typed(&input.file)),
        ));
    }
    Ok(part)
}
