//! The images that processes map, each read once.

use object::read::elf::ElfFile64;
use object::read::{Object, ReadCache};
use object::{Endianness, ReadRef};
use rustc_hash::FxHashMap;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::sync::Arc;
use strata_address::AvmaRange;
use strata_unwind::ElfUnwindData;

use super::memory;

/// What is known of one mapped file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Image {
    /// How to unwind through it; `None` for files that are no ELF image with call frame information.
    pub(crate) unwind: Option<Arc<ElfUnwindData>>,
    /// Its ELF build id.
    pub(crate) build_id: Option<Vec<u8>>,
}

/// Images by path and build id; a path alone would confuse a file with its replacement or another container's.
#[derive(Default)]
pub(crate) struct Images {
    known: FxHashMap<(String, Option<Vec<u8>>), Image>,
}

impl Images {
    /// The image mapped by a process at a range. `build_id` is what the kernel said of it, where it did.
    pub(crate) fn get(&mut self, pid: u32, range: AvmaRange, path: &str, build_id: Option<&[u8]>) -> Image {
        let vdso = path == "[vdso]";
        if !vdso && !is_file(path) {
            return Image::default();
        }
        let key = (path.to_owned(), build_id.map(<[u8]>::to_vec));
        // Without a build id two files of one name cannot be told apart across processes: look each time.
        if let Some(image) = self.known.get(&key).filter(|_| vdso || build_id.is_some()) {
            return image.clone();
        }
        let image = if vdso { read_from_memory(pid, range) } else { read_from_file(pid, range, path) };
        let image = image.unwrap_or_default();
        let identity = (path.to_owned(), image.build_id.clone());
        let image = self.known.entry(identity).or_insert(image).clone();
        if vdso {
            self.known.insert(key, image.clone());
        }
        // The file may have been replaced since the kernel mapped it: its unwind data would be wrong.
        if build_id.is_some_and(|mapped| image.build_id.as_deref() != Some(mapped)) {
            return Image { unwind: None, build_id: build_id.map(<[u8]>::to_vec) };
        }
        image
    }
}

/// Whether a mapping's path is that of a file which may be an image; memory files are where runtimes put JIT code.
pub(crate) fn is_file(path: &str) -> bool {
    path.starts_with('/') && !["//", "/memfd:", "/dev/", "/SYSV"].iter().any(|prefix| path.starts_with(prefix))
}

fn read_from_file(pid: u32, range: AvmaRange, path: &str) -> Option<Image> {
    let file = open_mapped(pid, range, path)?;
    let cache = ReadCache::new(file);
    Some(parse(&cache))
}

/// Opens the very file that is mapped, or else the file of that name as the process sees it.
fn open_mapped(pid: u32, range: AvmaRange, path: &str) -> Option<File> {
    let mapped = format!("/proc/{pid}/map_files/{:x}-{:x}", range.start().0, range.end().0);
    let in_root = format!("/proc/{pid}/root{path}");
    [mapped.as_str(), in_root.as_str(), path].into_iter().find_map(|path| {
        // A pipe put in place of a file must not make us wait.
        let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path).ok()?;
        file.metadata().ok()?.is_file().then_some(file)
    })
}

fn read_from_memory(pid: u32, range: AvmaRange) -> Option<Image> {
    /// The kernel's own image takes two pages.
    const MAX_BYTES: u64 = 1 << 20;
    if range.len() > MAX_BYTES {
        return None;
    }
    let mut bytes = vec![0; usize::try_from(range.len()).ok()?];
    (memory::read(pid, range.start(), &mut bytes) == bytes.len()).then(|| parse(&*bytes))
}

fn parse<'data, R: ReadRef<'data>>(data: R) -> Image {
    let build_id = ElfFile64::<Endianness, R>::parse(data).ok().and_then(|elf| elf.build_id().ok().flatten());
    Image { unwind: ElfUnwindData::parse(data).ok().map(Arc::new), build_id: build_id.map(<[u8]>::to_vec) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::proc;

    #[test]
    fn our_own_images_have_unwind_data_and_memory_files_are_no_images() {
        let pid = std::process::id();
        let mut images = Images::default();
        let mut with_unwind_data = Vec::new();
        for mapping in proc::executable_mappings(pid).unwrap() {
            let image = images.get(pid, mapping.range, &mapping.path, None);
            if image.unwind.is_some() {
                with_unwind_data.push(mapping.path);
            }
        }
        assert!(with_unwind_data.iter().any(|path| path.contains("libc.so")), "{with_unwind_data:?}");
        assert!(with_unwind_data.iter().any(|path| path == "[vdso]"), "{with_unwind_data:?}");
        assert!(!is_file("/memfd:doublemapper (deleted)") && !is_file("//anon") && !is_file("[heap]"));
    }

    #[test]
    fn a_replaced_file_is_not_used() {
        let pid = std::process::id();
        let libc = proc::executable_mappings(pid).unwrap().into_iter().find(|mapping| mapping.path.contains("libc.so"));
        let libc = libc.unwrap();
        let image = Images::default().get(pid, libc.range, &libc.path, Some(&[1, 2, 3]));
        assert!(image.unwind.is_none() && image.build_id.as_deref() == Some(&[1, 2, 3]));
    }
}
