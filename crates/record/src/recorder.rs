//! What is recorded and how, and the first steps of it.

use crate::control::Control;
use crate::error::RecordError;
use crate::launch::{self, Child};
use crate::perf::event::{self, EventConfig, EventKind, KernelSide};
use crate::progress::{Outcome, Progress};
use crate::session::Session;
use crate::target::proc;
use rustix::process::{Resource, getrlimit, setrlimit};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;
use strata_recording::Recording;

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

/// One event for each thread and processor takes many descriptors: use all we may have.
fn raise_file_limit() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // Where it is refused, the message about too many files tells the limit.
    let _ = setrlimit(Resource::Nofile, limit);
}
