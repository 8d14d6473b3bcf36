//! What `strata events` lists of real traces.

use super::*;
use strata_testkit::corpus;

#[test]
fn exceptions_have_their_types_and_messages() {
    let Some(corpus) = corpus() else { return };
    let file = corpus.join("nettrace/net10-exceptions.nettrace");
    let thrown = lines(&["events", "--json", "--stacks", "--name", "exceptionthrown"], &file);
    assert_eq!(thrown.len(), 2000);
    let of_type = |name: &str| thrown.iter().filter(|event| event["fields"]["ExceptionType"] == name).count();
    let (invalid, argument) = (of_type("System.InvalidOperationException"), of_type("System.ArgumentException"));
    assert_eq!(invalid + argument, 2000);
    let ratio = invalid as f64 / argument as f64;
    assert!((1.7..2.3).contains(&ratio), "{ratio}");
    assert_eq!(thrown[0]["fields"]["ExceptionMessage"], "rare-0");
    for event in &thrown {
        let stack = event["stack"].as_array().unwrap();
        assert_eq!(stack[0]["function"], "System.Runtime.EH.DispatchEx(System.Runtime.StackFrameIterator&,ExInfo&)");
        assert!(stack.len() > 5 && stack.iter().all(|frame| frame["function"].is_string()), "{stack:?}");
    }
    let module = |frame: usize| &thrown[0]["stack"][frame]["module"];
    assert_eq!((module(0), module(4)), (&"System.Private.CoreLib".into(), &"HotLoopBench".into()));
    let text = run(
        [
            "events".as_ref(),
            "--stacks".as_ref(),
            "--limit".as_ref(),
            "1".as_ref(),
            "--name".as_ref(),
            "exceptionthrown".as_ref(),
            file.as_os_str(),
        ],
        0,
    );
    let text = String::from_utf8(text.stdout).unwrap();
    let second = text.lines().nth(1).unwrap();
    assert!(second.trim_start().starts_with("0x") && second.ends_with("ExInfo&) [System.Private.CoreLib]"), "{text}");
}

#[test]
fn what_can_be_read_once_has_addresses_for_stacks() {
    let Some(corpus) = corpus() else { return };
    let file = std::fs::File::open(corpus.join("nettrace/net10-exceptions.nettrace")).unwrap();
    let output = strata(["events", "-", "--json", "--stacks", "--name", "exceptionthrown"].map(std::ffi::OsStr::new))
        .stdin(file)
        .output();
    let text = String::from_utf8(output.unwrap().stdout).unwrap();
    assert_eq!(text.lines().count(), 2000);
    for line in text.lines() {
        let event: Value = serde_json::from_str(line).unwrap();
        let frame = event["stack"][0].as_object().unwrap();
        assert!(frame["address"].as_str().unwrap().starts_with("0x") && frame.len() == 1, "{frame:?}");
    }
}

#[test]
fn arrays_have_their_values() {
    let Some(corpus) = corpus() else { return };
    let events = lines(
        &["events", "--json", "--provider", "TestEventSource0"],
        &corpus.join("nettrace/net5-win-array-types.nettrace"),
    );
    let [first, second, third] = events.as_slice() else { panic!("{events:?}") };
    let (one, two) = (&first["fields"], &second["fields"]);
    assert_eq!((one["arg0"].as_array().unwrap().len(), &one["arg0"][0]), (6, &2_032_854_139_u32.into()));
    assert_eq!((one["arg1"].as_array().unwrap().len(), &one["arg1"][0]), (5, &26494.into()));
    assert_eq!(one["arg2"], 2_033_417_279_u32);
    assert_eq!((&two["arg0"], &two["arg1"]), (&(-1_001_479_330).into(), &(-1_397_908_228).into()));
    assert_eq!((&two["arg2"][0], &two["arg3"][0]), (&1_470_938_110.into(), &2_055_126_903.into()));
    assert_eq!(third["fields"]["arg0"].as_str().unwrap().chars().count(), 5);
    assert_eq!((&first["level"], &second["level"], &third["opcode"]), (&2.into(), &4.into(), &24.into()));
}

#[test]
fn filters_are_all_held() {
    let Some(corpus) = corpus() else { return };
    let file = corpus.join("nettrace/net6-linux-gc-threads-exceptions.nettrace");
    let all = lines(&["events", "--json"], &file);
    assert_eq!(all.len(), 1296);
    let time = |event: &Value| event["time_ns"].as_i64().unwrap();
    assert!(all.is_sorted_by_key(time), "events come in the order of time");
    let check = |arguments: &[&str], holds: &dyn Fn(&Value) -> bool| {
        let arguments: Vec<&str> = ["events", "--json"].iter().chain(arguments).copied().collect();
        let expected: Vec<&Value> = all.iter().filter(|event| holds(event)).collect();
        assert!(!expected.is_empty() && expected.len() < all.len(), "{arguments:?}");
        assert_eq!(lines(&arguments, &file).iter().collect::<Vec<_>>(), expected, "{arguments:?}");
    };
    let thread = &all[500]["thread"];
    let thread_text = thread.to_string();
    let (from, to) = (time(&all[200]), time(&all[900]));
    check(&["--thread", &thread_text], &|event| event["thread"] == *thread);
    check(&["--provider", "Microsoft-DotNETCore-SampleProfiler"], &|event| {
        event["provider"] == "Microsoft-DotNETCore-SampleProfiler"
    });
    check(&["--name", "GCStart", "--name", "GCEnd"], &|event| event["event"] == "GCStart" || event["event"] == "GCEnd");
    let (from_text, to_text) = (format!("{}us", from / 1000), format!("{}us", to / 1000));
    check(&["--from", &from_text, "--to", &to_text], &|event| {
        (from / 1000 * 1000..to / 1000 * 1000).contains(&time(event))
    });
    assert_eq!(lines(&["events", "--json", "--limit", "3"], &file), all[..3]);
}

#[test]
fn text_and_csv_have_a_line_for_each_event() {
    let Some(corpus) = corpus() else { return };
    let file = corpus.join("nettrace/net8-counters.nettrace");
    let count = |option: &[&str]| {
        let arguments = ["events"].iter().chain(option).map(AsRef::as_ref).chain([file.as_os_str()]);
        String::from_utf8(run(arguments, 0).stdout).unwrap().lines().count()
    };
    assert_eq!((count(&[]), count(&["--csv"])), (109, 110));
    let counters = lines(&["events", "--json", "--name", "EventCounters"], &file);
    let names: Vec<&str> = counters.iter().filter_map(|event| event["fields"]["Payload"]["Name"].as_str()).collect();
    for name in ["gen-0-gc-budget", "total-pause-time-by-gc"] {
        assert!(names.contains(&name), "{names:?}");
    }
}

#[test]
fn lines_keep_to_a_width_and_lose_nothing() {
    let Some(corpus) = corpus() else { return };
    let file = corpus.join("nettrace/net6-linux-gc-threads-exceptions.nettrace");
    let text = |options: &[&str]| {
        let arguments = ["events", "--stacks"].iter().chain(options).map(AsRef::as_ref).chain([file.as_os_str()]);
        String::from_utf8(run(arguments, 0).stdout).unwrap()
    };
    let (whole, narrow) = (text(&[]), text(&["--width", "80"]));
    assert!(narrow.lines().all(|line| line.chars().count() <= 80));
    assert!(whole.lines().any(|line| line.chars().count() > 200));
    let words = |text: &str| text.split_whitespace().collect::<String>();
    assert_eq!(words(&narrow), words(&whole));
}

#[test]
fn standard_input_is_read_and_a_reader_that_went_away_is_no_failure() {
    let Some(corpus) = corpus() else { return };
    let bytes = std::fs::read(corpus.join("nettrace/net10-exceptions.nettrace")).unwrap();
    let scratch = Scratch::new();
    let file = written(&scratch, "piped.nettrace", &bytes);
    let shell = |script: &str| {
        let mut command = Command::new("sh");
        command.args(["-c", script, "sh"]).arg(env!("CARGO_BIN_EXE_strata")).arg(&file);
        command.output().unwrap()
    };
    let counted = shell("cat \"$2\" | \"$1\" events - --name ExceptionThrown | wc -l");
    assert_eq!(String::from_utf8_lossy(&counted.stdout).trim(), "2000", "{}", stderr(&counted));
    let first = shell("{ \"$1\" events \"$2\"; echo $? >&2; } | head -n 1");
    assert_eq!(stderr(&first).trim(), "0");
}
