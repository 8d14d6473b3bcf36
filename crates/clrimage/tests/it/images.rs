//! The real images that the tests read.

use std::collections::BTreeMap;

use strata_clrimage::bundle::{self, Bundle, EntryKind};
use strata_clrimage::{Image, Layout};
use strata_testkit::live::{ImageSet, Images};

/// Calls `visit` with file name and bytes of every assembly of a set, precompiled or not.
pub(crate) fn for_each(set: ImageSet, mut visit: impl FnMut(&str, &[u8])) {
    // The message names the command that installs what is missing.
    match set.images().unwrap_or_else(|missing| panic!("{missing}")) {
        Images::Loose(paths) => {
            for path in paths {
                let bytes = std::fs::read(&path).unwrap();
                visit(path.file_name().unwrap().to_str().unwrap(), &bytes);
            }
        }
        Images::SingleFile(path) => {
            let file = std::fs::read(&path).unwrap();
            let bundle = Bundle::find(&file).unwrap().unwrap();
            for entry in bundle.entries().iter().filter(|entry| entry.kind == EntryKind::Assembly) {
                visit(&entry.path, &bundle::content(&file, entry).unwrap());
            }
        }
    }
}

/// Every `.dll` of a set, by file name without extension.
pub(crate) fn read(set: ImageSet) -> BTreeMap<String, Vec<u8>> {
    let mut images = BTreeMap::new();
    for_each(set, |path, bytes| {
        let name = path.rsplit('/').next().unwrap_or_default();
        if let Some(name) = name.strip_suffix(".dll") {
            images.insert(name.to_owned(), bytes.to_vec());
        }
    });
    images
}

/// The assemblies of a set with these names, which are without extension.
pub(crate) fn named(set: ImageSet, names: &[&str]) -> BTreeMap<String, Vec<u8>> {
    let mut images = BTreeMap::new();
    for_each(set, |file, bytes| {
        let name = file.strip_suffix(".dll").unwrap_or(file);
        if names.contains(&name) {
            images.insert(name.to_owned(), bytes.to_owned());
        }
    });
    assert_eq!(images.len(), names.len(), "{set}");
    images
}

/// The bytes of a file as they lie in memory.
pub(crate) fn mapped(file: &[u8]) -> Vec<u8> {
    let image = Image::parse(file, Layout::File).unwrap();
    let pe = image.pe();
    let mut memory = vec![0; pe.image_size() as usize];
    memory[..pe.headers().len()].copy_from_slice(pe.headers());
    for section in pe.sections() {
        let (from, to) = (section.file_offset as usize, section.virtual_address as usize);
        let size = section.file_size as usize;
        memory[to..to + size].copy_from_slice(&file[from..from + size]);
    }
    memory
}
