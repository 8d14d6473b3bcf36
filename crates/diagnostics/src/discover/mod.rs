//! Finding the runtimes on this machine, and why one cannot be reached.
//!
//! A runtime listens in *its* temporary directory, under a name with *its* process id: both as seen inside its container.
//! So the directory comes from the target's environment, below the target's root (`/proc/PID/root`), and the id from the
//! `NSpid` line of its status. The name ends with the process's start time, which tells a live socket from one that an
//! earlier process with the same id left behind, and one container's process 1 from another's when they share a directory.
//!
//! Everything read here may vanish or be refused at any moment. Each such failure concerns that process alone.

mod environment;
mod maps;
mod procfs;
mod reason;
mod sockets;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::endpoint::Endpoint;
use environment::Environment;
use maps::Evidence;
use procfs::{ProcFs, Process};
pub use reason::NotAttachable;
use sockets::{Directories, Directory, Found};

/// A process younger than this that has no socket yet is taken to be starting up.
const STARTUP: Duration = Duration::from_secs(10);

/// A process with a runtime in it.
#[derive(Debug)]
pub struct Seen {
    /// Its id in our pid namespace.
    pub pid: u32,
    /// Its id in its own pid namespace: the innermost.
    pub namespace_pid: u32,
    /// Its effective user id.
    pub uid: u32,
    /// Its command line; empty if it could not be read.
    pub command_line: Vec<OsString>,
    /// Its executable as seen inside the target; absent if it could not be read.
    pub executable: Option<PathBuf>,
    /// How to reach its runtime, or why that is not possible. Nothing was sent to it.
    pub attachable: Result<Endpoint, NotAttachable>,
}

/// Every process with a runtime in it, by process id: those with a diagnostics socket, and those that look like .NET but
/// cannot be reached, with the reason. Processes of which we may see nothing are not listed.
#[must_use]
pub fn processes() -> Vec<Seen> {
    processes_in(&ProcFs::new("/proc"))
}

/// The runtime of one process. Given the id of a thread, it is that of the thread's process.
///
/// # Errors
/// Why there is none, or why it cannot be reached.
pub fn find(pid: u32) -> Result<Endpoint, NotAttachable> {
    find_in(&ProcFs::new("/proc"), pid)
}

fn processes_in(procfs: &ProcFs) -> Vec<Seen> {
    let mut directories = Directories::default();
    let mut pids = procfs.pids();
    pids.sort_unstable();
    pids.into_iter().filter_map(|pid| see(procfs, pid, &mut directories)).collect()
}

fn see(procfs: &ProcFs, pid: u32, directories: &mut Directories) -> Option<Seen> {
    let process = procfs.process(pid).ok()?;
    let attachable = examine(procfs, &process, directories, Scan::Maps);
    let is_dotnet = match &attachable {
        Ok(_) => true,
        Err(reason) => reason.is_dotnet(),
    };
    // A process that ended meanwhile is not listed as anything.
    (is_dotnet && procfs.is_there(pid)).then(|| Seen {
        pid,
        namespace_pid: process.namespace_pid,
        uid: process.uid,
        command_line: procfs.command_line(pid),
        executable: procfs.executable(pid),
        attachable,
    })
}

fn find_in(procfs: &ProcFs, pid: u32) -> Result<Endpoint, NotAttachable> {
    let mut process = procfs.process(pid)?;
    if process.thread_group != pid {
        // The id of one of its threads was given.
        process = procfs.process(process.thread_group)?;
    }
    examine(procfs, &process, &mut Directories::default(), Scan::MapsAndExecutable)
}

/// How far to look for signs of a runtime in a process without a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scan {
    /// Its mappings: cheap enough for every process of the machine.
    Maps,
    /// And the bytes of its executable, which tells a single-file program without W^X from a native one.
    MapsAndExecutable,
}

fn examine(
    procfs: &ProcFs,
    process: &Process,
    directories: &mut Directories,
    scan: Scan,
) -> Result<Endpoint, NotAttachable> {
    let pid = process.pid;
    if process.kernel_thread {
        return Err(NotAttachable::KernelThread { pid });
    }
    if process.ended {
        return Err(NotAttachable::Ended { pid });
    }
    let environment = procfs.environment(pid);
    let temporary = environment.as_ref().map_or_else(|_| PathBuf::from("/tmp"), Environment::temporary_directory);
    let directory = directories.open(procfs, pid, &temporary);
    let found = match &directory {
        Ok(directory) => directory.find(procfs, process),
        Err(_) => Found::default(),
    };
    if !found.sockets.is_empty() {
        return if found.permitted {
            Ok(Endpoint::of_process(pid, process.namespace_pid, found.sockets))
        } else {
            Err(NotAttachable::OtherUser { pid, uid: process.uid, directory: temporary })
        };
    }
    let evidence = match procfs.evidence(pid) {
        Ok(evidence) => evidence,
        Err(error) if procfs::is_gone(&error) => return Err(NotAttachable::NoSuchProcess { pid }),
        Err(_) => return Err(NotAttachable::NotInspectable { pid, uid: process.uid, directory: temporary }),
    };
    let without_write_xor_execute =
        environment.as_ref().is_ok_and(|environment| environment.is_off("EnableWriteXorExecute"));
    let scan_executable = scan == Scan::MapsAndExecutable || without_write_xor_execute;
    match evidence {
        Evidence::Mono => return Err(NotAttachable::Mono { pid }),
        Evidence::Nothing if !(scan_executable && procfs.is_single_file_host(pid)) => {
            return Err(NotAttachable::NotDotnet { pid, executable: procfs.executable(pid) });
        }
        _ => {}
    }
    Err(why_no_socket(procfs, process, Circumstances { evidence, environment, temporary, directory, found }))
}

/// What is known of a process with a runtime and without a socket.
struct Circumstances {
    evidence: Evidence,
    environment: std::io::Result<Environment>,
    temporary: PathBuf,
    directory: std::io::Result<Directory>,
    found: Found,
}

fn why_no_socket(procfs: &ProcFs, process: &Process, known: Circumstances) -> NotAttachable {
    let pid = process.pid;
    if let Some(version) = known.evidence.too_old() {
        return NotAttachable::TooOld { pid, version };
    }
    let directory = known.temporary;
    match &known.environment {
        Ok(environment) => {
            if let Some((variable, value)) = environment.diagnostics_off() {
                return NotAttachable::SwitchedOff { pid, variable, value };
            }
        }
        Err(error) => {
            return NotAttachable::EnvironmentUnreadable { pid, directory, source: error.kind().into() };
        }
    }
    if let Err(source) = known.directory {
        return NotAttachable::DirectoryUnreadable { pid, directory, source };
    }
    let path = directory.join(format!("dotnet-diagnostic-{}-{}-socket", process.namespace_pid, process.start_time));
    if !crate::ipc::fits(&path) {
        return NotAttachable::PathTooLong { pid, length: path.as_os_str().len(), directory };
    }
    if let Some(age) = procfs.age(process).filter(|age| *age < STARTUP) {
        return NotAttachable::StartingUp { pid, age };
    }
    let stale: Vec<PathBuf> = known.found.stale.iter().map(|name| directory.join(Path::new(name))).collect();
    if stale.is_empty() {
        NotAttachable::NoSocket { pid, directory }
    } else {
        NotAttachable::NotListening { pid, sockets: stale }
    }
}

#[cfg(test)]
mod tests;
