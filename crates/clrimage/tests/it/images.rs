//! Real images by name, wherever they are kept.

use std::collections::BTreeMap;

use strata_clrimage::bundle::Bundle;
use strata_clrimage::{Image, Layout};
use strata_testkit::live::{ImageSet, Images};

/// Every `.dll` of a set, by file name without extension.
///
/// # Panics
/// When the set is not installed; the message names the command that does it.
pub(crate) fn read(set: ImageSet) -> BTreeMap<String, Vec<u8>> {
    let simple_name = |path: &str| {
        let name = path.rsplit('/').next().unwrap_or_default();
        name.strip_suffix(".dll").map(str::to_owned)
    };
    match set.images().unwrap_or_else(|missing| panic!("{missing}")) {
        Images::Loose(paths) => paths
            .into_iter()
            .filter_map(|path| Some((simple_name(path.to_str()?)?, std::fs::read(&path).unwrap())))
            .collect(),
        Images::SingleFile(path) => {
            let executable = std::fs::read(path).unwrap();
            let bundle = Bundle::find(&executable).unwrap().expect("a single-file program");
            let entries = bundle.entries().iter();
            entries
                .filter_map(|entry| Some((simple_name(entry.path)?, bundle.content(entry).unwrap().into_owned())))
                .collect()
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
