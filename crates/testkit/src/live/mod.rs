//! Live test targets: real .NET runtimes, programs to run on them, and readers that no one here wrote.
//!
//! `cargo xtask targets` installs them; everything here finds what it installed and answers with [`Missing`], which
//! names the command to run, when something is not there. A test must fail then, not pass in silence.

mod images;
mod jitdump;
mod mapped;
mod oracle;
mod running;
mod runtime;
mod shares;
mod tools;

use std::fmt;
use std::path::{Path, PathBuf};

pub use images::{ImageSet, Images};
pub use jitdump::{DumpFailure, Jitted, LoadedImage, jitdump, perfinfo};
pub use mapped::{MappedImage, Source, mapped_images};
pub use oracle::{EventCount, IlMap, Method, OracleFailure, Reading, Summed, oracle, trace_log};
pub use running::{Finished, Running, StartFailure, Until, WaitFailure};
pub use runtime::{Runtime, traced};
pub use shares::{KernelTimes, Truth, truths};
pub use tools::{profiler_cli, speedscope_schema, validate_json};

/// A test target that is not installed, or was installed from another version of its source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// The target's name, as `cargo xtask targets` takes it.
    pub target: String,
    /// The file that was looked for.
    pub path: PathBuf,
    /// Why what is there cannot be used.
    pub reason: Absence,
}

/// Why a test target cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Absence {
    /// The file is not there.
    NotInstalled,
    /// A workload was compiled from a source that has changed since.
    Stale,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (target, path) = (&self.target, self.path.display());
        match self.reason {
            Absence::NotInstalled => write!(f, "test target {target} is not installed: no {path}")?,
            Absence::Stale => write!(f, "test target {target} was compiled from an older source than {path}")?,
        }
        write!(f, "; run `cargo xtask targets {target}`")
    }
}

impl std::error::Error for Missing {}

/// The folder of installed targets: `$STRATA_TARGETS`, else `.targets` in the nearest folder above this crate that has one.
pub fn folder() -> PathBuf {
    if let Some(path) = std::env::var_os("STRATA_TARGETS").filter(|path| !path.is_empty()) {
        // A target is also run from other folders.
        return std::path::absolute(&path).unwrap_or_else(|_| PathBuf::from(path));
    }
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package
        .ancestors()
        .map(|folder| folder.join(".targets"))
        .find(|path| path.is_dir())
        // None: the message about what is missing names where it would be.
        .unwrap_or_else(|| workspace().join(".targets"))
}

/// The compiled assembly of a workload, as up to date as its source.
///
/// # Errors
/// [`Missing`] if it was never compiled, or from another source than `workloads/NAME.cs` has now.
pub fn workload(name: &str) -> Result<PathBuf, Missing> {
    let place = folder().join("workloads").join(name);
    let assembly = installed(name, place.join(format!("{name}.dll")))?;
    // The installer's marker ends with the source that was compiled.
    let source = workspace().join("workloads").join(format!("{name}.cs"));
    let compiled_from = std::fs::read_to_string(place.join(".installed")).unwrap_or_default();
    match std::fs::read_to_string(&source) {
        Ok(text) if compiled_from.ends_with(&text) => Ok(assembly),
        _ => Err(Missing { target: name.to_owned(), path: source, reason: Absence::Stale }),
    }
}

fn workspace() -> &'static Path {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.ancestors().nth(2).unwrap_or(package)
}

fn installed(target: &str, path: PathBuf) -> Result<PathBuf, Missing> {
    if path.exists() {
        return Ok(path);
    }
    Err(Missing { target: target.to_owned(), path, reason: Absence::NotInstalled })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_names_the_command_to_run() {
        let missing = installed("net8", PathBuf::from("/nowhere/net8/dotnet")).unwrap_err();
        assert_eq!(
            missing.to_string(),
            "test target net8 is not installed: no /nowhere/net8/dotnet; run `cargo xtask targets net8`"
        );
        let missing = Missing { reason: Absence::Stale, ..missing };
        assert!(missing.to_string().contains("older source"), "{missing}");
    }

    #[test]
    fn a_workload_that_no_one_wrote_is_missing() {
        assert_eq!(workload("NoSuchWorkload").unwrap_err().reason, Absence::NotInstalled);
    }
}
