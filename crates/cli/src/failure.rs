//! Words and exit codes for everything that can go wrong: the one place that chooses both.

use crate::say::say;
use std::fmt::Display;
use std::fs::File;
use std::io;
use std::process::ExitCode;
use strata_record::RecordError;
use strata_resolve::ResolveError;

/// Exit code for arguments that make no sense.
pub(crate) const BAD_ARGUMENTS: u8 = 3;

const COULD_NOT_START: u8 = 1;
const RECORDING_FAILED: u8 = 2;
const NOT_POSSIBLE_HERE: u8 = 4;
const INPUT_UNREADABLE: u8 = 5;
const NOTHING_TO_SHOW: u8 = 6;

/// Descriptors that a recording needs beside one for each thread and processor, generously.
const OTHER_FILES: usize = 256;

/// Why a command ends without success.
#[derive(Debug)]
pub(crate) struct Failure {
    code: u8,
    message: String,
    /// What helps.
    hint: Option<String>,
}

impl Failure {
    fn new(code: u8, message: impl Display) -> Self {
        Self { code, message: message.to_string(), hint: None }
    }

    fn with_hint(mut self, hint: impl Display) -> Self {
        self.hint = Some(hint.to_string());
        self
    }

    /// Arguments that make no sense together with what is there.
    pub(crate) fn bad_arguments(message: impl Display, hint: impl Display) -> Self {
        Self::new(BAD_ARGUMENTS, message).with_hint(hint)
    }

    /// What was asked for could not begin.
    pub(crate) fn could_not_start(message: impl Display, hint: impl Display) -> Self {
        Self::new(COULD_NOT_START, message).with_hint(hint)
    }

    /// This machine, or its user's rights, do not allow it.
    pub(crate) fn not_possible_here(message: impl Display, hint: impl Display) -> Self {
        Self::new(NOT_POSSIBLE_HERE, message).with_hint(hint)
    }

    /// There is nothing in what was asked for.
    pub(crate) fn nothing_to_show(message: impl Display, hint: impl Display) -> Self {
        Self::new(NOTHING_TO_SHOW, message).with_hint(hint)
    }

    /// A file is not what it should be, or cannot be read.
    pub(crate) fn unreadable(message: impl Display, hint: impl Display) -> Self {
        Self::new(INPUT_UNREADABLE, message).with_hint(hint)
    }

    /// A file could not be written.
    pub(crate) fn cannot_write(path: &std::path::Path, error: &io::Error) -> Self {
        Self::new(RECORDING_FAILED, format_args!("cannot write {}: {error}", path.display()))
    }

    /// The same failure, when the program that was launched gave a code of its own: that one passes through.
    pub(crate) fn behind(mut self, program: u8) -> Self {
        if program != 0 {
            self.code = program;
        }
        self
    }

    /// Whether there simply was nothing to show.
    pub(crate) const fn is_nothing_to_show(&self) -> bool {
        self.code == NOTHING_TO_SHOW
    }

    /// Says it on standard error, where the rest goes on without what failed.
    pub(crate) fn warn(&self) {
        self.show();
    }

    /// Says it on standard error and gives the exit code.
    pub(crate) fn show(&self) -> ExitCode {
        say(&format!("strata: {}", strata_digest::visible(&self.message)));
        if let Some(hint) = &self.hint {
            say(&format!("  {}", strata_digest::visible(hint)));
        }
        self.code.into()
    }
}

impl From<RecordError> for Failure {
    fn from(error: RecordError) -> Self {
        match &error {
            RecordError::NoSuchProcess { .. } => {
                Self::new(COULD_NOT_START, &error).with_hint("strata ps lists the .NET processes")
            }
            RecordError::Launch { .. } => Self::new(COULD_NOT_START, &error),
            RecordError::NotPermitted { .. } => Self::new(NOT_POSSIBLE_HERE, &error)
                .with_hint("run strata as root or with CAP_PERFMON, or allow it: sysctl kernel.perf_event_paranoid=1"),
            RecordError::OtherUser { .. } => {
                Self::new(NOT_POSSIBLE_HERE, &error).with_hint("run strata as that user, as root or with CAP_PERFMON")
            }
            RecordError::NotPossible { .. } => Self::new(NOT_POSSIBLE_HERE, &error)
                .with_hint("the kernel offers neither cycles nor cpu-clock here: a sandbox may forbid perf_event_open"),
            RecordError::TooManyFiles { threads, processors, .. } => {
                Self::new(NOT_POSSIBLE_HERE, &error).with_hint(format_args!(
                    "raise the limit, as root: ulimit -n {}",
                    threads.saturating_mul(*processors).saturating_add(OTHER_FILES)
                ))
            }
            RecordError::LockedMemory { .. } => Self::new(NOT_POSSIBLE_HERE, &error)
                .with_hint("raise it: sysctl kernel.perf_event_mlock_kb=8192, or run as root"),
            RecordError::Output(cause) => {
                Self::new(COULD_NOT_START, format_args!("cannot record to {error}")).with_hint(where_to(cause))
            }
            RecordError::Write { .. } | RecordError::Manifest(_) => Self::new(RECORDING_FAILED, &error)
                .with_hint("what was recorded before is readable: strata report shows it"),
            RecordError::System { .. } => Self::new(RECORDING_FAILED, &error),
        }
    }
}

impl From<ResolveError> for Failure {
    fn from(error: ResolveError) -> Self {
        Self::new(INPUT_UNREADABLE, error)
    }
}

impl From<strata_recording::Error> for Failure {
    fn from(error: strata_recording::Error) -> Self {
        Self::new(INPUT_UNREADABLE, error)
    }
}

fn where_to(cause: &strata_recording::Error) -> &'static str {
    match cause {
        strata_recording::Error::Io { source, .. } if source.kind() == io::ErrorKind::NotFound => {
            "the folder it should lie in does not exist; -o says where the recording goes"
        }
        _ => "-o says where the recording goes",
    }
}

/// Writes data for a reader that may have seen enough: a closed pipe is no failure. An output that was closed from the start,
/// or is open for reading only, is one: what was asked for goes nowhere.
pub(crate) fn to_stdout(write: impl FnOnce(&mut dyn io::Write) -> io::Result<()>) -> Result<ExitCode, Failure> {
    if strata_record::standard_output_was_closed() {
        return Err(Failure::new(RECORDING_FAILED, "cannot write standard output: it is closed"));
    }
    // Rust's own standard output takes what a descriptor refuses for written.
    let written = rustix::stdio::stdout().try_clone_to_owned().map(File::from).and_then(|file| {
        let mut out = io::BufWriter::new(file);
        write(&mut out)?;
        io::Write::flush(&mut out)
    });
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::cannot_write("standard output".as_ref(), &error))
        }
        _ => Ok(ExitCode::SUCCESS),
    }
}
