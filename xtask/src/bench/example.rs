//! Benches that are an example program of a crate: installs what the program uses, and runs it.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::layout::Layout;
use crate::{demo, run, targets};

/// A measuring program.
struct Example {
    /// What the bench is called.
    name: &'static str,
    package: &'static str,
    program: &'static str,
    /// Targets and workloads that it uses.
    needs: &'static [&'static str],
    /// Rounds unless others are asked for.
    usual_rounds: u32,
}

/// How fast images are read.
pub(super) fn images(layout: &Layout, words: &[String]) -> Result<()> {
    let images = Example {
        name: "images",
        package: "strata-clrimage",
        program: "images",
        needs: &["net8", "net9", "Varied", "Prepares", "Oracle", "Reading"],
        usual_rounds: 7,
    };
    images.run(layout, images.rounds(words)?, None)
}

/// How fast traces are read.
pub(super) fn nettrace(layout: &Layout, words: &[String]) -> Result<()> {
    let nettrace = Example {
        name: "nettrace",
        package: "strata-nettrace",
        program: "beside_traceevent",
        needs: &["net8", "Happens", "Varied", "Reading", "Stacks"],
        usual_rounds: 5,
    };
    let rounds = nettrace.rounds(words)?;
    let strata = demo::build_strata(layout)?;
    nettrace.run(layout, rounds, Some(&strata))
}

impl Example {
    /// How many rounds are asked for.
    fn rounds(&self, words: &[String]) -> Result<u32> {
        match words {
            [] => Ok(self.usual_rounds),
            [option, number] if option == "--rounds" => number.parse().context("--rounds"),
            _ => bail!("`bench {}` takes `--rounds N` and nothing else", self.name),
        }
    }

    /// Runs it with `first`, where there is one, and the number of rounds.
    fn run(&self, layout: &Layout, rounds: u32, first: Option<&Path>) -> Result<()> {
        for name in self.needs {
            targets::ensure_named(layout, name)?;
        }
        let program = ["run", "--release", "--quiet", "-p", self.package, "--example", self.program, "--"];
        run::loudly(
            Command::new("cargo")
                .current_dir(&layout.root)
                .env("STRATA_TARGETS", &layout.targets)
                .args(program)
                .args(first)
                .arg(rounds.to_string()),
        )
    }
}
