//! Debian packages: looked for by what they provide, installed when root, named when not.

use std::process::Command;
use std::sync::Once;

use anyhow::{Context, Result, bail};

use crate::run;

/// A thing of the system that some target or test needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SystemNeed {
    /// The Debian package that brings it.
    pub(crate) package: &'static str,
    /// How to see that it is there.
    pub(crate) probe: Probe,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Probe {
    /// A program of this name on PATH.
    Program(&'static str),
    /// A module that one of the Python interpreters can import.
    PythonModule(&'static str),
}

pub(crate) const PYTHON_PIP: SystemNeed = SystemNeed { package: "python3-pip", probe: Probe::PythonModule("pip") };
pub(crate) const NPM: SystemNeed = SystemNeed { package: "npm", probe: Probe::Program("npm") };
pub(crate) const TAR: SystemNeed = SystemNeed { package: "tar", probe: Probe::Program("tar") };
pub(crate) const MCS: SystemNeed = SystemNeed { package: "mono-mcs", probe: Probe::Program("mcs") };
pub(crate) const PERF: SystemNeed = SystemNeed { package: "linux-perf", probe: Probe::Program("perf") };
pub(crate) const TASKSET: SystemNeed = SystemNeed { package: "util-linux", probe: Probe::Program("taskset") };
pub(crate) const KILL: SystemNeed = SystemNeed { package: "procps", probe: Probe::Program("kill") };
pub(crate) const GCC: SystemNeed = SystemNeed { package: "gcc", probe: Probe::Program("gcc") };
pub(crate) const GXX: SystemNeed = SystemNeed { package: "g++", probe: Probe::Program("g++") };
pub(crate) const GO: SystemNeed = SystemNeed { package: "golang-go", probe: Probe::Program("go") };
pub(crate) const PYTHON_JSONSCHEMA: SystemNeed =
    SystemNeed { package: "python3-jsonschema", probe: Probe::PythonModule("jsonschema") };

/// Brings what is missing of `needs`, or says exactly what to install.
pub(crate) fn ensure(needs: &[SystemNeed]) -> Result<()> {
    let mut missing: Vec<&str> = needs.iter().filter(|need| !present(need)).map(|need| need.package).collect();
    missing.sort_unstable();
    missing.dedup();
    if missing.is_empty() {
        return Ok(());
    }
    let list = missing.join(" ");
    if !is_root() {
        bail!("missing from this machine: {list}; install them with `sudo apt-get install {list}` and run this again");
    }
    eprintln!("apt: installing {list}");
    update_once()?;
    run::quietly(apt_get().args(["install", "--yes", "--no-install-recommends"]).args(&missing))
        .with_context(|| format!("failed to install {list}"))?;
    match needs.iter().find(|need| !present(need)) {
        None => Ok(()),
        Some(need) => bail!("package {} is installed, and yet {} is not found", need.package, need.probe),
    }
}

/// A Python interpreter that can import `module`: the one on PATH, or Debian's own, where its packages go.
pub(crate) fn python_with(module: &str) -> Option<&'static str> {
    ["python3", "/usr/bin/python3"]
        .into_iter()
        .find(|python| run::succeeds(Command::new(python).args(["-c", &format!("import {module}")])))
}

fn present(need: &SystemNeed) -> bool {
    match need.probe {
        Probe::Program(program) => run::on_path(program).is_some(),
        Probe::PythonModule(module) => python_with(module).is_some(),
    }
}

fn update_once() -> Result<()> {
    static ONCE: Once = Once::new();
    let mut result = Ok(());
    ONCE.call_once(|| {
        result = run::quietly(apt_get().arg("update")).map(drop).context("failed to refresh the package lists");
    });
    result
}

fn apt_get() -> Command {
    let mut command = Command::new("apt-get");
    // Another apt-get may be at work on this machine: wait for it instead of failing.
    command.env("DEBIAN_FRONTEND", "noninteractive").args(["-o", "DPkg::Lock::Timeout=300"]);
    command
}

fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").is_ok_and(|metadata| metadata.uid() == 0)
}

impl std::fmt::Display for Probe {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Probe::Program(program) => write!(f, "the program `{program}`"),
            Probe::PythonModule(module) => write!(f, "the Python module `{module}`"),
        }
    }
}
