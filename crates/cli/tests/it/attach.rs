//! `strata record -p PID`: the target must not notice, whatever it is and whatever becomes of it.

use crate::scene::{
    PATIENCE, ShortFolder, after, as_nobody, command, entries, expect_code, expect_words, finish, gaps, has_function,
    is_alive, manifest, named_managed, native, native_at, need_root, paranoid, record_attached, record_launch, said,
    start, state, stop_reason, target, text, wait_for_words, wait_until, workload, wrapped,
};
use crate::support::{Scratch, run};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;
use strata_testkit::live::{Running, Runtime};

#[test]
fn a_process_that_is_not_there_is_an_error_and_leaves_nothing() {
    let scratch = Scratch::new();
    let recording = scratch.path("x.strata");
    // More than any system gives: such a process can never be.
    for pid in [0, 4_194_305, 999_999_999, u32::MAX] {
        let finished = finish(record_attached(pid, &recording, &[]));
        expect_words(&finished, 1, &[&format!("there is no process {pid}")]);
    }
    for words in [["-p", "abc"], ["-p", "-5"], ["-p", ""], ["-p", "4294967296"], ["-d", "5x"]] {
        run([&["record"], words.as_slice()].concat(), 3);
    }
    let finished = finish(record_attached(std::process::id(), Path::new("-"), &[]));
    expect_words(&finished, 3, &["standard output"]);
    let finished = finish(crate::support::strata(["record", "dotnet", "app.dll"]));
    expect_words(&finished, 3, &["-- <PROGRAM>"]);
    assert_eq!(entries(&scratch.path("")), [""; 0]);
}

#[test]
fn a_program_without_dotnet_is_recorded_and_said_to_be_one() {
    let scratch = Scratch::new();
    let recording = scratch.path("x.strata");
    let target = target(command(&native(&scratch), &["busy"]));
    let finished = finish(record_attached(target.pid(), &recording, &["-d", "2s"]));
    expect_words(&finished, 0, &["is not a .NET process"]);
    assert!(!said(&finished).contains("warning"), "{}", said(&finished));
    assert!(has_function(&recording, "spin_here"));
    assert_eq!(gaps(&recording), "[]");
    assert!(is_alive(target.pid()));
}

#[test]
fn a_target_that_is_killed_leaves_a_whole_recording() {
    let scratch = Scratch::new();
    for runtime in Runtime::all() {
        let recording = scratch.path(&format!("{}.strata", runtime.name()));
        let target = target(workload(runtime, "Shares", &["0"]));
        let strata = start(record_attached(target.pid(), &recording, &[]));
        wait_for_words(&strata, "listening to the .NET runtime");
        // The list of methods at attach is short: it is there when its file does not grow any more.
        let list = recording.join(format!("dotnet-{}-attach.nettrace", target.pid()));
        let mut length = 0;
        wait_until("the list of methods", || {
            std::thread::sleep(std::time::Duration::from_millis(500));
            let now = std::fs::metadata(&list).map_or(0, |file| file.len());
            now > 0 && std::mem::replace(&mut length, now) == now
        });
        target.signal("KILL").unwrap();
        let finished = strata.wait(PATIENCE).unwrap();
        expect_words(&finished, 0, &["the target ended"]);
        assert_eq!(stop_reason(&recording), "the target ended");
        assert!(has_function(&recording, "Shares.KernelA"), "{runtime}");
        let (frames, share) = named_managed(&recording);
        assert!(frames > 100 && share >= 0.9, "{runtime}: {share} of {frames}; {}", gaps(&recording));
    }
}

#[test]
fn a_target_may_end_at_any_moment_of_attaching() {
    let scratch = Scratch::new();
    let program = native(&scratch);
    for number in 0..30 {
        let recording = scratch.path(&format!("{number}.strata"));
        let target = start(command(&program, &["brief", &(number * 5_000).to_string()]));
        let finished = finish(record_attached(target.pid(), &recording, &[]));
        match finished.status.code() {
            Some(0) => drop(run(["report".as_ref(), recording.as_os_str(), "loss".as_ref()], 0)),
            Some(1) => assert!(!recording.exists() && said(&finished).contains("there is no process")),
            _ => panic!("{}", said(&finished)),
        }
    }
}

#[test]
fn a_process_whose_main_thread_has_ended_is_recorded() {
    let scratch = Scratch::new();
    let recording = scratch.path("x.strata");
    let target = target(command(&native(&scratch), &["leaderless"]));
    wait_until("the main thread's end", || state(target.pid()) == Some(b'Z'));
    let finished = finish(record_attached(target.pid(), &recording, &["-d", "1s"]));
    expect_code(&finished, 0);
    assert_eq!(stop_reason(&recording), "the asked-for time is over");
    assert!(has_function(&recording, "spin_here"));
}

#[test]
fn the_id_of_a_thread_means_its_process() {
    let scratch = Scratch::new();
    let recording = scratch.path("x.strata");
    let shares = target(workload(Runtime::Net8, "Shares", &["0"]));
    let tasks = std::fs::read_dir(format!("/proc/{}/task", shares.pid())).unwrap();
    let threads = tasks.map(|task| task.unwrap().file_name().into_string().unwrap().parse::<u32>().unwrap());
    let thread = threads.max().unwrap();
    assert_ne!(thread, shares.pid());
    let finished = finish(record_attached(thread, &recording, &["-d", "2s"]));
    expect_words(&finished, 0, &[&format!("recording process {} ", shares.pid())]);
    let runtimes = manifest(&recording)["runtimes"].clone();
    assert_eq!(runtimes.as_array().unwrap().len(), 1, "{runtimes}");
    assert!(has_function(&recording, "Shares.KernelA"));
}

/// Records a stopped target; what strata must say comes back.
fn record_stopped(target: &Running, scratch: &Scratch) -> String {
    let recording = scratch.path("stopped.strata");
    let pid = target.pid();
    target.signal("STOP").unwrap();
    wait_until("stopped", || state(pid) == Some(b'T'));
    let finished = finish(record_attached(pid, &recording, &["-d", "1s"]));
    expect_words(&finished, 0, &["is stopped", &format!("kill -CONT {pid}")]);
    assert_eq!(state(pid), Some(b'T'), "it was let go on");
    assert_eq!(stop_reason(&recording), "the asked-for time is over");
    target.signal("CONT").unwrap();
    wait_until("going on", || !matches!(state(pid), Some(b'T')));
    gaps(&recording)
}

#[test]
fn a_stopped_target_stays_stopped_and_is_unharmed() {
    let scratch = Scratch::new();
    let busy = target(command(&native(&scratch), &["busy"]));
    assert_eq!(record_stopped(&busy, &scratch), "[]");
    assert!(is_alive(busy.pid()));

    for runtime in [Runtime::Net3, Runtime::Net8] {
        let shares = target(workload(runtime, "Shares", &["0"]));
        let gaps = record_stopped(&shares, &scratch);
        assert!(gaps.contains("did not answer") && gaps.contains("stopped"), "{gaps}");
        let recording = scratch.path("after.strata");
        let finished = finish(record_attached(shares.pid(), &recording, &["-d", "2s"]));
        expect_words(&finished, 0, &["listening to the .NET runtime"]);
        assert!(has_function(&recording, "Shares.KernelA"), "{runtime}: {}", said(&finished));
    }
}

/// When a process began, in the kernel's ticks: part of its socket's name.
fn start_time(pid: u32) -> String {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let after_name = stat.rsplit_once(')').unwrap().1;
    after_name.split_whitespace().nth(19).unwrap().to_owned()
}

#[test]
fn a_socket_that_never_answers_holds_nothing_up() {
    let scratch = Scratch::new();
    // Sockets have short names: the scratch folder may lie too deep for one.
    let folder = ShortFolder::new("mute");
    let mut program = command(&native(&scratch), &["busy"]);
    program.env("TMPDIR", &folder.0);
    let target = target(program);
    let name = format!("dotnet-diagnostic-{}-{}-socket", target.pid(), start_time(target.pid()));
    // Connections wait in the listener's queue: they are accepted by the kernel, and no one ever answers.
    let _listener = UnixListener::bind(folder.0.join(name)).unwrap();
    for duration in ["1s", "8s"] {
        let recording = scratch.path(&format!("{duration}.strata"));
        let finished = finish(record_attached(target.pid(), &recording, &["-d", duration]));
        expect_words(&finished, 0, &["warning", "answer"]);
        assert!(gaps(&recording).contains("answer"), "{}", gaps(&recording));
        assert!(has_function(&recording, "spin_here"));
    }
}

#[test]
fn two_recorders_do_not_disturb_each_other() {
    let scratch = Scratch::new();
    for runtime in Runtime::all() {
        let shares = target(workload(runtime, "Shares", &["0"]));
        let recordings = ["a", "b"].map(|name| scratch.path(&format!("{}-{name}.strata", runtime.name())));
        let both =
            recordings.each_ref().map(|recording| start(record_attached(shares.pid(), recording, &["-d", "3s"])));
        for (strata, recording) in both.into_iter().zip(&recordings) {
            let finished = strata.wait(PATIENCE).unwrap();
            expect_words(&finished, 0, &["listening to the .NET runtime"]);
            let (frames, share) = named_managed(recording);
            assert!(frames > 100 && share >= 0.99, "{runtime}: {share} of {frames}; {}", gaps(recording));
        }
        assert!(is_alive(shares.pid()));
    }
}

#[test]
fn too_few_descriptors_are_told_with_what_helps() {
    let scratch = Scratch::new();
    let recording = scratch.path("x.strata");
    let many = target(command(&native(&scratch), &["threads", "200"]));
    let attach = record_attached(many.pid(), &recording, &["-d", "1s"]);
    let finished = finish(after("ulimit -n 64", &attach));
    expect_words(&finished, 4, &["limit 64", "201 threads", "ulimit -n "]);
    assert!(!recording.exists());
    // What it advises is enough.
    let said = said(&finished);
    let advised = said.split("ulimit -n ").nth(1).unwrap().split_whitespace().next().unwrap();
    expect_code(&finish(after(&format!("ulimit -n {advised}"), &attach)), 0);
    // A soft limit is no limit.
    expect_code(&finish(after("ulimit -S -n 64", &attach)), 0);
    assert!(has_function(&recording, "spin_here"));
}

#[test]
fn an_ordinary_user_is_told_what_is_missing() {
    need_root();
    let folder = ShortFolder::new("user");
    let program = native_at(&folder.0.join("target"));
    let recording = folder.0.join("x.strata");
    let by_nobody = |command: &Command| finish(as_nobody(&folder, command.get_args()));
    let own = by_nobody(&record_launch(&recording, &[], &command(&program, &["busy", "1"])));
    match paranoid() {
        ..=2 => {
            expect_code(&own, 0);
            assert!(has_function(&recording, "spin_here"));
            assert_eq!(said(&own).contains("without kernel code"), paranoid() == 2);
            assert_eq!(gaps(&recording).contains("kernel code was not sampled"), paranoid() == 2);
        }
        value => expect_words(&own, 4, &[&format!("perf_event_paranoid is {value}"), "sysctl"]),
    }
    let busy = target(command(&program, &["busy"]));
    let others = by_nobody(&record_attached(busy.pid(), &folder.0.join("y.strata"), &["-d", "1s"]));
    match paranoid() {
        ..=2 => expect_words(&others, 4, &["belongs to user 0", "as root"]),
        value => expect_words(&others, 4, &[&format!("perf_event_paranoid is {value}")]),
    }
    assert!(!folder.0.join("y.strata").exists());
}

#[test]
fn a_target_in_namespaces_of_its_own_has_names() {
    need_root();
    let scratch = Scratch::new();
    let temporary = scratch.path("tmp");
    std::fs::create_dir(&temporary).unwrap();
    for runtime in Runtime::all() {
        let recording = scratch.path(&format!("{}.strata", runtime.name()));
        let mut shares = workload(runtime, "Shares", &["0"]);
        shares.env("TMPDIR", &temporary);
        let mount = format!("mount -t tmpfs -o size=16m none '{}'", text(&temporary));
        let outer = wrapped(&["unshare", "--pid", "--fork", "--mount", "--mount-proc"], &after(&mount, &shares));
        let outer = target(outer);
        let children = format!("/proc/{0}/task/{0}/children", outer.pid());
        let pid: u32 = std::fs::read_to_string(children).unwrap().trim().parse().unwrap();
        let finished = finish(record_attached(pid, &recording, &["-d", "3s"]));
        expect_words(&finished, 0, &["listening to the .NET runtime"]);
        assert_eq!(entries(&temporary), [""; 0], "the folder is the target's own");
        let (frames, share) = named_managed(&recording);
        assert!(frames > 100 && share >= 0.99, "{runtime}: {share} of {frames}; {}", gaps(&recording));
        assert!(has_function(&recording, "Shares.KernelA"), "{runtime}");
        assert_eq!(manifest(&recording)["runtimes"][0]["pid"], pid);
    }
}
