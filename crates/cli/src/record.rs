//! `strata record`.

use crate::args::RecordArguments;
use crate::failure::Failure;
use crate::say::{say, typed};
use crate::signals::{self, Meant, Program};
use crate::status::{self, Counts, StatusLine};
use crate::{load, output};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, ExitStatus};
use std::sync::Arc;
use strata_export::{Compression, Format};
use strata_record::{Child, Control, Outcome, Progress, RecordError, Settings, Target};
use strata_recording::Recording;

pub(crate) fn run(arguments: &RecordArguments) -> Result<ExitCode, Failure> {
    let target = target(arguments)?;
    let destination = Destination::choose(arguments.output.as_deref(), &target)?;
    let settings = Settings {
        output: destination.recording().to_owned(),
        frequency_hz: arguments.frequency,
        stack_bytes: arguments.stack_size,
        duration: arguments.duration,
        recorder: concat!("strata ", env!("CARGO_PKG_VERSION")).to_owned(),
    };
    let system = |call, source| Failure::from(RecordError::System { call, source });
    let control = Control::new().map_err(|source| system("eventfd", source))?;
    let program = Arc::new(Program::default());
    let meant = match &target {
        Target::Process(_) => {
            signals::watch_enter(&control).map_err(|source| system("reading the terminal", source))?;
            Meant::Recording
        }
        Target::Command(_) => Meant::Program(Arc::clone(&program)),
    };
    signals::watch(&control, meant).map_err(|source| system("watching for signals", source))?;

    let counts = match &target {
        Target::Process(_) => Counts::Shown,
        // The terminal is the program's.
        Target::Command(_) => Counts::Hidden,
    };
    let mut line = StatusLine::new(counts);
    let recorded = strata_record::record(&target, &settings, &control, &mut |progress| {
        if let Progress::Started { pid, .. } = progress {
            program.runs(pid);
        }
        line.take(&progress);
    });
    program.is_recorded();
    let outcome = match recorded {
        Ok(outcome) => outcome,
        Err(interrupted) => {
            let failure = Failure::from(interrupted.error);
            let Some(child) = interrupted.child else { return Err(failure) };
            // It may be long until the program ends: the reader is not kept waiting for the words.
            let code = failure.show();
            // It was to be recorded for a time, or started to run whether it is recorded or not.
            match arguments.duration {
                Some(_) => end(&child),
                None => say(&format!("process {} runs on without being recorded", child.pid())),
            }
            let _ = child.wait();
            return Ok(code);
        }
    };
    line.say(&status::describe(&outcome.status));
    let completed = destination.complete();
    let code = exit_code(outcome);
    match completed {
        Ok(()) => Ok(code.into()),
        Err(failure) => Err(failure.behind(code)),
    }
}

fn target(arguments: &RecordArguments) -> Result<Target, Failure> {
    match (&arguments.process_id, &arguments.name) {
        (Some(pid), _) => Ok(Target::Process(*pid)),
        (None, Some(name)) => by_name(name).map(Target::Process),
        (None, None) => Ok(Target::Command(arguments.program.clone())),
    }
}

/// The one process with this name.
fn by_name(name: &str) -> Result<u32, Failure> {
    let ourselves = std::process::id();
    let numbered = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids: Vec<u32> = numbered
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid| *pid != ourselves && names(*pid).iter().any(|own| own == name))
        .collect();
    match *pids.as_slice() {
        [pid] => Ok(pid),
        [] => Err(Failure::could_not_start(
            format_args!("no process is called {name}"),
            "strata ps lists the .NET processes; -p takes a process id",
        )),
        _ => {
            let lines: Vec<String> = pids.iter().map(|pid| format!("\n    -p {pid}  {}", command_line(*pid))).collect();
            Err(Failure::could_not_start(
                format_args!("{} processes are called {name}", pids.len()),
                format_args!("name one of them by its id:{}", lines.concat()),
            ))
        }
    }
}

/// What a process may be called: its name for the kernel, its program, and the assembly that dotnet runs.
fn names(pid: u32) -> Vec<String> {
    let comm = fs::read(format!("/proc/{pid}/comm")).unwrap_or_default();
    let mut names = vec![String::from_utf8_lossy(&comm).trim_end().to_owned()];
    let words = words(pid);
    let assembly = words.iter().skip(1).take(3).find(|word| {
        let ending = word.extension();
        ending.is_some_and(|ending| ending.eq_ignore_ascii_case("dll"))
    });
    let program = words.first();
    let runs_assembly = program.and_then(|program| program.file_name()).is_some_and(|name| name == "dotnet");
    for word in program.into_iter().chain(assembly.filter(|_| runs_assembly)) {
        let parts = [word.file_name(), word.file_stem()];
        names.extend(parts.into_iter().flatten().map(|name| name.to_string_lossy().into_owned()));
    }
    names
}

/// The words of a process's command line.
fn words(pid: u32) -> Vec<PathBuf> {
    let command_line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words = command_line.split(|byte| *byte == 0).filter(|word| !word.is_empty());
    words.map(|word| PathBuf::from(OsStr::from_bytes(word))).collect()
}

fn command_line(pid: u32) -> String {
    words(pid).iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// Where a recording goes, and what is made of it.
enum Destination {
    /// The recording itself is wanted.
    Recording(PathBuf),
    /// A file in another format is wanted; the recording is only on the way.
    File { file: PathBuf, format: (Format, Compression), recording: PathBuf },
}

impl Destination {
    fn choose(asked: Option<&Path>, target: &Target) -> Result<Self, Failure> {
        let Some(path) = asked else { return Ok(Self::Recording(free_name(target))) };
        if path == Path::new("-") {
            return Err(Failure::bad_arguments(
                "a recording cannot be written to standard output",
                "record to a folder, then: strata convert FOLDER -o -",
            ));
        }
        let is_folder = Recording::open(path).is_ok() || path.as_os_str().as_bytes().ends_with(b"/");
        if is_folder || path.extension().is_none_or(|extension| extension == "strata") {
            if Recording::open(path).is_ok() {
                say(&format!("the earlier recording in {} will be replaced", typed(path)));
            }
            return Ok(Self::Recording(path.to_owned()));
        }
        let format = output::format(path)?;
        if path.is_dir() {
            return Err(Failure::bad_arguments(
                format_args!("{} is a folder, and its ending asks for a file", path.display()),
                "-o takes another name",
            ));
        }
        let mut recording = path.as_os_str().to_owned();
        recording.push(".strata");
        Ok(Self::File { file: path.to_owned(), format, recording: recording.into() })
    }

    fn recording(&self) -> &Path {
        match self {
            Self::Recording(folder) | Self::File { recording: folder, .. } => folder,
        }
    }

    fn complete(&self) -> Result<(), Failure> {
        match self {
            Self::Recording(folder) => {
                let name = typed(folder);
                say(&format!("recorded {name}\n  strata report {name}\n  strata convert {name} -o profile.json.gz"));
            }
            Self::File { file, format, recording } => {
                let written =
                    load::recording_with_samples(recording).and_then(|profile| output::write(&profile, *format, file));
                match written {
                    // It has served; when it cannot be removed it only takes room.
                    Ok(()) => remove(recording),
                    Err(failure) if failure.is_nothing_to_show() => {
                        remove(recording);
                        return Err(Failure::nothing_to_show(
                            format_args!("{} was not written: there is no CPU sample to put into it", file.display()),
                            "the target used hardly any CPU while it was recorded",
                        ));
                    }
                    Err(failure) => {
                        say(&format!("the recording is kept in {}", typed(recording)));
                        return Err(failure);
                    }
                }
                say(&format!("wrote {} ({})", typed(file), output::how_to_look(format.0)));
            }
        }
        Ok(())
    }
}

/// Removes a recording and its folder, and nothing that is not part of it.
fn remove(recording: &Path) {
    if let Ok(recording) = Recording::open(recording) {
        recording.discard();
        // Only when nothing else is in it.
        let _ = fs::remove_dir(recording.folder());
    }
}

/// A name in this folder that is not taken, after the program.
fn free_name(target: &Target) -> PathBuf {
    let name = match target {
        Target::Process(pid) => format!("{}-{pid}", names(*pid).pop().unwrap_or_default()),
        Target::Command(command) => {
            let program = command.first().map(PathBuf::from).unwrap_or_default();
            program.file_name().map_or_else(|| "program".to_owned(), |name| name.to_string_lossy().into_owned())
        }
    };
    let name: String = name
        .chars()
        .map(|letter| if letter.is_alphanumeric() || "-_.".contains(letter) { letter } else { '_' })
        .collect();
    let numbered = (2_u32..).map(|number| format!("{name}-{number}.strata"));
    std::iter::once(format!("{name}.strata"))
        .chain(numbered)
        .map(PathBuf::from)
        .find(|path| !path.exists())
        .unwrap_or_else(|| PathBuf::from("recording.strata"))
}

/// A launched program's own exit code; one that still runs is ended, as the recording was all it was started for.
fn exit_code(outcome: Outcome) -> u8 {
    let status = match (outcome.exit, outcome.child) {
        (Some(status), _) => Some(status),
        (None, Some(child)) => {
            end(&child);
            child.wait()
        }
        (None, None) => None,
    };
    status.map_or(0, code)
}

fn end(child: &Child) {
    use rustix::process::{Pid, Signal, kill_process};
    if let Some(pid) = Pid::from_raw(child.pid().cast_signed()) {
        say(&format!("ending process {} (SIGTERM)", child.pid()));
        // It may have ended in this moment.
        let _ = kill_process(pid, Signal::TERM);
    }
}

/// As a shell gives it: the code, or 128 + the signal.
fn code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(1);
    u8::try_from(code & 0xff).unwrap_or(1)
}
