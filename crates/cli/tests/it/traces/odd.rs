//! Names and payloads that someone made up to do harm, and losses.

use super::*;
use strata_testkit::nettrace::{Trace, utf16};

/// A field list of version 4 with one text.
fn one_text(name: &str) -> Vec<u8> {
    let mut fields = 1_u32.to_le_bytes().to_vec();
    fields.extend(18_u32.to_le_bytes());
    fields.extend(utf16(name));
    fields
}

fn named(id: u32, provider: &str, name: &str, field: &str) -> Definition {
    Definition {
        id,
        provider: provider.to_owned(),
        event_id: id,
        name: name.to_owned(),
        fields: one_text(field),
        ..Definition::default()
    }
}

const NAMES: [(&str, &str); 4] =
    [("9lives!<b>&\"x", "two\nlines"), ("P\u{1b}[2Jx", "smile \u{1f600}"), ("", ""), ("P\u{202e}", "tab\t,\"quoted\"")];

#[test]
fn odd_names_survive_to_json_and_act_on_no_terminal() {
    let definitions: Vec<Definition> =
        NAMES.iter().zip(1..).map(|((provider, name), id)| named(id, provider, name, "field\u{7}")).collect();
    let events = (1..=4).map(|id| event(id, id, &utf16("value\u{1b}\r\n")));
    let scratch = Scratch::new();
    let file = written(&scratch, "odd.nettrace", &built(&definitions, events));
    for ((provider, name), line) in NAMES.iter().zip(lines(&["events", "--json"], &file)) {
        let name = if name.is_empty() { "Event(3)" } else { name };
        assert_eq!((&line["provider"], &line["event"]), (&(*provider).into(), &name.into()));
        assert_eq!(line["fields"]["field\u{7}"], "value\u{1b}\r\n");
    }
    for command in ["events", "info"] {
        let output = run([command.as_ref(), file.as_os_str()], 0);
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.chars().all(|letter| letter == '\n' || !letter.is_control() && letter != '\u{202e}'), "{text:?}");
    }
    let csv = String::from_utf8(run(["events".as_ref(), "--csv".as_ref(), file.as_os_str()], 0).stdout).unwrap();
    assert!(csv.contains("\"9lives!<b>&\"\"x\",two\\nlines,"), "{csv}");
}

#[test]
fn a_lone_surrogate_is_shown_as_what_it_cannot_be() {
    let definition = named(1, "P", "E", "text");
    let scratch = Scratch::new();
    let payload = [0x61, 0, 0x00, 0xd8, 0x62, 0, 0, 0];
    let file = written(&scratch, "odd.nettrace", &built(&[definition], [event(1, 1, &payload)]));
    assert_eq!(lines(&["events", "--json"], &file)[0]["fields"]["text"], "a\u{fffd}b");
}

#[test]
fn a_provider_that_is_not_there_is_told_with_those_that_are() {
    let scratch = Scratch::new();
    let file =
        written(&scratch, "one.nettrace", &built(&[named(1, "Shop", "Sold", "what")], [event(1, 1, &utf16("tea"))]));
    let output = run(
        [
            "events".as_ref(),
            "--provider".as_ref(),
            "e13c0d23-ccbc-4e12-931b-d9cc2eee27e4".as_ref(),
            "--provider".as_ref(),
            "shop".as_ref(),
            file.as_os_str(),
        ],
        0,
    );
    let said = stderr(&output);
    assert!(said.contains("no event of a provider e13c0d23") && said.contains("those in the trace are Shop"), "{said}");
    run(["events".as_ref(), "--name".as_ref(), "Bought".as_ref(), file.as_os_str()], 6);
    let empty = written(&scratch, "empty.nettrace", &built(&[], []));
    let said = stderr(&run(["events".as_ref(), empty.as_os_str()], 6));
    assert!(said.contains("has no event"), "{said}");
}

#[test]
fn payloads_that_do_not_fit_are_told_and_cost_no_other_event() {
    let definition = named(1, "Shop", "Sold", "what");
    let events = [
        event(1, 1, &utf16("tea")),
        event(1, 2, b"t\0e\0"),
        event(1, 3, &[utf16("ice"), vec![1, 2, 3]].concat()),
        event(1, 4, &utf16("jam")),
    ];
    let scratch = Scratch::new();
    let file = written(&scratch, "misfit.nettrace", &built(&[definition], events));
    let found: Vec<(Value, Value, Value)> = lines(&["events", "--json"], &file)
        .iter()
        .map(|line| (line["fields"]["what"].clone(), line["payload_problem"].clone(), line["payload"].clone()))
        .collect();
    let fits = |what: &str| (what.into(), Value::Null, Value::Null);
    let expected = vec![
        fits("tea"),
        (Value::Null, "shorter than described".into(), "74006500".into()),
        ("ice".into(), "longer than described".into(), "6900630065000000010203".into()),
        fits("jam"),
    ];
    assert_eq!(found, expected);
    let csv = String::from_utf8(run(["events".as_ref(), "--csv".as_ref(), file.as_os_str()], 0).stdout).unwrap();
    let ends: Vec<&str> = csv.lines().skip(1).map(|line| line.split_once('}').unwrap().1).collect();
    let longer = "\",longer than described,6900630065000000010203";
    assert_eq!(ends, ["\",,", ",shorter than described,74006500", longer, "\",,"]);
}

#[test]
fn events_that_the_runtime_dropped_are_told() {
    let definition = named(1, "Shop", "Sold", "what");
    let numbers = [9, 10, 15, 16];
    let events = numbers.map(|number| event(1, number, &utf16("tea")));
    let scratch = Scratch::new();
    let file = written(&scratch, "lost.nettrace", &built(std::slice::from_ref(&definition), events));
    for command in ["events", "info"] {
        let said = stderr(&run([command.as_ref(), file.as_os_str()], 0));
        assert!(said.contains("4 events were lost when it was recorded, the first before byte"), "{said}");
    }
    let told = info(&file);
    assert_eq!((&told["loss"]["events"], &told["loss"]["threads"][0]["thread"]), (&4.into(), &7.into()));
    let text = String::from_utf8(run(["info".as_ref(), file.as_os_str()], 0).stdout).unwrap();
    assert!(text.contains("thread 7 lost 4"), "{text}");

    // A new thread with a used id begins at 1.
    let events = [9, 10, 1, 2].map(|number| event(1, number, &utf16("tea")));
    let file = written(&scratch, "reused.nettrace", &built(&[definition], events));
    assert_eq!(info(&file)["loss"]["events"], 0);
}

#[test]
fn events_of_several_threads_come_in_the_order_of_time() {
    let definition = named(1, "Shop", "Sold", "what");
    let on = |thread: u64, number: u32, time: u64| Blob {
        capture_thread: thread,
        thread,
        sequence: number,
        time,
        ..event(1, number, &utf16("tea"))
    };
    let events = [on(7, 1, 5000), on(7, 2, 9000), on(8, 1, 4000), on(8, 2, 9000), on(9, 1, 1000)];
    let scratch = Scratch::new();
    let file = written(&scratch, "threads.nettrace", &built(&[definition], events));
    let found: Vec<(i64, u64)> = lines(&["events", "--json"], &file)
        .iter()
        .map(|line| (line["time_ns"].as_i64().unwrap(), line["thread"].as_u64().unwrap()))
        .collect();
    assert_eq!(found, [(0, 9), (3000, 8), (4000, 7), (8000, 7), (8000, 8)]);
}

#[test]
fn a_large_payload_is_whole_and_tiny_blocks_are_no_burden() {
    let definition = named(1, "Shop", "Sold", "what");
    let long = "x".repeat(30_000);
    let scratch = Scratch::new();
    let file =
        written(&scratch, "long.nettrace", &built(std::slice::from_ref(&definition), [event(1, 1, &utf16(&long))]));
    assert_eq!(lines(&["events", "--json"], &file)[0]["fields"]["what"], long.as_str());

    let mut stream = Stream::with_trace().metadata(&[definition]);
    for number in 1..=200_000 {
        stream = stream.events(&Blobs::compressed().with(event(1, number, &utf16("tea"))));
    }
    let file = written(&scratch, "tiny.nettrace", &stream.end());
    assert_eq!(info(&file)["events"], 200_000);
}

#[test]
fn headers_that_cannot_be_true_are_not_believed() {
    let definition = named(1, "Shop", "Sold", "what");
    let scratch = Scratch::new();
    let check = |trace: Trace, words: &[&str], not_valid: &[(&str, &str)]| {
        let blobs = Blobs::compressed().with(event(1, 1, &utf16("tea")));
        let stream = Stream::new().trace(trace).metadata(std::slice::from_ref(&definition)).events(&blobs);
        let file = written(&scratch, "header.nettrace", &stream.end());
        let text = String::from_utf8(run(["info".as_ref(), file.as_os_str()], 0).stdout).unwrap();
        for word in words {
            assert!(text.contains(word), "no {word:?} in\n{text}");
        }
        let told = info(&file);
        let found: Vec<(&str, &str)> = told["trace"]["not_valid"]
            .as_array()
            .unwrap()
            .iter()
            .map(|entry| (entry["what"].as_str().unwrap(), entry["value"].as_str().unwrap()))
            .collect();
        assert_eq!(found, not_valid);
        for (what, _) in not_valid {
            let name = if *what == "began" { "began_unix_ms" } else { what };
            assert_eq!(told["trace"][name], Value::Null);
        }
        // Events are listed all the same.
        assert_eq!(lines(&["events", "--json"], &file)[0]["fields"]["what"], "tea");
        told["duration_ns"].clone()
    };
    let utc = Trace::default().utc;
    let usual = check(Trace::default(), &["began      2026-", "lasted     0.000 s"], &[]);
    assert_eq!(usual, 1000);
    let month = Trace { utc: [2026, 13, utc[2], utc[3], 1, 2, 3, 4], ..Trace::default() };
    let time = "2026-13-03 01:02:03.004 UTC";
    check(month, &["began      not valid (2026-13-03 01:02:03.004 UTC)"], &[("began", time)]);
    let process = Trace { process_id: u32::MAX, processors: u32::MAX, ..Trace::default() };
    let words = ["process    id not valid (4294967295)", "64-bit, number of processors not valid (4294967295)"];
    check(process, &words, &[("process_id", "4294967295"), ("processors", "4294967295")]);
    check(Trace { process_id: 0, processors: 0, ..Trace::default() }, &["process    not told by the trace"], &[]);
    let words = ["lasted     not known: the clock's ticks in a second are not valid (1)"];
    let slow = check(Trace { frequency: 1, ..Trace::default() }, &words, &[("ticks_per_second", "1")]);
    assert_eq!(slow, Value::Null);
    let words = ["lasted     not known: the events come before the start of the trace"];
    let late = check(Trace { sync_ticks: u64::MAX, ..Trace::default() }, &words, &[]);
    assert_eq!(late, Value::Null);

    // Without a clock nothing has a time.
    for frequency in [0, 1 << 63] {
        let stream = Stream::new().trace(Trace { frequency, ..Trace::default() });
        let file = written(&scratch, "header.nettrace", &stream.end());
        let output = run(["info".as_ref(), file.as_os_str()], 0);
        assert!(stderr(&output).contains("the trace is damaged at byte 32"), "{}", stderr(&output));
    }
}

#[test]
fn threads_that_are_too_many_to_be_told_apart_are_counted_together() {
    let scratch = Scratch::new();
    let definitions = [named(1, "Shop", "Sold", "what")];
    let stream = (0..4).fold(Stream::with_trace().metadata(&definitions), |stream, block| {
        let threads = block * 25_001..(block + 1) * 25_001;
        let of = |thread: u64| Blob { thread, ..event(1, 1, &utf16("tea")) };
        stream.events(&threads.fold(Blobs::compressed(), |blobs, thread| blobs.with(of(thread))))
    });
    let file = written(&scratch, "threads.nettrace", &stream.end());
    let told = info(&file);
    assert_eq!(told["events_of_other_threads"], 4);
    assert_eq!(told["threads"].as_array().unwrap().len(), 100_000);
    let output = run(["info".as_ref(), "--width".as_ref(), "80".as_ref(), file.as_os_str()], 0);
    let text = String::from_utf8(output.stdout).unwrap();
    for row in ["     99980   99.97  99980 more threads: --all", "         4    <0.1  threads beyond the first 100000"]
    {
        assert!(text.contains(row), "no {row:?} in\n{text}");
    }
}
