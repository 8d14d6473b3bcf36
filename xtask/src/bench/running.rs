//! A profiler at work: started, asked to stop, and what it used until then.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::bench::usage::{self, ThreadTimes};
use crate::run;

/// How long a profiler may take to get going, and to end when asked.
const PATIENCE: Duration = Duration::from_secs(60);

/// A profiler that uses less than a fifth of a processor for so long is done with starting.
const CALM_FOR: Duration = Duration::from_millis(300);

const POLL: Duration = Duration::from_millis(5);

/// A profiler, ended by its process id whatever happens.
pub(crate) struct Running {
    child: Child,
    shown: String,
    said: Arc<Mutex<String>>,
    listener: Option<JoinHandle<()>>,
}

/// What is known of a profiler when it has ended.
pub(crate) struct Ended {
    /// User and system time of its whole life.
    pub(crate) cpu: Duration,
    /// Most resident bytes.
    pub(crate) peak_memory: u64,
    /// From being asked to stop until it had ended.
    pub(crate) stopping: Duration,
    /// What it said on standard error.
    pub(crate) said: String,
}

impl Running {
    pub(crate) fn start(command: &mut Command) -> Result<Running> {
        let shown = run::show(command);
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("failed to start `{shown}`"))?;
        let said = Arc::new(Mutex::new(String::new()));
        let listener = child.stderr.take().map(|stderr| listen(stderr, Arc::clone(&said)));
        Ok(Running { child, shown, said, listener })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits until it has said `words`.
    pub(crate) fn wait_for(&mut self, words: &str) -> Result<()> {
        let started = Instant::now();
        while !self.said().contains(words) {
            self.must_run()?;
            if started.elapsed() > PATIENCE {
                bail!("`{}` did not say `{words}`; it said:\n{}", self.shown, self.said());
            }
            std::thread::sleep(POLL);
        }
        Ok(())
    }

    /// Waits until it uses little CPU time: until it has started and only records. One that never does is taken as it is.
    pub(crate) fn wait_until_calm(&mut self) -> Result<()> {
        let started = Instant::now();
        loop {
            let before = ThreadTimes::of(self.pid())?;
            std::thread::sleep(CALM_FOR);
            self.must_run()?;
            if ThreadTimes::of(self.pid())?.since(&before) < CALM_FOR / 5 {
                return Ok(());
            }
            if started.elapsed() > PATIENCE {
                // perf spins now and then after a thread of the target has ended: that is part of what it costs.
                eprintln!("bench: `{}` does not calm down; it is measured as it is", self.shown);
                return Ok(());
            }
        }
    }

    pub(crate) fn must_run(&mut self) -> Result<()> {
        match self.child.try_wait()? {
            None => Ok(()),
            Some(status) => bail!("`{}` ended with {status}; it said:\n{}", self.shown, self.said()),
        }
    }

    /// Asks it to stop as Ctrl+C does, and waits until it has.
    pub(crate) fn stop(mut self) -> Result<Ended> {
        let pid = self.pid();
        let mut peak_memory = usage::peak_memory(pid).unwrap_or_default();
        run::quietly(Command::new("kill").args(["-INT", &pid.to_string()]))?;
        let asked = Instant::now();
        // It is not waited for until it has ended: what it used is gone with that.
        let cpu = loop {
            let (state, cpu) = usage::state_and_cpu(pid)?;
            if state == 'Z' {
                break cpu;
            }
            peak_memory = peak_memory.max(usage::peak_memory(pid).unwrap_or_default());
            if asked.elapsed() > PATIENCE {
                bail!("`{}` did not end on SIGINT; it said:\n{}", self.shown, self.said());
            }
            std::thread::sleep(POLL);
        };
        let stopping = asked.elapsed();
        // perf ends itself with the signal that it was stopped by.
        self.child.wait()?;
        if let Some(listener) = self.listener.take() {
            let _ = listener.join();
        }
        Ok(Ended { cpu, peak_memory, stopping, said: self.said() })
    }

    fn said(&self) -> String {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn listen(stderr: ChildStderr, said: Arc<Mutex<String>>) -> JoinHandle<()> {
    std::thread::spawn(move || {
        for line in BufReader::new(stderr).lines().map_while(Result::ok) {
            let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
            said.push_str(&line);
            said.push('\n');
        }
    })
}

impl Ended {
    /// How many samples it counted itself: perf says `(7 samples)`, strata `7 samples,`.
    pub(crate) fn samples(&self) -> Option<u64> {
        let (before, _) = self.said.rsplit_once(" samples")?;
        before.rsplit([' ', '(', '~', '\n']).next()?.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_to_say_how_many_samples() {
        let check = |said: &str, expected| {
            let ended = Ended { cpu: Duration::ZERO, peak_memory: 0, stopping: Duration::ZERO, said: said.to_owned() };
            assert_eq!(ended.samples(), expected, "{said}");
        };
        check("[ perf record: Captured and wrote 0.5 MB x.data (1998 samples) ]\n", Some(1998));
        check("stopping: asked\n2.0 s, 1995 samples, 3 runtime events, 1.0 MiB, 0 lost\nrecorded x\n", Some(1995));
        check("1.0 s, 10 samples, 0 lost\n2.0 s, 20 samples, 0 lost\n", Some(20));
        check("[ perf record: Captured and wrote 0.5 MB x.data ]\n", None);
    }

    #[test]
    fn a_process_is_stopped_and_its_use_known() {
        // Whoever starts the tests in the background may have had SIGINT ignored, which is inherited.
        let mut busy = Command::new("env");
        busy.args(["--default-signal=INT", "bash", "-c", "echo 5 samples >&2; while :; do :; done"]);
        let mut running = Running::start(&mut busy).unwrap();
        running.wait_for("samples").unwrap();
        std::thread::sleep(Duration::from_millis(100));
        let ended = running.stop().unwrap();
        assert_eq!(ended.samples(), Some(5));
        assert!(ended.peak_memory > 0);
        assert!(ended.cpu > Duration::ZERO, "{:?}", ended.cpu);
    }
}
