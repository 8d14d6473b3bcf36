//! The bench of trace reading: installs what it records and what it is held against, and runs the measuring program.

use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::layout::Layout;
use crate::{demo, run, targets};

/// What the measuring program uses.
const NEEDS: &[&str] = &["net8", "Happens", "Varied", "Reading", "Stacks"];

const ROUNDS: u32 = 5;

pub(super) fn nettrace(layout: &Layout, words: &[String]) -> Result<()> {
    let rounds = match words {
        [] => ROUNDS,
        [option, number] if option == "--rounds" => number.parse().context("--rounds")?,
        _ => bail!("`bench nettrace` takes `--rounds N` and nothing else"),
    };
    for name in NEEDS {
        targets::ensure_named(layout, name)?;
    }
    let strata = demo::build_strata(layout)?;
    let program = ["run", "--release", "--quiet", "-p", "strata-nettrace", "--example", "beside_traceevent", "--"];
    run::loudly(
        Command::new("cargo")
            .current_dir(&layout.root)
            .env("STRATA_TARGETS", &layout.targets)
            .args(program)
            .arg(strata)
            .arg(rounds.to_string()),
    )
}
