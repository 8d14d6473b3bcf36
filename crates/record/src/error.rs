//! Why a recording could not be made.

use crate::target::proc;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use strata_perfdata::WriteError;

/// Why a recording could not be made, or not be carried on.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// There is no such process.
    #[error("there is no process {pid}")]
    NoSuchProcess {
        /// The process id that was asked for.
        pid: u32,
    },
    /// The program could not be started.
    #[error("cannot start {}: {source}", program.to_string_lossy())]
    Launch {
        /// The program as it was asked for.
        program: OsString,
        /// What the system said.
        source: io::Error,
    },
    /// The kernel does not let us sample.
    #[error("perf_event_open: {source} (kernel.perf_event_paranoid is {paranoid})")]
    NotPermitted {
        /// What the system said.
        source: io::Error,
        /// The knob's value, or `unknown`.
        paranoid: String,
    },
    /// The process belongs to someone else.
    #[error("process {pid} belongs to user {uid}: {source}")]
    OtherUser {
        /// The process id.
        pid: u32,
        /// Its effective user id.
        uid: u32,
        /// What the system said.
        source: io::Error,
    },
    /// This machine has nothing to sample with.
    #[error("perf_event_open: {source}")]
    NotPossible {
        /// What the system said.
        source: io::Error,
    },
    /// There are not enough file descriptors: one is needed for each thread and processor.
    #[error("perf_event_open: too many open files ({threads} threads on {processors} processors, limit {limit})")]
    TooManyFiles {
        /// Threads that exist.
        threads: usize,
        /// Processors online.
        processors: usize,
        /// The hard limit on open files.
        limit: u64,
    },
    /// The kernel gives us no memory for a ring.
    #[error("mmap of a perf ring: {source} (kernel.perf_event_mlock_kb is {mlock_kb})")]
    LockedMemory {
        /// What the system said.
        source: io::Error,
        /// The knob's value, or `unknown`.
        mlock_kb: String,
    },
    /// The recording could not be created.
    #[error(transparent)]
    Output(#[from] strata_recording::Error),
    /// The manifest could not be replaced while recording; what was written before is readable.
    #[error(transparent)]
    Manifest(strata_recording::Error),
    /// Samples could not be written any more; what was written before is readable.
    #[error("{}: {source}", path.display())]
    Write {
        /// Which file.
        path: PathBuf,
        /// What went wrong.
        source: WriteError,
    },
    /// Another call failed.
    #[error("{call}: {source}")]
    System {
        /// Which call.
        call: &'static str,
        /// What the system said.
        source: io::Error,
    },
}

impl RecordError {
    /// The error of a failed `perf_event_open` or ring mapping, with what decides about it.
    pub(crate) fn sampling(source: io::Error, threads: usize, processors: usize) -> Self {
        match source.raw_os_error() {
            Some(libc::EMFILE | libc::ENFILE) => {
                let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
                Self::TooManyFiles { threads, processors, limit: limit.maximum.unwrap_or(u64::MAX) }
            }
            Some(libc::EACCES | libc::EPERM) => {
                Self::NotPermitted { source, paranoid: knob("/proc/sys/kernel/perf_event_paranoid") }
            }
            _ => Self::NotPossible { source },
        }
    }

    /// As [`RecordError::sampling`], for a process that was asked for.
    pub(crate) fn of_process(self, pid: u32) -> Self {
        let ourselves = rustix::process::geteuid().as_raw();
        match (self, proc::user(pid)) {
            (Self::NotPermitted { source, .. }, Some(uid)) if uid != ourselves => Self::OtherUser { pid, uid, source },
            (other, _) => other,
        }
    }

    pub(crate) fn ring(source: io::Error) -> Self {
        Self::LockedMemory { source, mlock_kb: knob("/proc/sys/kernel/perf_event_mlock_kb") }
    }
}

fn knob(path: &str) -> String {
    std::fs::read_to_string(path).map_or_else(|_| "unknown".to_owned(), |value| value.trim().to_owned())
}
