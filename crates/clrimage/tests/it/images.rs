//! The real images that the tests read.

use strata_clrimage::bundle::{Bundle, EntryKind};
use strata_testkit::live::{ImageSet, Images};

/// Calls `visit` with file name and bytes of every assembly of a set, precompiled or not.
pub(crate) fn for_each(set: ImageSet, mut visit: impl FnMut(&str, &[u8])) {
    match set.images().unwrap() {
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
                visit(entry.path, &bundle.content(entry).unwrap());
            }
        }
    }
}
