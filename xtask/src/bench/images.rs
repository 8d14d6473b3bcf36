//! The bench of image reading: installs what it reads, and runs the measuring program.

use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::layout::Layout;
use crate::{run, targets};

/// What the measuring program uses.
const NEEDS: &[&str] = &["net8", "net9", "Varied", "Prepares", "Oracle", "Reading"];

const ROUNDS: u32 = 7;

pub(super) fn images(layout: &Layout, words: &[String]) -> Result<()> {
    let rounds = match words {
        [] => ROUNDS,
        [option, number] if option == "--rounds" => number.parse().context("--rounds")?,
        _ => bail!("`bench images` takes `--rounds N` and nothing else"),
    };
    for name in NEEDS {
        targets::ensure_named(layout, name)?;
    }
    let program = ["run", "--release", "--quiet", "-p", "strata-clrimage", "--example", "images", "--"];
    run::loudly(
        Command::new("cargo")
            .current_dir(&layout.root)
            .env("STRATA_TARGETS", &layout.targets)
            .args(program)
            .arg(rounds.to_string()),
    )
}
