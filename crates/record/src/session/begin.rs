//! How a session begins: by attaching or by launching.

use super::{Session, Watched};
use crate::clock;
use crate::control::Control;
use crate::dotnet::Runtimes;
use crate::error::RecordError;
use crate::launch;
use crate::perf::cpus;
use crate::perf::event::{Begin, EventConfig, KernelSide};
use crate::perf::sampler::{Added, Sampler};
use crate::recorder::Settings;
use crate::samples::SampleWriter;
use crate::target::proc;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::time::Instant;
use strata_recording::{Host, Manifest, Recording, Sampling};

impl Session {
    pub(crate) fn new(
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

    pub(crate) fn attach(&mut self, pid: u32) -> Result<(), RecordError> {
        self.manifest.target = match proc::command_line(pid) {
            Some(command_line) => format!("pid {pid}: {command_line}"),
            None => format!("pid {pid}"),
        };
        let end = Pid::from_raw(pid.cast_signed()).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
        self.watched = Watched::Process { pid, end };
        self.runtimes.attach(pid);
        let before = clock::monotonic_ns();
        self.sample_threads(pid)?;
        // A runtime that it loaded before its first thread was sampled is in no ring.
        self.runtimes.attach(pid);
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

    pub(crate) fn launch(&mut self, command: &[OsString]) -> Result<(), RecordError> {
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
        let ready = self
            .sampler
            .add_thread(held.pid(), Begin::OnExec)
            .map_err(|error| error.into_record_error(1, self.sampler.processors()))
            .and_then(|_| Ok(self.recording.write_manifest(&self.manifest)?));
        if let Err(error) = ready {
            held.give_up();
            return Err(error);
        }
        self.began = Instant::now();
        // From here on nothing may fail: the program runs, and whoever launched it must hear of it.
        self.watched = Watched::Child(held.let_go().map_err(failed)?);
        Ok(())
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
