//! Real files with known answers, which are not part of the project.

use std::path::PathBuf;

/// The folder of real files: `$STRATA_CORPUS`, else `../shared/corpus` beside the project. `None`, with a word about it, where
/// it is not there.
///
/// # Panics
/// When it is not there in CI.
pub fn corpus() -> Option<PathBuf> {
    let folder = std::env::var_os("STRATA_CORPUS")
        .map_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/corpus")), PathBuf::from);
    if folder.join("MANIFEST.tsv").is_file() {
        return Some(folder);
    }
    assert!(std::env::var_os("CI").is_none(), "no corpus at {}: set STRATA_CORPUS", folder.display());
    println!("skipped: corpus not present at {}", folder.display());
    None
}
