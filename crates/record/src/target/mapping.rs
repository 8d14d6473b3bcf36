//! One mapping of code, and the very file that it shows.

use super::proc::{self, ANONYMOUS};
use std::borrow::Cow;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use strata_address::AvmaRange;
use strata_perfdata::record::{Mmap, MmapIdentity};

/// A mapping of code of a process, as the kernel or `/proc` told of it.
pub(crate) struct Mapping<'a> {
    pub(crate) pid: u32,
    pub(crate) range: AvmaRange,
    pub(crate) path: Cow<'a, str>,
    pub(crate) file_offset: u64,
    /// `PROT_*` bits.
    pub(crate) protection: u32,
    /// Which file it is.
    pub(crate) identity: Option<MmapIdentity>,
}

impl<'a> Mapping<'a> {
    /// `None` when the record is not of code.
    pub(crate) fn of(record: &Mmap<'a>) -> Option<Self> {
        Some(Self {
            pid: record.task.pid.unsigned_abs(),
            range: record.range().filter(|_| record.is_executable())?,
            path: String::from_utf8_lossy(record.filename),
            file_offset: record.file_offset,
            protection: record.more.map_or(0, |more| more.protection),
            identity: record.more.map(|more| more.identity),
        })
    }

    /// Whether it can be an image that was copied there. A runtime that writes code leaves its memory writable, or maps a
    /// file in memory twice.
    pub(crate) fn may_be_copied(&self) -> bool {
        const READ_AND_EXECUTE: u32 = (libc::PROT_READ | libc::PROT_EXEC).unsigned_abs();
        self.path == ANONYMOUS && self.protection == READ_AND_EXECUTE
    }

    /// What the kernel found in the file, where it did.
    pub(crate) fn build_id(&self) -> Option<&[u8]> {
        match &self.identity {
            Some(MmapIdentity::BuildId(build_id)) => Some(build_id.as_bytes()),
            _ => None,
        }
    }

    /// Opens the very file that is mapped.
    pub(crate) fn open(&self) -> Option<File> {
        // Devices are not compared: overlaid file systems have different numbers for one in mappings and in stat(2).
        self.open_if(|inode| self.inode() == Some(inode))
    }

    /// Opens the file that is mapped, or any of its path: the caller holds it against the build id.
    pub(crate) fn open_to_compare(&self) -> Option<File> {
        self.open_if(|_| true)
    }

    /// Opens what is mapped, or else the file of that name as the process sees it, or as we do, if its inode will do.
    fn open_if(&self, inode_will_do: impl Fn(u64) -> bool) -> Option<File> {
        let (start, end) = (self.range.start().0, self.range.end().0);
        let mapped = open(&format!("/proc/{}/map_files/{start:x}-{end:x}", self.pid));
        let in_root = || open(&format!("/proc/{}/root{}", self.pid, self.path));
        let will_do = |file: &File| file.metadata().is_ok_and(|metadata| inode_will_do(metadata.ino()));
        mapped.or_else(|| in_root().filter(will_do)).or_else(|| open(&self.path).filter(will_do))
    }

    fn inode(&self) -> Option<u64> {
        if let Some(MmapIdentity::Inode { inode, .. }) = self.identity {
            return Some(inode);
        }
        // Where the kernel finds a build id it does not say the inode.
        let mappings = proc::executable_mappings(self.pid).ok()?;
        let is_this = |found: &&proc::ExecutableMapping| found.range.contains(self.range.start());
        mappings.iter().find(is_this).filter(|found| found.path == self.path).map(|found| found.inode)
    }
}

/// Opens a file, and nothing else.
fn open(path: &str) -> Option<File> {
    // A pipe put in place of a file must not make us wait.
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path).ok()?;
    file.metadata().ok()?.is_file().then_some(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use strata_address::Avma;
    use strata_perfdata::BuildId;

    #[test]
    fn a_file_is_opened_by_its_path_only_if_it_is_the_one_that_is_mapped() {
        let pid = std::process::id();
        let ours = proc::executable_mappings(pid).unwrap().into_iter().find(|found| found.path.contains("libc.so"));
        let ours = ours.unwrap();
        let check = |start: Avma, identity, expected: [bool; 2]| {
            // A length that no mapping has: what is mapped cannot be opened as such.
            let range = AvmaRange::sized(start, 1).unwrap();
            let path = Cow::Borrowed(&*ours.path);
            let mapping = Mapping { pid, range, path, file_offset: 0, protection: 0, identity };
            assert_eq!([mapping.open().is_some(), mapping.open_to_compare().is_some()], expected, "{identity:?}");
        };
        let inode = |inode| Some(MmapIdentity::Inode { major: 0, minor: 0, inode, generation: 0 });
        let build_id = Some(MmapIdentity::BuildId(BuildId::new(&[1; 20]).unwrap()));
        check(ours.range.start(), inode(ours.inode), [true, true]);
        check(ours.range.start(), inode(ours.inode + 1), [false, true]);
        check(ours.range.start(), build_id, [true, true]);
        check(Avma(0x1000), build_id, [false, true]);
    }
}
