//! Files that may be images of a traced program.

use crate::failure::Failure;
use std::fs;
use std::path::{Path, PathBuf};

/// Folders in folders are looked into this deep.
const DEEPEST: usize = 8;

/// All files in these folders, and in theirs, that are called as images are.
pub(crate) fn candidates(folders: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut found = Vec::new();
    for folder in folders {
        let entries = fs::read_dir(folder).map_err(|error| {
            Failure::bad_arguments(
                format_args!("cannot look for images in {}: {error}", folder.display()),
                "--symbols takes the folder with the program's assemblies, or that of its framework",
            )
        })?;
        gather(entries, 1, &mut found);
    }
    found.sort();
    Ok(found)
}

/// What cannot be read further in is not there.
fn gather(entries: fs::ReadDir, depth: usize, found: &mut Vec<PathBuf>) {
    for entry in entries.flatten() {
        let path = entry.path();
        // Links to files are followed, those to folders are not: they may lead back.
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => {
                if let (true, Ok(entries)) = (depth < DEEPEST, fs::read_dir(&path)) {
                    gather(entries, depth + 1, found);
                }
            }
            Ok(_) if is_image(&path) => found.push(path),
            _ => {}
        }
    }
}

fn is_image(path: &Path) -> bool {
    let extension = path.extension().unwrap_or_default();
    ["dll", "exe"].iter().any(|known| extension.eq_ignore_ascii_case(known))
}
