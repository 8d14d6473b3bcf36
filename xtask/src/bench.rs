//! `cargo xtask bench overhead`: what recording costs the recorded program, and what the recorder uses itself, beside perf.
//! `cargo xtask bench images`: what knowing every precompiled method costs, beside what the runtime's rundown costs.
//! `cargo xtask bench nettrace`: how fast traces are read, beside TraceEvent.
//!
//! Benches that print figures, never tests: on a busy machine they mean little, which the noise in the first row shows.

mod contender;
mod example;
mod machine;
mod measure;
mod options;
mod processors;
mod running;
mod statistics;
mod table;
mod target;
mod trial;
mod usage;

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::bench::options::{Field, Options, Workload};
use crate::bench::processors::Processors;
use crate::bench::statistics::median;
use crate::bench::target::Target;
use crate::bench::trial::Bench;
use crate::layout::Layout;
use crate::{apt, demo, targets, workloads};

/// Runs the named bench.
pub(crate) fn run(layout: &Layout, words: &[String]) -> Result<()> {
    match words.split_first() {
        Some((name, words)) if name == "overhead" => overhead(layout, &Options::parse(words)?),
        Some((name, words)) if name == "images" => example::images(layout, words),
        Some((name, words)) if name == "nettrace" => example::nettrace(layout, words),
        Some((other, _)) => bail!("no bench `{other}`; there are `overhead`, `images` and `nettrace`"),
        None => bail!("which bench? there are `overhead`, `images` and `nettrace`"),
    }
}

fn overhead(layout: &Layout, options: &Options) -> Result<()> {
    let strata = demo::build_strata(layout)?;
    apt::ensure(&[apt::PERF, apt::TASKSET, apt::KILL])?;
    targets::ensure_named(layout, "net8")?;
    workloads::ensure(layout, options.workload.program())?;
    let mut facts = machine::facts(layout, &strata)?;

    let processors = match options.workload {
        Workload::Bench => Some(Processors::choose()?),
        Workload::Varied => None,
    };
    if let Some(processors) = processors {
        processors.leave_one_free()?;
    }
    let contenders = match options.field {
        Field::Profilers => contender::profilers(),
        Field::StackSizes => contender::stack_sizes(),
    };
    let turns = options.rounds.saturating_mul(u32::try_from(contenders.len())?);
    // With time to settle, to stop and to report around each window.
    let expected = (options.window + Duration::from_millis(1800)).saturating_mul(turns.saturating_mul(2));
    eprintln!("bench: {turns} turns, about {} minutes", expected.as_secs().div_ceil(60));
    let scratch = Scratch::create(layout)?;
    // Should we be killed, the program ends by itself some time after.
    let most = expected * 3 + Duration::from_secs(120);
    let target = Target::start(layout, options.workload, processors.map(|both| both.program), most)?;
    let mut bench = Bench { target, strata, scratch: scratch.0.clone(), length: options.window };
    let results = measure::measure(&mut bench, options.workload, &contenders, options.rounds)?;

    facts.push(("program", options.workload.about(median(results.slices.iter().copied()))));
    facts.push(("measured", format!("{} rounds, windows of {:.1} s", options.rounds, options.window.as_secs_f64())));
    print!("{}", table::markdown(&facts, &results));
    Ok(())
}

impl Workload {
    /// Its name in `workloads/`.
    fn program(self) -> &'static str {
        match self {
            Workload::Bench => "Bench",
            Workload::Varied => "Varied",
        }
    }

    fn about(self, slice: Option<f64>) -> String {
        match self {
            Workload::Bench => format!(
                "workloads/Bench.cs, one busy thread on a processor of its own, slices of {:.1} ms",
                slice.unwrap_or_default() / 1e6
            ),
            Workload::Varied => {
                "workloads/Varied.cs, a dozen threads of many kinds, on the same processors as the profilers".to_owned()
            }
        }
    }
}

/// The folder for recordings, removed in the end.
struct Scratch(PathBuf);

impl Scratch {
    fn create(layout: &Layout) -> Result<Scratch> {
        let folder = layout.target("bench");
        if folder.exists() {
            fs::remove_dir_all(&folder).context("failed to remove what an earlier bench left")?;
        }
        fs::create_dir_all(&folder).with_context(|| format!("failed to create {}", folder.display()))?;
        Ok(Scratch(folder))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
