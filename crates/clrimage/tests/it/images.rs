//! The real images that the tests read.

use std::collections::BTreeMap;

use strata_clrimage::bundle::{self, Bundle, EntryKind};
use strata_clrimage::{Image, Layout};
use strata_testkit::live::{ImageSet, Images};

/// Calls `visit` with file name and bytes of every assembly of a set, precompiled or not.
pub(crate) fn for_each(set: ImageSet, visit: impl FnMut(&str, &[u8])) {
    for_those(set, |_| true, visit);
}

/// The assemblies of a set with these names, which are without extension.
pub(crate) fn named(set: ImageSet, names: &[&str]) -> BTreeMap<String, Vec<u8>> {
    let mut images = BTreeMap::new();
    let is_named = |file: &str| names.contains(&file.strip_suffix(".dll").unwrap_or(file));
    for_those(set, is_named, |file, bytes| {
        images.insert(file.strip_suffix(".dll").unwrap_or(file).to_owned(), bytes.to_owned());
    });
    assert_eq!(images.len(), names.len(), "{set}");
    images
}

/// Reads only the wanted: a framework has hundreds, and in some sets all are compressed.
fn for_those(set: ImageSet, is_wanted: impl Fn(&str) -> bool, mut visit: impl FnMut(&str, &[u8])) {
    // The message names the command that installs what is missing.
    match set.images().unwrap_or_else(|missing| panic!("{missing}")) {
        Images::Loose(paths) => {
            for path in paths {
                let name = path.file_name().unwrap().to_str().unwrap();
                if is_wanted(name) {
                    visit(name, &std::fs::read(&path).unwrap());
                }
            }
        }
        Images::SingleFile(path) => {
            let file = std::fs::read(&path).unwrap();
            let bundle = Bundle::find(&file).unwrap().unwrap();
            let assemblies = bundle.entries().iter().filter(|entry| entry.kind == EntryKind::Assembly);
            for entry in assemblies.filter(|entry| is_wanted(&entry.path)) {
                visit(&entry.path, &bundle::content(&file, entry).unwrap());
            }
        }
    }
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
