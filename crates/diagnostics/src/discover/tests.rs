//! Processes as a `/proc` made of files shows them.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicU32, Ordering};

use super::*;

/// A `/proc` in a folder of its own, removed at the end.
struct Machine(PathBuf);

const UPTIME: &str = "1000.00 1.00\n";
/// 500 seconds before now.
const LONG_AGO: u64 = 50_000;
const CORECLR: &str = "/usr/share/dotnet/shared/Microsoft.NETCore.App/8.0.4/libcoreclr.so";
const PID: u32 = 99_999_001;

impl Machine {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("strata-discover-test-{}-{number}", std::process::id()));
        fs::create_dir(&path).expect("a new folder");
        fs::write(path.join("uptime"), UPTIME).expect("writable");
        Self(path)
    }

    fn procfs(&self) -> ProcFs {
        ProcFs::new(&self.0)
    }

    /// A .NET process without a socket, that has been running for long, with a root and a `/tmp` of its own.
    fn process(&self, pid: u32) -> &Self {
        fs::create_dir_all(self.0.join(pid.to_string()).join("root/tmp")).expect("writable");
        self.stat(pid, 'S', 0x40_0000, LONG_AGO);
        self.write(pid, "status", &format!("Name:\ta\nUid:\t7\t8\t9\t9\nNSpid:\t{pid}\t1\n"));
        self.write(pid, "environ", "HOME=/\0");
        self.write(pid, "cmdline", "dotnet\0app.dll\0");
        self.maps(pid, CORECLR)
    }

    fn write(&self, pid: u32, name: &str, text: &str) -> &Self {
        let path = self.0.join(pid.to_string()).join(name);
        fs::create_dir_all(path.parent().expect("below the root")).expect("writable");
        fs::write(path, text).expect("writable");
        self
    }

    fn stat(&self, pid: u32, state: char, flags: u64, start: u64) -> &Self {
        let text = format!("{pid} (a b) {state} 1 1 1 0 -1 {flags} 0 0 0 0 0 0 0 0 20 0 1 0 {start} 0 0");
        self.write(pid, "stat", &text)
    }

    fn maps(&self, pid: u32, path: &str) -> &Self {
        self.write(pid, "maps", &format!("7f00-7f01 r-xp 00000000 08:01 123    {path}\n"))
    }

    /// Reading it fails, even for root.
    fn unreadable(&self, pid: u32, name: &str) -> &Self {
        let path = self.0.join(pid.to_string()).join(name);
        fs::remove_file(&path).expect("it was there");
        fs::create_dir(path).expect("writable");
        self
    }

    fn find(&self, pid: u32) -> Result<Endpoint, NotAttachable> {
        find_in(&self.procfs(), pid)
    }

    fn sockets(&self, pid: u32) -> Vec<String> {
        let endpoint = self.find(pid).expect("it has a socket");
        let name = |path: &Path| path.strip_prefix(&self.0).expect("in the target's root").display().to_string();
        endpoint.sockets().map(name).collect()
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn name(key: u64) -> String {
    format!("dotnet-diagnostic-1-{key}-socket")
}

#[test]
fn the_socket_is_in_the_targets_own_directory() {
    let check = |variables: &str, directory: &str| {
        let machine = Machine::new();
        machine.process(PID).write(PID, "environ", variables);
        machine.write(PID, &format!("{directory}/{}", name(LONG_AGO)), "");
        assert_eq!(machine.sockets(PID), [format!("{PID}/{directory}/{}", name(LONG_AGO))]);
        let endpoint = machine.find(PID).expect("it has a socket");
        assert_eq!((endpoint.pid(), endpoint.namespace_pid()), (Some(PID), Some(1)));
    };
    check("", "root/tmp");
    check("TMPDIR=\0", "root/tmp");
    check("TMPDIR=/some/dir\0", "root/some/dir");
    check("TMPDIR=/some/dir/\0", "root/some/dir");
    check("TMPDIR=relative\0", "cwd/relative");
}

#[test]
fn links_of_the_target_stay_in_its_root() {
    let machine = Machine::new();
    machine.process(PID).write(PID, &format!("root/var/volume/{}", name(LONG_AGO)), "");
    fs::remove_dir(machine.0.join(format!("{PID}/root/tmp"))).expect("it was there");
    symlink("/var/volume", machine.0.join(format!("{PID}/root/tmp"))).expect("writable");
    assert_eq!(machine.sockets(PID), [format!("{PID}/root/tmp/{}", name(LONG_AGO))]);
}

#[test]
fn containers_that_share_a_directory() {
    let machine = Machine::new();
    fs::create_dir_all(machine.0.join("shared/tmp")).expect("writable");
    for (pid, start) in [(PID, LONG_AGO), (PID + 1, LONG_AGO + 1)] {
        machine.process(pid).stat(pid, 'S', 0, start);
        fs::remove_dir_all(machine.0.join(format!("{pid}/root"))).expect("it was there");
        symlink(machine.0.join("shared"), machine.0.join(format!("{pid}/root"))).expect("writable");
    }
    for key in [LONG_AGO, LONG_AGO + 1] {
        fs::write(machine.0.join("shared/tmp").join(name(key)), "").expect("writable");
    }
    assert_eq!(machine.sockets(PID), [format!("{PID}/root/tmp/{}", name(LONG_AGO))]);
    assert_eq!(machine.sockets(PID + 1), [format!("{}/root/tmp/{}", PID + 1, name(LONG_AGO + 1))]);
}

#[test]
fn a_socket_with_another_start_time() {
    let machine = Machine::new();
    machine.process(PID).write(PID, &format!("root/tmp/{}", name(5)), "");
    let table = format!("ffff: 00000002 00000000 00010000 0001 01 4711 /tmp/{}\n", name(5));
    machine.write(PID, "net/unix", &table);
    fs::create_dir(machine.0.join(format!("{PID}/fd"))).expect("writable");

    // Someone else listens on it: it is left over, or another container's.
    let reason = machine.find(PID).expect_err("not its own");
    assert!(matches!(reason, NotAttachable::NotListening { .. }), "{reason}");
    assert!(reason.to_string().contains(&format!("/tmp/{}", name(5))), "{reason}");

    // The process itself does: it is in a time namespace.
    symlink("socket:[4711]", machine.0.join(format!("{PID}/fd/9"))).expect("writable");
    assert_eq!(machine.sockets(PID), [format!("{PID}/root/tmp/{}", name(5))]);

    // One with its start time is preferred, and then the only one.
    machine.write(PID, &format!("root/tmp/{}", name(LONG_AGO)), "");
    assert_eq!(machine.sockets(PID), [format!("{PID}/root/tmp/{}", name(LONG_AGO))]);
}

#[test]
fn every_reason_has_its_own_sentence() {
    let mut sentences = std::collections::BTreeMap::new();
    let mut check = |change: &dyn Fn(&Machine), expected: fn(&NotAttachable) -> bool, listed: bool, words: &[&str]| {
        let machine = Machine::new();
        machine.process(PID);
        change(&machine);
        let reason = machine.find(PID).expect_err("no socket");
        assert!(expected(&reason), "{reason:?}");
        let sentence = reason.to_string();
        for word in words {
            assert!(sentence.contains(word), "{sentence:?} does not say {word:?}");
        }
        let seen = processes_in(&machine.procfs());
        assert_eq!(seen.len(), usize::from(listed), "{sentence}");
        if let [seen] = &seen[..] {
            assert_eq!((seen.pid, seen.namespace_pid, seen.uid), (PID, 1, 8));
            assert_eq!(seen.command_line, ["dotnet", "app.dll"]);
            assert_eq!(seen.attachable.as_ref().expect_err("the same").to_string(), sentence);
        }
        let kind = std::mem::discriminant(&reason);
        let general = sentence.split('(').next().unwrap_or_default().to_owned();
        assert_eq!(*sentences.entry(general).or_insert(kind), kind, "{sentence}");
    };
    use NotAttachable as No;

    check(&|_| {}, |it| matches!(it, No::NoSocket { .. }), true, &["/tmp"]);
    check(
        &|machine| drop(fs::remove_dir_all(machine.0.join(PID.to_string()))),
        |it| matches!(it, No::NoSuchProcess { pid: PID }),
        false,
        &["no process 99999001"],
    );
    check(
        &|machine| {
            machine.stat(PID, 'S', 0x20_0000, 1);
        },
        |it| matches!(it, No::KernelThread { .. }),
        false,
        &["kernel"],
    );
    check(
        &|machine| {
            machine.stat(PID, 'Z', 0, 1);
        },
        |it| matches!(it, No::Ended { .. }),
        false,
        &["ended"],
    );
    check(
        &|machine| {
            machine.maps(PID, "/lib/libc.so.6");
        },
        |it| matches!(it, No::NotDotnet { .. }),
        false,
        &["not a .NET process"],
    );
    check(
        &|machine| {
            machine.maps(PID, "/usr/bin/mono-sgen");
        },
        |it| matches!(it, No::Mono { .. }),
        false,
        &["Mono"],
    );
    check(
        &|machine| {
            machine.unreadable(PID, "maps");
        },
        |it| matches!(it, No::NotInspectable { uid: 8, .. }),
        false,
        &["user 8", "/tmp"],
    );
    for variable in ["DOTNET_EnableDiagnostics=0", "COMPlus_EnableDiagnostics=0x0", "DOTNET_EnableDiagnostics_IPC=0"] {
        check(
            &|machine| {
                machine.write(PID, "environ", &format!("A=B\0{variable}\0"));
            },
            |it| matches!(it, No::SwitchedOff { .. }),
            true,
            &[variable],
        );
    }
    check(
        &|machine| {
            machine.unreadable(PID, "environ");
        },
        |it| matches!(it, No::EnvironmentUnreadable { .. }),
        true,
        &["TMPDIR", "/tmp"],
    );
    check(
        &|machine| {
            machine.write(PID, "environ", "TMPDIR=/gone\0");
        },
        |it| matches!(it, No::DirectoryUnreadable { .. }),
        true,
        &["/gone"],
    );
    check(
        &|machine| {
            let long = format!("/{}", "d".repeat(90));
            machine.write(PID, "environ", &format!("TMPDIR={long}\0"));
            machine.write(PID, &format!("root{long}/file"), "");
        },
        // /d..d/dotnet-diagnostic-1-50000-socket
        |it| matches!(it, No::PathTooLong { length: 124, .. }),
        true,
        &["too long", "124", "107", "ddd"],
    );
    check(
        &|machine| {
            machine.maps(PID, "/opt/shared/Microsoft.NETCore.App/2.0.0/libcoreclr.so");
        },
        |it| matches!(it, No::TooOld { .. }),
        true,
        &["2.0.0", "3.0"],
    );
    check(
        &|machine| {
            machine.stat(PID, 'S', 0, 99_800);
        },
        |it| matches!(it, No::StartingUp { age, .. } if *age == Duration::from_secs(2)),
        true,
        &["starting up", "2s"],
    );
    check(
        &|machine| {
            machine.write(PID, &format!("root/tmp/{}", name(5)), "").write(PID, "net/unix", "");
        },
        |it| matches!(it, No::NotListening { .. }),
        true,
        &["left over", "dotnet-diagnostic-1-5-socket"],
    );
}

#[test]
fn single_file_programs_without_code_heaps_of_their_own() {
    let machine = Machine::new();
    machine.process(PID).maps(PID, "/app/app");
    fs::write(machine.0.join("app"), procfs::tests::single_file(100, 77)).expect("writable");
    symlink(machine.0.join("app"), machine.0.join(format!("{PID}/exe"))).expect("writable");
    // Asked for by its id, it is looked at closely.
    assert!(matches!(machine.find(PID), Err(NotAttachable::NoSocket { .. })));
    // In the list only if its environment says why it has no code heaps.
    assert_eq!(processes_in(&machine.procfs()).len(), 0);
    machine.write(PID, "environ", "DOTNET_EnableWriteXorExecute=0\0DOTNET_EnableDiagnostics=0\0");
    let seen = processes_in(&machine.procfs());
    assert!(matches!(seen[0].attachable, Err(NotAttachable::SwitchedOff { .. })));
    assert_eq!(seen[0].executable, Some(machine.0.join("app")));
}

#[test]
fn one_unreadable_process_does_not_end_the_list() {
    let machine = Machine::new();
    for pid in PID..PID + 6 {
        machine.process(pid).write(pid, &format!("root/tmp/{}", name(LONG_AGO)), "");
    }
    machine.unreadable(PID, "stat").unreadable(PID + 1, "status").unreadable(PID + 2, "environ");
    machine.unreadable(PID + 3, "cmdline").write(PID + 4, "stat", "\u{1}garbage)").write(PID + 4, "status", "");
    fs::write(machine.0.join("version"), "not a process").expect("writable");
    let seen: Vec<u32> = processes_in(&machine.procfs()).iter().map(|seen| seen.pid).collect();
    assert_eq!(seen, [PID + 2, PID + 3, PID + 5]);
}

#[test]
fn a_threads_id_stands_for_its_process() {
    let machine = Machine::new();
    machine.process(PID).write(PID, &format!("root/tmp/{}", name(LONG_AGO)), "");
    machine.process(PID + 1).write(PID + 1, "status", &format!("Tgid:\t{PID}\nUid:\t8\t8\t8\t8\nNSpid:\t7\t2\n"));
    assert_eq!(machine.find(PID + 1).expect("its process has a socket").pid(), Some(PID));
}

#[test]
fn this_machine() {
    // Whatever else runs here: this process is no .NET process, and the list comes to its end.
    let me = std::process::id();
    assert!(processes().iter().all(|seen| seen.pid != me));
    assert!(matches!(find(me), Err(NotAttachable::NotDotnet { pid, .. }) if pid == me));
}
