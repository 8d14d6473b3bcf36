//! Parts of paths, as the kernel and bundles write them.

/// The kernel's mark of a file that is gone from its folder.
pub(crate) const DELETED: &str = " (deleted)";

/// A path without the kernel's mark of a deleted file.
pub(crate) fn without_mark(path: &str) -> &str {
    path.strip_suffix(DELETED).unwrap_or(path)
}

/// What is behind the last `/`; the mark of a deleted file stays.
pub(crate) fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The file name without its extension.
pub(crate) fn stem(path: &str) -> &str {
    let file_name = file_name(path);
    file_name.rsplit_once('.').map_or(file_name, |(stem, _)| stem)
}
