//! The project's own commands: `cargo xtask targets`, `cargo xtask test`, `cargo xtask demo`,
//! `cargo xtask bench`.

#![forbid(unsafe_code)]

mod apt;
mod bench;
mod demo;
mod fetch;
mod install;
mod layout;
mod run;
mod targets;
mod test;
mod tools;
mod workloads;

use std::process::ExitCode;

use anyhow::{Result, bail};

use crate::layout::Layout;

const USAGE: &str = "\
usage: cargo xtask <command>

  targets [NAME...]   install the test targets, oracles and workloads (all of them, or those named)
  targets --list      say what there is to install, and what is installed
  test [STEP...]      install what the tests need, then run every check (or those named)
  demo                record a .NET program for five seconds and show what came of it
  bench overhead      measure what recording costs a busy .NET program and the recorder itself, beside perf;
                      on a quiet machine, with a processor for the program and one for the rest
    --rounds N          turns of each profiler (10)
    --seconds S         length of each measured window (2.5)
    --workload NAME     `bench`: one busy thread that times its work; `varied`: the program of the demo, of which
                        only the recorder's own use and the whole stacks are told
    --stack-sizes       instead of strata beside perf: strata with 1, 4, 8 and 16 KiB of stack per sample
  bench images        measure what finding and naming precompiled methods in image files costs, beside reading the
                      runtime's own list of them in a recording
    --rounds N          (7)

Installed things go to .targets/ in the project's root, or to $STRATA_TARGETS.
";

fn main() -> ExitCode {
    match dispatch(std::env::args().skip(1).collect()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch(arguments: Vec<String>) -> Result<()> {
    let layout = Layout::find()?;
    let (command, rest) = match arguments.split_first() {
        Some((command, rest)) => (command.as_str(), rest),
        None => ("help", &[][..]),
    };
    match command {
        "targets" if rest.iter().any(|argument| argument == "--list") => {
            targets::list(&layout);
            Ok(())
        }
        "targets" => targets::ensure(&layout, rest),
        "test" => test::run(&layout, rest),
        "demo" => demo::run(&layout),
        "bench" => bench::run(&layout, rest),
        "help" | "--help" | "-h" => {
            print!("{USAGE}");
            Ok(())
        }
        other => bail!("no command `{other}`\n\n{USAGE}"),
    }
}
