//! What `strata info` says about real traces.

use super::*;
use strata_testkit::corpus;

#[test]
fn real_traces_have_their_known_answers() {
    let Some(corpus) = corpus() else { return };
    let check = |name: &str, version: Option<&str>, process: u64, events: u64, threads: usize, samples: u64| {
        let info = info(&corpus.join("nettrace").join(name));
        let sampled: u64 = info["kinds"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|kind| kind["provider"] == "Microsoft-DotNETCore-SampleProfiler")
            .map(|kind| kind["events"].as_u64().unwrap())
            .sum();
        let found = (&info["runtime_version"], &info["events"], info["threads"].as_array().unwrap().len(), sampled);
        assert_eq!(found, (&serde_json::json!(version), &events.into(), threads, samples), "{name}");
        assert_eq!(info["loss"]["events"], 0, "{name}");
        if process > 0 {
            assert_eq!(info["trace"]["process_id"], process, "{name}");
        }
    };
    check("net3.0-win-all-events.nettrace", None, 10064, 105_540, 17, 35161);
    check("net5-single-thread.nettrace", Some("5.0.521.16609"), 0, 27951, 4, 5564);
    check("net6-linux-gc-threads-exceptions.nettrace", Some("6.0.522.21309"), 0, 1296, 8, 39);
    check("net10-exceptions.nettrace", Some("10.0.826.23019"), 63000, 12744, 5, 48);
    check("net8-counters.nettrace", None, 0, 109, 2, 0);
}

#[test]
fn uses_are_told_with_the_command_that_shows_them() {
    let Some(corpus) = corpus() else { return };
    let text = |name: &str| {
        let file = corpus.join("nettrace").join(name);
        String::from_utf8(run(["info".as_ref(), file.as_os_str()], 0).stdout).unwrap()
    };
    let check = |name: &str, words: &[&str]| {
        let text = text(name);
        for word in words {
            assert!(text.contains(word), "{name}: no {word:?} in\n{text}");
        }
    };
    check(
        "net10-alloc.nettrace",
        &[
            "none: the provider Microsoft-DotNETCore-SampleProfiler",
            "GCAllocationTick",
            "Windows, x64, 64-bit, 32 processors",
        ],
    );
    check("net8-counters.nettrace", &["--name EventCounters --json", "so frames stay addresses"]);
    check("net5-single-thread.nettrace", &["5564  strata report", "macOS, x64", "lasted     8."]);
}
