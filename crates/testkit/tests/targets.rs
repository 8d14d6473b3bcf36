//! Every workload does what it says, on every runtime; and the oracle reads what a runtime wrote by itself.
//!
//! Needs `cargo xtask targets`; without it every test here fails and says so.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use strata_testkit::live::{self, Finished, ImageSet, Images, Running, Runtime, Until};

/// Long enough for a machine that builds something else meanwhile.
const LIMIT: Duration = Duration::from_secs(60);

fn command(runtime: Runtime, workload: &str, arguments: &[&str]) -> Command {
    runtime.command(workload, arguments).unwrap_or_else(|missing| panic!("{missing}"))
}

fn start(runtime: Runtime, workload: &str, arguments: &[&str], until: Until) -> Running {
    Running::start(command(runtime, workload, arguments), until, LIMIT)
        .unwrap_or_else(|failure| panic!("{workload} on {runtime}: {failure}"))
}

fn finish(running: Running, what: &str) -> Finished {
    running.wait(LIMIT).unwrap_or_else(|failure| panic!("{what}: {failure}"))
}

fn thread_names(pid: u32) -> Vec<String> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    tasks.flatten().filter_map(|task| fs::read_to_string(task.path().join("comm")).ok()).collect()
}

const VARIED_THREADS: &[&str] = &[
    "routing",
    "search",
    "pricing",
    "invoices",
    "cashier-1",
    "cashier-2",
    "warehouse",
    "orders",
    "order-clerk",
    "support",
];

#[test]
fn varied_is_busy_on_named_threads_and_ends_in_time() {
    for runtime in Runtime::all() {
        let running = start(runtime, "Varied", &["1"], Until::Ready);
        assert_eq!(running.stdout_lines(), [format!("ready {}", running.pid())], "{runtime}");
        let names = thread_names(running.pid());
        // .NET Core 3.1 keeps its threads' names to itself.
        let named = if runtime == Runtime::Net3 { &[][..] } else { VARIED_THREADS };
        for name in named {
            assert!(names.iter().any(|found| found.trim_end() == *name), "{runtime}: no thread {name} in {names:?}");
        }
        let finished = finish(running, runtime.name());
        assert_eq!(finished.status.code(), Some(0), "{runtime}: {finished:?}");
    }
}

/// CPU time of a process's main thread in nanoseconds, as the scheduler counts it.
fn main_thread_nanoseconds(pid: u32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{pid}/schedstat")).unwrap();
    text.split_whitespace().next().unwrap().parse().unwrap()
}

fn check_shares(runtime: Runtime, codes: &[i32], end: impl Fn(&mut Running)) {
    let mut running = start(runtime, "Shares", &[], Until::Ready);
    let pid = running.pid();
    let before = main_thread_nanoseconds(pid);
    let deadline = Instant::now() + LIMIT;
    while live::truths(&running.stdout_lines()).len() < 3 {
        assert!(Instant::now() < deadline, "{runtime}: {:?}", running.stdout_lines());
        std::thread::sleep(Duration::from_millis(20));
    }
    let after = main_thread_nanoseconds(pid);
    end(&mut running);
    let finished = finish(running, runtime.name());
    assert!(finished.status.code().is_some_and(|code| codes.contains(&code)), "{runtime}: {finished:?}");

    let readings = live::truths(&finished.stdout);
    let last = readings.last().unwrap();
    assert_eq!(last.at, None, "{runtime}: no truth at the end: {:?}", finished.stdout);
    let middle = readings[2].times.since(&readings[1].times);
    for (what, times) in [("whole", last.times), ("middle", middle)] {
        for (share, wanted) in times.shares().into_iter().zip([0.5, 0.3, 0.2]) {
            assert!((share - wanted).abs() < 0.02, "{runtime}: {what}: {:?}", times.shares());
        }
    }
    // The scheduler is the judge: nearly all of what the thread used must be accounted for.
    let accounted = readings[2].times.total() as f64 / (after - before) as f64;
    assert!(accounted > 0.95, "{runtime}: only {accounted:.3} of the thread's time is in the kernels");
}

#[test]
fn shares_hold_until_terminated() {
    for runtime in Runtime::all() {
        // After the program's own end .NET Core 3.1 still answers the signal, sometimes before Main has returned.
        check_shares(runtime, &[0, 128 + 15], |running| running.signal("TERM").unwrap());
    }
}

#[test]
fn shares_hold_until_input_ends() {
    for runtime in Runtime::all() {
        check_shares(runtime, &[0], Running::close_stdin);
    }
}

#[test]
fn exits_ends_as_it_is_told() {
    const CASES: &[(&str, Option<i32>, Option<i32>)] = &[
        ("0", Some(0), None),
        ("7", Some(7), None),
        ("254", Some(254), None),
        ("segv", None, Some(11)),
        ("throw", None, Some(6)),
    ];
    for runtime in Runtime::all() {
        for &(mode, code, signal) in CASES {
            let finished = finish(start(runtime, "Exits", &[mode], Until::Started), mode);
            assert_eq!(finished.status.code(), code, "{mode} on {runtime}: {finished:?}");
            assert_eq!(finished.status.signal(), signal, "{mode} on {runtime}: {finished:?}");
        }
    }
}

#[test]
fn exits_prints_ten_million_bytes_and_echoes() {
    for runtime in Runtime::all() {
        let printed = finish(start(runtime, "Exits", &["print"], Until::Started), "print");
        assert_eq!(printed.stdout.iter().map(|line| line.len() + 1).sum::<usize>(), 10_000_000, "{runtime}");

        let mut echo = start(runtime, "Exits", &["echo"], Until::Started);
        echo.write_stdin(b"one\ntwo\n").unwrap();
        echo.close_stdin();
        assert_eq!(finish(echo, "echo").stdout, ["one", "two"], "{runtime}");
    }
}

#[test]
fn many_methods_are_made_and_called() {
    for runtime in Runtime::all() {
        for kind in ["types", "dynamic"] {
            let running = start(runtime, "ManyMethods", &["5000", "0.2", kind], Until::Ready);
            let finished = finish(running, kind);
            assert_eq!(finished.status.code(), Some(0), "{kind} on {runtime}: {finished:?}");
            assert!(finished.stdout[1].starts_with("sum "), "{kind} on {runtime}: {:?}", finished.stdout);
        }
    }
}

fn runs(pid: u32) -> bool {
    // A zombie has ended; who reaps it is not our affair.
    fs::read_to_string(format!("/proc/{pid}/status")).is_ok_and(|status| !status.contains("State:\tZ"))
}

#[test]
fn spawner_has_two_children_that_go_with_it() {
    for runtime in Runtime::all() {
        let running = start(runtime, "Spawner", &["30"], Until::Ready);
        let line = running.stdout_lines().remove(0);
        let pids: Vec<u32> = line.split(' ').skip(1).map(|word| word.parse().unwrap()).collect();
        assert_eq!(pids.len(), 3, "{runtime}: {line}");
        assert_eq!(pids[0], running.pid(), "{runtime}");
        let host = fs::canonicalize(runtime.host().unwrap()).unwrap();
        for &child in &pids[1..] {
            assert_eq!(fs::read_link(format!("/proc/{child}/exe")).unwrap(), host, "{runtime}");
        }
        drop(running);
        let deadline = Instant::now() + Duration::from_secs(10);
        while pids.iter().any(|&pid| runs(pid)) {
            assert!(Instant::now() < deadline, "{runtime}: some of {pids:?} outlived the guard");
            std::thread::sleep(Duration::from_millis(10));
        }

        let finished = finish(start(runtime, "Spawner", &["0.3"], Until::Ready), "Spawner");
        assert_eq!(finished.status.code(), Some(0), "{runtime}: {finished:?}");
    }
}

#[test]
fn single_files_run_workloads_too() {
    for runtime in Runtime::single_files() {
        let running = start(runtime, "Exits", &["7"], Until::Started);
        assert_eq!(finish(running, runtime.name()).status.code(), Some(7), "{runtime}");
    }
}

#[test]
fn every_set_of_images_is_there() {
    for set in ImageSet::all() {
        match set.images().unwrap_or_else(|missing| panic!("{missing}")) {
            Images::Loose(paths) => assert!(paths.len() > 100, "{set}: {paths:?}"),
            // The bundles and the runtimes in them are tens of megabytes.
            Images::SingleFile(path) => assert!(fs::metadata(path).unwrap().len() > 40_000_000, "{set}"),
        }
    }
}

#[test]
fn a_start_that_never_comes_is_an_error_and_leaves_nothing() {
    let told = command(Runtime::Net8, "Exits", &["9"]);
    assert!(Running::start(told, Until::Ready, LIMIT).is_err());
    let silent = command(Runtime::Net8, "Exits", &["echo"]);
    let failure = Running::start(silent, Until::FirstLine, Duration::from_millis(300)).unwrap_err();
    assert!(failure.to_string().contains("not ready within 300ms"), "{failure}");
}

/// A file in a scratch folder of its own, removed with it.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let folder = std::env::temp_dir().join(format!("strata-targets-{}-{name}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        Scratch(folder)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn the_oracle_finds_every_method_that_a_runtime_wrote_down() {
    const METHODS: usize = 300;
    for runtime in Runtime::all() {
        let scratch = Scratch::new(runtime.name());
        let mut told = command(runtime, "ManyMethods", &[&METHODS.to_string(), "0.2"]);
        // The runtime writes the file by itself: JIT events (keyword 0x10), verbose. It is not told where: .NET Core
        // 3.1.23 crashes at its start when it is. Without that it writes into the working folder.
        told.current_dir(&scratch.0);
        for prefix in ["DOTNET_", "COMPlus_"] {
            told.env(format!("{prefix}EnableEventPipe"), "1")
                .env(format!("{prefix}EventPipeConfig"), "Microsoft-Windows-DotNETRuntime:0x10:5");
        }
        let running =
            Running::start(told, Until::Ready, LIMIT).unwrap_or_else(|failure| panic!("{runtime}: {failure}"));
        assert_eq!(finish(running, runtime.name()).status.code(), Some(0), "{runtime}");

        let file = fs::read_dir(&scratch.0).unwrap().next().unwrap().unwrap().path();
        let reading = live::oracle(&file).unwrap_or_else(|failure| panic!("{runtime}: {failure}"));
        assert_eq!(reading.error, None, "{runtime}");
        // Method/LoadVerbose is event 143.
        assert!(reading.count("Microsoft-Windows-DotNETRuntime", 143) >= METHODS as u64, "{runtime}");
        for number in 0..METHODS {
            let (namespace, name) = (format!("Made.Type{:03}", number / 200), format!("Method{number:05}"));
            let method = reading.methods.iter().find(|method| method.namespace == namespace && method.name == name);
            let method = method.unwrap_or_else(|| panic!("{runtime}: no {namespace}.{name}"));
            assert!(method.start.0 != 0 && method.size > 0, "{runtime}: {method:?}");
            assert_eq!(method.signature.replace("  ", " "), "int32 (int32)", "{runtime}");
        }
    }
}

#[test]
fn the_oracle_says_where_it_gave_up() {
    let scratch = Scratch::new("cut");
    let file = scratch.0.join("cut.nettrace");
    fs::write(&file, b"Nettrace\x14\0\0\0!FastSerialization.1\x05\x05").unwrap();
    let reading = live::oracle(&file);
    assert!(reading.is_err() || reading.as_ref().is_ok_and(|reading| reading.error.is_some()), "{reading:?}");
}

#[test]
fn oracles_of_the_output_formats_are_there() {
    let schema = live::speedscope_schema().unwrap_or_else(|missing| panic!("{missing}"));
    let scratch = Scratch::new("schema");
    let good = scratch.0.join("good.json");
    let frame =
        r#"{"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{"frames":[]},"profiles":[]}"#;
    fs::write(&good, frame).unwrap();
    live::validate_json(&good, &schema).unwrap();
    let bad = scratch.0.join("bad.json");
    fs::write(&bad, r#"{"shared":{"frames":7},"profiles":[]}"#).unwrap();
    let refused = live::validate_json(&bad, &schema).unwrap_err();
    assert!(refused.to_string().contains("ValidationError"), "{refused}");

    let version = live::profiler_cli()
        .unwrap_or_else(|missing| panic!("{missing}"))
        .arg("--version")
        .env("HOME", &scratch.0)
        .output()
        .unwrap();
    assert!(version.status.success(), "{version:?}");
    assert!(!version.stdout.is_empty(), "{version:?}");
}
