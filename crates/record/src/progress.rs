//! What a running recording tells.

use crate::launch::Child;
use crate::perf::event::{EventKind, KernelSide};
use crate::samples::SampleCounts;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;

/// What happened, for whoever shows it.
#[derive(Clone, Debug)]
pub enum Progress {
    /// Sampling began.
    Started {
        /// Process id of the target.
        pid: u32,
        /// What is sampled.
        event: EventKind,
        /// Threads that were there already.
        threads: usize,
        /// Whether kernel code is sampled too.
        kernel: KernelSide,
    },
    /// The target is stopped by a signal or a debugger: it has no samples until someone lets it go on.
    TargetStopped {
        /// Process id.
        pid: u32,
    },
    /// A process that was asked for runs no .NET: only native and kernel code can be told of it.
    NotDotnet {
        /// Process id.
        pid: u32,
        /// Its program, as it sees the path, where there is one.
        executable: Option<PathBuf>,
    },
    /// A .NET runtime is being listened to.
    RuntimeAttached {
        /// Process id.
        pid: u32,
    },
    /// A runtime said its version.
    RuntimeVersion {
        /// Process id.
        pid: u32,
        /// Its version, such as `8.0.4`.
        version: String,
    },
    /// Runtime events of a process are missing in part or in whole; sampling goes on.
    RuntimeProblem {
        /// Process id; 0 when it concerns none in particular.
        pid: u32,
        /// What happened.
        problem: String,
    },
    /// Counts so far, several times a second.
    Running(Status),
    /// The end began.
    Stopping {
        /// Why.
        reason: StopReason,
    },
    /// Runtimes are still listing their methods.
    Waiting {
        /// Their process ids.
        pids: Vec<u32>,
        /// Counts so far.
        status: Status,
    },
}

/// Counts so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// Time since sampling began.
    pub elapsed: Duration,
    /// Samples and what was lost of them.
    pub samples: SampleCounts,
    /// Runtime events that came.
    pub events: u64,
    /// Runtime events that the runtimes dropped.
    pub events_dropped: u64,
    /// Bytes of the recording.
    pub bytes: u64,
}

/// Why a recording ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// The target ended.
    TargetEnded,
    /// The asked-for time was over.
    Duration,
    /// Someone asked.
    Asked,
}

impl StopReason {
    /// The reason as one would say it.
    pub const fn label(self) -> &'static str {
        match self {
            StopReason::TargetEnded => "the target ended",
            StopReason::Duration => "the asked-for time is over",
            StopReason::Asked => "asked to stop",
        }
    }
}

/// What a finished recording is.
#[derive(Debug)]
pub struct Outcome {
    /// Final counts.
    pub status: Status,
    /// Why it ended.
    pub reason: StopReason,
    /// How the launched program ended, where one was launched.
    pub exit: Option<ExitStatus>,
    /// The launched program, when it still runs.
    pub child: Option<Child>,
    /// .NET processes that were listened to.
    pub runtimes: usize,
}
