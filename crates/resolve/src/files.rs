//! The one door to files: the resolver asks for a file by value and is handed bytes.

mod host;

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::paths::{DELETED, without_mark};
use strata_address::AvmaRange;

pub use host::HostFiles;

/// Hands over the bytes of files; the only way by which names come from outside.
pub trait Files {
    /// The whole content of the file that `path` names.
    ///
    /// # Errors
    /// Why there are no bytes, as [`FileError`].
    fn read(&self, path: &FilePath) -> Result<FileBytes, FileError>;

    /// The image that the kernel of this machine maps into each process (`[vdso]`), where there is one.
    fn vdso(&self) -> Option<FileBytes> {
        None
    }
}

/// Which file is meant: a path, and if known the process that sees it under this path and the range where it is mapped.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FilePath {
    path: PathBuf,
    process: Option<u32>,
    mapping: Option<AvmaRange>,
}

impl FilePath {
    /// A path as this program itself sees it.
    pub fn on_host(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), process: None, mapping: None }
    }

    /// A path as the process numbered `pid` (in this program's process namespace) sees it.
    pub fn in_process(pid: u32, path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), process: Some(pid), mapping: None }
    }

    /// A file that the process numbered `pid` has mapped over exactly `range`, one line of `/proc/PID/maps`; the path
    /// may carry the kernel's ` (deleted)` mark.
    pub fn mapped(pid: u32, path: impl Into<PathBuf>, range: AvmaRange) -> Self {
        Self { path: path.into(), process: Some(pid), mapping: Some(range) }
    }

    /// Another path seen by the same process.
    pub fn neighbour(&self, path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), process: self.process, mapping: None }
    }

    /// The path as it was said, without the kernel's ` (deleted)` mark.
    pub fn path(&self) -> &Path {
        let Some(text) = self.path.to_str() else { return &self.path };
        Path::new(without_mark(text))
    }

    /// Whether the kernel said that the file is gone from its directory.
    pub fn is_deleted(&self) -> bool {
        self.path.to_str().is_some_and(|text| text.ends_with(DELETED))
    }

    /// The process that sees the path, if one was named.
    pub const fn process(&self) -> Option<u32> {
        self.process
    }

    /// The range where the process has the file mapped, if known.
    pub const fn mapping(&self) -> Option<AvmaRange> {
        self.mapping
    }
}

/// Where the bytes of a file were found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileOrigin {
    /// Under the root directory of the process that sees it.
    ProcessRoot,
    /// Through the process's mapping, so that it is the very file that was mapped.
    Mapping,
    /// At the path as this program sees it: the same file only if both see the same file system.
    Host,
    /// Given by the caller from elsewhere, as from inside a recording.
    Given,
}

/// The whole content of one file, cheap to clone.
#[derive(Clone, Debug)]
pub struct FileBytes {
    bytes: Arc<Vec<u8>>,
    origin: FileOrigin,
    identity: Option<FileIdentity>,
}

/// Which file of a machine it is, as the machine tells files apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileIdentity {
    /// The file system, as `stat(2)` numbers it.
    pub device: u64,
    /// The file in it.
    pub inode: u64,
}

impl FileBytes {
    /// Bytes found at `origin`.
    pub fn new(bytes: Vec<u8>, origin: FileOrigin) -> Self {
        Self { bytes: Arc::new(bytes), origin, identity: None }
    }

    /// The same bytes, known to be those of this file.
    #[must_use]
    pub fn of_file(self, identity: FileIdentity) -> Self {
        Self { identity: Some(identity), ..self }
    }

    /// Which file they are of, where that is known.
    pub const fn identity(&self) -> Option<FileIdentity> {
        self.identity
    }

    /// Where the bytes were found.
    pub const fn origin(&self) -> FileOrigin {
        self.origin
    }
}

impl Deref for FileBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Why a file gave no bytes.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// There is no such file, neither as the process sees the path nor as this program does.
    #[error("no file at {path}")]
    NotFound {
        /// The path that was asked for.
        path: PathBuf,
    },
    /// The file was deleted or replaced after it was mapped, and its mapping cannot be read.
    #[error("{path} was deleted after it was mapped")]
    Deleted {
        /// The path where the file was.
        path: PathBuf,
    },
    /// The path leads to a directory, a pipe, a device or a socket: reading one could wait forever.
    #[error("{path} is not a regular file")]
    NotRegular {
        /// The path that was asked for.
        path: PathBuf,
    },
    /// The file is larger than the limit.
    #[error("{path} is larger than {limit} bytes")]
    TooLarge {
        /// The path that was asked for.
        path: PathBuf,
        /// Bytes allowed.
        limit: u64,
    },
    /// The system refused.
    #[error("reading {path}: {source}")]
    Io {
        /// The path that was asked for.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}
