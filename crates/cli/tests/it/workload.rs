//! Workloads that run while they are recorded.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use strata_profile::Profile;
use strata_recording::{Manifest, Recording};
use strata_resolve::files::HostFiles;
use strata_testkit::live::{Running, Runtime, Until};

/// Machines that run tests can be very busy; nothing here is expected to take even a tenth of it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// A folder with a short path: sockets are made in it, and their paths have at most 107 bytes.
pub(crate) struct ShortFolder(PathBuf);

impl ShortFolder {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("strata-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for ShortFolder {
    fn drop(&mut self) {
        // What is left over lies in the system's folder for that.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Whether the runtime itself writes down where its code is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum PerfMap {
    Off,
    /// Into the folder that the target has as its `TMPDIR`.
    On,
}

/// Starts a workload that runs until its guard is dropped, and waits for its `ready`.
pub(crate) fn start(runtime: Runtime, name: &str, temporary: &ShortFolder, map: PerfMap) -> Running {
    let mut command = runtime.command(name, None::<&OsStr>).unwrap_or_else(|missing| panic!("{missing}"));
    command.env("TMPDIR", temporary.path());
    if map == PerfMap::On {
        // 1 is the map and, where the runtime has it, a jitdump, which lists precompiled code too. 10.0 stops after the first
        // kinds of code with 1; 3 is the map alone.
        let what = if runtime == Runtime::Net10 { "3" } else { "1" };
        command.env("DOTNET_PerfMapEnabled", what).env("COMPlus_PerfMapEnabled", what);
        command.env("DOTNET_PerfMapJitDumpPath", temporary.path());
    }
    Running::start(command, Until::Ready, PATIENCE).unwrap_or_else(|failure| panic!("{runtime}, {name}: {failure}"))
}

/// Waits until what the workload has said is enough.
pub(crate) fn wait_for(running: &Running, what: &str, enough: impl Fn(&[String]) -> bool) {
    let end = Instant::now() + PATIENCE;
    while !enough(&running.stdout_lines()) {
        assert!(Instant::now() < end, "no {what} in {PATIENCE:?}; it said {:?}", running.stdout_lines());
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// What a recording says about itself.
pub(crate) fn manifest(recording: &Path) -> Manifest {
    Recording::open(recording).unwrap().manifest().unwrap()
}

/// A recording with names, as every report and export has it.
pub(crate) fn profile(recording: &Path) -> Profile {
    strata_resolve::resolve(&Recording::open(recording).unwrap(), &HostFiles::default()).unwrap()
}

/// One test for each runtime, so that they run beside each other.
macro_rules! on_each_runtime {
    ($check:path) => {
        #[test]
        fn net3() {
            $check(strata_testkit::live::Runtime::Net3);
        }

        #[test]
        fn net8() {
            $check(strata_testkit::live::Runtime::Net8);
        }

        #[test]
        fn net9() {
            $check(strata_testkit::live::Runtime::Net9);
        }

        #[test]
        fn net10() {
            $check(strata_testkit::live::Runtime::Net10);
        }
    };
}
pub(crate) use on_each_runtime;
