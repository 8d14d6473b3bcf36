//! The sockets in a target's temporary directory.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::SystemTime;

use rustix::fs::{Access, AtFlags, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use super::procfs::{ProcFs, Process};
use crate::ipc::Socket;

/// Directories already read, by device and inode: most processes share one.
#[derive(Default)]
pub(super) struct Directories {
    read: HashMap<(u64, u64), Rc<Vec<Entry>>>,
}

/// A file named like a runtime's socket.
struct Entry {
    namespace_pid: u32,
    key: u64,
    name: OsString,
}

/// A target's temporary directory.
pub(super) struct Directory {
    handle: Arc<OwnedFd>,
    /// As we would write its path.
    path: PathBuf,
    entries: Rc<Vec<Entry>>,
    /// Whether this is surely the target's own directory, not just one at the same path in our mount namespace.
    reached: Reached,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reached {
    ThroughItsRoot,
    ByPath,
}

/// The sockets of one process.
#[derive(Default)]
pub(super) struct Found {
    /// Live ones, the likeliest first.
    pub(super) sockets: Vec<Socket>,
    /// Names of those left over from an earlier process with the same id.
    pub(super) stale: Vec<OsString>,
    /// Whether file modes let us connect to the first.
    pub(super) permitted: bool,
}

impl Directories {
    /// Open a directory as the target sees it, and list its sockets.
    pub(super) fn open(&mut self, procfs: &ProcFs, pid: u32, directory: &Path) -> io::Result<Directory> {
        let (handle, path, reached) = match open_in_root(procfs, pid, directory) {
            Ok((handle, path)) => (handle, path, Reached::ThroughItsRoot),
            // A process that may not be inspected can still be our own user's, with a socket where we look ourselves.
            Err(Errno::ACCESS | Errno::PERM) if directory.is_absolute() => {
                (open_path(directory)?, directory.to_owned(), Reached::ByPath)
            }
            Err(errno) => return Err(errno.into()),
        };
        let stat = rustix::fs::fstat(&handle)?;
        let entries = match self.read.get(&(stat.st_dev, stat.st_ino)) {
            Some(entries) => Rc::clone(entries),
            None => {
                let entries = Rc::new(entries(&handle)?);
                self.read.insert((stat.st_dev, stat.st_ino), Rc::clone(&entries));
                entries
            }
        };
        Ok(Directory { handle: Arc::new(handle), path, entries, reached })
    }
}

impl Directory {
    /// The sockets of a process. A name that ends with the process's start time is its own. With another start time it is
    /// left over, or the process is in a time namespace with an offset, or another container's process has the same id:
    /// what the process itself listens on decides, where it can be read.
    pub(super) fn find(&self, procfs: &ProcFs, process: &Process) -> Found {
        let mut found = Found::default();
        let named = self.entries.iter().filter(|entry| entry.namespace_pid == process.namespace_pid);
        let (own, others): (Vec<_>, Vec<_>) = named.partition(|entry| entry.key == process.start_time);
        if let Some(entry) = own.first() {
            found.sockets.push(self.socket(entry));
        }
        let mut others: Vec<_> = others.into_iter().map(|entry| (Reverse(self.modified(entry)), entry)).collect();
        others.sort_by_key(|(modified, _)| *modified);
        for (_, entry) in others {
            let live = match self.reached {
                Reached::ByPath => false,
                Reached::ThroughItsRoot if own.is_empty() => procfs.listens(process.pid, &entry.name).unwrap_or(true),
                Reached::ThroughItsRoot => false,
            };
            if live {
                found.sockets.push(self.socket(entry));
            } else {
                found.stale.push(entry.name.clone());
            }
        }
        found.permitted = found.sockets.first().is_some_and(|socket| self.permits(socket));
        found
    }

    fn socket(&self, entry: &Entry) -> Socket {
        Socket { path: self.path.join(&entry.name), directory: Some(Arc::clone(&self.handle)) }
    }

    fn modified(&self, entry: &Entry) -> Option<SystemTime> {
        fs::symlink_metadata(itself(&self.handle).join(&entry.name)).and_then(|metadata| metadata.modified()).ok()
    }

    /// Any doubt is left to connecting, which will tell.
    fn permits(&self, socket: &Socket) -> bool {
        let name = socket.path.file_name().unwrap_or_default();
        let access = rustix::fs::accessat(self.handle.as_fd(), name, Access::WRITE_OK, AtFlags::EACCESS);
        !matches!(access, Err(Errno::ACCESS | Errno::PERM))
    }
}

fn open_path(path: &Path) -> Result<OwnedFd, Errno> {
    rustix::fs::open(path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
}

/// Absolute links inside a container must not lead out of it, so the kernel is told to treat the target's root as the root.
fn open_in_root(procfs: &ProcFs, pid: u32, directory: &Path) -> Result<(OwnedFd, PathBuf), Errno> {
    let start = if directory.is_absolute() { "root" } else { "cwd" };
    let start = procfs.path(pid, start);
    let relative = directory.strip_prefix("/").unwrap_or(directory);
    let path = start.join(relative);
    if directory.is_relative() {
        return Ok((open_path(&path)?, path));
    }
    let root = open_path(&start)?;
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    match rustix::fs::openat2(&root, directory, flags, Mode::empty(), ResolveFlags::IN_ROOT) {
        // Linux before 5.6, and sandboxes that know no newer call.
        Err(Errno::NOSYS | Errno::PERM) => Ok((open_path(&path)?, path)),
        other => Ok((other?, path)),
    }
}

fn itself(handle: &OwnedFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", handle.as_raw_fd()))
}

fn entries(handle: &OwnedFd) -> io::Result<Vec<Entry>> {
    let mut entries = Vec::new();
    for entry in fs::read_dir(itself(handle))? {
        let name = entry?.file_name();
        if let Some((namespace_pid, key)) = name.to_str().and_then(parse_name) {
            entries.push(Entry { namespace_pid, key, name });
        }
    }
    Ok(entries)
}

/// `dotnet-diagnostic-PID-STARTTIME-socket`. A proxy for phones and browsers has `dsrouter` in its name and is no runtime.
fn parse_name(name: &str) -> Option<(u32, u64)> {
    let (pid, key) = name.strip_prefix("dotnet-diagnostic-")?.strip_suffix("-socket")?.split_once('-')?;
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    (digits(pid) && digits(key)).then(|| Some((pid.parse().ok()?, key.parse().ok()?)))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn socket_names() {
        let check = |name: &str, expected: Option<(u32, u64)>| assert_eq!(parse_name(name), expected, "{name}");
        check("dotnet-diagnostic-12-345-socket", Some((12, 345)));
        check("dotnet-diagnostic-12-0-socket", Some((12, 0)));
        check("dotnet-diagnostic-dsrouter-12-345-socket", None);
        check("dotnet-diagnostic-12--socket", None);
        check("dotnet-diagnostic-12-345", None);
        check("dotnet-diagnostic-+12-345-socket", None);
        check("dotnet-diagnostic-99999999999-345-socket", None);
        check("clr-debug-pipe-12-345-in", None);
    }
}
