//! Where things are: the project's root, and the folder of installed things.

use std::path::PathBuf;

use anyhow::{Context, Result};

/// The two folders that every command works with.
pub(crate) struct Layout {
    /// The folder that holds the workspace's Cargo.toml.
    pub(crate) root: PathBuf,
    /// The folder of installed things: `.targets/` in the root, or `$STRATA_TARGETS`.
    pub(crate) targets: PathBuf,
}

impl Layout {
    pub(crate) fn find() -> Result<Layout> {
        // Cargo sets the variable when it runs us; a binary started by hand falls back on where it was built.
        let package = std::env::var_os("CARGO_MANIFEST_DIR")
            .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
        let root = package.parent().context("the xtask package has no parent folder")?.to_path_buf();
        let targets = match std::env::var_os("STRATA_TARGETS") {
            Some(path) if !path.is_empty() => std::path::absolute(path).context("STRATA_TARGETS")?,
            _ => root.join(".targets"),
        };
        Ok(Layout { root, targets })
    }

    /// The folder of one installed target.
    pub(crate) fn target(&self, name: &str) -> PathBuf {
        self.targets.join(name)
    }

    pub(crate) fn workload_sources(&self) -> PathBuf {
        self.root.join("workloads")
    }
}
