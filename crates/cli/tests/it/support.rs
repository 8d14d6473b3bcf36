//! What the tests have in common: running strata, and folders that go away.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};

/// A folder of one test's own, removed with everything in it at the end.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{number}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What is left over lies below the build's own folder.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The command under test.
pub(crate) fn strata<I: AsRef<OsStr>>(arguments: impl IntoIterator<Item = I>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_strata"));
    command.args(arguments);
    command
}

/// Runs it and holds its exit code against the expected one.
pub(crate) fn run<I: AsRef<OsStr>>(arguments: impl IntoIterator<Item = I>, code: i32) -> Output {
    let output = strata(arguments).output().unwrap();
    assert_eq!(
        output.status.code(),
        Some(code),
        "stdout: {}\nstderr: {}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    output
}

/// Attaches to a process for some seconds.
pub(crate) fn record(pid: u32, seconds: u32, output: &Path) {
    let (pid, duration) = (pid.to_string(), format!("{seconds}s"));
    run(
        [
            "record".as_ref(),
            "-p".as_ref(),
            OsStr::new(&pid),
            "-d".as_ref(),
            OsStr::new(&duration),
            "-o".as_ref(),
            output.as_ref(),
        ],
        0,
    );
}

/// A report of a recording as JSON.
pub(crate) fn report(recording: &Path, view: &str) -> serde_json::Value {
    let output = run(
        [
            "report".as_ref(),
            recording.as_os_str(),
            view.as_ref(),
            "--json".as_ref(),
            "--limit".as_ref(),
            "100000".as_ref(),
        ],
        0,
    );
    serde_json::from_slice(&output.stdout).unwrap()
}
