//! What is no trace, and traces that are cut or damaged.

use super::*;
use std::collections::BTreeMap;
use strata_testkit::corpus;

/// The commands that read a trace, each with a way that shows everything.
const COMMANDS: [&[&str]; 2] = [&["info"], &["events", "--limit", "1000000"]];

#[test]
fn what_is_no_trace_is_named() {
    let scratch = Scratch::new();
    let check = |bytes: &[u8], words: &[&str]| {
        let file = written(&scratch, "file", bytes);
        for command in COMMANDS {
            let output = run(command.iter().map(AsRef::as_ref).chain([file.as_os_str()]), 5);
            let said = stderr(&output);
            assert!(output.stdout.is_empty() || command[0] == "events", "{said}");
            for word in words {
                assert!(said.contains(word), "{command:?}: no {word:?} in\n{said}");
            }
        }
    };
    check(b"", &["begins with nothing", "empty"]);
    check(b"just a text\n", &["begins with 6a 75 73 74", "Nettrace"]);
    check(&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3], &["1f 8b", "gzip"]);
    check(b"PK\x03\x04\x14\0\0\0\x08\0", &["50 4b 03 04", "zip"]);
    check(b"PERFILE2h\0\0\0", &["perf.data"]);
    check(b"{\"meta\":{}}", &["JSON"]);
    check(b"\x14\0\0\0!FastSerialization.1\x04\x04\x01\x03\0\0\0", &["NetPerf version 3"]);
    check(b"Nettrace\0\0\0\0\x07\0\0\0\0\0\0\0", &["nettrace version 7.0"]);
    let missing = run(["info".as_ref(), scratch.path("missing").as_os_str()], 5);
    assert!(stderr(&missing).contains("cannot read"), "{}", stderr(&missing));
    let folder = run(["events".as_ref(), scratch.path("").as_os_str()], 5);
    assert!(stderr(&folder).contains("is a folder"), "{}", stderr(&folder));
}

#[test]
fn a_trace_without_its_front_is_no_trace() {
    let Some(corpus) = corpus() else { return };
    let bytes = std::fs::read(corpus.join("nettrace/net10-exceptions.nettrace")).unwrap();
    let scratch = Scratch::new();
    let file = written(&scratch, "tail.nettrace", &bytes[64 << 10..]);
    let said = stderr(&run(["info".as_ref(), file.as_os_str()], 5));
    assert!(said.contains("not a nettrace stream") && said.contains("cut at its front"), "{said}");
}

#[test]
fn the_real_cut_trace_is_read_up_to_the_cut() {
    let Some(corpus) = corpus() else { return };
    let file = corpus.join("nettrace/truncated-no-rundown.nettrace");
    let output = run(["info".as_ref(), "--json".as_ref(), file.as_os_str()], 0);
    let said = stderr(&output);
    assert!(said.contains("cut at byte 4174144") && said.contains("3440 of 5488 bytes"), "{said}");
    let info: Value = serde_json::from_slice(&output.stdout).unwrap();
    // 19,842 in whole blocks, and those that are whole in the block that is cut.
    assert_eq!((&info["end"]["how"], &info["events"]), (&"cut".into(), &(19842 + 69).into()));
}

#[test]
fn cut_anywhere_a_trace_gives_a_result_and_a_warning() {
    let Some(corpus) = corpus() else { return };
    let bytes = std::fs::read(corpus.join("nettrace/net6-linux-gc-threads-exceptions.nettrace")).unwrap();
    let scratch = Scratch::new();
    let mut state = 42_u64;
    let mut last_events = BTreeMap::new();
    for _ in 0..2000 {
        // A fixed sequence of numbers that look like chance.
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let length = (state >> 33) as usize % bytes.len();
        let file = written(&scratch, "cut.nettrace", &bytes[..length]);
        // The first eight bytes say that it is a trace at all.
        let code = if length == 0 { 5 } else { 0 };
        let output = run(["info".as_ref(), "--json".as_ref(), file.as_os_str()], code);
        if code == 0 {
            let said = stderr(&output);
            assert!(said.contains(&format!("cut at byte {length}")), "{length}: {said}");
            let info: Value = serde_json::from_slice(&output.stdout).unwrap();
            last_events.insert(length, info["events"].as_u64().unwrap());
        }
    }
    // A longer prefix never has less.
    assert!(last_events.values().is_sorted(), "{last_events:?}");
    assert!(*last_events.values().next_back().unwrap() > 1000);
}

#[test]
fn damage_inside_costs_a_block_and_not_the_trace() {
    let Some(corpus) = corpus() else { return };
    let mut bytes = std::fs::read(corpus.join("nettrace/net6-linux-gc-threads-exceptions.nettrace")).unwrap();
    // The third event block's header claims to be shorter than any is.
    let block =
        bytes.windows(10).enumerate().filter(|(_, name)| name == b"EventBlock").map(|(at, _)| at).nth(2).unwrap();
    let content = (block + 10 + 1 + 4).next_multiple_of(4);
    bytes[content..content + 2].copy_from_slice(&3_u16.to_le_bytes());
    let scratch = Scratch::new();
    let file = written(&scratch, "damaged.nettrace", &bytes);
    let output = run(["info".as_ref(), "--json".as_ref(), file.as_os_str()], 0);
    let said = stderr(&output);
    assert!(
        said.contains("block header size out of range (1 times); the first: block header size out of range at byte"),
        "{said}"
    );
    let info: Value = serde_json::from_slice(&output.stdout).unwrap();
    let events = info["events"].as_u64().unwrap();
    assert!((500..1296).contains(&events), "{events}");
    assert_eq!(info["end"]["how"], "complete");
}
