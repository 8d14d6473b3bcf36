//! `strata report` and `strata convert` on traces: thread time.

use super::*;
use crate::support::report;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use strata_nettrace::runtime::SAMPLE_PROVIDER;
use strata_nettrace::{Decoder, Item};
use strata_testkit::{corpus, live};

/// Everything that is written of a trace, by name.
fn outputs(scratch: &Scratch, file: &Path) -> Vec<(String, String)> {
    let mut outputs = Vec::new();
    for view in ["top", "tree", "threads", "loss"] {
        for more in [&[][..], &["--json"]] {
            let arguments = ["report".as_ref(), file.as_os_str(), view.as_ref()];
            let output = run(arguments.into_iter().chain(more.iter().map(AsRef::<OsStr>::as_ref)), 0);
            outputs.push((format!("{view} {more:?}"), String::from_utf8(output.stdout).unwrap()));
        }
    }
    for name in ["out.folded", "out.speedscope.json", "out.json"] {
        let out = scratch.path(name);
        run(["convert".as_ref(), file.as_os_str(), "-o".as_ref(), out.as_os_str()], 0);
        outputs.push((name.to_owned(), std::fs::read_to_string(out).unwrap()));
    }
    outputs
}

#[test]
fn no_output_of_thread_time_speaks_of_cpu() {
    let Some(corpus) = corpus() else { return };
    let scratch = Scratch::new();
    for (name, text) in outputs(&scratch, &corpus.join("nettrace/net5-macos-mixed-managed-external-samples.nettrace")) {
        // What the format calls so is the operating system.
        let text = text.replace("oscpu", "");
        assert!(!text.to_lowercase().contains("cpu"), "{name}: {text:.2000}");
        assert!(text.contains("xternal") || name.starts_with("loss"), "{name}: {text:.2000}");
        let says = text.contains("thread time") || text.contains("thread-time");
        assert!(says || name == "out.folded" || name == "loss []", "{name}");
    }
}

/// From the first sample of each thread to its last, added up.
fn sampled_ns(trace: &[u8]) -> u64 {
    let mut times: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
    let mut sink = |item: Item<'_>| match item {
        Item::Event(event) if &*event.metadata.provider == SAMPLE_PROVIDER => {
            let time = event.header.time;
            times.entry(event.header.thread).or_insert((time, time)).1 = time;
        }
        _ => {}
    };
    let mut decoder = Decoder::new();
    decoder.feed(trace, &mut sink).unwrap();
    decoder.finish(&mut sink).unwrap();
    // The clock of these traces counts nanoseconds.
    times.values().map(|(first, last)| last - first).sum()
}

#[test]
fn speedscope_takes_traces_of_macos() {
    let Some(corpus) = corpus() else { return };
    let scratch = Scratch::new();
    let schema = live::speedscope_schema().unwrap_or_else(|missing| panic!("{missing}"));
    for name in ["net5-macos-mixed-managed-external-samples", "net5-macos-only-managed-samples"] {
        let file = corpus.join(format!("nettrace/{name}.nettrace"));
        let nanoseconds = sampled_ns(&std::fs::read(&file).unwrap());
        assert!(nanoseconds > 8_000_000_000, "{name}: {nanoseconds}");
        let out = scratch.path("out.speedscope.json");
        run(["convert".as_ref(), file.as_os_str(), "-o".as_ref(), out.as_os_str()], 0);
        live::validate_json(&out, &schema).unwrap_or_else(|problem| panic!("{name}: {problem}"));
        let document: Value = serde_json::from_slice(&std::fs::read(&out).unwrap()).unwrap();
        let mut all = 0;
        for thread in document["profiles"].as_array().unwrap() {
            let [samples, weights] = ["samples", "weights"].map(|column| thread[column].as_array().unwrap());
            let sum: u64 = weights.iter().map(|weight| weight.as_u64().unwrap()).sum();
            assert_eq!((samples.len(), thread["endValue"].as_u64()), (weights.len(), Some(sum)), "{name}");
            all += sum;
        }
        assert_eq!(all, nanoseconds, "{name}");
    }
}

#[test]
fn folded_stacks_are_the_known_answer() {
    let Some(corpus) = corpus() else { return };
    let file = corpus.join("nettrace/net5-single-thread.nettrace");
    let output = run(["convert".as_ref(), file.as_os_str(), "-o".as_ref(), "-".as_ref()], 0);
    let mut ours = BTreeMap::new();
    for line in String::from_utf8(output.stdout).unwrap().lines().filter(|line| !line.starts_with('#')) {
        let (path, weight) = line.rsplit_once(' ').unwrap();
        let path = path.trim_end_matches(";[external: native code or waiting]");
        // The answer has neither process nor thread.
        let path = path.splitn(3, ';').nth(2).unwrap().to_owned();
        *ours.entry(path).or_insert(0) += weight.parse::<u64>().unwrap();
    }
    let answer = std::fs::read_to_string(corpus.join("nettrace/net5-single-thread.expected.folded")).unwrap();
    let answer = answer.replace("mvc-hello-world!", "").replace("class ", "");
    let answer: BTreeMap<String, u64> = answer
        .lines()
        .map(|line| line.rsplit_once(' ').unwrap())
        .map(|(path, weight)| (path.to_owned(), weight.parse().unwrap()))
        .collect();
    assert_eq!(ours, answer);
}

#[test]
fn a_cut_trace_gives_a_result_a_warning_and_a_hint() {
    let Some(corpus) = corpus() else { return };
    let file = corpus.join("nettrace/truncated-no-rundown.nettrace");
    let output = run(["report".as_ref(), file.as_os_str()], 0);
    let said = stderr(&output);
    assert_eq!(said.matches("cut at byte 4174144").count(), 1, "{said}");
    assert_eq!(said.matches("have no name").count(), 1, "{said}");
    assert!(said.contains("100.0 % of frames") && said.contains("--symbols DIR"), "{said}");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("[.NET code at 0x") && text.contains("0 of 52072 (0.0 %)"), "{text}");
}

#[test]
fn a_trace_without_samples_says_what_it_has() {
    let Some(corpus) = corpus() else { return };
    let scratch = Scratch::new();
    let file = corpus.join("nettrace/net10-alloc.nettrace");
    let out = scratch.path("out.json");
    for arguments in [
        vec!["report".as_ref(), file.as_os_str()],
        vec!["convert".as_ref(), file.as_os_str(), "-o".as_ref(), out.as_os_str()],
    ] {
        let said = stderr(&run(arguments, 6));
        for word in ["3783 events", "Microsoft-Windows-DotNETRuntimeRundown 3136", "--name EVENT", "strata info"] {
            assert!(said.contains(word), "no {word:?} in {said}");
        }
        assert!(!out.exists());
    }
    // What is missing can be shown all the same.
    run(["report".as_ref(), file.as_os_str(), "loss".as_ref()], 0);
}

#[test]
fn what_is_neither_a_recording_nor_a_trace_is_named() {
    let scratch = Scratch::new();
    for (bytes, word) in [(&b"PK\x03\x04\x14\0\0\0"[..], "zip"), (b"PERFILE2h\0\0\0", "perf.data"), (b"", "empty")] {
        let file = written(&scratch, "file", bytes);
        let said = stderr(&run(["report".as_ref(), file.as_os_str()], 5));
        assert!(said.contains(word), "{said}");
    }
    let folder = scratch.path("");
    assert!(stderr(&run(["report".as_ref(), folder.as_os_str()], 5)).contains("not a recording"));
}

#[test]
fn a_trace_can_come_on_standard_input() {
    let Some(corpus) = corpus() else { return };
    let file = corpus.join("nettrace/net10-contention.nettrace");
    let mut command = strata(["report", "-", "threads", "--json", "--limit", "100000"]);
    let output = command.stdin(std::fs::File::open(&file).unwrap()).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let piped: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(piped["data"], report(&file, "threads")["data"]);
}
