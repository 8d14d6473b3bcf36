//! `strata ps`.

use crate::scene::{
    PATIENCE, command, expect_words, finish, native, need_root, state, target, wait_until, workload, wrapped,
};
use crate::support::{Scratch, run, strata};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use strata_testkit::live::{Running, Runtime};

/// The line of a process.
fn line(pid: u32) -> Option<String> {
    let output = run(["ps"], 0);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.lines().next().unwrap().ends_with("COMMAND"), "{text}");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    text.lines().find(|line| line.split_whitespace().next() == Some(&pid.to_string())).map(str::to_owned)
}

#[test]
fn every_runtime_is_listed_with_its_version_user_and_command() {
    let running: Vec<(Runtime, Running)> =
        Runtime::all().map(|runtime| (runtime, target(workload(runtime, "Shares", &["0"])))).into_iter().collect();
    let user = Command::new("id").arg("-un").output().unwrap().stdout;
    let user = String::from_utf8(user).unwrap();
    for (runtime, process) in &running {
        let line = line(process.pid()).unwrap_or_else(|| panic!("{runtime} is not listed"));
        let words: Vec<&str> = line.split_whitespace().collect();
        let version = if *runtime == Runtime::Net3 { "3.x" } else { runtime.version() };
        assert!(words[1] == version, "{runtime}: {line}");
        assert_eq!(words[2], user.trim(), "{line}");
        let host = runtime.host().unwrap();
        assert_eq!(words[3], host.to_str().unwrap(), "{line}");
        assert!(!line.contains("not attachable"), "{line}");
    }
}

#[test]
fn a_stopped_process_says_so() {
    let shares = target(workload(Runtime::Net8, "Shares", &["0"]));
    shares.signal("STOP").unwrap();
    wait_until("stopped", || state(shares.pid()) == Some(b'T'));
    let line = line(shares.pid()).unwrap();
    assert!(line.contains("not attachable: it is stopped"), "{line}");
    assert!(line.contains(&format!("kill -CONT {}", shares.pid())), "{line}");
}

#[test]
fn a_process_with_diagnostics_switched_off_says_by_what() {
    for (runtime, variable) in [
        (Runtime::Net8, "DOTNET_EnableDiagnostics"),
        (Runtime::Net3, "COMPlus_EnableDiagnostics"),
        (Runtime::Net9, "DOTNET_EnableDiagnostics_IPC"),
    ] {
        let mut command = workload(runtime, "Shares", &["0"]);
        command.env(variable, "0");
        let shares = target(command);
        let line = line(shares.pid()).unwrap_or_else(|| panic!("{runtime} is not listed"));
        assert!(line.contains("not attachable") && line.contains(&format!("{variable}=0")), "{line}");
        // It is recorded all the same, and the reason is said there too.
        let scratch = Scratch::new();
        let recording = scratch.path("x.strata");
        let finished = finish(crate::scene::record_attached(shares.pid(), &recording, &["-d", "1s"]));
        expect_words(&finished, 0, &["warning", &format!("it was started with {variable}=0")]);
        assert!(crate::scene::gaps(&recording).contains(variable));
    }
}

#[test]
fn processes_that_come_and_go_disturb_nothing() {
    let scratch = Scratch::new();
    let program = native(&scratch);
    let shares = target(workload(Runtime::Net8, "Shares", &["0"]));
    let (done, started) = (AtomicBool::new(false), AtomicU32::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::SeqCst) {
                assert!(command(&program, &["brief"]).status().unwrap().success());
                started.fetch_add(1, Ordering::SeqCst);
            }
        });
        let give_up = std::time::Instant::now() + PATIENCE;
        let mut listed = Vec::new();
        while started.load(Ordering::SeqCst) < 200 && std::time::Instant::now() < give_up {
            listed.push(strata(["ps"]).output().unwrap());
        }
        done.store(true, Ordering::SeqCst);
        assert!(!listed.is_empty());
        for output in listed {
            assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
            let text = String::from_utf8(output.stdout).unwrap();
            let pid = shares.pid().to_string();
            assert!(text.lines().any(|line| line.split_whitespace().next() == Some(&pid)), "{text}");
        }
    });
}

#[test]
fn where_there_is_nothing_that_is_said() {
    need_root();
    // Other tests have .NET processes: only a pid namespace of its own has none.
    let alone = wrapped(&["unshare", "--pid", "--fork", "--mount-proc"], &strata(["ps"]));
    let finished = finish(alone);
    expect_words(&finished, 6, &["no .NET process"]);
    assert_eq!(finished.stdout, [""; 0]);
}
