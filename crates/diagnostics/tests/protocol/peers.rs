//! Peers that are slow, wrong or gone: each is a typed error within its time-out.

use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::{Duration, Instant};

use strata_diagnostics::{Endpoint, Error, Malformed, Phase, Problem, RuntimeError, SessionId};

use crate::server::{Folder, PATIENCE, UNKNOWN_COMMAND, message, refuse, reply, serve, serve_at, string};

const SHORT: Duration = Duration::from_millis(200);

/// Ask a peer that does `answer` on each connection; the error has to come in time.
fn ask(answer: impl FnMut(UnixStream) -> Option<UnixStream> + Send + 'static, timeout: Duration) -> Error {
    let mut answer = answer;
    let server = serve(move |_, _, stream| answer(stream));
    let started = Instant::now();
    let error = server.endpoint.process_info(timeout).expect_err("no good answer was given");
    assert!(started.elapsed() < PATIENCE);
    error
}

/// Ask a peer that writes these bytes and closes.
fn ask_writer(bytes: Vec<u8>) -> Error {
    ask(
        move |mut stream| {
            stream.write_all(&bytes).expect("the client is there");
            None
        },
        PATIENCE,
    )
}

#[test]
fn never_answers() {
    let error = ask(Some, SHORT);
    assert!(matches!(error, Error::TimedOut { phase: Phase::Reply, after: SHORT }), "{error:?}");
}

#[test]
fn answers_a_byte_at_a_time() {
    // Each byte comes well within the time-out; all of them do not.
    let error = ask(
        |mut stream| {
            for byte in message(0xFF, 0x00, &[0; 1000]) {
                if stream.write_all(&[byte]).is_err() {
                    return None;
                }
                std::thread::sleep(Duration::from_millis(50));
            }
            Some(stream)
        },
        SHORT,
    );
    assert!(matches!(error, Error::TimedOut { phase: Phase::Reply, after: SHORT }), "{error:?}");
}

#[test]
fn closes_at_once() {
    let error = ask(|_| None, PATIENCE);
    assert!(matches!(error, Error::ClosedEarly { phase: Phase::Reply, received: 0, expected: 20 }), "{error:?}");
}

#[test]
fn closes_before_it_read_anything() {
    let folder = Folder::new();
    let path = folder.0.join("socket");
    let listener = UnixListener::bind(&path).expect("a new socket");
    std::thread::spawn(move || drop(listener.accept()));
    let error = Endpoint::at(path).process_info(PATIENCE).expect_err("no answer was given");
    assert!(matches!(error, Error::ClosedEarly { .. }), "{error:?}");
}

#[test]
fn says_less_than_it_states() {
    let error = ask_writer([&message(0xFF, 0x00, &[])[..14], &[0xFF, 0xFF, 0xFF, 0x00, 0, 0], b"ten bytes."].concat());
    assert!(matches!(error, Error::ClosedEarly { phase: Phase::Reply, received: 10, expected: 65515 }), "{error:?}");
}

#[test]
fn says_what_is_no_reply() {
    let check = |bytes: Vec<u8>, offset: usize, problem: Problem| match ask_writer(bytes) {
        Error::Malformed(malformed) => assert_eq!(malformed, Malformed { offset, problem }),
        other => panic!("{other:?}"),
    };
    check(b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(), 0, Problem::BadMagic);
    check(message(0x04, 0x00, &[]), 16, Problem::NotAReply { set: 4, id: 0 });
    check(
        [&message(0xFF, 0x00, &[])[..14], &[19, 0, 0xFF, 0x00, 0, 0]].concat(),
        14,
        Problem::SizeTooSmall { size: 19 },
    );
    check(message(0xFF, 0xFF, &[]), 20, Problem::Truncated { needed: 4, available: 0 });
    check(message(0xFF, 0x00, &[]), 20, Problem::Truncated { needed: 4, available: 0 });
    // A command line of four thousand million characters.
    let huge = [&[0; 28][..], &u32::MAX.to_le_bytes(), b"a\0\0\0"].concat();
    check(message(0xFF, 0x00, &huge), 48, Problem::CountTooLarge { count: u32::MAX, available: 4 });
}

#[test]
fn refuses() {
    let error = ask(
        |mut stream| {
            refuse(&mut stream, 0x8013_1515);
            None
        },
        PATIENCE,
    );
    let expected = RuntimeError::NotSupported;
    assert!(matches!(error, Error::Refused { command: "ProcessInfo3", error } if error == expected), "{error:?}");
}

#[test]
fn knows_no_process_query() {
    let server = serve(|_, _, mut stream| {
        refuse(&mut stream, UNKNOWN_COMMAND);
        None
    });
    let error = server.endpoint.process_info(PATIENCE).expect_err("all were refused");
    assert!(matches!(error, Error::NoProcessQuery), "{error:?}");
    let commands: Vec<(u8, u8)> = server.commands.try_iter().map(|(set, id, _)| (set, id)).collect();
    assert_eq!(commands, [(4, 8), (4, 4), (4, 0)]);
}

#[test]
fn knows_only_an_older_process_query() {
    let server = serve(|_, id, mut stream| {
        match id {
            0 => reply(&mut stream, &[&[0; 24][..], &["a", "Linux", "x64"].map(string).concat()].concat()),
            _ => refuse(&mut stream, UNKNOWN_COMMAND),
        }
        None
    });
    let info = server.endpoint.process_info(PATIENCE).expect("the oldest is answered");
    assert_eq!((info.command_line.as_str(), info.runtime_version), ("a", None));
}

#[test]
fn confirms_another_session() {
    let server = serve(|_, _, mut stream| {
        reply(&mut stream, &5u64.to_le_bytes());
        None
    });
    server.endpoint.stop_session(SessionId(5), PATIENCE).expect("confirmed");
    let error = server.endpoint.stop_session(SessionId(6), PATIENCE).expect_err("another was confirmed");
    assert!(matches!(error, Error::OtherSession { asked: 6, answered: 5 }), "{error:?}");
}

#[test]
fn no_one_listens() {
    let folder = Folder::new();
    let stale = folder.0.join("stale");
    drop(UnixListener::bind(&stale).expect("a new socket"));
    assert!(stale.exists());
    for path in [stale, folder.0.join("missing")] {
        let error = Endpoint::at(&path).process_info(PATIENCE).expect_err("no one is there");
        assert!(matches!(&error, Error::NotListening { sockets } if *sockets == [path]), "{error:?}");
    }
}

#[test]
fn backlog_is_full() {
    let folder = Folder::new();
    let path = folder.0.join("socket");
    let listener = UnixListener::bind(&path).expect("a new socket");
    // Listening again changes the backlog: one connection may wait.
    rustix::net::listen(&listener, 0).expect("a smaller backlog");
    let _waiting = UnixStream::connect(&path).expect("room for one");
    let error = Endpoint::at(&path).process_info(SHORT).expect_err("no room");
    assert!(matches!(error, Error::TimedOut { phase: Phase::Connect, after: SHORT }), "{error:?}");
}

#[test]
fn path_longer_than_a_socket_address() {
    let folder = Folder::new();
    let deep = folder.0.join("d".repeat(120));
    std::fs::create_dir(&deep).expect("a new folder");
    let handle = std::fs::File::open(&deep).expect("readable");
    let through = format!("/proc/self/fd/{}/socket", handle.as_raw_fd());
    let _commands = serve_at(through.as_ref(), |_, _, mut stream| {
        reply(&mut stream, &7u64.to_le_bytes());
        None
    });
    Endpoint::at(deep.join("socket")).stop_session(SessionId(7), PATIENCE).expect("reached");
    let error = Endpoint::at(deep.join("missing")).stop_session(SessionId(7), PATIENCE).expect_err("no such socket");
    assert!(matches!(error, Error::NotListening { .. }), "{error:?}");
}
