//! The order of the windows, and what each shows beside its neighbours.

use anyhow::Result;

use crate::bench::contender::Contender;
use crate::bench::options::Workload;
use crate::bench::statistics::percent_above;
use crate::bench::trial::{Bench, Costs, Whole, Window};

/// How much longer the program's slices took, in percent, by both of its clocks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Slowdown {
    pub(crate) wall: f64,
    pub(crate) cpu: f64,
}

/// Everything measured of one contender, a value for each round.
pub(crate) struct Row {
    pub(crate) contender: Contender,
    /// Empty where the program does not time its own work.
    pub(crate) slowdowns: Vec<Slowdown>,
    pub(crate) costs: Vec<Costs>,
    /// All rounds together.
    pub(crate) whole: Option<Whole>,
}

/// The whole bench.
pub(crate) struct Results {
    pub(crate) rows: Vec<Row>,
    /// Each window without a profiler beside those before and after it: what is seen where there is nothing to see.
    pub(crate) noise: Vec<Slowdown>,
    /// Mean slice of each window without a profiler, in nanoseconds.
    pub(crate) slices: Vec<f64>,
}

/// Measures each contender once in every round. Where the program times its work, every profiled window stands between two
/// without a profiler, so that whatever changes slowly on the machine is in both.
pub(crate) fn measure(bench: &mut Bench, workload: Workload, contenders: &[Contender], rounds: u32) -> Result<Results> {
    let mut rows: Vec<Row> = contenders.iter().map(Row::new).collect();
    let mut alone = Vec::new();
    if workload == Workload::Bench {
        alone.push(bench.watch_alone()?);
    }
    for round in 0..rounds {
        for turn in 0..rows.len() {
            // Each round begins with another contender, so that none always follows the same one.
            let index = (turn + round as usize) % rows.len();
            let Some(row) = rows.get_mut(index) else { continue };
            let trial = bench.watch_under(&row.contender)?;
            let mut told = format!("round {} of {rounds}: {}", round + 1, row.contender.label());
            if let Some(before) = alone.last().copied() {
                let after = bench.watch_alone()?;
                alone.push(after);
                let slowdown = Slowdown::of(&trial.window, &before, &after);
                told.push_str(&format!(": slices {:+.2} %", slowdown.wall));
                row.slowdowns.push(slowdown);
            }
            eprintln!("{told}; its own CPU {:.2} %", trial.costs.cpu_percent);
            row.costs.push(trial.costs);
            if let Some((part, whole)) = trial.whole {
                let (parts, wholes) = row.whole.unwrap_or_default();
                row.whole = Some((parts + part, wholes + whole));
            }
        }
    }
    let noise = alone.windows(3).filter_map(|three| match three {
        [before, window, after] => Some(Slowdown::of(window, before, after)),
        _ => None,
    });
    Ok(Results { rows, noise: noise.collect(), slices: alone.iter().map(|window| window.wall_per_slice).collect() })
}

impl Row {
    fn new(contender: &Contender) -> Row {
        Row { contender: *contender, slowdowns: Vec::new(), costs: Vec::new(), whole: None }
    }
}

impl Slowdown {
    fn of(window: &Window, before: &Window, after: &Window) -> Slowdown {
        Slowdown {
            wall: percent_above(window.wall_per_slice, [before.wall_per_slice, after.wall_per_slice]),
            cpu: percent_above(window.cpu_per_slice, [before.cpu_per_slice, after.cpu_per_slice]),
        }
    }
}
