//! Files of the machine this program runs on, seen as the profiled process sees them.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags};

use super::{FileBytes, FileError, FileIdentity, FileOrigin, FilePath, Files};

/// Largest file, in bytes, that is read unless the caller sets another limit.
const DEFAULT_LIMIT: u64 = 1 << 30;

/// Reads files of this machine: first as the process sees the path, then as this program does.
///
/// A deleted file is read through the process's mapping, which needs the right to follow `/proc/PID/map_files`.
#[derive(Clone, Copy, Debug)]
pub struct HostFiles {
    limit: u64,
}

impl Default for HostFiles {
    fn default() -> Self {
        Self { limit: DEFAULT_LIMIT }
    }
}

impl HostFiles {
    /// Reads files of at most `limit` bytes.
    pub const fn with_limit(limit: u64) -> Self {
        Self { limit }
    }

    fn read_place(&self, place: Place, asked: &Path) -> Result<FileBytes, FileError> {
        let origin = place.origin();
        let fail = |source: io::Error| match source.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => FileError::NotFound { path: asked.to_owned() },
            _ => FileError::Io { path: asked.to_owned(), source },
        };
        let handle = place.open().map_err(|error| fail(error.into()))?;
        let status = rustix::fs::fstat(&handle).map_err(|error| fail(error.into()))?;
        if FileType::from_raw_mode(status.st_mode) != FileType::RegularFile {
            return Err(FileError::NotRegular { path: asked.to_owned() });
        }
        let size = u64::try_from(status.st_size).unwrap_or(0);
        if size > self.limit {
            return Err(FileError::TooLarge { path: asked.to_owned(), limit: self.limit });
        }
        // The handle names the file that was just checked, so nothing can be put in its place before it is opened.
        let file = File::open(format!("/proc/self/fd/{}", handle.as_raw_fd())).map_err(fail)?;
        let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
        // Files under /proc say size 0, and files grow: the limit holds for what is read, not for what was said.
        file.take(self.limit.saturating_add(1)).read_to_end(&mut bytes).map_err(fail)?;
        if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > self.limit {
            return Err(FileError::TooLarge { path: asked.to_owned(), limit: self.limit });
        }
        let identity = FileIdentity { device: status.st_dev, inode: status.st_ino };
        Ok(FileBytes::new(bytes, origin).of_file(identity))
    }
}

impl Files for HostFiles {
    fn read(&self, path: &FilePath) -> Result<FileBytes, FileError> {
        if path.is_deleted() {
            return self.read_place(Place::of_mapping(path).ok_or_else(|| deleted(path))?, path.path()).map_err(
                |error| match error {
                    FileError::NotFound { .. } => deleted(path),
                    other => other,
                },
            );
        }
        if let Some(pid) = path.process() {
            match self.read_place(Place::ProcessRoot { pid, path: path.path().to_owned() }, path.path()) {
                // Gone process or one that we may not look into: the plain path is the next best, and says so.
                Err(FileError::NotFound { .. } | FileError::Io { .. }) => {}
                done => return done,
            }
        }
        self.read_place(Place::Plain(path.path().to_owned(), FileOrigin::Host), path.path())
    }

    fn vdso(&self) -> Option<FileBytes> {
        own_vdso().map(|bytes| FileBytes::new(bytes, FileOrigin::Host))
    }
}

/// The kernel's image for processes as it lies in our own memory.
fn own_vdso() -> Option<Vec<u8>> {
    /// It takes a few pages.
    const LIMIT: u64 = 1 << 20;
    let maps = fs::read_to_string("/proc/self/maps").ok()?;
    let line = maps.lines().find(|line| line.ends_with("[vdso]"))?;
    let (start, end) = line.split(' ').next()?.split_once('-')?;
    let start = u64::from_str_radix(start, 16).ok()?;
    let size = u64::from_str_radix(end, 16).ok()?.checked_sub(start).filter(|size| *size <= LIMIT)?;
    let mut bytes = vec![0; usize::try_from(size).ok()?];
    File::open("/proc/self/mem").ok()?.read_exact_at(&mut bytes, start).ok()?;
    Some(bytes)
}

fn deleted(path: &FilePath) -> FileError {
    FileError::Deleted { path: path.path().to_owned() }
}

/// One place where a file may be.
enum Place {
    ProcessRoot { pid: u32, path: PathBuf },
    Plain(PathBuf, FileOrigin),
}

impl Place {
    fn of_mapping(path: &FilePath) -> Option<Self> {
        let (pid, range) = (path.process()?, path.mapping()?);
        let link = format!("/proc/{pid}/map_files/{:x}-{:x}", range.start().0, range.end().0);
        Some(Self::Plain(link.into(), FileOrigin::Mapping))
    }

    const fn origin(&self) -> FileOrigin {
        match self {
            Self::ProcessRoot { .. } => FileOrigin::ProcessRoot,
            Self::Plain(_, origin) => *origin,
        }
    }

    /// A handle that names the file without opening it for reading, so that even a device is not disturbed.
    fn open(&self) -> rustix::io::Result<OwnedFd> {
        let name_only = OFlags::PATH | OFlags::CLOEXEC;
        match self {
            Self::Plain(path, _) => rustix::fs::openat(CWD, path, name_only, Mode::empty()),
            Self::ProcessRoot { pid, path } => {
                let directory = name_only | OFlags::DIRECTORY;
                let root = rustix::fs::openat(CWD, format!("/proc/{pid}/root"), directory, Mode::empty())?;
                // An absolute symbolic link in a container means the container's root, not ours.
                match rustix::fs::openat2(&root, path, name_only, Mode::empty(), ResolveFlags::IN_ROOT) {
                    Err(rustix::io::Errno::NOSYS | rustix::io::Errno::PERM) => {
                        let relative = path.strip_prefix("/").unwrap_or(path);
                        rustix::fs::openat(&root, relative, name_only, Mode::empty())
                    }
                    done => done,
                }
            }
        }
    }
}
