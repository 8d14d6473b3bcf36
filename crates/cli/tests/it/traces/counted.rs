//! `strata report` and `strata convert` on events of traces, counted by where they happened, and on parts of traces.

use super::*;
use std::ffi::OsStr;
use strata_testkit::corpus;

fn strings<'a>(command: &'a str, file: &'a Path, more: &'a [&'a str]) -> impl Iterator<Item = &'a OsStr> {
    [command.as_ref(), file.as_os_str()].into_iter().chain(more.iter().map(AsRef::as_ref))
}

fn json(file: &Path, more: &[&str]) -> Value {
    let output = run(strings("report", file, more).chain(["--json".as_ref()]), 0);
    serde_json::from_slice(&output.stdout).unwrap()
}

/// `(path, number)` of folded stacks.
fn folded(file: &Path, more: &[&str]) -> Vec<(String, u64)> {
    let output = run(strings("convert", file, more).chain(["-o".as_ref(), "-".as_ref()]), 0);
    let text = String::from_utf8(output.stdout).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with('#')).map(|line| line.rsplit_once(' ').unwrap());
    lines.map(|(path, number)| (path.to_owned(), number.parse().unwrap())).collect()
}

#[test]
fn events_are_counted_where_they_happened() {
    let Some(corpus) = corpus() else { return };
    let check = |name: &str, event: &str, events: u64, costliest: (&str, u64)| {
        let file = corpus.join(format!("nettrace/{name}.nettrace"));
        let report = json(&file, &["--name", event]);
        assert_eq!((&report["recording"]["measure"], &report["recording"]["what"]), (&"events".into(), &event.into()));
        let all = &report["data"]["all"];
        let expected = serde_json::json!({ "samples": events, "events": events, "events_percent": 100.0 });
        assert_eq!(*all, expected, "{name}");
        let first = &report["data"]["functions"][0];
        assert_eq!((first["name"].as_str().unwrap(), first["self"]["events"].as_u64().unwrap()), costliest, "{name}");
        let stacks = folded(&file, &["--name", event]);
        assert_eq!(stacks.iter().map(|(_, events)| events).sum::<u64>(), events, "{name}");
        let text = run(strings("report", &file, &["tree", "--name", event]), 0).stdout;
        let text = String::from_utf8(text).unwrap();
        assert!(text.starts_with(&format!("Events: {event}\n{events} events")), "{text:.200}");
        assert!(!text.contains("CPU") && !text.contains("thread time"), "{text:.200}");
    };
    let buffers = "TraceQ.Fixtures.HotLoopBench.AllocLoop.AllocateBuffers(int32)";
    check("net10-alloc", "GCAllocationTick", 254, (buffers, 129));
    // Which is where the runtime tells of it.
    let throws = "System.Runtime.EH.DispatchEx(System.Runtime.StackFrameIterator&,ExInfo&)";
    check("net10-exceptions", "ExceptionThrown", 2000, (throws, 2000));
}

#[test]
fn a_provider_counts_what_has_no_stack_too() {
    let Some(corpus) = corpus() else { return };
    let file = corpus.join("nettrace/net10-contention.nettrace");
    let provider = ["--provider", "microsoft-windows-dotnetruntime", "--name", "ContentionStop"];
    let report = json(&file, &provider);
    assert_eq!(report["recording"]["what"], "ContentionStop of microsoft-windows-dotnetruntime");
    assert_eq!(report["data"]["all"]["events"], 197);
    assert_eq!(report["data"]["functions"][0]["name"], "[no frames]");
    let text = String::from_utf8(run(strings("report", &file, &provider), 0).stdout).unwrap();
    assert!(text.contains("197 events without a stack"), "{text}");
}

#[test]
fn a_part_is_as_long_as_the_time_in_it() {
    let Some(corpus) = corpus() else { return };
    let file = corpus.join("nettrace/net5-single-thread.nettrace");
    let time = |more: &[&str]| -> u64 { folded(&file, more).iter().map(|(_, nanoseconds)| nanoseconds).sum() };
    let all = time(&[]);
    assert_eq!(all, 8_173_890_741);
    assert_eq!(time(&["--to", "3s"]) + time(&["--from", "3s"]), all, "what lies across the moment is in both parts");
    let part = time(&["--from", "2s", "--to", "4s"]);
    let threads = json(&file, &["threads", "--from", "2s", "--to", "4s"]);
    assert_eq!(threads["recording"]["duration_ns"], 2_000_000_000_u64);
    assert_eq!(threads["data"]["all"]["thread_time_ns"], part);
    let whole = json(&file, &["threads"]);
    for thread in whole["data"]["threads"].as_array().unwrap() {
        let tid = thread["tid"].to_string();
        let alone = json(&file, &["threads", "--thread", &tid]);
        assert_eq!(alone["data"]["threads"].as_array().unwrap().len(), 1);
        assert_eq!(alone["data"]["all"]["thread_time_ns"], thread["cost"]["thread_time_ns"]);
    }
}

#[test]
fn what_is_not_there_is_said() {
    let Some(corpus) = corpus() else { return };
    let file = corpus.join("nettrace/net5-single-thread.nettrace");
    let check = |more: &[&str], exit: i32, expected: &[&str]| {
        let said = stderr(&run(strings("report", &file, more), exit));
        for expected in expected {
            assert_eq!(said.matches(expected).count(), 1, "{more:?}: {expected}: {said}");
        }
    };
    check(
        &["--thread", "1"],
        6,
        &["no sample of a thread 1", "is what was asked for", "lists the threads; it lasts 8."],
    );
    check(&["--from", "1h"], 6, &["is what was asked for"]);
    check(&["--from", "2s", "--to", "1s"], 3, &["--from 2s is not before --to 1s"]);
    check(&["--name", "Nothing"], 6, &["no event of the name Nothing", "is what was asked for"]);
    check(&["--name", "ThreadSample", "--name", "Nothing"], 0, &["no event of the name Nothing"]);
    check(&["--name="], 3, &["a value is required for '--name <EVENT>'"]);
    check(&["loss", "--name", "Nothing"], 0, &[]);
    check(&["--provider", "Nobody"], 6, &["no event of a provider Nobody", "is what was asked for"]);
}

#[test]
fn recordings_have_no_events_to_choose() {
    let scratch = Scratch::new();
    let said = stderr(&run(strings("report", &scratch.path("."), &["--name", "GCStart"]), 3));
    assert!(said.contains("--name and --provider choose events of a .nettrace trace"), "{said}");
}
