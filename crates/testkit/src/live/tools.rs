//! Oracles for the formats that strata writes.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Missing, folder, installed};

/// The Firefox Profiler's own command line. It keeps a daemon: set `HOME` to a scratch folder, and end with `stop --all`.
///
/// # Errors
/// [`Missing`] if it is not installed.
pub fn profiler_cli() -> Result<Command, Missing> {
    let path = folder().join("profiler-cli/node_modules/.bin/profiler-cli");
    installed("profiler-cli", path).map(Command::new)
}

/// The JSON schema of speedscope's file format.
///
/// # Errors
/// [`Missing`] if it is not installed.
pub fn speedscope_schema() -> Result<PathBuf, Missing> {
    installed("speedscope-schema", folder().join("speedscope-schema/file-format-schema.json"))
}

/// Holds the JSON in `file` against the JSON schema in `schema`, by the Python package `jsonschema`.
///
/// # Errors
/// With the validator's words, when the file does not fit or cannot be read, and when no Python has the package.
pub fn validate_json(file: &Path, schema: &Path) -> io::Result<()> {
    const SCRIPT: &str = "import json, sys, jsonschema\n\
        jsonschema.validate(json.load(open(sys.argv[1])), json.load(open(sys.argv[2])))";
    // Debian's packages belong to Debian's Python, which need not be the first on PATH.
    for python in ["python3", "/usr/bin/python3"] {
        if !Command::new(python).args(["-c", "import jsonschema"]).output().is_ok_and(|tried| tried.status.success()) {
            continue;
        }
        let output = Command::new(python).arg("-c").arg(SCRIPT).args([file, schema]).output()?;
        if output.status.success() {
            return Ok(());
        }
        return Err(io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned()));
    }
    Err(io::Error::other("no Python has the package jsonschema; run `cargo xtask targets system`"))
}
