//! Traces that are larger than the memory there is.

use super::*;
use std::io::Write;
use strata_testkit::nettrace::utf16;

/// More than the limit on the memory of the reader, in all.
const BYTES: usize = 1 << 30;
const LIMIT_KIB: u32 = 512 << 10;

#[test]
fn memory_does_not_grow_with_the_trace() {
    let definitions = [Definition::native(1, "Shop", 1, 0)];
    // A block of three bytes ends at a multiple of four, where a group of blocks may stand as often as one likes.
    let head = Stream::with_trace().metadata(&definitions).block("Padding", &[0; 3]).bytes();
    // One group of blocks, again and again: stacks, events that name them, and a sequence point, behind which ids begin anew.
    let stacks: Vec<Vec<u64>> =
        (0..100).map(|stack| (0..20).map(|frame| 0x7000 + stack * 100 + frame).collect()).collect();
    let stacks: Vec<&[u64]> = stacks.iter().map(Vec::as_slice).collect();
    let blobs = (1..=2000).fold(Blobs::compressed(), |blobs, number: u32| {
        blobs.with(Blob { stack: number % 100 + 1, ..event(1, number, &utf16("some text of an event")) })
    });
    let group = Stream::with_trace()
        .metadata(&definitions)
        .block("Padding", &[0; 3])
        .stacks(1, &stacks)
        .events(&blobs)
        .sequence_point(1_000_000, &[(7, 2000)])
        .block("Padding", &[0; 3])
        .bytes()
        .split_off(head.len());

    for command in [&["info", "-", "--json"][..], &["events", "-", "--name", "Event(1)", "--thread", "8"]] {
        let script = format!("ulimit -v {LIMIT_KIB}; exec \"$0\" \"$@\"");
        let mut reader = Command::new("sh")
            .args(["-c", &script, env!("CARGO_BIN_EXE_strata")])
            .args(command)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = reader.stdin.take().unwrap();
        input.write_all(&head).unwrap();
        let groups = BYTES / group.len();
        for _ in 0..groups {
            input.write_all(&group).unwrap();
        }
        input.write_all(&[1]).unwrap();
        drop(input);
        let output = reader.wait_with_output().unwrap();
        if command[0] == "events" {
            assert_eq!(output.status.code(), Some(6), "{}", stderr(&output));
            assert!(stderr(&output).contains(&format!("none of the {} events", groups * 2000)), "{}", stderr(&output));
            continue;
        }
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let told: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(told["events"], groups * 2000);
        assert!(told["bytes"].as_u64().unwrap() > BYTES as u64 - group.len() as u64);
    }
}
