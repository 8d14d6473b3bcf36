//! One recording from its first to its last moment.

use crate::clock;
use crate::control::{Ask, Control};
use crate::dotnet::{News, Runtimes};
use crate::error::RecordError;
use crate::launch::{self, Child};
use crate::perf::cpus;
use crate::perf::event::{self, Begin, EventConfig, EventKind, KernelSide};
use crate::perf::sampler::{Added, Sampler};
use crate::progress::{Outcome, Progress, Status, StopReason};
use crate::samples::SampleWriter;
use crate::target::proc;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Resource, getrlimit, pidfd_open, setrlimit};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use strata_perfdata::{ClockData, CpuCounts, Features, WriteError};
use strata_recording::{Host, Manifest, Moment, Recording, RuntimeProcess, Sampling, Stop};

/// How often rings are read and counts told. Short enough that stacks which need the target's memory are still there.
const TICK: Duration = Duration::from_millis(50);

/// How long runtimes may take to end their streams before the recording is closed without them.
const STOP_TIMEOUT: Duration = Duration::from_secs(30);

/// How long streams may take to end by themselves once the target is gone.
const GONE_TIMEOUT: Duration = Duration::from_secs(2);

/// What to record.
#[derive(Clone, Debug)]
pub enum Target {
    /// A process that runs, with all it starts; the id of one of its threads names it too.
    Process(u32),
    /// A program to launch (program, then arguments), with all it starts.
    Command(Vec<OsString>),
}

/// How to record.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The recording's folder.
    pub output: PathBuf,
    /// Samples per second and busy processor.
    pub frequency_hz: u64,
    /// Bytes of user stack that are copied with each sample; a multiple of 8 below 64 KiB.
    pub stack_bytes: u32,
    /// Stop after this long.
    pub duration: Option<Duration>,
    /// Who records, such as `strata 0.1.0`.
    pub recorder: String,
}

/// Why there is no whole recording.
#[derive(Debug, thiserror::Error)]
#[error("{error}")]
pub struct Interrupted {
    /// What went wrong.
    #[source]
    pub error: RecordError,
    /// The launched program, when it runs on: whoever asked for it decides what becomes of it.
    pub child: Option<Child>,
}

/// Records until the target ends, the time is over or `control` says so.
///
/// # Errors
/// When nothing could be recorded (then no files are left behind), or writing failed; what was written before stays readable.
pub fn record(
    target: &Target,
    settings: &Settings,
    control: &Control,
    progress: &mut dyn FnMut(Progress),
) -> Result<Outcome, Interrupted> {
    let target = match target {
        // Tools show ids of threads too, and the kernel finds those under the same path.
        Target::Process(id) => Target::Process(proc::process_of(*id).unwrap_or(*id)),
        Target::Command(command) => Target::Command(command.clone()),
    };
    let started = start(&target, settings, control);
    let (session, config) = started.map_err(|error| Interrupted { error, child: None })?;
    session.run(&target, settings.duration, config.kernel, progress)
}

/// Begins to sample.
fn start(target: &Target, settings: &Settings, control: &Control) -> Result<(Session, EventConfig), RecordError> {
    // Before an earlier recording of the same name is replaced.
    match target {
        Target::Process(pid) if proc::has_ended(*pid) => return Err(RecordError::NoSuchProcess { pid: *pid }),
        Target::Process(_) => {}
        Target::Command(command) => {
            let program = command.first().cloned().unwrap_or_default();
            launch::check(&program).map_err(|source| RecordError::Launch { program, source })?;
        }
    }
    raise_file_limit();
    let config = event::choose(EventConfig {
        kind: EventKind::Cycles,
        frequency_hz: settings.frequency_hz,
        stack_bytes: settings.stack_bytes,
        wakeup_bytes: 256 << 10,
        kernel: KernelSide::Included,
        build_ids: true,
    })
    .map_err(|source| RecordError::sampling(source, 1, 1))?;
    let recording = Recording::create(&settings.output)?;
    let begun = Session::new(recording.clone(), settings, config, control.clone()).and_then(|mut session| {
        match target {
            Target::Process(pid) => session.attach(*pid)?,
            Target::Command(command) => session.launch(command)?,
        }
        Ok(session)
    });
    match begun {
        Ok(session) => Ok((session, config)),
        Err(error) => {
            recording.discard();
            Err(error)
        }
    }
}

struct Session {
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
    fn new(
        recording: Recording,
        settings: &Settings,
        config: EventConfig,
        control: Control,
    ) -> Result<Self, RecordError> {
        let manifest = Manifest {
            recorder: settings.recorder.clone(),
            host: host(),
            sampling: Sampling {
                event: config.kind.name().to_owned(),
                frequency_hz: config.frequency_hz,
                stack_bytes: config.stack_bytes,
                user_only: config.kernel == KernelSide::Excluded,
            },
            started: clock::now(),
            ..Manifest::default()
        };
        recording.write_manifest(&manifest)?;
        let file = recording.create_file("perf.data")?;
        let write_error = |source| RecordError::Write { path: recording.perf_data(), source };
        let mut samples = SampleWriter::new(file, &config).map_err(write_error)?;
        if let Some(range) = proc::kernel_code() {
            samples.kernel_code(range, manifest.started.monotonic_ns).map_err(write_error)?;
        }
        Ok(Self {
            runtimes: Runtimes::new(recording.clone(), control.clone()),
            recording,
            manifest,
            sampler: Sampler::new(config),
            samples,
            control,
            watched: Watched::Nothing,
            began: Instant::now(),
        })
    }

    fn write_error(&self, source: WriteError) -> RecordError {
        RecordError::Write { path: self.recording.perf_data(), source }
    }

    fn attach(&mut self, pid: u32) -> Result<(), RecordError> {
        self.manifest.target = match proc::command_line(pid) {
            Some(command_line) => format!("pid {pid}: {command_line}"),
            None => format!("pid {pid}"),
        };
        let end = Pid::from_raw(pid.cast_signed()).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
        self.watched = Watched::Process { pid, end };
        self.runtimes.attach(pid);
        let before = clock::monotonic_ns();
        self.sample_threads(pid)?;
        self.samples.existing_process(pid, before).map_err(|source| self.write_error(source))?;
        self.recording.write_manifest(&self.manifest)?;
        Ok(())
    }

    /// Samples all threads of a process. Threads that start meanwhile are inherited when their parent was sampled already,
    /// which the kernel tells by a fork record; the others are found by looking again.
    fn sample_threads(&mut self, pid: u32) -> Result<(), RecordError> {
        let mut tried = BTreeSet::new();
        let mut any = Added::Gone;
        loop {
            let threads = proc::threads(pid).unwrap_or_default();
            let new: Vec<u32> = threads
                .iter()
                .copied()
                .filter(|tid| !tried.contains(tid) && !self.sampler.has_inherited(*tid))
                .collect();
            if new.is_empty() {
                break;
            }
            for tid in new {
                let added = self.sampler.add_thread(tid, Begin::Enabled).map_err(|error| {
                    error.into_record_error(threads.len(), self.sampler.processors()).of_process(pid)
                })?;
                // One that has ended stays listed until someone takes note of it: it is not tried again.
                tried.insert(tid);
                if added == Added::Sampled {
                    any = added;
                }
            }
            self.sampler.look_for_inherited();
        }
        self.sampler.forget_inherited();
        if any == Added::Gone { Err(RecordError::NoSuchProcess { pid }) } else { Ok(()) }
    }

    fn launch(&mut self, command: &[OsString]) -> Result<(), RecordError> {
        let words: Vec<_> = command.iter().map(|word| word.to_string_lossy()).collect();
        self.manifest.target = words.join(" ");
        let program = command.first().cloned().unwrap_or_default();
        let environment = match self.runtimes.listen() {
            Ok((name, value)) => Some((name, joined_with_users(name, value))),
            Err(problem) => {
                self.note_problem(0, problem);
                None
            }
        };
        let failed = |source| RecordError::Launch { program: program.clone(), source };
        let held = launch::hold(command, environment, &self.control).map_err(failed)?;
        self.sampler
            .add_thread(held.pid(), Begin::OnExec)
            .map_err(|error| error.into_record_error(1, self.sampler.processors()))?;
        self.began = Instant::now();
        let child = held.let_go().map_err(failed)?;
        self.watched = Watched::Child(child);
        self.recording.write_manifest(&self.manifest)?;
        Ok(())
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

    fn run(
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

    fn into_child(mut self) -> Option<Child> {
        match self.watched {
            Watched::Child(child) => Some(child.with_port(self.runtimes.take_port())),
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
        self.sampler.drain(|_, bytes| {
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
        self.sampler.finish(|_, bytes| {
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
                News::Live { pid, .. } => progress(Progress::RuntimeAttached { pid }),
                News::Ended { .. } => {}
                News::NotDotnet { pid, executable } => progress(Progress::NotDotnet { pid, executable }),
                News::Problem { pid, problem } => {
                    self.note_problem(pid, problem.clone());
                    progress(Progress::RuntimeProblem { pid, problem });
                }
            }
        }
        Ok(self.recording.write_manifest(&self.manifest)?)
    }

    /// Lets the runtimes end their streams, for a bounded time.
    fn stop_runtimes(&mut self, reason: StopReason, progress: &mut dyn FnMut(Progress)) -> Result<(), RecordError> {
        self.runtimes.stop();
        let timeout = if reason == StopReason::TargetEnded { GONE_TIMEOUT } else { STOP_TIMEOUT };
        let give_up = Instant::now() + timeout;
        loop {
            self.take_news(progress)?;
            let waiting: Vec<u32> = self.runtimes.live().collect();
            if waiting.is_empty() {
                self.tell_unanswered(progress);
                return Ok(());
            }
            let aborted = self.control.asked() == Ask::Abort;
            if aborted || Instant::now() >= give_up {
                let why = if aborted { "stopped waiting on request" } else { "it did not end in time" };
                for pid in waiting {
                    let problem = format!("its event stream has no orderly end: {why}");
                    self.note_problem(pid, problem.clone());
                    progress(Progress::RuntimeProblem { pid, problem });
                }
                self.tell_unanswered(progress);
                return Ok(());
            }
            progress(Progress::Waiting { pids: waiting, status: self.status() });
            let mut woken = [PollFd::from_borrowed_fd(self.control.descriptor(), PollFlags::IN)];
            let tick = Timespec { tv_sec: 0, tv_nsec: TICK.subsec_nanos().into() };
            let _ = poll(&mut woken, Some(&tick));
            self.control.clear_wake();
        }
    }

    fn tell_unanswered(&mut self, progress: &mut dyn FnMut(Progress)) {
        for (pid, problem) in self.runtimes.unanswered() {
            self.note_problem(pid, problem.clone());
            progress(Progress::RuntimeProblem { pid, problem });
        }
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
        self.manifest.stopped = Some(Stop { at, reason: reason.label().to_owned() });
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
            Watched::Child(child) if exit.is_none() => Some(child.with_port(self.runtimes.take_port())),
            _ => None,
        };
        let written = self.samples.finish(&features).map_err(|source| RecordError::Write { path, source });
        if let Err(error) = written.and_then(|_| Ok(self.recording.write_manifest(&self.manifest)?)) {
            return Err(Interrupted { error, child });
        }
        let runtimes = self.manifest.runtimes.iter().filter(|runtime| !runtime.streams.is_empty()).count();
        Ok(Outcome { status, reason, exit, child, runtimes })
    }
}

/// A port the user asked for keeps working beside ours.
fn joined_with_users(name: &str, ours: OsString) -> OsString {
    match std::env::var_os(name).filter(|users| !users.is_empty()) {
        Some(mut users) => {
            users.push(";");
            users.push(ours);
            users
        }
        None => ours,
    }
}

fn host() -> Host {
    let system = rustix::system::uname();
    let boot_id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    Host {
        kernel_release: system.release().to_string_lossy().into_owned(),
        arch: system.machine().to_string_lossy().into_owned(),
        boot_id: boot_id.trim().to_owned(),
        processors: u32::try_from(cpus::online().len()).unwrap_or(1),
    }
}

/// One event for each thread and processor takes many descriptors: use all we may have.
fn raise_file_limit() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // Where it is refused, the message about too many files tells the limit.
    let _ = setrlimit(Resource::Nofile, limit);
}
