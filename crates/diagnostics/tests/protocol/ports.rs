//! Runtimes that call us.

use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use strata_diagnostics::{
    Cookie, Error, Level, Phase, PortError, Provider, ReversePort, Rundown, RuntimeError, SessionRequest, StackWalk,
};

use crate::server::{Folder, PATIENCE, UNKNOWN_COMMAND, read_command, refuse, reply};

fn advertise(path: &Path, cookie: u8, pid: u64) -> UnixStream {
    let mut stream = UnixStream::connect(path).expect("the port is there");
    let record = [b"ADVR_V1\0", &[cookie; 16][..], &pid.to_le_bytes(), &[0, 0]].concat();
    stream.write_all(&record).expect("the port is there");
    stream
}

/// A runtime that knows CollectTracing2, and connects again after each command, until it is resumed.
fn runtime(path: PathBuf, cookie: u8, pid: u64) -> std::thread::JoinHandle<Vec<(u8, u8)>> {
    std::thread::spawn(move || {
        let mut commands = Vec::new();
        loop {
            let mut stream = advertise(&path, cookie, pid);
            let (set, id, _) = read_command(&mut stream).expect("a command");
            commands.push((set, id));
            match (set, id) {
                (2, 3) => reply(&mut stream, &pid.to_le_bytes()),
                (4, 1) => {
                    reply(&mut stream, &0u32.to_le_bytes());
                    return commands;
                }
                _ => refuse(&mut stream, UNKNOWN_COMMAND),
            }
        }
    })
}

#[test]
fn two_runtimes_are_told_apart() {
    let port = ReversePort::bind_temporary().expect("a port");
    let threads = [(1, 11), (2, 22)].map(|(cookie, pid)| runtime(port.path().to_owned(), cookie, pid));
    let mut callers = Vec::new();
    while callers.len() < 2 {
        callers.push(port.accept(PATIENCE).expect("a port").expect("a runtime"));
    }
    callers.sort_by_key(|caller| caller.namespace_pid);
    assert_eq!(callers.iter().map(|caller| caller.cookie).collect::<Vec<_>>(), [Cookie([1; 16]), Cookie([2; 16])]);
    let request = SessionRequest {
        providers: vec![Provider::new("Microsoft-Windows-DotNETRuntime", 0x98, Level::Verbose)],
        buffer_mb: 64,
        rundown: Rundown::None,
        stack_walk: StackWalk::Off,
    };
    // In turns, so that each wait also takes in the other's connections.
    for caller in callers.iter().rev() {
        let session = caller.endpoint().start_session(&request, PATIENCE).expect("the older command is known");
        assert_eq!(session.id().0, caller.namespace_pid);
        assert_eq!(caller.endpoint().namespace_pid(), u32::try_from(caller.namespace_pid).ok());
    }
    for caller in &callers {
        caller.endpoint().resume(PATIENCE).expect("resumed");
    }
    for thread in threads {
        assert_eq!(thread.join().expect("no panic"), [(2, 4), (2, 3), (4, 1)]);
    }
    assert_eq!(port.rejected(), 0);
}

#[test]
fn no_runtime_calls() {
    let port = ReversePort::bind_temporary().expect("a port");
    assert!(port.accept(Duration::from_millis(20)).expect("a port").is_none());

    let mut stream = advertise(port.path(), 3, 33);
    let caller = port.accept(PATIENCE).expect("a port").expect("a runtime");
    let answering = std::thread::spawn(move || {
        read_command(&mut stream).expect("a command");
        refuse(&mut stream, 0x8013_1515);
    });
    let error = caller.endpoint().resume(PATIENCE).expect_err("refused");
    assert!(matches!(error, Error::Refused { error: RuntimeError::NotSupported, .. }), "{error:?}");
    answering.join().expect("no panic");
    // It does not connect again.
    let error = caller.endpoint().resume(Duration::from_millis(50)).expect_err("no connection");
    assert!(matches!(error, Error::TimedOut { phase: Phase::Connect, .. }), "{error:?}");
}

#[test]
fn peers_that_are_no_runtimes() {
    let port = ReversePort::bind_temporary().expect("a port");
    let silent = UnixStream::connect(port.path()).expect("the port is there");
    let mut wrong = UnixStream::connect(port.path()).expect("the port is there");
    wrong.write_all(&[0x55; 34]).expect("the port is there");
    drop(UnixStream::connect(port.path()).expect("the port is there"));
    let _runtime = advertise(port.path(), 4, 44);
    assert_eq!(port.accept(PATIENCE).expect("a port").expect("a runtime").namespace_pid, 44);
    assert_eq!(port.rejected(), 3);
    drop(silent);
}

#[test]
fn a_runtime_that_calls_again_gave_up_its_earlier_call() {
    let port = ReversePort::bind_temporary().expect("a port");
    let answer = |mut stream: UnixStream| {
        std::thread::spawn(move || {
            read_command(&mut stream).expect("a command");
            reply(&mut stream, &0u32.to_le_bytes());
        })
    };
    let first = answer(advertise(port.path(), 6, 66));
    let six = port.accept(PATIENCE).expect("a port").expect("a runtime").endpoint();
    six.resume(PATIENCE).expect("resumed");
    first.join().expect("no panic");

    let given_up = advertise(port.path(), 5, 55);
    let second = advertise(port.path(), 5, 55);
    let third = answer(advertise(port.path(), 6, 66));
    // This takes in the other's two connections on its way.
    six.resume(PATIENCE).expect("resumed");
    third.join().expect("no panic");
    drop(given_up);
    let second = answer(second);
    let five = port.accept(PATIENCE).expect("a port").expect("a runtime");
    assert_eq!(five.namespace_pid, 55);
    five.endpoint().resume(PATIENCE).expect("resumed over the second connection");
    second.join().expect("no panic");
}

#[test]
fn a_runtime_that_is_held_is_handed_out_once_and_its_process_is_the_one_that_connected() {
    let port = ReversePort::bind_temporary().expect("a port");
    // What it says of itself is its id in a namespace of its own.
    let first = advertise(port.path(), 8, 1);
    let held = port.accept(PATIENCE).expect("a port").expect("a runtime");
    assert_eq!((held.pid, held.namespace_pid), (std::process::id(), 1));
    assert_eq!((held.endpoint().pid(), held.endpoint().namespace_pid()), (Some(std::process::id()), Some(1)));
    let second = advertise(port.path(), 8, 1);
    assert!(port.accept(Duration::from_millis(100)).expect("a port").is_none(), "its next connection is kept for it");
    let answering = std::thread::spawn(move || {
        for mut stream in [first, second] {
            read_command(&mut stream).expect("a command");
            reply(&mut stream, &0u32.to_le_bytes());
        }
    });
    held.endpoint().resume(PATIENCE).expect("over the first");
    held.endpoint().resume(PATIENCE).expect("over the second");
    answering.join().expect("no panic");
    drop(held);
    let _third = advertise(port.path(), 8, 1);
    assert!(port.accept(PATIENCE).expect("a port").is_some(), "no one holds it any more");
}

#[test]
fn modes_and_removal() {
    let mode = |path: &Path| std::fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
    let folder = Folder::new();
    let path = folder.0.join("new").join("port");
    let port = ReversePort::bind(&path).expect("a port");
    assert_eq!((mode(&path), mode(&folder.0.join("new"))), (0o600, 0o700));
    let (name, value) = port.environment(strata_diagnostics::Startup::Suspended);
    assert_eq!(
        (name, value.as_bytes()),
        ("DOTNET_DiagnosticPorts", [path.as_os_str().as_bytes(), b",suspend"].concat().as_slice())
    );
    assert!(matches!(ReversePort::bind(&path), Err(PortError::Bind { .. })), "a second port at the same path");
    assert!(path.exists(), "the first one's socket stays");
    drop(port);
    assert!(!folder.0.join("new").exists());

    // A folder that was there stays.
    let kept = folder.0.join("port");
    drop(ReversePort::bind(&kept).expect("a port"));
    assert!(!kept.exists() && folder.0.exists());

    // As long as an endpoint needs it, the port stays.
    let port = ReversePort::bind(&kept).expect("a port");
    let _runtime = advertise(&kept, 7, 77);
    let endpoint = port.accept(PATIENCE).expect("a port").expect("a runtime").endpoint();
    drop(port);
    assert!(kept.exists());
    drop(endpoint);
    assert!(!kept.exists());
}

#[test]
fn paths_that_no_runtime_could_use() {
    let folder = Folder::new();
    let long = folder.0.join("p".repeat(100));
    let length = long.as_os_str().len();
    assert!(matches!(ReversePort::bind(&long), Err(PortError::PathTooLong { length: it }) if it == length));
    let comma = ReversePort::bind(folder.0.join("a,b"));
    assert!(matches!(comma, Err(PortError::Separator { character: ',' })));
    let folder_missing = ReversePort::bind(folder.0.join("a").join("b").join("c"));
    assert!(matches!(folder_missing, Err(PortError::Folder { .. })));
}
