//! The program that is profiled.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::bench::options::Workload;
use crate::layout::Layout;
use crate::run;

/// A piece of work that the program did.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Slice {
    /// When we heard of it, which is at its end.
    pub(crate) ended: Instant,
    /// How long it took by the program's own clocks.
    pub(crate) wall: Duration,
    pub(crate) cpu: Duration,
}

/// The running program, ended by its process id whatever happens.
pub(crate) struct Target {
    child: Child,
    slices: Receiver<Slice>,
}

impl Target {
    /// Starts the program on the given processor, or on any, for no longer than `most`, and waits until it is at work.
    pub(crate) fn start(layout: &Layout, workload: Workload, cpu: Option<u32>, most: Duration) -> Result<Target> {
        let name = workload.program();
        let dotnet = layout.target("net8").join("dotnet");
        let mut command = match cpu {
            Some(cpu) => {
                let mut command = Command::new("taskset");
                command.args(["--cpu-list", &cpu.to_string()]).arg(dotnet);
                command
            }
            None => Command::new(dotnet),
        };
        command
            .arg(layout.target("workloads").join(name).join(format!("{name}.dll")))
            .arg(most.as_secs().to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        let shown = run::show(&command);
        let mut child = command.spawn().with_context(|| format!("failed to start `{shown}`"))?;
        let stdout = child.stdout.take().context("standard output of the workload")?;
        let (send, slices) = mpsc::channel();
        let mut target = Target { child, slices };
        let mut lines = BufReader::new(stdout).lines();
        let first = lines.next().transpose()?.unwrap_or_default();
        if !first.starts_with("ready") {
            bail!("`{shown}` did not get ready; it ended with {}", target.child.wait()?);
        }
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let ended = Instant::now();
                let Some((wall, cpu)) = parse(&line) else { continue };
                if send.send(Slice { ended, wall, cpu }).is_err() {
                    return;
                }
            }
        });
        Ok(target)
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The slices that lie wholly between the two moments. Those before are forgotten.
    pub(crate) fn slices_between(&self, start: Instant, end: Instant) -> Vec<Slice> {
        self.slices.try_iter().filter(|slice| slice.ended <= end && slice.ended >= start + slice.wall).collect()
    }

    /// Fails if the program has ended: a profiler that ends its target is no good.
    pub(crate) fn must_run(&mut self) -> Result<()> {
        match self.child.try_wait()? {
            None => Ok(()),
            Some(status) => bail!("the profiled program ended with {status}"),
        }
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// `slice WALL CPU`.
fn parse(line: &str) -> Option<(Duration, Duration)> {
    let mut numbers = line.strip_prefix("slice ")?.split(' ').map(|word| word.parse().map(Duration::from_nanos));
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}
