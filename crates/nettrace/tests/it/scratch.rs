//! A folder that goes away.

use std::path::{Path, PathBuf};

pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub(crate) fn new(name: &str) -> Self {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.0
    }

    /// The only trace in it.
    pub(crate) fn trace(&self) -> PathBuf {
        let mut paths = std::fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap().path());
        let path = paths.find(|path| path.extension().is_some_and(|extension| extension == "nettrace"));
        path.unwrap_or_else(|| panic!("no trace in {}", self.0.display()))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What is left over lies below the build's own folder.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
