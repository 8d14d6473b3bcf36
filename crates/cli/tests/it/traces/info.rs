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
    check("net5-single-thread.nettrace", &["5564  strata report", "macOS, x64"]);
}

/// What it prints as text.
fn text(options: &[&str], file: &Path) -> String {
    let arguments = ["info"].iter().chain(options).map(AsRef::as_ref).chain([file.as_os_str()]);
    String::from_utf8(run(arguments, 0).stdout).unwrap()
}

#[test]
fn the_rundown_is_told_apart() {
    let Some(corpus) = corpus() else { return };
    let check = |name: &str, words: &str, duration_ms: u64, rundown_ms: Option<(u64, u64)>| {
        let file = corpus.join("nettrace").join(name);
        let text = text(&[], &file);
        assert!(text.lines().any(|line| line == format!("lasted     {words}")), "{name}: {text}");
        let info = info(&file);
        let ms = |value: &Value| value.as_u64().map(|ns| ns / 1_000_000);
        assert_eq!(ms(&info["duration_ns"]), Some(duration_ms), "{name}");
        assert_eq!(ms(&info["rundown"]["from_ns"]).zip(ms(&info["rundown"]["to_ns"])), rundown_ms, "{name}");
    };
    let (single, cut) = ("net5-single-thread.nettrace", "truncated-no-rundown.nettrace");
    check(single, "8.175 s, and a rundown from 8.225 s to 8.229 s", 8175, Some((8225, 8229)));
    check("net8-counters.nettrace", "4.116 s", 4116, None);
    check(cut, "25.025 s", 25025, None);
    // Programs go on while the runtime lists their code.
    let late = "net6-win-streamed-samples.nettrace";
    check(late, "0.219 s, and a rundown from 0.209 s to 0.228 s", 219, Some((209, 228)));
}

#[test]
fn long_tables_are_whole_but_where_a_width_is_given() {
    let Some(corpus) = corpus() else { return };
    let file = corpus.join("nettrace/net10-exceptions.nettrace");
    let kinds = info(&file)["kinds"].as_array().unwrap().len();
    // The numbers of the rows whose text, behind 32 columns, is one of a kind, or of a provider.
    let rows = |text: &str, is_wanted: &dyn Fn(&str) -> bool| -> Vec<u64> {
        let table = text.lines().skip_while(|line| !line.ends_with("provider and event")).skip(1);
        let rows = table.take_while(|line| !line.is_empty()).filter(|line| is_wanted(&line[32..]));
        rows.map(|line| line[..10].trim().parse().unwrap()).collect()
    };
    let of_kind = |name: &str| name.starts_with(' ');
    let of_provider = |name: &str| !name.starts_with(' ');
    let whole = text(&[], &file);
    assert_eq!(rows(&whole, &of_kind).len(), kinds);
    assert!(whole.contains("  ThreadSample (0)") && !whole.contains("more kinds"), "{whole}");

    let narrow = text(&["--width", "80"], &file);
    assert!(narrow.contains("more kinds: --all lists them") && narrow.contains("  ThreadSample (0)"), "{narrow}");
    assert!(rows(&narrow, &of_kind).len() < kinds);
    let events = 12744;
    for sums in [rows(&whole, &of_kind), rows(&narrow, &of_kind), rows(&narrow, &of_provider)] {
        assert_eq!(sums.iter().sum::<u64>(), events);
    }
    for line in narrow.lines().filter(|line| !line.contains("  strata ")) {
        assert!(line.chars().count() <= 80, "{line}");
    }
    let all = text(&["--width", "80", "--all"], &file);
    assert_eq!(rows(&all, &of_kind).len(), kinds);
    let words = |text: &str| text.split_whitespace().collect::<String>();
    assert_eq!(words(&all), words(&whole), "lines are broken, and nothing is left out");
}
