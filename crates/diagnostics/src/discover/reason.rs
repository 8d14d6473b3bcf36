//! Why a process cannot be reached.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// Why a process cannot be reached. Directories are as the target sees them.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NotAttachable {
    /// There is no such process.
    #[error("there is no process {pid}")]
    NoSuchProcess {
        /// The process id.
        pid: u32,
    },
    /// The process has ended, and its parent has not yet taken note of it.
    #[error("process {pid} has ended (its parent has not collected it yet)")]
    Ended {
        /// The process id.
        pid: u32,
    },
    /// It is a thread of the kernel.
    #[error("process {pid} is a thread of the kernel")]
    KernelThread {
        /// The process id.
        pid: u32,
    },
    /// Nothing in it looks like a .NET runtime.
    #[error("process {pid} is not a .NET process{}", of(.executable))]
    NotDotnet {
        /// The process id.
        pid: u32,
        /// Its executable, if it could be read.
        executable: Option<PathBuf>,
    },
    /// It runs on Mono, which has no diagnostics socket.
    #[error("process {pid} runs on Mono, which has no diagnostics socket")]
    Mono {
        /// The process id.
        pid: u32,
    },
    /// `/proc` hides it (the mount option `hidepid`).
    #[error("process {pid} is hidden from this user: run as its user or as root")]
    Hidden {
        /// The process id.
        pid: u32,
    },
    /// Nothing can be seen of it, so it may be anything: it belongs to another user, or may not be inspected.
    #[error(
        "process {pid} of user {uid} cannot be inspected: run as that user or as root (no socket in {})",
        .directory.display()
    )]
    NotInspectable {
        /// The process id.
        pid: u32,
        /// Its effective user id.
        uid: u32,
        /// The directory that was tried.
        directory: PathBuf,
    },
    /// It has a socket, and the file's mode keeps us out: it belongs to another user.
    #[error(
        "process {pid} belongs to user {uid}: run as that user or as root (its socket is in {})", .directory.display()
    )]
    OtherUser {
        /// The process id.
        pid: u32,
        /// Its effective user id.
        uid: u32,
        /// The directory that was tried.
        directory: PathBuf,
    },
    /// Its environment switches the diagnostics socket off.
    #[error("process {pid} was started with {variable}={value}, which switches its diagnostics socket off")]
    SwitchedOff {
        /// The process id.
        pid: u32,
        /// The variable, such as `DOTNET_EnableDiagnostics`.
        variable: &'static str,
        /// Its value.
        value: String,
    },
    /// Its environment cannot be read, and in the default directory it has no socket.
    #[error(
        "the environment of process {pid} cannot be read ({source}), so its TMPDIR is not known; there is no socket in {}",
        .directory.display()
    )]
    EnvironmentUnreadable {
        /// The process id.
        pid: u32,
        /// The directory that was tried.
        directory: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The directory in which its socket has to be cannot be read.
    #[error("the temporary directory of process {pid}, {}, cannot be read: {source}", .directory.display())]
    DirectoryUnreadable {
        /// The process id.
        pid: u32,
        /// The directory that was tried.
        directory: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// Its TMPDIR makes the socket's path longer than a socket address holds, so the runtime made none.
    #[error(
        "the TMPDIR of process {pid} is too long for a socket ({length} bytes with the socket's name; at most {most}): {}",
        .directory.display(), most = crate::ipc::LONGEST_SOCKET_PATH
    )]
    PathTooLong {
        /// The process id.
        pid: u32,
        /// The length that the socket's path would have, in bytes.
        length: usize,
        /// The directory.
        directory: PathBuf,
    },
    /// Its runtime is older than 3.0 and has no diagnostics socket.
    #[error("process {pid} runs on .NET Core {version}; the diagnostics socket came with 3.0")]
    TooOld {
        /// The process id.
        pid: u32,
        /// The runtime's version, from the path of its library.
        version: String,
    },
    /// It began a moment ago and has no socket yet.
    #[error("process {pid} is still starting up ({age:?} old): try again in a moment")]
    StartingUp {
        /// The process id.
        pid: u32,
        /// For how long it has been running.
        age: Duration,
    },
    /// Its sockets are left over from an earlier process with the same id.
    #[error("process {pid} does not listen: what is there is left over from an earlier process ({})", list(.sockets))]
    NotListening {
        /// The process id.
        pid: u32,
        /// The sockets.
        sockets: Vec<PathBuf>,
    },
    /// It has a runtime but no socket, and nothing that can be read says why.
    #[error(
        "process {pid} is .NET but has no socket in {}: the file was removed, or diagnostics are switched off in its configuration",
        .directory.display()
    )]
    NoSocket {
        /// The process id.
        pid: u32,
        /// The directory that was tried.
        directory: PathBuf,
    },
}

impl NotAttachable {
    /// Whether there is a .NET runtime, as far as can be seen.
    #[must_use]
    pub fn is_dotnet(&self) -> bool {
        !matches!(
            self,
            Self::NoSuchProcess { .. }
                | Self::Ended { .. }
                | Self::KernelThread { .. }
                | Self::NotDotnet { .. }
                | Self::Mono { .. }
                | Self::Hidden { .. }
                | Self::NotInspectable { .. }
        )
    }
}

fn of(executable: &Option<PathBuf>) -> String {
    executable.as_ref().map(|path| format!(" ({})", path.display())).unwrap_or_default()
}

fn list(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
}
