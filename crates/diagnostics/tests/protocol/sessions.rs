//! Which command starts a session, and what is granted.

use std::io::{ErrorKind, Read, Write};
use std::time::Duration;

use strata_diagnostics::{
    CollectCommand, Error, EventFilter, EventFiltering, Granted, GrantedRundown, Level, Provider, Rundown,
    RuntimeError, SessionId, SessionRequest, StackWalk,
};

use crate::server::{PATIENCE, UNKNOWN_COMMAND, message, refuse, serve};

fn request(rundown: Rundown, stack_walk: StackWalk, events: EventFilter) -> SessionRequest {
    let provider = Provider { events, ..Provider::new("Microsoft-Windows-DotNETRuntime", 0x98, Level::Verbose) };
    SessionRequest { providers: vec![provider], buffer_mb: 64, rundown, stack_walk }
}

/// Ask a runtime that knows the collect commands up to `newest` (their ids): which were tried, and what was granted.
fn check(request: &SessionRequest, newest: u8, tried: &[u8], granted: Granted) {
    let server = serve(move |_, id, mut stream| {
        if id > newest {
            refuse(&mut stream, UNKNOWN_COMMAND);
            return None;
        }
        // Reply and stream in one piece: not a byte of the stream may be taken for the reply.
        stream.write_all(&[&message(0xFF, 0, &9u64.to_le_bytes())[..], b"Nettrace"].concat()).expect("a client");
        None
    });
    let mut session = server.endpoint.start_session(request, PATIENCE).expect("some command is known");
    let mut stream = Vec::new();
    session.read_to_end(&mut stream).expect("the stream ends");
    let commands: Vec<u8> = server.commands.try_iter().map(|(_, id, _)| id).collect();
    assert_eq!(commands, tried, "{request:?}");
    assert_eq!(session.granted(), granted, "{request:?}");
    assert_eq!((session.id(), &stream[..]), (SessionId(9), &b"Nettrace"[..]));
}

const NET3: u8 = 3;
const NET9: u8 = 5;
const NET10: u8 = 6;

#[test]
fn commands_by_what_is_asked() {
    use EventFiltering::{Applied, Lost, NotAsked};
    use GrantedRundown::{Keywords, None, RuntimeDefault};
    let granted = |command, stack_walk, rundown, event_filter| Granted { command, stack_walk, rundown, event_filter };
    let (one, two, three) = (CollectCommand::One, CollectCommand::Two, CollectCommand::Three);
    let (four, five) = (CollectCommand::Four, CollectCommand::Five);
    let (on, off) = (StackWalk::On, StackWalk::Off);
    let only = || EventFilter::Only(vec![141]);

    let plain = request(Rundown::Default, on, EventFilter::All);
    check(&plain, NET10, &[3], granted(two, on, RuntimeDefault, NotAsked));
    check(&plain, 2, &[3, 2], granted(one, on, RuntimeDefault, NotAsked));

    let quiet = request(Rundown::None, off, EventFilter::All);
    check(&quiet, NET10, &[4], granted(three, off, None, NotAsked));
    check(&quiet, NET3, &[4, 3], granted(two, on, None, NotAsked));
    check(&quiet, 2, &[4, 3, 2], granted(one, on, RuntimeDefault, NotAsked));

    let methods = request(Rundown::Keywords(0x138), off, EventFilter::All);
    check(&methods, NET9, &[5], granted(four, off, Keywords(0x138), NotAsked));
    check(&methods, 4, &[5, 4], granted(three, off, RuntimeDefault, NotAsked));
    check(&methods, NET3, &[5, 4, 3], granted(two, on, RuntimeDefault, NotAsked));
    let walked = request(Rundown::Keywords(0x138), on, EventFilter::All);
    check(&walked, NET3, &[5, 3], granted(two, on, RuntimeDefault, NotAsked));

    let settings = request(Rundown::KeywordsOrNone(1), on, EventFilter::All);
    check(&settings, NET9, &[5], granted(four, on, Keywords(1), NotAsked));
    check(&settings, NET3, &[5, 3], granted(two, on, None, NotAsked));
    let none = request(Rundown::Keywords(0), on, EventFilter::All);
    check(&none, NET10, &[3], granted(two, on, None, NotAsked));

    let filtered = request(Rundown::None, off, only());
    check(&filtered, NET10, &[6], granted(five, off, None, Applied));
    check(&filtered, NET9, &[6, 4], granted(three, off, None, Lost));
    check(&filtered, NET3, &[6, 4, 3], granted(two, on, None, Lost));
    let everything = request(Rundown::Keywords(0x138), off, only());
    check(&everything, NET10, &[6], granted(five, off, Keywords(0x138), Applied));
    check(&everything, NET9, &[6, 5], granted(four, off, Keywords(0x138), Lost));
}

#[test]
fn no_session_left() {
    let server = serve(|_, _, mut stream| {
        refuse(&mut stream, 0x8000_4005);
        None
    });
    let request = request(Rundown::None, StackWalk::Off, EventFilter::All);
    let error = server.endpoint.start_session(&request, PATIENCE).expect_err("refused");
    let expected = RuntimeError::Failed;
    assert!(matches!(error, Error::Refused { command: "CollectTracing3", error } if error == expected), "{error:?}");
    assert_eq!(server.commands.try_iter().count(), 1);
}

#[test]
fn silence_is_no_end() {
    let server = serve(|_, _, mut stream| {
        stream.write_all(&message(0xFF, 0, &9u64.to_le_bytes())).expect("a client");
        Some(stream)
    });
    let request = request(Rundown::None, StackWalk::On, EventFilter::All);
    let mut session = server.endpoint.start_session(&request, PATIENCE).expect("started");
    for timeout in [Duration::ZERO, Duration::from_millis(20)] {
        session.set_timeout(Some(timeout)).expect("a socket");
        assert_eq!(session.read(&mut [0; 8]).expect_err("nothing came").kind(), ErrorKind::TimedOut);
    }
}
