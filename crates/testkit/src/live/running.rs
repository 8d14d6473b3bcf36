//! A started workload: what it says is collected, and it never outlives its guard.

use std::fmt;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// What a start waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// A line on standard output that begins with `ready`.
    Ready,
    /// The first line on standard output, whatever it is.
    FirstLine,
    /// Nothing: the process exists, and may not have come to its `Main`.
    Started,
}

/// A running process in a process group of its own. Standard input is a pipe that stays open until
/// [`Running::close_stdin`]; standard output and error are collected line by line. Dropping kills it with its children.
#[derive(Debug)]
pub struct Running {
    child: Child,
    stdout: Collected,
    stderr: Collected,
}

/// What a process that ended left behind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    /// How it ended.
    pub status: ExitStatus,
    /// Every line of standard output, without line ends.
    pub stdout: Vec<String>,
    /// Every line of standard error, without line ends.
    pub stderr: Vec<String>,
}

/// Why a process did not come to the point that was waited for.
#[derive(Debug)]
pub enum StartFailure {
    /// The program could not be started at all.
    Spawn(io::Error),
    /// It ended, or closed its standard output, before the awaited line.
    Ended {
        /// What it wrote to standard error.
        stderr: Vec<String>,
    },
    /// The awaited line did not come in time; the process was killed.
    TimedOut {
        /// How long it was waited for.
        waited: Duration,
        /// What it wrote to standard error.
        stderr: Vec<String>,
    },
}

/// Why the end of a process was not seen.
#[derive(Debug)]
pub enum WaitFailure {
    /// It did not end in time; it was killed.
    TimedOut {
        /// How long it was waited for.
        waited: Duration,
        /// What it had written to standard error.
        stderr: Vec<String>,
    },
    /// The system could not say how it ended.
    System(io::Error),
}

impl Running {
    /// Starts `command` and waits for at most `limit` for what `until` says.
    ///
    /// # Errors
    /// [`StartFailure`], with what the process said on standard error.
    pub fn start(mut command: Command, until: Until, limit: Duration) -> Result<Running, StartFailure> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let mut child = command.spawn().map_err(StartFailure::Spawn)?;
        let stdout = Collected::start(child.stdout.take());
        let stderr = Collected::start(child.stderr.take());
        let running = Running { child, stdout, stderr };
        let seen = match until {
            Until::Ready => running.stdout.wait(limit, |line| line.starts_with("ready")),
            Until::FirstLine => running.stdout.wait(limit, |_| true),
            Until::Started => Seen::Line,
        };
        match seen {
            Seen::Line => Ok(running),
            Seen::End => {
                // Its last words may still be in the pipe.
                running.stderr.wait(Duration::from_secs(2), |_| false);
                Err(StartFailure::Ended { stderr: running.stderr_lines() })
            }
            Seen::Nothing => Err(StartFailure::TimedOut { waited: limit, stderr: running.stderr_lines() }),
        }
    }

    /// The process id, as this process's namespace has it.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The lines of standard output so far.
    pub fn stdout_lines(&self) -> Vec<String> {
        self.stdout.lock().lines.clone()
    }

    /// The lines of standard error so far.
    pub fn stderr_lines(&self) -> Vec<String> {
        self.stderr.lock().lines.clone()
    }

    /// Writes to the process's standard input.
    ///
    /// # Errors
    /// When the pipe was closed, by either side.
    pub fn write_stdin(&mut self, bytes: &[u8]) -> io::Result<()> {
        let stdin = self.child.stdin.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        stdin.write_all(bytes)?;
        stdin.flush()
    }

    /// Closes the process's standard input: it reads the end.
    pub fn close_stdin(&mut self) {
        drop(self.child.stdin.take());
    }

    /// Sends the signal of this name without `SIG`, like `TERM` or `INT`, to the process alone.
    ///
    /// # Errors
    /// When the process has ended and was waited for, or the signal has no such name.
    pub fn signal(&self, name: &str) -> io::Result<()> {
        send(name, &self.child.id().to_string())
    }

    /// Waits for the end for at most `limit`.
    ///
    /// # Errors
    /// [`WaitFailure::TimedOut`] if it is still running then; dropping the guard has killed it.
    pub fn wait(mut self, limit: Duration) -> Result<Finished, WaitFailure> {
        let end = Instant::now() + limit;
        let status = loop {
            match self.child.try_wait().map_err(WaitFailure::System)? {
                Some(status) => break status,
                None if Instant::now() >= end => {
                    return Err(WaitFailure::TimedOut { waited: limit, stderr: self.stderr_lines() });
                }
                None => std::thread::sleep(Duration::from_millis(5)),
            }
        };
        // A grandchild may keep the pipes open; what the process itself wrote is there within moments.
        self.stdout.wait(Duration::from_secs(2), |_| false);
        self.stderr.wait(Duration::from_secs(2), |_| false);
        Ok(Finished { status, stdout: self.stdout_lines(), stderr: self.stderr_lines() })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // The group, so that a workload's own children go too. It has no members left in the usual case.
        let _ = send("KILL", &format!("-{}", self.child.id()));
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn send(signal: &str, to: &str) -> io::Result<()> {
    let status = Command::new("sh")
        .args(["-c", "kill -s \"$1\" -- \"$2\"", "sh", signal, to])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .status()?;
    if status.success() { Ok(()) } else { Err(io::Error::other(format!("kill -s {signal} {to} ended with {status}"))) }
}

/// The lines of one pipe, read by a thread of their own so that the process never waits for us.
#[derive(Debug)]
struct Collected {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<Lines>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Lines {
    lines: Vec<String>,
    ended: bool,
}

enum Seen {
    Line,
    End,
    Nothing,
}

impl Collected {
    fn start(pipe: Option<impl Read + Send + 'static>) -> Collected {
        let shared = Arc::new(Shared::default());
        let for_thread = Arc::clone(&shared);
        std::thread::spawn(move || {
            if let Some(pipe) = pipe {
                for_thread.collect(pipe);
            }
            for_thread.lock().ended = true;
            for_thread.changed.notify_all();
        });
        Collected { shared }
    }

    fn lock(&self) -> MutexGuard<'_, Lines> {
        self.shared.lock()
    }

    /// Waits for a line that `wanted` accepts, the end, or the time limit.
    fn wait(&self, limit: Duration, wanted: impl Fn(&str) -> bool) -> Seen {
        let end = Instant::now() + limit;
        let mut seen = 0;
        let mut state = self.lock();
        loop {
            if state.lines.iter().skip(seen).any(|line| wanted(line)) {
                return Seen::Line;
            }
            if state.ended {
                return Seen::End;
            }
            seen = state.lines.len();
            let Some(left) = end.checked_duration_since(Instant::now()) else { return Seen::Nothing };
            state = self.shared.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Lines> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn collect(&self, pipe: impl Read) {
        let mut pipe = BufReader::new(pipe);
        let mut line = Vec::new();
        while pipe.read_until(b'\n', &mut line).is_ok_and(|count| count > 0) {
            let text = String::from_utf8_lossy(&line);
            self.lock().lines.push(text.trim_end_matches(['\n', '\r']).to_owned());
            self.changed.notify_all();
            line.clear();
        }
    }
}

impl fmt::Display for StartFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StartFailure::Spawn(error) => write!(f, "failed to start the process: {error}"),
            StartFailure::Ended { stderr } => write!(f, "the process ended early; it said:\n{}", stderr.join("\n")),
            StartFailure::TimedOut { waited, stderr } => {
                write!(f, "the process was not ready within {waited:?}; it said:\n{}", stderr.join("\n"))
            }
        }
    }
}

impl std::error::Error for StartFailure {}

impl fmt::Display for WaitFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WaitFailure::TimedOut { waited, stderr } => {
                write!(f, "the process did not end within {waited:?}; it said:\n{}", stderr.join("\n"))
            }
            WaitFailure::System(error) => write!(f, "failed to wait for the process: {error}"),
        }
    }
}

impl std::error::Error for WaitFailure {}
