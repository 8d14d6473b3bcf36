//! What a perf.data file tells beside its records.

use crate::build_id::BuildId;

/// What a perf.data file tells beside its records; each part is optional in the file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Features {
    /// Build ids of images that were seen.
    pub build_ids: Vec<BuildIdEntry>,
    /// `uname -n`.
    pub hostname: Option<String>,
    /// `uname -r`.
    pub os_release: Option<String>,
    /// Version of the program that recorded.
    pub version: Option<String>,
    /// `uname -m`.
    pub arch: Option<String>,
    /// CPUs of the machine.
    pub cpus: Option<CpuCounts>,
    /// The command that recorded, program first.
    pub command_line: Vec<String>,
    /// Times of the first and last sample.
    pub sample_times: Option<TimeSpan>,
    /// Resolution of the events' clock, ns (CLOCKID).
    pub clock_resolution: Option<u64>,
    /// One moment on two clocks.
    pub clock: Option<ClockData>,
}

/// The build id of an image at a path.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BuildIdEntry {
    /// Process the image was seen in, or -1 for "of this host".
    pub pid: i32,
    /// The build id.
    pub build_id: BuildId,
    /// Whether it is the kernel or a module of it.
    pub is_kernel: bool,
    /// Its path, no NUL.
    pub filename: Vec<u8>,
}

/// How many CPUs the machine has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CpuCounts {
    /// Present.
    pub available: u32,
    /// Running.
    pub online: u32,
}

/// Times of the first and last sample, ns of the event's clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TimeSpan {
    /// First.
    pub first: u64,
    /// Last.
    pub last: u64,
}

/// One moment on two clocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClockData {
    /// The events' clock, as of `clock_gettime(2)`.
    pub clock: i32,
    /// The moment in wall clock time, ns since 1970.
    pub wall_clock: u64,
    /// The moment on the events' clock, ns.
    pub clock_time: u64,
}
