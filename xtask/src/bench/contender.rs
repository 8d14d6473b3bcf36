//! The profilers that are compared, and how each is called.

use std::path::Path;
use std::process::Command;

/// A way to profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Profiler {
    Strata {
        /// Bytes of stack copied with each sample, where not as many as usual.
        stack_bytes: Option<u32>,
    },
    /// perf with the stacks that frame pointers give.
    PerfFramePointers,
    /// perf with 8 KiB of the stack copied into each sample.
    PerfDwarf,
}

/// A profiler at a frequency.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Contender {
    pub(crate) profiler: Profiler,
    pub(crate) frequency_hz: u32,
}

/// strata and perf. Those of one frequency stand together, so that they are measured close to each other.
pub(crate) fn profilers() -> Vec<Contender> {
    let ways = [Profiler::Strata { stack_bytes: None }, Profiler::PerfFramePointers, Profiler::PerfDwarf];
    let at = |frequency_hz| ways.map(|profiler| Contender { profiler, frequency_hz });
    [at(999), at(99)].concat()
}

/// strata alone, copying more or less of the stack.
pub(crate) fn stack_sizes() -> Vec<Contender> {
    [1024, 4096, 8192, 16384]
        .map(|bytes| Contender { profiler: Profiler::Strata { stack_bytes: Some(bytes) }, frequency_hz: 999 })
        .to_vec()
}

impl Contender {
    /// The command as a person would type it, short of process and file.
    pub(crate) fn label(&self) -> String {
        let hertz = self.frequency_hz;
        match self.profiler {
            Profiler::Strata { stack_bytes: None } => format!("strata record -F {hertz}"),
            Profiler::Strata { stack_bytes: Some(bytes) } => format!("strata record -F {hertz} --stack-size {bytes}"),
            Profiler::PerfFramePointers => format!("perf record -g -F {hertz}"),
            Profiler::PerfDwarf => format!("perf record --call-graph dwarf,8192 -F {hertz}"),
        }
    }

    pub(crate) fn is_strata(&self) -> bool {
        matches!(self.profiler, Profiler::Strata { .. })
    }

    pub(crate) fn command(&self, strata: &Path, pid: u32, output: &Path) -> Command {
        let (process, hertz) = (pid.to_string(), self.frequency_hz.to_string());
        let mut command = Command::new(if self.is_strata() { strata } else { Path::new("perf") });
        command.arg("record");
        match self.profiler {
            Profiler::Strata { stack_bytes } => {
                if let Some(bytes) = stack_bytes {
                    command.args(["--stack-size", &bytes.to_string()]);
                }
            }
            Profiler::PerfFramePointers => {
                command.args(["-g", "-e", "cpu-clock", "-k", "mono"]);
            }
            Profiler::PerfDwarf => {
                command.args(["--call-graph", "dwarf,8192", "-e", "cpu-clock", "-k", "mono"]);
            }
        }
        command.args(["-F", &hertz, "-p", &process, "-o"]).arg(output);
        command
    }
}
