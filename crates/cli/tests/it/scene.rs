//! Programs to record, and strata at work on them.

use crate::support::{Scratch, strata};
use serde_json::Value;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use strata_testkit::live::{Finished, Running, Runtime, Until};

/// How long a test waits for what must come; on a machine with much else to do, everything takes its time.
pub(crate) const PATIENCE: Duration = Duration::from_secs(180);

/// What a launched program was recorded by.
pub(crate) fn record_launch(output: &Path, options: &[&str], program: &Command) -> Command {
    let mut command = strata(["record".as_ref(), "-o".as_ref(), output.as_os_str()]);
    command.args(options).arg("--").arg(program.get_program()).args(program.get_args());
    for (name, value) in program.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command
}

/// What a process is recorded by.
pub(crate) fn record_attached(pid: u32, output: &Path, options: &[&str]) -> Command {
    let pid = pid.to_string();
    let mut command = strata(["record", "-p", &pid]);
    command.arg("-o").arg(output).args(options);
    command
}

/// Starts strata, or whatever runs it, without waiting for anything.
pub(crate) fn start(command: Command) -> Running {
    Running::start(command, Until::Started, PATIENCE).unwrap()
}

/// Runs strata, or whatever runs it, to its end.
pub(crate) fn finish(command: Command) -> Finished {
    let mut running = start(command);
    running.close_stdin();
    running.wait(PATIENCE).unwrap()
}

/// Starts a target and waits until it is ready.
pub(crate) fn target(command: Command) -> Running {
    Running::start(command, Until::Ready, PATIENCE).unwrap()
}

/// A workload of the test targets on a runtime.
pub(crate) fn workload(runtime: Runtime, name: &str, arguments: &[&str]) -> Command {
    runtime.command(name, arguments).unwrap_or_else(|missing| panic!("{missing}"))
}

/// The program `target.c`, compiled.
pub(crate) fn native(scratch: &Scratch) -> PathBuf {
    native_at(&scratch.path("target"))
}

/// The program `target.c`, compiled to this path.
pub(crate) fn native_at(program: &Path) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/target.c");
    let mut compiler = Command::new("cc");
    compiler.args(["-g", "-O1", "-fno-omit-frame-pointer", "-pthread", "-o"]).arg(program).arg(source);
    let output = compiler.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    program.to_owned()
}

/// A command of that program.
pub(crate) fn command(program: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments);
    command
}

/// Waits until a condition holds.
pub(crate) fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let give_up = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < give_up, "in vain: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Waits until strata says words.
pub(crate) fn wait_for_words(strata: &Running, words: &str) {
    wait_until(words, || strata.stderr_lines().iter().any(|line| line.contains(words)));
}

/// All that was said on standard error.
pub(crate) fn said(finished: &Finished) -> String {
    finished.stderr.join("\n")
}

/// Holds an exit code against the expected one.
#[track_caller]
pub(crate) fn expect_code(finished: &Finished, code: i32) {
    assert_eq!(finished.status.code(), Some(code), "it said:\n{}", said(finished));
}

/// Holds an exit code and what was said against the expected ones.
#[track_caller]
pub(crate) fn expect_words(finished: &Finished, code: i32, words: &[&str]) {
    expect_code(finished, code);
    let said = said(finished);
    for word in words {
        assert!(said.contains(word), "not said: {word}\nbut:\n{said}");
    }
}

/// The manifest of a recording.
pub(crate) fn manifest(recording: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(recording.join("manifest.json")).unwrap()).unwrap()
}

/// Why a recording ended, in its own words.
pub(crate) fn stop_reason(recording: &Path) -> String {
    manifest(recording)["stopped"]["reason"].as_str().unwrap_or("not stopped").to_owned()
}

/// What a recording says is missing, all in one text.
pub(crate) fn gaps(recording: &Path) -> String {
    crate::support::report(recording, "loss")["loss"]["gaps"].to_string()
}

/// How many frames of managed code a recording has, and the share of them with a name.
pub(crate) fn named_managed(recording: &Path) -> (u64, f64) {
    let loss = crate::support::report(recording, "loss");
    let named = &loss["loss"]["named_managed_frames"];
    let (part, whole) = (named["part"].as_u64().unwrap(), named["whole"].as_u64().unwrap());
    (whole, part as f64 / whole.max(1) as f64)
}

/// Whether a recording has samples of a function with this name.
pub(crate) fn has_function(recording: &Path, name: &str) -> bool {
    crate::support::report(recording, "top").to_string().contains(name)
}

/// Whether a process is there and has not ended.
pub(crate) fn is_alive(pid: u32) -> bool {
    !matches!(state(pid), None | Some(b'Z' | b'X'))
}

/// The letter that the kernel gives a process's state.
pub(crate) fn state(pid: u32) -> Option<u8> {
    let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    let name_end = stat.iter().rposition(|byte| *byte == b')')?;
    stat.get(name_end + 2).copied()
}

/// Names of everything in a folder, sorted.
pub(crate) fn entries(folder: &Path) -> Vec<OsString> {
    let mut names: Vec<OsString> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    names
}

/// A shell that does something first and then becomes the command.
pub(crate) fn after(preparation: &str, command: &Command) -> Command {
    wrapped(&["sh", "-c", &format!("{preparation} && exec \"$@\""), "sh"], command)
}

/// A command given to another program to run.
pub(crate) fn wrapped(by: &[&str], command: &Command) -> Command {
    let mut outer = Command::new(by[0]);
    outer.args(&by[1..]).arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => outer.env(name, value),
            None => outer.env_remove(name),
        };
    }
    outer
}

/// Tests of mounts, namespaces and users need root; without it they say so instead of passing.
pub(crate) fn need_root() {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let ids = status.lines().find_map(|line| line.strip_prefix("Uid:")).unwrap();
    assert_eq!(ids.split_whitespace().nth(1), Some("0"), "this test needs root: it mounts, or becomes another user");
}

/// A value of `/proc/sys/kernel/perf_event_paranoid`.
pub(crate) fn paranoid() -> i32 {
    std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap().trim().parse().unwrap()
}

/// Converts a path for arguments that are text.
pub(crate) fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Runs `strata report` or `convert` on what is there.
pub(crate) fn shown(arguments: &[&OsStr]) -> Finished {
    finish(strata(arguments))
}

/// A folder with a short path that every user can use.
pub(crate) struct ShortFolder(pub(crate) PathBuf);

impl ShortFolder {
    pub(crate) fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("strata-it-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::set_permissions(&folder, std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
        Self(folder)
    }
}

impl Drop for ShortFolder {
    fn drop(&mut self) {
        // It lies in the system's temporary folder.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// strata run by a user without rights, in a folder that is open to all.
pub(crate) fn as_nobody<I: AsRef<OsStr>>(folder: &ShortFolder, arguments: impl IntoIterator<Item = I>) -> Command {
    // The build's own folder may be closed to others.
    let strata = folder.0.join("strata");
    std::fs::copy(env!("CARGO_BIN_EXE_strata"), &strata).unwrap();
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(strata).args(arguments);
    command.current_dir(&folder.0);
    command
}
