//! Bytes written from the protocol's description.

use strata_diagnostics::reply::{self, Header, Kind};
use strata_diagnostics::wire::{Command, message};
use strata_diagnostics::{
    CollectCommand, Cookie, EventFilter, InfoVersion, Level, Malformed, Problem, Provider, RequestError, Rundown,
    RuntimeError, SessionRequest, StackWalk,
};

use crate::server::string;

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    digits
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).expect("ASCII"), 16).expect("hexadecimal"))
        .collect()
}

fn request() -> SessionRequest {
    SessionRequest {
        providers: vec![
            Provider {
                events: EventFilter::Only(vec![141, 143]),
                ..Provider::new("Rt", 0x10_0000_00B8, Level::Verbose)
            },
            Provider { arguments: Some("k=v".into()), ..Provider::new("é\u{10348}", 1, Level::Informational) },
        ],
        buffer_mb: 64,
        rundown: Rundown::Keywords(0x20138),
        stack_walk: StackWalk::Off,
    }
}

const RT: &str = "b800000010000000 05000000 03000000 520074000000 00000000";
const OTHER: &str = "0100000000000000 04000000 04000000 e900 00d8 48df 0000 04000000 6b003d0076000000";

#[test]
fn every_collect_command() {
    let magic = "444f544e45545f4950435f563100";
    let check = |command: CollectCommand, expected: &str| {
        let payload = request().payload(command).expect("a valid request");
        assert_eq!(message(command.command(), &payload).expect("small"), hex(expected), "{command:?}");
    };
    let buffer_format = "40000000 01000000";
    check(CollectCommand::One, &format!("{magic} 5e00 0202 0000 {buffer_format} 02000000 {RT} {OTHER}"));
    check(CollectCommand::Two, &format!("{magic} 5f00 0203 0000 {buffer_format} 01 02000000 {RT} {OTHER}"));
    check(CollectCommand::Three, &format!("{magic} 6000 0204 0000 {buffer_format} 01 00 02000000 {RT} {OTHER}"));
    check(
        CollectCommand::Four,
        &format!("{magic} 6700 0205 0000 {buffer_format} 3801020000000000 00 02000000 {RT} {OTHER}"),
    );
    let only = "01 02000000 8d000000 8f000000";
    let all = "00 00000000";
    check(
        CollectCommand::Five,
        &format!(
            "{magic} 7d00 0206 0000 00000000 {buffer_format} 3801020000000000 00 02000000 {RT} {only} {OTHER} {all}"
        ),
    );
}

#[test]
fn rundown_and_stack_walk() {
    let check = |rundown: Rundown, yes_or_no: u8, keywords: u64| {
        let request = SessionRequest { rundown, stack_walk: StackWalk::On, ..request() };
        let two = request.payload(CollectCommand::Two).expect("a valid request");
        assert_eq!(two[8], yes_or_no, "{rundown:?}");
        let four = request.payload(CollectCommand::Four).expect("a valid request");
        assert_eq!(four[8..16], keywords.to_le_bytes(), "{rundown:?}");
        assert_eq!(four[16], 1);
    };
    check(Rundown::None, 0, 0);
    check(Rundown::Default, 1, 0x8002_0139);
    check(Rundown::Keywords(0x138), 1, 0x138);
    check(Rundown::Keywords(0), 0, 0);
    check(Rundown::KeywordsOrNone(0x138), 0, 0x138);
}

#[test]
fn filters_that_let_all_but_some_pass() {
    let mut request = request();
    request.providers.truncate(1);
    request.providers[0].events = EventFilter::Except(vec![7]);
    let payload = request.payload(CollectCommand::Five).expect("a valid request");
    assert!(payload.ends_with(&hex("00 01000000 07000000")));
}

#[test]
fn other_commands() {
    let check = |command: Command, payload: &[u8], expected: &str| {
        assert_eq!(message(command, payload).expect("small"), hex(expected));
    };
    check(Command::ProcessInfo, &[], "444f544e45545f4950435f563100 1400 0400 0000");
    check(Command::ResumeRuntime, &[], "444f544e45545f4950435f563100 1400 0401 0000");
    check(Command::ProcessInfo2, &[], "444f544e45545f4950435f563100 1400 0404 0000");
    check(Command::ProcessInfo3, &[], "444f544e45545f4950435f563100 1400 0408 0000");
    check(
        Command::StopTracing,
        &0x7f00_1234_5678_u64.to_le_bytes(),
        "444f544e45545f4950435f563100 1c00 0201 0000 78563412007f0000",
    );
}

#[test]
fn requests_that_no_runtime_could_accept() {
    let check = |change: &dyn Fn(&mut SessionRequest), expected: RequestError| {
        let mut request = request();
        change(&mut request);
        let payload = request.payload(CollectCommand::Two);
        assert_eq!(payload.and_then(|payload| message(Command::CollectTracing2, &payload)), Err(expected));
    };
    check(&|request| request.providers.clear(), RequestError::NoProvider);
    check(&|request| request.buffer_mb = 0, RequestError::NoBuffer);
    check(&|request| request.providers[1].name.clear(), RequestError::NamelessProvider { index: 1 });
    check(&|request| request.providers[1].name = "Rt".into(), RequestError::RepeatedProvider { name: "Rt".into() });
    check(&|request| request.providers[0].name = "a\0b".into(), RequestError::Nul { name: "a\0b".into() });
    check(
        &|request| request.providers = vec![request.providers[0].clone(); 1001],
        RequestError::TooManyProviders { count: 1001 },
    );
    check(
        &|request| request.providers[0].arguments = Some("x".repeat(40_000)),
        // Header, fixed fields and both providers as in the vectors, and the argument's units with its terminator.
        RequestError::TooLarge { bytes: 0x5f + 2 * 40_001 },
    );
}

#[test]
fn headers() {
    let check = |text: &str, expected: Result<Header, Malformed>| {
        let bytes = hex(text).try_into().expect("20 bytes");
        assert_eq!(reply::header(&bytes), expected, "{text}");
    };
    let magic = "444f544e45545f4950435f563100";
    let malformed = |offset, problem| Err(Malformed { offset, problem });
    check(&format!("{magic} 1c00 ff00 0000"), Ok(Header { kind: Kind::Result, payload_bytes: 8 }));
    check(&format!("{magic} 1800 ffff 0000"), Ok(Header { kind: Kind::Error, payload_bytes: 4 }));
    check(&format!("{magic} ffff ff00 0000"), Ok(Header { kind: Kind::Result, payload_bytes: 65515 }));
    check(&format!("{magic} 1300 ff00 0000"), malformed(14, Problem::SizeTooSmall { size: 19 }));
    check(&format!("{magic} 1400 0400 0000"), malformed(16, Problem::NotAReply { set: 4, id: 0 }));
    check(&format!("{magic} 1400 ff01 0000"), malformed(16, Problem::NotAReply { set: 0xFF, id: 1 }));
    check("444f544e45545f4950435f563200 1400 ff00 0000", malformed(0, Problem::BadMagic));
}

#[test]
fn runtime_errors() {
    let check = |code: u32, expected: RuntimeError| {
        assert_eq!(reply::error(&code.to_le_bytes()), Ok(expected));
        assert_eq!(expected.code(), code);
        assert!(expected.to_string().contains(&format!("{code:#010x}")));
    };
    check(0x8013_1384, RuntimeError::BadEncoding);
    check(0x8013_1385, RuntimeError::UnknownCommand);
    check(0x8013_1386, RuntimeError::UnknownMagic);
    check(0x8013_1515, RuntimeError::NotSupported);
    check(0x8000_4005, RuntimeError::Failed);
    check(0x8013_135B, RuntimeError::NotYetAvailable);
    check(0x8013_1371, RuntimeError::Uninitialized);
    check(0x8007_0057, RuntimeError::InvalidArgument);
    check(0x8007_007A, RuntimeError::InsufficientBuffer);
    check(0x8000_00CB, RuntimeError::EnvironmentVariableNotFound);
    check(0xDEAD_BEEF, RuntimeError::Other(0xDEAD_BEEF));
}

/// The payload of a `ProcessInfo3` reply; without its first 4 bytes and its last string, that of a `ProcessInfo2` reply.
fn process_info() -> Vec<u8> {
    let cookie: Vec<u8> = (0..16).collect();
    let texts = ["/app one", "Linux", "x64", "app", "8.0.4", "linux-x64"].map(string).concat();
    [&1u32.to_le_bytes()[..], &7u64.to_le_bytes(), &cookie, &texts].concat()
}

#[test]
fn process_queries() {
    let payload = process_info();
    let three = reply::process_info(InfoVersion::Three, &payload).expect("well formed");
    assert_eq!(three.namespace_pid, 7);
    assert_eq!(three.cookie, Cookie([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]));
    assert_eq!((three.command_line.as_str(), three.os.as_str(), three.arch.as_str()), ("/app one", "Linux", "x64"));
    assert_eq!(three.entry_assembly.as_deref(), Some("app"));
    assert_eq!(three.runtime_version.as_deref(), Some("8.0.4"));
    assert_eq!(three.portable_rid.as_deref(), Some("linux-x64"));

    // A newer runtime may say more.
    let longer = [&payload[..], b"more"].concat();
    assert_eq!(reply::process_info(InfoVersion::Three, &longer), Ok(three.clone()));

    let two = reply::process_info(InfoVersion::Two, &payload[4..]).expect("well formed");
    assert_eq!((two.runtime_version.as_deref(), two.portable_rid), (Some("8.0.4"), None));
    let one = reply::process_info(InfoVersion::One, &payload[4..]).expect("well formed");
    assert_eq!((one.arch.as_str(), one.runtime_version), ("x64", None));
}

#[test]
fn process_query_cut_anywhere() {
    let payload = process_info();
    for length in 0..payload.len() {
        let error = reply::process_info(InfoVersion::Three, &payload[..length]).expect_err("cut");
        assert!(error.offset <= 20 + length, "{error} in {length} bytes");
    }
}

#[test]
fn strings_that_lie() {
    let check = |count: u32, text: &[u8], problem: Problem| {
        let payload = [&[0; 24][..], &count.to_le_bytes(), text].concat();
        let expected = Err(Malformed { offset: 20 + 24, problem });
        assert_eq!(reply::process_info(InfoVersion::One, &payload), expected);
    };
    check(u32::MAX, b"a\0\0\0", Problem::CountTooLarge { count: u32::MAX, available: 4 });
    check(0x8000_0000, b"", Problem::CountTooLarge { count: 0x8000_0000, available: 0 });
    check(3, b"a\0\0\0", Problem::CountTooLarge { count: 3, available: 4 });
    check(2, b"a\0b\0", Problem::NotTerminated);
}

#[test]
fn advertise_records() {
    let bytes = hex("414456525f563100 000102030405060708090a0b0c0d0e0f 3930000000000000 0000");
    let advertise = reply::advertise(&bytes).expect("well formed");
    assert_eq!((advertise.namespace_pid, advertise.cookie.0[15]), (12345, 15));
    for length in 0..bytes.len() {
        assert!(reply::advertise(&bytes[..length]).is_err());
    }
    let other = hex("414456525f563200 000102030405060708090a0b0c0d0e0f 3930000000000000 0000");
    assert_eq!(reply::advertise(&other), Err(Malformed { offset: 0, problem: Problem::BadMagic }));
}
