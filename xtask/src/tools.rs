//! Cargo subcommands that checks use: those on this machine, else built once into `tools/` of the targets' folder.

use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result};

use crate::layout::Layout;
use crate::run;

/// A cargo subcommand at a version that the checks were written for.
pub(crate) struct Tool {
    /// The crate and the program, like `cargo-deny`.
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
}

pub(crate) const CARGO_DENY: Tool = Tool { name: "cargo-deny", version: "0.20.2" };
pub(crate) const CARGO_FUZZ: Tool = Tool { name: "cargo-fuzz", version: "0.13.2" };

impl Tool {
    /// Where the program is; builds it first where there is none.
    pub(crate) fn ensure(&self, layout: &Layout) -> Result<PathBuf> {
        if let Some(path) = run::on_path(self.name) {
            return Ok(path);
        }
        let place = layout.target("tools");
        let program = place.join("bin").join(self.name);
        if program.is_file() {
            return Ok(program);
        }
        let started = Instant::now();
        eprintln!("{}: building {} once, which takes some minutes", self.name, self.version);
        run::quietly(
            Command::new("cargo")
                .args(["install", "--locked", "--quiet", "--version", self.version, "--root"])
                .arg(&place)
                .arg(self.name),
        )
        .with_context(|| format!("failed to build {}", self.name))?;
        eprintln!("{}: built in {:.0} s", self.name, started.elapsed().as_secs_f64());
        Ok(program)
    }
}
