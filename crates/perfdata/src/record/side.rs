//! Records that are no samples: what happened beside them.

use strata_address::{Avma, AvmaRange};

use super::TaskId;
use crate::build_id::BuildId;

/// PROT_EXEC of `mmap(2)`.
const PROT_EXEC: u32 = 4;

/// A new mapping in a process (or, with process -1, in the kernel).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mmap<'a> {
    /// Whose.
    pub task: TaskId,
    /// Where it begins.
    pub start: Avma,
    /// Bytes.
    pub length: u64,
    /// Where it begins in the file, bytes.
    pub file_offset: u64,
    /// Path as the kernel prints it, `//anon`, `[vdso]` and the like; no NUL.
    pub filename: &'a [u8],
    /// Whether it was recorded as a data mapping; an MMAP record's only word on whether it is code.
    pub is_data: bool,
    /// What an MMAP2 record tells more; `None` for MMAP.
    pub more: Option<Mmap2Fields>,
}

impl Mmap<'_> {
    /// The addresses it covers, or `None` when it is empty or passes the end of the space.
    pub fn range(&self) -> Option<AvmaRange> {
        AvmaRange::sized(self.start, self.length)
    }

    /// Whether code in it can run.
    pub fn is_executable(&self) -> bool {
        self.more.map_or(!self.is_data, |more| more.protection & PROT_EXEC != 0)
    }
}

/// What an MMAP2 record tells beyond an MMAP record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mmap2Fields {
    /// Which file it is.
    pub identity: MmapIdentity,
    /// `PROT_*` bits of `mmap(2)`.
    pub protection: u32,
    /// `MAP_*` bits of `mmap(2)`.
    pub flags: u32,
}

/// Which file a mapping is of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MmapIdentity {
    /// By its inode; all zero for anonymous memory.
    Inode {
        /// Device, major number.
        major: u32,
        /// Device, minor number.
        minor: u32,
        /// Inode.
        inode: u64,
        /// Generation of the inode.
        generation: u64,
    },
    /// By the build id that the kernel read in it.
    BuildId(BuildId),
}

/// A thread got a name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Comm<'a> {
    /// Whose.
    pub task: TaskId,
    /// The name; no NUL.
    pub name: &'a [u8],
    /// Whether by `execve(2)`, which replaced the process's image and mappings.
    pub exec: bool,
}

/// The begin or end of a thread or process.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Lifetime {
    /// Whose.
    pub task: TaskId,
    /// Its parent. The same process for a thread.
    pub parent: TaskId,
    /// When, ns.
    pub time: u64,
}

/// A pause in sampling, or its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Throttle {
    /// When, ns.
    pub time: u64,
    /// Event id.
    pub id: u64,
    /// Stream id.
    pub stream_id: u64,
}

/// A record of a type that is not decoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Other<'a> {
    /// Its type: see [`kind`](super::kind).
    pub kind: u32,
    /// Its bytes between header and sample id.
    pub body: &'a [u8],
}
