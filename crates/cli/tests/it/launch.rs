//! `strata record -- PROGRAM`: the program must not notice, and its first moment must be there.

use crate::scene::{
    after, command, entries, expect_code, expect_words, finish, gaps, has_function, manifest, named_managed, native,
    need_root, record_attached, record_launch, said, start, stop_reason, target, text, wait_for_words, workload,
    wrapped,
};
use crate::support::{Scratch, report, run};
use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use strata_diagnostics::ReversePort;
use strata_testkit::live::Runtime;

#[test]
fn a_programs_end_passes_through() {
    let scratch = Scratch::new();
    for runtime in Runtime::all() {
        for (mode, code) in [("7", 7), ("segv", 139), ("throw", 134)] {
            let recording = scratch.path(&format!("{}-{mode}.strata", runtime.name()));
            let finished = finish(record_launch(&recording, &[], &workload(runtime, "Exits", &[mode])));
            expect_code(&finished, code);
            assert_eq!(stop_reason(&recording), "the target ended", "{runtime} {mode}");
            let samples = report(&recording, "loss")["data"]["samples"].as_u64().unwrap();
            assert!(samples > 0, "{runtime} {mode}: {}", said(&finished));
        }
    }
}

#[test]
fn ten_megabytes_pass_and_nothing_of_ours_among_them() {
    let scratch = Scratch::new();
    let mut expected = Vec::with_capacity(10_000_000);
    for line in 0..100_000 {
        writeln!(expected, "{:.<99}", format!("{line:010}")).unwrap();
    }
    for runtime in Runtime::all() {
        let recording = scratch.path(&format!("{}.strata", runtime.name()));
        let output = record_launch(&recording, &[], &workload(runtime, "Exits", &["print"])).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(output.stdout == expected, "{runtime}: {} bytes came", output.stdout.len());
        assert!(String::from_utf8_lossy(&output.stderr).contains("recording process"));
    }
}

#[test]
fn standard_input_reaches_the_program() {
    let scratch = Scratch::new();
    for runtime in [Runtime::Net3, Runtime::Net8] {
        let recording = scratch.path(&format!("{}.strata", runtime.name()));
        let mut strata = start(record_launch(&recording, &[], &workload(runtime, "Exits", &["echo"])));
        strata.write_stdin(b"one\ntwo\n").unwrap();
        strata.close_stdin();
        let finished = strata.wait(crate::scene::PATIENCE).unwrap();
        expect_code(&finished, 0);
        assert_eq!(finished.stdout, ["one", "two"], "{runtime}");
    }
}

#[test]
fn code_jitted_from_the_first_moment_has_names() {
    let scratch = Scratch::new();
    for runtime in Runtime::all() {
        let recording = scratch.path(&format!("{}.strata", runtime.name()));
        let finished = finish(record_launch(&recording, &[], &workload(runtime, "Shares", &["1"])));
        expect_code(&finished, 0);
        let (frames, share) = named_managed(&recording);
        assert!(frames > 100, "{runtime}: only {frames} managed frames");
        assert!(share >= 0.99, "{runtime}: {share} of {frames} managed frames named; {}", gaps(&recording));
        assert!(has_function(&recording, "Shares.WarmUp"), "{runtime}: no sample of the start");
        let runtimes = manifest(&recording)["runtimes"].clone();
        assert_eq!(runtimes[0]["version"], runtime.version(), "{runtimes}");
    }
}

#[test]
fn each_process_has_its_own_streams() {
    let scratch = Scratch::new();
    for runtime in Runtime::all() {
        let recording = scratch.path(&format!("{}.strata", runtime.name()));
        let finished = finish(record_launch(&recording, &[], &workload(runtime, "Spawner", &["2"])));
        expect_code(&finished, 0);
        let ready = finished.stdout.iter().find_map(|line| line.strip_prefix("ready ")).unwrap();
        let pids: BTreeSet<u64> = ready.split(' ').map(|pid| pid.parse().unwrap()).collect();
        let manifest = manifest(&recording);
        let runtimes = manifest["runtimes"].as_array().unwrap();
        let told: BTreeSet<u64> = runtimes.iter().map(|entry| entry["pid"].as_u64().unwrap()).collect();
        assert_eq!(told, pids, "{runtime}: {manifest}");
        for entry in runtimes {
            let live = format!("dotnet-{}-live.nettrace", entry["pid"]);
            let streams = entry["streams"].as_array().unwrap();
            assert!(streams.iter().any(|stream| stream["file"] == live.as_str()), "{runtime}: {entry}");
            assert!(std::fs::metadata(recording.join(&live)).unwrap().len() > 0, "{live}");
        }
        assert!(has_function(&recording, "Spawner.Compute"), "{runtime}");
        let (frames, share) = named_managed(&recording);
        assert!(share >= 0.99, "{runtime}: {share} of {frames}");
    }
}

#[test]
fn a_shell_that_becomes_a_runtime_has_names() {
    let scratch = Scratch::new();
    for runtime in Runtime::all() {
        let recording = scratch.path(&format!("{}-launched.strata", runtime.name()));
        let shares = workload(runtime, "Shares", &["1"]);
        expect_code(&finish(record_launch(&recording, &[], &after("true", &shares))), 0);
        expect_names(&recording, runtime);

        // Attached to while it is a shell still: it is said to be none, and followed all the same once it is one.
        let recording = scratch.path(&format!("{}-attached.strata", runtime.name()));
        let mut shell = start(after("read line", &shares));
        let strata = start(record_attached(shell.pid(), &recording, &[]));
        wait_for_words(&strata, "is not a .NET process");
        shell.write_stdin(b"\n").unwrap();
        expect_code(&strata.wait(crate::scene::PATIENCE).unwrap(), 0);
        expect_names(&recording, runtime);
    }
}

fn expect_names(recording: &Path, runtime: Runtime) {
    let (frames, share) = named_managed(recording);
    assert!(frames > 100 && share >= 0.99, "{runtime}: {share} of {frames} named; {}", gaps(recording));
    expect_own_files(recording);
}

/// No process has two entries, no file two streams.
fn expect_own_files(recording: &Path) {
    let manifest = manifest(recording);
    let runtimes = manifest["runtimes"].as_array().unwrap();
    let pids: BTreeSet<String> = runtimes.iter().map(|entry| entry["pid"].to_string()).collect();
    let streams: Vec<String> = runtimes
        .iter()
        .flat_map(|entry| entry["streams"].as_array().unwrap())
        .map(|stream| stream["file"].to_string())
        .collect();
    let files: BTreeSet<&String> = streams.iter().collect();
    assert_eq!((pids.len(), files.len()), (runtimes.len(), streams.len()), "{manifest}");
    assert_eq!(entries(recording).len(), 2 + files.len(), "{manifest}");
}

#[test]
fn a_launched_runtime_in_a_namespace_of_its_own_has_its_own_process_id() {
    need_root();
    let scratch = Scratch::new();
    for runtime in Runtime::all() {
        let recording = scratch.path(&format!("{}.strata", runtime.name()));
        let shares = workload(runtime, "Shares", &["1"]);
        let program = wrapped(&["unshare", "--pid", "--fork", "--mount-proc"], &shares);
        expect_code(&finish(record_launch(&recording, &[], &program)), 0);
        let manifest = manifest(&recording);
        assert_eq!(manifest["runtimes"].as_array().unwrap().len(), 1, "{manifest}");
        assert_ne!(manifest["runtimes"][0]["pid"], 1, "{manifest}");
        expect_names(&recording, runtime);
    }
}

#[test]
fn a_program_that_is_not_there_is_named_and_costs_no_earlier_recording() {
    let scratch = Scratch::new();
    let recording = scratch.path("app.strata");
    let not_there = |program: &str| finish(record_launch(&recording, &[], &Command::new(program)));
    expect_words(&not_there("/no/such/program"), 1, &["/no/such/program", "No such file"]);
    expect_words(&not_there("no-such-program"), 1, &["no-such-program"]);
    expect_words(&not_there("/etc/passwd"), 1, &["/etc/passwd", "Permission denied"]);
    // Found and allowed, but the kernel cannot run it: that shows only once sampling is prepared.
    let script = scratch.path("script");
    std::fs::write(&script, "#!/no/such/interpreter\n").unwrap();
    std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    expect_words(&not_there(text(&script)), 1, &[text(&script)]);
    assert!(!recording.exists(), "a recording of nothing was left behind");

    expect_code(&finish(record_launch(&recording, &[], &Command::new("true"))), 0);
    let before = std::fs::read(recording.join("manifest.json")).unwrap();
    expect_code(&not_there("no-such-program"), 1);
    assert_eq!(std::fs::read(recording.join("manifest.json")).unwrap(), before);
}

#[test]
fn a_program_that_ends_at_once_is_recorded() {
    let scratch = Scratch::new();
    let recording = scratch.path("true.strata");
    expect_code(&finish(record_launch(&recording, &[], &Command::new("true"))), 0);
    assert_eq!(stop_reason(&recording), "the target ended");
    run(["report".as_ref(), recording.as_os_str(), "loss".as_ref()], 0);
}

#[test]
fn signals_reach_the_program_and_its_end_ends_the_recording() {
    let scratch = Scratch::new();
    let program = native(&scratch);
    for (signal, code) in [("TERM", 143), ("INT", 130), ("HUP", 129)] {
        let recording = scratch.path(&format!("{signal}.strata"));
        let strata = target(record_launch(&recording, &[], &command(&program, &["busy"])));
        wait_for_words(&strata, "recording process");
        strata.signal(signal).unwrap();
        let finished = strata.wait(crate::scene::PATIENCE).unwrap();
        expect_code(&finished, code);
        assert_eq!(stop_reason(&recording), "the target ended", "{signal}");
        assert!(has_function(&recording, "spin_here"), "{signal}");
    }
    // One that ends in an orderly way when it is told to.
    let recording = scratch.path("shares.strata");
    let strata = target(record_launch(&recording, &[], &workload(Runtime::Net8, "Shares", &["0"])));
    strata.signal("TERM").unwrap();
    let finished = strata.wait(crate::scene::PATIENCE).unwrap();
    expect_code(&finished, 0);
    assert!(finished.stdout.iter().any(|line| line.starts_with("truth")), "{:?}", finished.stdout);
}

#[test]
fn a_program_is_ended_when_its_time_is_over() {
    let scratch = Scratch::new();
    let program = native(&scratch);
    let check = |recording: &Path, program: &Command, code, function| {
        let finished = finish(record_launch(recording, &["-d", "2s"], program));
        expect_words(&finished, code, &["SIGTERM", "recorded"]);
        assert_eq!(stop_reason(recording), "the asked-for time is over");
        assert!(has_function(recording, function), "{function}");
    };
    check(&scratch.path("native.strata"), &command(&program, &["busy"]), 143, "spin_here");
    check(&scratch.path("shares.strata"), &workload(Runtime::Net9, "Shares", &["600"]), 0, "Shares.");
}

#[test]
fn a_port_of_the_users_own_is_kept() {
    let scratch = Scratch::new();
    // Sockets have short names: the scratch folder may lie too deep for one.
    let folder = std::env::temp_dir().join(format!("strata-users-{}", std::process::id()));
    let port = ReversePort::bind(folder.join("port")).unwrap();
    let mut users = port.path().as_os_str().to_owned();
    users.push(",nosuspend");
    let recording = scratch.path("echo.strata");
    let mut program = workload(Runtime::Net8, "Exits", &["echo"]);
    program.env("DOTNET_DiagnosticPorts", &users);
    let mut strata = start(record_launch(&recording, &[], &program));
    let runtime = port.accept(crate::scene::PATIENCE).unwrap();
    assert!(runtime.is_some(), "{:?}", strata.stderr_lines());
    wait_for_words(&strata, "listening to the .NET runtime");
    strata.close_stdin();
    expect_code(&strata.wait(crate::scene::PATIENCE).unwrap(), 0);
    let manifest = manifest(&recording);
    let streams = manifest["runtimes"][0]["streams"].as_array().unwrap();
    assert_eq!(streams.iter().filter(|stream| stream["kind"] == "live").count(), 1, "{manifest}");
    expect_own_files(&recording);
}

#[test]
fn a_runtime_started_after_the_recording_is_let_go_on() {
    let scratch = Scratch::new();
    let exits = workload(Runtime::Net8, "Exits", &["7"]);
    let mut program = Command::new("sh");
    program.args(["-c", "trap '' TERM; read line; \"$@\"", "sh"]).arg(exits.get_program()).args(exits.get_args());
    program.env("DOTNET_SYSTEM_GLOBALIZATION_INVARIANT", "1");
    let mut strata = start(record_launch(&scratch.path("x.strata"), &["-d", "1s"], &program));
    wait_for_words(&strata, "ending process");
    strata.write_stdin(b"\n").unwrap();
    expect_code(&strata.wait(crate::scene::PATIENCE).unwrap(), 7);
}

#[test]
fn the_port_for_launched_runtimes_is_gone_afterwards() {
    let scratch = Scratch::new();
    let temporary = scratch.path("t");
    std::fs::create_dir(&temporary).unwrap();
    // A relative TMPDIR keeps the socket's name short wherever the tests run.
    let mut strata = record_launch(Path::new("x.strata"), &[], &Command::new("true"));
    strata.current_dir(temporary.parent().unwrap()).env("TMPDIR", "t");
    expect_code(&finish(strata), 0);
    assert_eq!(entries(&temporary), [""; 0]);
}

#[test]
fn a_closed_standard_error_ends_nothing() {
    let scratch = Scratch::new();
    let program = native(&scratch);
    let recording = scratch.path("x.strata");
    let mut command = record_launch(&recording, &[], &command(&program, &["busy", "1"]));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    drop(child.stderr.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(stop_reason(&recording), "the target ended");
}

#[test]
fn a_file_in_another_format_leaves_no_recording_behind() {
    let scratch = Scratch::new();
    let program = native(&scratch);
    for name in ["x.json.gz", "x.json", "x.speedscope.json", "x.folded"] {
        let file = scratch.path(name);
        let finished = finish(record_launch(&file, &[], &command(&program, &["busy", "1"])));
        expect_words(&finished, 0, &["wrote", name]);
        assert!(std::fs::metadata(&file).unwrap().len() > 0);
        assert_eq!(finished.stdout, ["ready"]);
    }
    let names = ["target", "x.folded", "x.json", "x.json.gz", "x.speedscope.json"];
    assert_eq!(entries(scratch.path("").as_path()), names);
    // Nothing to show; the program's own code goes before ours.
    let check = |program: &str, code| {
        let finished = finish(record_launch(&scratch.path("y.json"), &["-F", "1"], &Command::new(program)));
        expect_words(&finished, code, &["y.json was not written"]);
        assert_eq!(entries(scratch.path("").as_path()), names);
    };
    check("false", 1);
    check("true", 6);
    let finished = finish(record_launch(&scratch.path("x.pdf"), &[], &Command::new("true")));
    expect_words(&finished, 3, &["x.pdf", ".speedscope.json"]);
    assert_eq!(entries(scratch.path("").as_path()), names);
}

#[test]
fn a_workload_waits_for_no_one() {
    // The runtime starts suspended: whoever is recorded must be let go even when it is one of many children.
    let scratch = Scratch::new();
    let recording = scratch.path("x.strata");
    let mut program = Command::new("sh");
    let exits = workload(Runtime::Net8, "Exits", &["7"]);
    program.args(["-c", "\"$@\"; first=$?; \"$@\"; exit $((first + $?))", "sh"]);
    program.arg(exits.get_program()).args(exits.get_args()).env("DOTNET_SYSTEM_GLOBALIZATION_INVARIANT", "1");
    expect_code(&finish(record_launch(&recording, &[], &program)), 14);
    assert_eq!(manifest(&recording)["runtimes"].as_array().unwrap().len(), 2);
}
