//! The two clocks a recording is told by.

use rustix::time::{ClockId, Timespec, clock_gettime};
use strata_recording::Moment;

/// This moment on both clocks.
pub(crate) fn now() -> Moment {
    Moment { monotonic_ns: monotonic_ns(), unix_ns: nanoseconds(clock_gettime(ClockId::Realtime)) }
}

/// This moment on `CLOCK_MONOTONIC`, nanoseconds.
pub(crate) fn monotonic_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::Monotonic))
}

fn nanoseconds(time: Timespec) -> u64 {
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    seconds.saturating_mul(1_000_000_000).saturating_add(u64::try_from(time.tv_nsec).unwrap_or(0))
}
