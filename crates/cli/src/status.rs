//! What a running recording says on standard error: one line that changes at a terminal, plain lines elsewhere.

use crate::say::say;
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};
use strata_digest::visible;
use strata_record::{KernelSide, Progress, Status};

/// How often the line at a terminal changes.
const LIVE_EVERY: Duration = Duration::from_millis(250);

/// How often a plain line is written.
const PLAIN_EVERY: Duration = Duration::from_secs(10);

/// Tells progress.
pub(crate) struct StatusLine {
    line: LiveLine,
    last: Instant,
    counts: Counts,
}

/// Whether counts are told while a recording runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counts {
    /// From time to time.
    Shown,
    /// Only once the recording has stopped.
    Hidden,
}

impl StatusLine {
    pub(crate) fn new(counts: Counts) -> Self {
        Self { line: LiveLine::new(), last: Instant::now(), counts }
    }

    pub(crate) fn take(&mut self, progress: &Progress) {
        match progress {
            Progress::Started { pid, event, threads, kernel } => {
                let threads = if *threads == 1 { "1 thread".to_owned() } else { format!("{threads} threads") };
                self.say(&format!("recording process {pid} ({threads}, {})", event.name()));
                if *kernel == KernelSide::Excluded {
                    self.say(
                        "warning: without kernel code, which kernel.perf_event_paranoid does not allow to this user",
                    );
                }
            }
            Progress::TargetStopped { pid } => self.say(&format!(
                "warning: process {pid} is stopped, so it has no samples until it goes on (kill -CONT {pid})"
            )),
            Progress::NotDotnet { pid, executable } => {
                let program = executable.as_ref().map(|path| format!(" ({})", path.display())).unwrap_or_default();
                self.say(&format!("process {pid}{program} is not a .NET process: native and kernel code only"));
            }
            Progress::RuntimeAttached { pid } => self.say(&format!("listening to the .NET runtime of process {pid}")),
            Progress::RuntimeVersion { pid, version } => self.say(&format!("process {pid} runs .NET {version}")),
            Progress::RuntimeProblem { pid: 0, problem } => self.say(&format!("warning: {problem}")),
            Progress::RuntimeProblem { pid, problem } => self.say(&format!("warning: process {pid}: {problem}")),
            Progress::Running(_) if self.counts == Counts::Hidden => {}
            Progress::Running(status) => self.count("", status),
            Progress::Stopping { reason } => self.say(&format!("stopping: {}", reason.label())),
            Progress::Waiting { pids, status } => {
                let pids: Vec<String> = pids.iter().map(u32::to_string).collect();
                self.count(&format!("collecting names from {}: ", pids.join(", ")), status);
            }
        }
    }

    /// A line that stays.
    pub(crate) fn say(&mut self, line: &str) {
        self.line.clear();
        say(&visible(line));
    }

    fn count(&mut self, before: &str, status: &Status) {
        let every = if self.line.live { LIVE_EVERY } else { PLAIN_EVERY };
        if self.last.elapsed() < every {
            return;
        }
        self.last = Instant::now();
        let line = format!("{before}{}", describe(status));
        match self.line.live {
            true => self.line.show(&line),
            false => say(&line),
        }
    }
}

/// Tells at a terminal how far the reading of something large has come. Data that goes to a terminal has no such line in it.
pub(crate) struct ReadingLine {
    line: LiveLine,
    last: Instant,
    whole: Option<u64>,
}

impl ReadingLine {
    /// Of so many bytes, where that is known.
    pub(crate) fn new(whole: Option<u64>) -> Self {
        let mut line = LiveLine::new();
        line.live &= !io::stdout().is_terminal();
        Self { line, last: Instant::now(), whole }
    }

    pub(crate) fn reached(&mut self, count: u64) {
        if !self.line.live || self.last.elapsed() < LIVE_EVERY {
            return;
        }
        self.last = Instant::now();
        let of_all = self.whole.map(|whole| format!(" of {}", bytes(whole))).unwrap_or_default();
        self.line.show(&format!("reading: {}{of_all}", bytes(count)));
    }
}

/// A line at a terminal that the next one replaces, and that goes away with this.
struct LiveLine {
    /// Whether there is a terminal.
    live: bool,
    shown: bool,
}

impl LiveLine {
    fn new() -> Self {
        Self { live: io::stderr().is_terminal(), shown: false }
    }

    fn show(&mut self, line: &str) {
        self.clear();
        self.shown = true;
        let _ = io::stderr().write_all(line.as_bytes());
    }

    fn clear(&mut self) {
        if std::mem::take(&mut self.shown) {
            // Back to the line's start, and everything on it away.
            let _ = io::stderr().write_all(b"\r\x1b[2K");
        }
    }
}

impl Drop for LiveLine {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Counts in one line.
pub(crate) fn describe(status: &Status) -> String {
    let samples = &status.samples;
    let mut line = format!(
        "{:.1} s, {} samples, {} runtime events, {}",
        status.elapsed.as_secs_f64(),
        samples.samples,
        status.events,
        bytes(status.bytes),
    );
    let lost = samples.lost + samples.unreadable + status.events_dropped;
    line.push_str(&format!(", {lost} lost"));
    if samples.throttled > 0 {
        line.push_str(&format!(", throttled {} times by the kernel", samples.throttled));
    }
    line
}

#[expect(clippy::cast_precision_loss, reason = "a size for reading")]
pub(crate) fn bytes(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} B"),
        1024..1_048_576 => format!("{:.1} KiB", bytes as f64 / 1024.0),
        _ => format!("{:.1} MiB", bytes as f64 / 1_048_576.0),
    }
}
