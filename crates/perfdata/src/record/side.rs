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

    /// What it is of.
    pub fn mapped_as(&self) -> MappedAs {
        MappedAs::of_path(self.filename)
    }
}

/// What the memory of a mapping is, as its path tells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MappedAs {
    /// A file that may be an image.
    File,
    /// The kernel's image for processes.
    Vdso,
    /// Memory without a file, or with one that exists only in memory: where runtimes write code. Never an image.
    Memory,
}

impl MappedAs {
    /// From the path as the kernel prints it, in records and in `/proc/PID/maps` alike.
    pub fn of_path(path: &[u8]) -> Self {
        const IN_MEMORY: [&[u8]; 4] = [b"//", b"/memfd:", b"/dev/", b"/SYSV"];
        match path {
            b"[vdso]" => Self::Vdso,
            [b'/', ..] if !IN_MEMORY.iter().any(|prefix| path.starts_with(prefix)) => Self::File,
            _ => Self::Memory,
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_tell_files_from_memory() {
        let files: [&[u8]; 4] = [b"/usr/bin/x", b"/lib/libc.so.6 (deleted)", b"/devices/x.so", b"/memfd"];
        assert!(files.iter().all(|path| MappedAs::of_path(path) == MappedAs::File));
        let memory: [&[u8]; 8] = [
            b"//anon",
            b"/memfd:doublemapper (deleted)",
            b"/dev/zero (deleted)",
            b"/SYSV00000000 (deleted)",
            b"[heap]",
            b"[vsyscall]",
            b"",
            b"relative",
        ];
        assert!(memory.iter().all(|path| MappedAs::of_path(path) == MappedAs::Memory));
        assert_eq!(MappedAs::of_path(b"[vdso]"), MappedAs::Vdso);
    }
}
