//! One window in which the program is watched: alone, or while a profiler records it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::bench::contender::Contender;
use crate::bench::running::Running;
use crate::bench::target::{Slice, Target};
use crate::bench::usage::{self, ThreadTimes};
use crate::run;

/// Between starting a profiler, or ending one, and the window after it: what that sets off shall have passed.
const SETTLE: Duration = Duration::from_millis(800);

/// What strata says once it is connected to the runtime; without that it would be measured at less than its work.
const CONNECTED: &str = "listening to the .NET runtime";

/// What the program did in a window.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Window {
    /// CPU time of all its threads.
    pub(crate) busy: Duration,
    /// Mean time of a slice in nanoseconds by CLOCK_MONOTONIC, and by the thread's CPU clock. Not a number if the program
    /// does not tell.
    pub(crate) wall_per_slice: f64,
    pub(crate) cpu_per_slice: f64,
}

/// What a profiler used.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Costs {
    /// CPU time in the window, over the program's CPU time in it, in percent.
    pub(crate) cpu_percent: f64,
    /// Bytes that its files grew by in the window, per second of the program's CPU time. 0 where it still held them back.
    pub(crate) bytes_per_second: f64,
    /// Bytes of the finished recording, of the window and of the time around it.
    pub(crate) bytes: f64,
    /// CPU time before and after the window: to start, to settle and to end.
    pub(crate) cpu_outside: Duration,
    pub(crate) stopping: Duration,
    /// Most resident bytes.
    pub(crate) peak_memory: f64,
    /// Samples by its own count, per second of the program's CPU time while it ran. Not a number if it did not say.
    pub(crate) samples_per_second: f64,
}

/// Samples whose stack reaches the thread's root, and samples.
pub(crate) type Whole = (u64, u64);

/// A window under a profiler.
pub(crate) struct Trial {
    pub(crate) window: Window,
    pub(crate) costs: Costs,
    /// Known of strata's recordings alone.
    pub(crate) whole: Option<Whole>,
}

/// Where things are that every trial uses.
pub(crate) struct Bench {
    pub(crate) target: Target,
    pub(crate) strata: PathBuf,
    /// For recordings, each removed when it has been looked at.
    pub(crate) scratch: PathBuf,
    pub(crate) length: Duration,
}

impl Bench {
    /// The program alone.
    pub(crate) fn watch_alone(&mut self) -> Result<Window> {
        std::thread::sleep(SETTLE);
        self.watch()
    }

    /// The program while `contender` records it.
    pub(crate) fn watch_under(&mut self, contender: &Contender) -> Result<Trial> {
        let output = self.scratch.join(if contender.is_strata() { "trial.strata" } else { "trial.data" });
        remove(&output)?;
        let pid = self.target.pid();
        let busy_before = ThreadTimes::of(pid)?;
        let mut profiler = Running::start(&mut contender.command(&self.strata, pid, &output))?;
        if contender.is_strata() {
            profiler.wait_for(CONNECTED)?;
        }
        std::thread::sleep(SETTLE);
        profiler.wait_until_calm()?;

        let used_before = ThreadTimes::of(profiler.pid())?;
        let bytes_before = usage::bytes_in(&output);
        let window = self.watch()?;
        profiler.must_run()?;
        let used = ThreadTimes::of(profiler.pid())?.since(&used_before);
        let grown = usage::bytes_in(&output).saturating_sub(bytes_before);

        let busy = ThreadTimes::of(pid)?.since(&busy_before);
        let ended = profiler.stop()?;
        self.target.must_run()?;
        let bytes = usage::bytes_in(&output);
        if bytes == 0 {
            bail!("`{}` recorded nothing; it said:\n{}", contender.label(), ended.said);
        }
        let costs = Costs {
            cpu_percent: nanoseconds(used) * 100.0 / nanoseconds(window.busy),
            bytes_per_second: number(grown) / window.busy.as_secs_f64(),
            bytes: number(bytes),
            cpu_outside: ended.cpu.saturating_sub(used),
            stopping: ended.stopping,
            peak_memory: number(ended.peak_memory),
            samples_per_second: ended.samples().map_or(f64::NAN, |samples| number(samples) / busy.as_secs_f64()),
        };
        let whole = if contender.is_strata() { Some(whole_stacks(&self.strata, &output)?) } else { None };
        remove(&output)?;
        Ok(Trial { window, costs, whole })
    }

    fn watch(&mut self) -> Result<Window> {
        let busy_before = ThreadTimes::of(self.target.pid())?;
        let start = Instant::now();
        std::thread::sleep(self.length);
        let end = Instant::now();
        let busy = ThreadTimes::of(self.target.pid())?.since(&busy_before);
        self.target.must_run()?;
        if busy < self.length / 100 {
            bail!("the program was hardly at work: {busy:?} of CPU time in {:?}", self.length);
        }
        let slices = self.target.slices_between(start, end);
        Ok(Window {
            busy,
            wall_per_slice: mean(&slices, |slice| slice.wall),
            cpu_per_slice: mean(&slices, |slice| slice.cpu),
        })
    }
}

fn mean(slices: &[Slice], duration: fn(&Slice) -> Duration) -> f64 {
    let sum: Duration = slices.iter().map(duration).sum();
    nanoseconds(sum) / number(slices.len() as u64)
}

fn whole_stacks(strata: &Path, recording: &Path) -> Result<Whole> {
    let output = run::quietly(Command::new(strata).arg("report").arg(recording).args(["loss", "--json"]))?;
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).context("the report is not JSON")?;
    let stacks = &report["loss"]["whole_stacks"];
    stacks["part"].as_u64().zip(stacks["whole"].as_u64()).context("the report has no number of whole stacks")
}

fn remove(path: &Path) -> Result<()> {
    let removed = match std::fs::symlink_metadata(path) {
        Err(_) => return Ok(()),
        Ok(metadata) if metadata.is_dir() => std::fs::remove_dir_all(path),
        Ok(_) => std::fs::remove_file(path),
    };
    removed.with_context(|| format!("failed to remove {}", path.display()))
}

fn nanoseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e9
}

#[expect(clippy::cast_precision_loss, reason = "a figure for reading")]
fn number(count: u64) -> f64 {
    count as f64
}
