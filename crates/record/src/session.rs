//! A recording at work, from its first to its last moment.

mod begin;

use crate::clock;
use crate::control::{Ask, Control};
use crate::dotnet::{News, Runtimes};
use crate::error::RecordError;
use crate::launch::Child;
use crate::perf::event::KernelSide;
use crate::perf::sampler::Sampler;
use crate::progress::{Outcome, Progress, Status, StopReason};
use crate::recorder::{Interrupted, Target};
use crate::samples::SampleWriter;
use crate::target::proc;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::os::fd::OwnedFd;
use std::process::ExitStatus;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use strata_perfdata::{ClockData, CpuCounts, Features, WriteError};
use strata_recording::{Manifest, Moment, Recording, RuntimeProcess, Stop};

/// How often rings are read and counts told. Short enough that stacks which need the target's memory are still there.
const TICK: Duration = Duration::from_millis(50);

/// How long runtimes may take to end their streams before the recording is closed without them.
const STOP_TIMEOUT: Duration = Duration::from_secs(30);

/// How long streams may take to end by themselves once the target is gone.
const GONE_TIMEOUT: Duration = Duration::from_secs(2);

/// How long a runtime that was asked for its events just before the end may take to answer.
const ASKING_TIMEOUT: Duration = Duration::from_secs(1);

pub(crate) struct Session {
    recording: Recording,
    manifest: Manifest,
    sampler: Sampler,
    samples: SampleWriter,
    runtimes: Runtimes,
    control: Control,
    watched: Watched,
    began: Instant,
}

/// How sampling ended.
struct Ending {
    reason: StopReason,
    at: Moment,
    /// How a launched program ended, if it did.
    exit: Option<ExitStatus>,
}

/// The process whose end ends the recording.
enum Watched {
    Nothing,
    Process { pid: u32, end: Option<OwnedFd> },
    Child(Child),
}

impl Session {
    fn write_error(&self, source: WriteError) -> RecordError {
        RecordError::Write { path: self.recording.perf_data(), source }
    }

    fn note_problem(&mut self, pid: u32, problem: String) {
        self.runtime_entry(pid).problems.push(problem);
    }

    fn runtime_entry(&mut self, pid: u32) -> &mut RuntimeProcess {
        let runtimes = &mut self.manifest.runtimes;
        let index = runtimes.iter().position(|runtime| runtime.pid == pid).unwrap_or_else(|| {
            let monotonic_offset_ns = proc::monotonic_offset_ns(pid);
            runtimes.push(RuntimeProcess { pid, monotonic_offset_ns, ..RuntimeProcess::default() });
            runtimes.len() - 1
        });
        &mut runtimes[index]
    }

    pub(crate) fn run(
        mut self,
        target: &Target,
        duration: Option<Duration>,
        kernel: KernelSide,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Outcome, Interrupted> {
        self.tell_start(target, kernel, progress);
        let ended = self.until_stopped(duration, progress).and_then(|(reason, exit)| {
            progress(Progress::Stopping { reason });
            self.sampler_end()?;
            // The recording ends with its last samples, not when the runtimes have told what they have.
            let at = clock::now();
            self.stop_runtimes(reason, progress)?;
            Ok(Ending { reason, at, exit })
        });
        match ended {
            Ok(ending) => self.finish(ending),
            Err(error) => Err(Interrupted { error, child: self.into_child() }),
        }
    }

    fn tell_start(&self, target: &Target, kernel: KernelSide, progress: &mut dyn FnMut(Progress)) {
        let (pid, threads) = match &self.watched {
            Watched::Nothing => (0, 0),
            Watched::Process { pid, .. } => (*pid, proc::threads(*pid).map_or(0, |threads| threads.len())),
            Watched::Child(child) => (child.pid(), 1),
        };
        progress(Progress::Started { pid, event: self.sampler.config().kind, threads, kernel });
        if matches!(target, Target::Process(_)) && proc::is_stopped(pid) {
            progress(Progress::TargetStopped { pid });
        }
    }

    fn into_child(self) -> Option<Child> {
        match self.watched {
            Watched::Child(child) => Some(child),
            Watched::Nothing | Watched::Process { .. } => None,
        }
    }

    /// Records until there is a reason to stop; for a launched program that ended, how it did.
    fn until_stopped(
        &mut self,
        duration: Option<Duration>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(StopReason, Option<ExitStatus>), RecordError> {
        loop {
            self.wait();
            self.take_records()?;
            self.take_news(progress)?;
            progress(Progress::Running(self.status()));
            if let Some(status) = self.target_ended() {
                return Ok((StopReason::TargetEnded, status));
            }
            if self.control.asked() != Ask::GoOn {
                return Ok((StopReason::Asked, None));
            }
            if duration.is_some_and(|duration| self.began.elapsed() >= duration) {
                return Ok((StopReason::Duration, None));
            }
        }
    }

    /// Waits until a ring fills, the target ends, someone asks, or the tick is over.
    fn wait(&self) {
        let mut polled: Vec<PollFd<'_>> = vec![PollFd::from_borrowed_fd(self.control.descriptor(), PollFlags::IN)];
        polled.extend(self.sampler.descriptors().map(|ring| PollFd::from_borrowed_fd(ring, PollFlags::IN)));
        if let Watched::Process { end: Some(end), .. } = &self.watched {
            polled.push(PollFd::new(end, PollFlags::IN));
        }
        let tick = Timespec { tv_sec: 0, tv_nsec: TICK.subsec_nanos().into() };
        // An interruption only shortens the wait. When the sampled threads are gone their rings hang up and do not block
        // any more: then the tick is slept.
        match poll(&mut polled, Some(&tick)) {
            Ok(ready) if ready > 0 && polled.iter().any(|fd| fd.revents().contains(PollFlags::HUP)) => {
                std::thread::sleep(TICK);
            }
            _ => {}
        }
        self.control.clear_wake();
    }

    /// Whether the watched process has ended, and for a launched one how.
    fn target_ended(&self) -> Option<Option<ExitStatus>> {
        match &self.watched {
            Watched::Nothing => None,
            Watched::Process { pid, .. } => proc::has_ended(*pid).then_some(None),
            Watched::Child(child) => child.ended().map(Some),
        }
    }

    fn take_records(&mut self) -> Result<(), RecordError> {
        let mut runtimes = Vec::new();
        let mut written = Ok(());
        let samples = &mut self.samples;
        self.sampler.drain(|bytes| {
            if written.is_ok() {
                written = samples.take(bytes, |pid| runtimes.push(pid));
            }
        });
        written.and_then(|()| self.samples.end_batch()).map_err(|source| self.write_error(source))?;
        for pid in runtimes {
            self.runtimes.attach(pid);
        }
        Ok(())
    }

    fn sampler_end(&mut self) -> Result<(), RecordError> {
        let mut written = Ok(());
        let samples = &mut self.samples;
        self.sampler.finish(|bytes| {
            if written.is_ok() {
                written = samples.take(bytes, |_| {});
            }
        });
        written.and_then(|()| self.samples.end_batch()).map_err(|source| self.write_error(source))
    }

    fn take_news(&mut self, progress: &mut dyn FnMut(Progress)) -> Result<(), RecordError> {
        let news = self.runtimes.news();
        if news.is_empty() {
            return Ok(());
        }
        for item in news {
            match item {
                News::Version { pid, version } => {
                    self.runtime_entry(pid).version = Some(version.clone());
                    progress(Progress::RuntimeVersion { pid, version });
                }
                News::Stream { pid, stream } => self.runtime_entry(pid).streams.push(stream),
                News::Live { pid } => progress(Progress::RuntimeAttached { pid }),
                News::NotDotnet { pid, executable } => progress(Progress::NotDotnet { pid, executable }),
                News::Problem { pid, problem } => {
                    self.note_problem(pid, problem.clone());
                    progress(Progress::RuntimeProblem { pid, problem });
                }
            }
        }
        self.recording.write_manifest(&self.manifest).map_err(RecordError::Manifest)
    }

    /// Lets the runtimes end their streams, for a bounded time.
    fn stop_runtimes(&mut self, reason: StopReason, progress: &mut dyn FnMut(Progress)) -> Result<(), RecordError> {
        self.runtimes.stop();
        let began = Instant::now();
        let timeout = if reason == StopReason::TargetEnded { GONE_TIMEOUT } else { STOP_TIMEOUT };
        let why = loop {
            // Before the news: what was told until all had ended is among them.
            let waiting = self.runtimes.reading();
            let asks = self.runtimes.asks() && began.elapsed() < ASKING_TIMEOUT;
            self.take_news(progress)?;
            if waiting.is_empty() && !asks {
                break "the recording ended";
            }
            if self.control.asked() == Ask::Abort {
                break "stopped waiting on request";
            }
            if began.elapsed() >= timeout {
                break "it did not end in time";
            }
            if !waiting.is_empty() {
                progress(Progress::Waiting { pids: waiting, status: self.status() });
            }
            let mut woken = [PollFd::from_borrowed_fd(self.control.descriptor(), PollFlags::IN)];
            let tick = Timespec { tv_sec: 0, tv_nsec: TICK.subsec_nanos().into() };
            let _ = poll(&mut woken, Some(&tick));
            self.control.clear_wake();
        };
        let missing = self.runtimes.close(why);
        self.take_news(progress)?;
        for (pid, problem) in missing {
            self.note_problem(pid, problem.clone());
            progress(Progress::RuntimeProblem { pid, problem });
        }
        Ok(())
    }

    fn status(&self) -> Status {
        let totals = self.runtimes.totals();
        let mut samples = self.samples.counts();
        samples.unreadable += self.sampler.unreadable();
        Status {
            elapsed: self.began.elapsed(),
            samples,
            events: totals.events.load(Ordering::Relaxed),
            events_dropped: totals.dropped.load(Ordering::Relaxed),
            bytes: self.samples.bytes() + totals.bytes.load(Ordering::Relaxed),
        }
    }

    fn finish(mut self, ending: Ending) -> Result<Outcome, Interrupted> {
        let Ending { reason, at, exit } = ending;
        let status = self.status();
        self.manifest.stopped = Some(Stop {
            at,
            reason: reason.label().to_owned(),
            lost_records: status.samples.lost,
            throttled: status.samples.throttled,
            unreadable_records: status.samples.unreadable,
        });
        let features = Features {
            os_release: Some(self.manifest.host.kernel_release.clone()),
            arch: Some(self.manifest.host.arch.clone()),
            version: Some(self.manifest.recorder.clone()),
            cpus: Some(CpuCounts { available: self.manifest.host.processors, online: self.manifest.host.processors }),
            clock: Some(ClockData {
                clock: strata_perfdata::CLOCK_MONOTONIC,
                wall_clock: self.manifest.started.unix_ns,
                clock_time: self.manifest.started.monotonic_ns,
            }),
            ..Features::default()
        };
        let path = self.recording.perf_data();
        let child = match self.watched {
            Watched::Child(child) if exit.is_none() => Some(child),
            _ => None,
        };
        let written = self.samples.finish(&features).map_err(|source| RecordError::Write { path, source });
        if let Err(error) =
            written.and_then(|_| self.recording.write_manifest(&self.manifest).map_err(RecordError::Manifest))
        {
            return Err(Interrupted { error, child });
        }
        let runtimes = self.manifest.runtimes.iter().filter(|runtime| !runtime.streams.is_empty()).count();
        Ok(Outcome { status, reason, exit, child, runtimes })
    }
}
