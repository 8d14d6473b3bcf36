//! What a process had mapped as code, replayed from mapping records.

use rustc_hash::FxHashMap;
use std::sync::Arc;
use strata_address::{Avma, AvmaRange, RangeMap};
pub(crate) use strata_perfdata::record::MappedAs;
use strata_perfdata::record::{Mmap, MmapIdentity};

/// One executable mapping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mapping {
    /// As the kernel wrote it, ` (deleted)` included.
    pub(crate) path: Arc<str>,
    /// Where it began; what is left of it may begin later.
    pub(crate) start: Avma,
    /// Of `start`.
    pub(crate) file_offset: u64,
    /// ELF build id, or identity of a .NET image, where the recorder or the kernel knew it.
    pub(crate) build_id: Option<Box<[u8]>>,
    /// Which file it is, where there is no build id; none for memory.
    pub(crate) inode: Option<Inode>,
}

/// A file as the recorded kernel tells it apart from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Inode {
    pub(crate) device: (u32, u32),
    pub(crate) number: u64,
}

impl Mapping {
    /// The place in the file that an address of it shows.
    pub(crate) fn file_offset_of(&self, address: Avma) -> u64 {
        address.offset_from(self.start).unwrap_or(0).saturating_add(self.file_offset)
    }

    pub(crate) fn mapped_as(&self) -> MappedAs {
        MappedAs::of(self.path.as_bytes(), self.build_id.as_deref())
    }
}

/// One executable mapping of a process, and where.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mapped<'m> {
    pub(crate) pid: u32,
    pub(crate) range: AvmaRange,
    pub(crate) mapping: &'m Mapping,
}

/// Executable mappings of all processes at the moment of the last record.
#[derive(Debug, Default)]
pub(crate) struct Mappings {
    processes: FxHashMap<u32, RangeMap<Mapping>>,
    paths: FxHashMap<Box<[u8]>, Arc<str>>,
}

impl Mappings {
    pub(crate) fn get(&self, pid: u32, address: Avma) -> Option<Mapped<'_>> {
        let (range, mapping) = self.processes.get(&pid)?.get(address)?;
        Some(Mapped { pid, range, mapping })
    }

    /// All of a process.
    pub(crate) fn all(&self, pid: u32) -> impl Iterator<Item = Mapped<'_>> {
        let mappings = self.processes.get(&pid).into_iter().flat_map(RangeMap::iter);
        mappings.map(move |(range, mapping)| Mapped { pid, range, mapping })
    }

    /// One of the file with this path.
    pub(crate) fn of_path(&self, pid: u32, path: &str) -> Option<Mapped<'_>> {
        self.all(pid).find(|mapped| &*mapped.mapping.path == path)
    }

    pub(crate) fn mapped(&mut self, pid: u32, record: &Mmap<'_>) {
        let (Some(range), true) = (record.range(), record.is_executable()) else { return };
        let path = self
            .paths
            .entry(record.filename.into())
            .or_insert_with(|| String::from_utf8_lossy(record.filename).into())
            .clone();
        let (build_id, inode) = match record.more.map(|more| more.identity) {
            Some(MmapIdentity::BuildId(build_id)) => (Some(build_id.as_bytes().into()), None),
            Some(MmapIdentity::Inode { major, minor, inode, .. }) if inode != 0 => {
                (None, Some(Inode { device: (major, minor), number: inode }))
            }
            _ => (None, None),
        };
        let mapping = Mapping { path, start: range.start(), file_offset: record.file_offset, build_id, inode };
        self.processes.entry(pid).or_default().insert(range, mapping);
    }

    pub(crate) fn forked(&mut self, parent: u32, child: u32) {
        if parent != child
            && let Some(mappings) = self.processes.get(&parent).cloned()
        {
            self.processes.insert(child, mappings);
        }
    }

    /// The process replaced its program, or ended.
    pub(crate) fn gone(&mut self, pid: u32) {
        self.processes.remove(&pid);
    }
}
