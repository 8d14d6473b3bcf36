//! What goes wrong around a recording: full disks, killed recorders, damaged files, names that act on terminals.

use crate::scene::{
    PATIENCE, ShortFolder, as_nobody, command, entries, expect_code, expect_words, finish, gaps, has_function,
    is_alive, manifest, native, native_at, need_root, record_attached, record_launch, said, shown, start, target, text,
    wait_for_words, wait_until, workload,
};
use crate::support::{Scratch, record, report, run, strata};
use std::fs;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use strata_testkit::live::{Finished, Runtime};

#[test]
fn where_nothing_can_be_written_nothing_is_begun() {
    let scratch = Scratch::new();
    let record_to = |path: &Path| finish(record_launch(path, &[], &Command::new("true")));
    for name in ["x.strata", "x", "x.json.gz", "x.folded"] {
        expect_words(&record_to(&Path::new("/no/such/dir").join(name)), 1, &["/no/such/dir", "does not exist"]);
    }
    for name in ["file", "file.strata"] {
        fs::write(scratch.path(name), "precious").unwrap();
        expect_words(&record_to(&scratch.path(name)), 1, &[name, "exists and is not a recording"]);
        assert_eq!(fs::read(scratch.path(name)).unwrap(), b"precious");
    }
    let folder = scratch.path("folder");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("perf.data"), "precious").unwrap();
    expect_words(&record_to(&folder), 1, &["exists and is not a recording"]);
    assert_eq!(entries(&folder), ["perf.data"]);
    assert_eq!(fs::read(folder.join("perf.data")).unwrap(), b"precious");
    // What is a recording already is recorded over, and what else lies in it stays.
    let recording = scratch.path("again.strata");
    expect_code(&record_to(&recording), 0);
    fs::write(recording.join("notes.txt"), "precious").unwrap();
    expect_code(&record_to(&recording), 0);
    assert!(recording.join("notes.txt").exists());
}

/// A file system of its own, gone with the value.
struct Mounted(PathBuf);

impl Mounted {
    fn new(folder: PathBuf, options: &str) -> Self {
        need_root();
        fs::create_dir(&folder).unwrap();
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", options, "none"]).arg(&folder).status().unwrap();
        assert!(mounted.success(), "a tmpfs could not be mounted on {}", folder.display());
        Self(folder)
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // Lazily, as a recorder of a failed test may still write there.
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[test]
fn a_read_only_folder_is_named() {
    let scratch = Scratch::new();
    let read_only = Mounted::new(scratch.path("ro"), "ro");
    for name in ["x.strata", "x.json"] {
        let finished = finish(record_launch(&read_only.0.join(name), &[], &Command::new("true")));
        expect_words(&finished, 1, &[name, "Read-only file system"]);
    }
}

#[test]
fn a_full_disk_ends_the_recording_and_not_the_target() {
    let scratch = Scratch::new();
    let small = Mounted::new(scratch.path("small"), "size=1m");
    let recording = small.0.join("x.strata");
    let shares = target(workload(Runtime::Net8, "Shares", &["0"]));
    let finished = finish(record_attached(shares.pid(), &recording, &["-d", "600s", "-F", "5000"]));
    expect_words(&finished, 2, &["No space left on device", "x.strata", "readable"]);
    assert!(is_alive(shares.pid()));
    assert!(gaps(&recording).contains("not stopped in an orderly way"), "{}", gaps(&recording));
    assert!(has_function(&recording, "Shares.KernelA"));
    // Another recording elsewhere goes well at once.
    let elsewhere = scratch.path("y.strata");
    record(shares.pid(), 1, &elsewhere);
    assert!(has_function(&elsewhere, "Shares.KernelA"));
}

#[test]
fn a_launched_program_outlives_its_failed_recording() {
    let scratch = Scratch::new();
    let small = Mounted::new(scratch.path("small"), "size=64k");
    let program = native(&scratch);
    let recording = small.0.join("x.strata");
    let strata = target(record_launch(&recording, &["-F", "10000"], &command(&program, &["busy"])));
    wait_for_words(&strata, "runs on without being recorded");
    let words = strata.stderr_lines().join("\n");
    let pid: u32 = words.split("process ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
    assert!(is_alive(pid) && is_alive(strata.pid()), "{words}");
    // Signals reach it as before.
    strata.signal("TERM").unwrap();
    expect_words(&strata.wait(PATIENCE).unwrap(), 2, &["No space left on device"]);
    wait_until("the program's end", || !is_alive(pid));
    // Where it was to be recorded for a time only, there is nothing left to wait for.
    let finished = finish(record_launch(&recording, &["-F", "10000", "-d", "600s"], &command(&program, &["busy"])));
    expect_words(&finished, 2, &["No space left on device", "SIGTERM"]);
}

#[test]
fn a_format_that_does_not_fit_keeps_the_recording() {
    let scratch = Scratch::new();
    let small = Mounted::new(scratch.path("small"), "size=1m");
    let program = native(&scratch);
    let file = small.0.join("x.json");
    // A folder in the file's way is where the recording goes; so the way is barred by a link to nowhere.
    std::os::unix::fs::symlink("nowhere/x.json", &file).unwrap();
    let finished = finish(record_launch(&file, &[], &command(&program, &["busy", "1"])));
    expect_words(&finished, 2, &["cannot write", "the recording is kept in", "x.json.strata"]);
    assert!(has_function(&small.0.join("x.json.strata"), "spin_here"));
}

#[test]
fn a_killed_recorder_leaves_a_readable_recording_and_an_unharmed_target() {
    let scratch = Scratch::new();
    for runtime in Runtime::all() {
        let recording = scratch.path(&format!("{}.strata", runtime.name()));
        let shares = target(workload(runtime, "Shares", &["0"]));
        let strata = start(record_attached(shares.pid(), &recording, &[]));
        wait_for_words(&strata, "listening to the .NET runtime");
        let size = |file: &str| fs::metadata(recording.join(file)).map_or(0, |file| file.len());
        wait_until("some samples on disk", || size("perf.data") > 64 << 10);
        strata.signal("KILL").unwrap();
        assert_eq!(strata.wait(PATIENCE).unwrap().status.code(), None);

        assert!(gaps(&recording).contains("not stopped in an orderly way"), "{}", gaps(&recording));
        assert!(has_function(&recording, "qsort"), "{runtime}: no native function");
        let perf = Command::new("perf")
            .args(["report", "--stdio", "--sort", "comm", "-i"])
            .arg(recording.join("perf.data"))
            .env("HOME", scratch.path(""))
            .output()
            .expect("perf is there (Debian: linux-perf)");
        let table = String::from_utf8_lossy(&perf.stdout).into_owned();
        assert!(perf.status.success() && table.contains("Samples:"), "{}", String::from_utf8_lossy(&perf.stderr));

        assert!(is_alive(shares.pid()));
        let again = scratch.path(&format!("{}-again.strata", runtime.name()));
        let finished = finish(record_attached(shares.pid(), &again, &["-d", "2s"]));
        expect_words(&finished, 0, &["listening to the .NET runtime"]);
        assert!(has_function(&again, "Shares.KernelA"), "{runtime}: {}", gaps(&again));
        shares.signal("TERM").unwrap();
        let ended = shares.wait(PATIENCE).unwrap();
        assert!(ended.stdout.iter().any(|line| line.starts_with("truth")), "{runtime}: {:?}", ended.stdout);
    }
}

#[test]
fn what_is_no_recording_is_named() {
    let scratch = Scratch::new();
    let empty = scratch.path("empty");
    fs::create_dir(&empty).unwrap();
    let file = scratch.path("file.strata");
    fs::write(&file, "text").unwrap();
    let absent = scratch.path("absent.strata");
    let no_samples = scratch.path("no-samples.strata");
    fs::create_dir(&no_samples).unwrap();
    fs::write(no_samples.join("manifest.json"), "{\"format\": 1}").unwrap();
    let newer = scratch.path("newer.strata");
    fs::create_dir(&newer).unwrap();
    fs::write(newer.join("manifest.json"), "{\"format\": 99}").unwrap();
    for (path, words) in [
        (&empty, "is not a recording"),
        (&file, "a recording is the folder"),
        (&absent, "No such file"),
        (&no_samples, "perf.data"),
        (&newer, "format 99"),
        (&PathBuf::from("/dev/null"), "begins with nothing"),
    ] {
        for view in ["top", "tree", "threads", "loss"] {
            let finished = shown(&["report".as_ref(), path.as_os_str(), view.as_ref()]);
            expect_words(&finished, 5, &[words]);
            assert_eq!(finished.stdout, [""; 0]);
        }
        let output = scratch.path("x.json");
        let finished = shown(&["convert".as_ref(), path.as_os_str(), "-o".as_ref(), output.as_os_str()]);
        expect_words(&finished, 5, &[words]);
        assert!(!output.exists());
    }
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let scratch = Scratch::new();
    let recording = scratch.path("x.strata");
    let program = native(&scratch);
    expect_code(&finish(record_launch(&recording, &[], &command(&program, &["busy", "1"]))), 0);
    let path = text(&recording);
    for words in [
        vec!["report", path],
        vec!["report", path, "--json"],
        vec!["report", path, "tree"],
        vec!["convert", path, "-o", "-"],
        vec!["--help"],
        vec!["report", "--help"],
    ] {
        let mut child = strata(&words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // The reader is gone before the first byte.
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{words:?}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{words:?}");
    }
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    let output = strata(["report", path]).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("No space left on device"));
}

#[test]
fn names_cannot_act_on_a_terminal() {
    let scratch = Scratch::new();
    let folder = scratch.path("\u{1b}[31mred\u{202e}");
    fs::create_dir(&folder).unwrap();
    let program = native_at(&folder.join("tar\u{7}get\u{9b}32m"));
    let recording = folder.join("x\u{1b}]0;y.strata");
    let launched = strata(["record"])
        .args(["-d", "2s", "-o"])
        .arg(&recording)
        .arg("--")
        .args([program.as_os_str(), "named".as_ref()])
        .output()
        .unwrap();
    assert_eq!(launched.status.code(), Some(143));
    let mut all = launched.stderr;
    let path = recording.as_os_str();
    for words in [
        vec!["report".as_ref(), path],
        vec!["report".as_ref(), path, "tree".as_ref()],
        vec!["report".as_ref(), path, "threads".as_ref()],
        vec!["report".as_ref(), path, "loss".as_ref()],
        vec!["report".as_ref(), path, "--json".as_ref()],
        vec!["convert".as_ref(), path, "-o".as_ref(), "-".as_ref()],
        vec!["report".as_ref(), folder.as_os_str()],
        vec!["record".as_ref(), "-o".as_ref(), folder.as_os_str(), "-p".as_ref(), "1".as_ref()],
        vec!["record".as_ref(), "--".as_ref(), "\u{1b}[31mno program".as_ref()],
        vec!["record".as_ref(), "-n".as_ref(), "\u{1b}[31mno name".as_ref()],
        vec!["convert".as_ref(), path, "-o".as_ref(), folder.join("x.json").as_os_str()],
    ] {
        let output = strata(&words).output().unwrap();
        all.extend(output.stdout);
        all.extend(output.stderr);
    }
    // JSON escapes what it must; directions and C1 controls are its readers' affair.
    let shown = String::from_utf8(all).expect("text");
    let active = shown
        .lines()
        .find(|line| line.chars().any(|letter| letter.is_control() && !('\u{80}'..='\u{9f}').contains(&letter)));
    assert_eq!(active, None);
    assert!(shown.contains(r"\u{1b}[31mred"), "{shown}");
    assert!(has_function(&recording, "spin_here"));
}

/// One small recording with everything in it, to be damaged.
struct Sound {
    scratch: Scratch,
    recording: PathBuf,
}

impl Sound {
    fn record() -> Self {
        let scratch = Scratch::new();
        let recording = scratch.path("sound.strata");
        let shares = target(workload(Runtime::Net8, "Shares", &["0"]));
        record(shares.pid(), 1, &recording);
        Self { scratch, recording }
    }

    /// A copy to be damaged.
    fn copy(&self, number: usize) -> PathBuf {
        let copy = self.scratch.path(&format!("{number}.strata"));
        fs::create_dir(&copy).unwrap();
        for name in entries(&self.recording) {
            fs::copy(self.recording.join(&name), copy.join(&name)).unwrap();
        }
        copy
    }
}

/// Numbers that look random and are the same in each run (an xorshift).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit.max(1) as u64).unwrap()
    }
}

/// Reads a damaged recording in little memory; it may be refused, but nothing worse.
fn survive(recording: &Path, what: &str) {
    let limited = |arguments: &[&str]| -> Finished {
        let mut command = Command::new("sh");
        command.args(["-c", "ulimit -v 524288 && exec \"$@\"", "sh", env!("CARGO_BIN_EXE_strata")]);
        command.args(arguments);
        finish(command)
    };
    let path = text(recording);
    for arguments in [vec!["report", path], vec!["convert", path, "-o", "-"]] {
        let finished = limited(&arguments);
        let code = finished.status.code();
        assert!(matches!(code, Some(0 | 5 | 6)), "{what}, {arguments:?}: {code:?}\n{}", said(&finished));
        assert!(!said(&finished).contains("panicked"), "{what}: {}", said(&finished));
        if code != Some(0) {
            assert!(!finished.stderr.is_empty(), "{what}: refused without a word");
        }
    }
}

#[test]
fn a_recording_cut_anywhere_is_read_as_far_as_it_goes() {
    let sound = Sound::record();
    let whole = report(&sound.recording, "loss")["data"]["samples"].as_u64().unwrap();
    let mut numbers = Numbers(0x5eed);
    let mut read = 0;
    for number in 0..40 {
        let copy = sound.copy(number);
        let names = entries(&copy);
        let name = match number % 2 {
            0 => "perf.data",
            _ => names[numbers.below(names.len())].to_str().unwrap(),
        };
        let file = fs::File::options().write(true).open(copy.join(name)).unwrap();
        let length = usize::try_from(file.metadata().unwrap().len()).unwrap();
        // The first bytes of a file are its header: each is a case of its own.
        let kept = if number % 4 == 0 { number * 3 } else { numbers.below(length) };
        file.set_len(kept as u64).unwrap();
        survive(&copy, &format!("{name} cut at {kept} of {length}"));
        if name == "perf.data" && kept > length / 2 {
            let samples = report(&copy, "loss")["data"]["samples"].as_u64().unwrap();
            assert!(samples * 4 > whole && samples <= whole, "{samples} of {whole} after a cut at {kept} of {length}");
            read += 1;
        }
        fs::remove_dir_all(&copy).unwrap();
    }
    assert!(read > 0, "no cut left half a file");
}

#[test]
fn a_damaged_recording_is_refused_or_read_but_never_obeyed() {
    let sound = Sound::record();
    let mut numbers = Numbers(0xdead_5eed);
    for number in 0..160 {
        let copy = sound.copy(number);
        let names = entries(&copy);
        let name = match number % 3 {
            0 => "perf.data",
            1 => "manifest.json",
            _ => names[numbers.below(names.len())].to_str().unwrap(),
        };
        let file = fs::File::options().read(true).write(true).open(copy.join(name)).unwrap();
        let length = usize::try_from(file.metadata().unwrap().len()).unwrap();
        // Some near the beginning, where sizes and counts are.
        let reach = if number % 4 == 0 { length.min(512) } else { length };
        let mut what = format!("case {number}: {name}");
        for _ in 0..1 + numbers.below(4) {
            let at = numbers.below(reach);
            let byte = [0, 0xff, 0x7f, 0x80, u8::try_from(numbers.below(256)).unwrap()][numbers.below(5)];
            file.write_all_at(&[byte], at as u64).unwrap();
            what.push_str(&format!(", {at} = {byte:#x}"));
        }
        drop(file);
        survive(&copy, &what);
        fs::remove_dir_all(&copy).unwrap();
    }
}

#[test]
fn a_manifest_cannot_lead_out_of_its_recording() {
    let sound = Sound::record();
    let copy = sound.copy(0);
    let outside = sound.scratch.path("secret.nettrace");
    fs::copy(copy.join(stream_of(&copy)), &outside).unwrap();
    for path in ["../secret.nettrace", text(&outside), "/dev/zero", "/proc/self/mem", ".", ""] {
        let mut manifest = manifest(&copy);
        for runtime in manifest["runtimes"].as_array_mut().unwrap() {
            for stream in runtime["streams"].as_array_mut().unwrap() {
                stream["file"] = path.into();
            }
        }
        fs::write(copy.join("manifest.json"), manifest.to_string()).unwrap();
        survive(&copy, path);
        let finished = shown(&["report".as_ref(), copy.as_os_str(), "loss".as_ref()]);
        expect_code(&finished, 0);
        assert!(gaps(&copy).contains("is unreadable"), "{path:?} was read: {}", gaps(&copy));
    }
    // Devices in a file's place are not read for ever.
    let copy = sound.copy(1);
    fs::remove_file(copy.join("perf.data")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", copy.join("perf.data")).unwrap();
    expect_words(&shown(&["report".as_ref(), copy.as_os_str()]), 5, &["perf.data"]);
}

fn stream_of(recording: &Path) -> String {
    manifest(recording)["runtimes"][0]["streams"][0]["file"].as_str().unwrap().to_owned()
}

#[test]
fn a_recording_that_may_not_be_read_is_no_empty_one() {
    need_root();
    let folder = ShortFolder::new("closed");
    let recording = folder.0.join("x.strata");
    run(["record".as_ref(), "-o".as_ref(), recording.as_os_str(), "--".as_ref(), "true".as_ref()], 0);
    fs::set_permissions(&recording, fs::Permissions::from_mode(0o700)).unwrap();
    let finished = finish(as_nobody(&folder, ["report".as_ref(), recording.as_os_str()]));
    expect_words(&finished, 5, &["Permission denied"]);
}
