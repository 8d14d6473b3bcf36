//! Cutting .nettrace files: what is kept, held against our own count and against TraceEvent's reading.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use strata_nettrace::{Decoder, Item, Summary};
use strata_testkit::live::{self, Running, Runtime, Until};
use strata_testkit::nettrace::{Blob, Blobs, Definition, Stream};
use strata_testkit::nettrace6;

use crate::scene::{ShortFolder, as_nobody};
use crate::support::{Scratch, run, strata};
use crate::workload::{PATIENCE, on_each_runtime};

on_each_runtime!(check_recorded);

const RUNTIME: &str = "Microsoft-Windows-DotNETRuntime";
const RUNDOWN: &str = "Microsoft-Windows-DotNETRuntimeRundown";
const SAMPLES: &str = "Microsoft-DotNETCore-SampleProfiler";

/// Events of each kind, by provider and id.
type Counts = BTreeMap<(String, u32), u64>;

/// What is asked for, and how the command is told.
#[derive(Clone, Default)]
struct Filter {
    /// Milliseconds since the start.
    from: Option<u64>,
    to: Option<u64>,
    thread: Option<u64>,
    provider: Option<&'static str>,
}

impl Filter {
    fn arguments(&self) -> Vec<OsString> {
        let mut arguments = Vec::new();
        let mut add = |name: &str, value: Option<String>| {
            if let Some(value) = value {
                arguments.extend([OsString::from(name), OsString::from(value)]);
            }
        };
        add("--from", self.from.map(|time| format!("{time}ms")));
        add("--to", self.to.map(|time| format!("{}.{:03}s", time / 1000, time % 1000)));
        add("--thread", self.thread.map(|thread| thread.to_string()));
        add("--provider", self.provider.map(str::to_uppercase));
        arguments
    }
}

/// Events that a cut file has whatever is asked for.
fn always(provider: &str, id: u32) -> bool {
    let names = [72, 141, 142, 143, 144, 151, 152, 153, 154, 155, 156, 157, 158, 159, 187, 190, 260];
    provider == RUNDOWN
        || (provider == RUNTIME && names.contains(&id))
        || (provider == "Microsoft-DotNETCore-EventPipe" && id == 1)
}

/// The events that are to be kept, those among them that match, and what the stream says.
fn count(file: &Path, filter: &Filter) -> (Counts, u64, Summary) {
    let (mut counts, mut matching) = (Counts::new(), 0);
    let mut trace = None;
    let mut sink = |item: Item<'_>| match item {
        Item::Trace(info) => trace = Some(info),
        Item::Event(event) => {
            let trace = trace.unwrap();
            let ticks = i128::from(event.header.time) - i128::from(trace.sync_ticks);
            let nanoseconds = ticks * 1_000_000_000;
            let at = |milliseconds: u64| i128::from(milliseconds) * 1_000_000 * i128::from(trace.ticks_per_second);
            let provider = event.metadata.provider.to_string();
            let matches = filter.from.is_none_or(|from| nanoseconds >= at(from))
                && filter.to.is_none_or(|to| nanoseconds < at(to))
                && filter.thread.is_none_or(|thread| event.header.thread == thread)
                && filter.provider.is_none_or(|name| name == provider);
            matching += u64::from(matches);
            if matches || always(&provider, event.metadata.event_id) {
                *counts.entry((provider, event.metadata.event_id)).or_default() += 1;
            }
        }
        _ => {}
    };
    let mut decoder = Decoder::new();
    decoder.feed(&std::fs::read(file).unwrap(), &mut sink).unwrap();
    let summary = decoder.finish(&mut sink).unwrap();
    (counts, matching, summary)
}

fn convert(input: &Path, output: &Path, more: &[OsString], code: i32) -> String {
    let mut arguments: Vec<OsString> = vec!["convert".into(), input.into(), "-o".into(), output.into()];
    arguments.extend_from_slice(more);
    let output = run(arguments, code);
    assert!(output.stdout.is_empty());
    String::from_utf8(output.stderr).unwrap()
}

/// Cuts the file by each of the filters; both readers must find in the result what is to be kept.
fn check(name: &str, input: &Path, filters: &[Filter]) {
    let scratch = Scratch::new();
    let output = scratch.path("cut.nettrace");
    let everything = count(input, &Filter::default()).2.events;
    for filter in filters {
        let (expected, matching, before) = count(input, filter);
        let kept: u64 = expected.values().sum();
        let said = convert(input, &output, &filter.arguments(), 0);
        println!("{name} {:?}: {}", filter.arguments(), said.trim_end());
        assert!(said.contains(&format!("{kept} of {everything} events")), "{said}");
        assert_eq!(said.contains("only to name"), matching < kept, "{said}");

        let (ours, _, after) = count(&output, &Filter::default());
        assert_eq!(ours, expected, "{name} {:?}", filter.arguments());
        assert_eq!((after.problems.total(), after.trace), (0, before.trace), "{name}");
        assert_eq!(after.loss.lost, before.loss.lost, "{name}");
        let theirs = live::oracle(&output).unwrap_or_else(|failure| panic!("{name}: {failure}"));
        let mut counted = Counts::new();
        for event in &theirs.events {
            *counted.entry((event.provider.clone(), event.id)).or_default() += event.count;
        }
        assert_eq!((counted, theirs.error), (expected, None), "{name} {:?}", filter.arguments());
    }
}

fn check_recorded(runtime: Runtime) {
    let scratch = Scratch::new();
    let folder = scratch.path("target");
    std::fs::create_dir(&folder).unwrap();
    let mut command = runtime.command("Happens", ["gc"]).unwrap_or_else(|missing| panic!("{missing}"));
    live::traced(&mut command, &folder, &format!("{RUNTIME}:0x20001C0FF:5,{SAMPLES}:0:5"));
    let running = Running::start(command, Until::Ready, PATIENCE).unwrap();
    assert!(running.wait(PATIENCE).unwrap().status.success());
    let mut files = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let input = files.find(|path| path.extension().is_some_and(|extension| extension == "nettrace")).unwrap();

    let filters = filters(&input);
    check(runtime.name(), &input, &filters);

    // Threads, payloads and stacks too.
    let output = scratch.path("copy.nettrace");
    convert(&input, &output, &[], 0);
    let log = |file: &Path| live::trace_log(file, &folder).unwrap_or_else(|failure| panic!("{runtime}: {failure}"));
    assert_eq!(log(&input), log(&output), "{runtime}");
}

/// One filter of each kind and some together, such that each matches something.
fn filters(input: &Path) -> Vec<Filter> {
    let (mut busiest, mut times) = (BTreeMap::new(), (u64::MAX, 0));
    let mut sink = |item: Item<'_>| {
        if let Item::Event(event) = item {
            *busiest.entry(event.header.thread).or_insert(0) += 1;
            times = (event.header.time.min(times.0), event.header.time.max(times.1));
        }
    };
    let mut decoder = Decoder::new();
    decoder.feed(&std::fs::read(input).unwrap(), &mut sink).unwrap();
    let trace = *decoder.trace().unwrap();
    let milliseconds = |ticks: u64| (ticks - trace.sync_ticks) * 1000 / trace.ticks_per_second;
    let (first, last) = (milliseconds(times.0), milliseconds(times.1));
    let (from, to) = (Some(first + (last - first) / 4), Some(first + (last - first) * 3 / 4));
    let thread = busiest.iter().max_by_key(|(_, count)| **count).map(|(thread, _)| *thread);
    vec![
        Filter::default(),
        Filter { from, ..Filter::default() },
        Filter { to, ..Filter::default() },
        Filter { from, to, ..Filter::default() },
        Filter { thread, ..Filter::default() },
        Filter { provider: Some(SAMPLES), ..Filter::default() },
        Filter { to, thread, provider: Some(RUNTIME), ..Filter::default() },
    ]
}

/// A real file from elsewhere, where the files are there.
fn real(name: &str) -> Option<PathBuf> {
    Some(strata_testkit::corpus()?.join("nettrace").join(name))
}

#[test]
fn files_from_elsewhere() {
    let names = [
        "net10-contention.nettrace",
        "net5-macos-mixed-managed-external-samples.nettrace",
        "net6-linux-gc-threads-exceptions.nettrace",
        "net3.0-win-all-events.nettrace",
    ];
    for name in names {
        if let Some(file) = real(name) {
            check(name, &file, &filters(&file));
        }
    }
}

/// An event at a time after the start of the trace, in milliseconds.
fn event(metadata: u32, sequence: u32, milliseconds: u64) -> Blob {
    Blob {
        metadata,
        sequence,
        capture_thread: 7,
        thread: 7,
        time: 1000 + milliseconds * 1_000_000,
        sorted: true,
        payload: vec![1],
        ..Blob::default()
    }
}

fn small() -> Stream {
    let definitions = [Definition::native(1, "Strata-\u{1b}[31mRed", 1, 0), Definition::native(2, RUNDOWN, 144, 1)];
    let blobs = (0..10).fold(Blobs::compressed(), |blobs, index| blobs.with(event(1, index as u32 + 1, index * 100)));
    Stream::with_trace().metadata(&definitions).events(&blobs.with(event(2, 11, 2000)))
}

fn written(scratch: &Scratch, bytes: &[u8]) -> PathBuf {
    let file = scratch.path("in.nettrace");
    std::fs::write(&file, bytes).unwrap();
    file
}

fn words(arguments: &[&str]) -> Vec<OsString> {
    arguments.iter().map(OsString::from).collect()
}

#[test]
fn times_are_from_and_before() {
    let scratch = Scratch::new();
    let (input, output) = (written(&scratch, &small().end()), scratch.path("out.nettrace"));
    let check = |arguments: &[&str], expected: &str| {
        let said = convert(&input, &output, &words(arguments), 0);
        assert!(said.contains(expected), "{said}");
    };
    check(&[], "): 11 of 11 events\n");
    check(&["--from", "100ms", "--to", "0.3"], "): 3 of 11 events, 1 of them only to name");
    check(&["--from", "100.000001ms", "--to", "300.000001ms"], "): 3 of 11 events, 1 of them only to name");
    check(&["--from", "0", "--to", "1ms"], "): 2 of 11 events, 1 of them only to name");
    check(&["--from", "900ms"], "): 2 of 11 events\n");
}

#[test]
fn what_is_not_there_is_said_with_what_is() {
    let scratch = Scratch::new();
    let (input, output) = (written(&scratch, &small().end()), scratch.path("out.nettrace"));
    std::fs::write(&output, "before").unwrap();
    let said = convert(&input, &output, &words(&["--provider", "System.Runtime", "--thread", "99"]), 6);
    assert!(
        said.contains(
            "no event of a provider System.Runtime; those in the trace are Microsoft-Windows-DotNETRuntimeRundown, "
        ),
        "{said}"
    );
    assert!(said.contains("no event about a thread 99") && said.contains("none of the 11 events"), "{said}");
    assert!(!said.contains('\u{1b}'), "names are not safe at a terminal: {said}");
    convert(&input, &output, &words(&["--from", "1h"]), 6);
    convert(&written(&scratch, &Stream::with_trace().bytes()), &output, &[], 6);
    assert_eq!(std::fs::read_to_string(&output).unwrap(), "before", "what was there stays");
}

#[test]
fn damage_is_told_and_what_is_whole_is_written() {
    let scratch = Scratch::new();
    let output = scratch.path("out.nettrace");
    let whole = small().bytes();
    let said = convert(&written(&scratch, &whole), &output, &[], 0);
    assert!(said.contains(&format!("trace is cut at byte {}", whole.len())) && said.contains("11 of 11"), "{said}");
    assert!(said.contains("what came behind is missing"), "{said}");
    let said = convert(&written(&scratch, &whole[..whole.len() - 9]), &output, &[], 0);
    assert!(said.contains(&format!("trace is cut at byte {}", whole.len() - 9)), "{said}");

    let lossy = small().events(&Blobs::compressed().with(event(1, 17, 3000)));
    let said = convert(&written(&scratch, &lossy.end()), &output, &[], 0);
    assert!(said.contains("5 events were lost when it was recorded, the first before byte "), "{said}");
    assert_eq!(count(&output, &Filter::default()).2.loss.lost, 5);
}

#[test]
fn what_cannot_be_cut_is_refused() {
    let scratch = Scratch::new();
    let output = scratch.path("out.nettrace");
    let check = |bytes: &[u8], arguments: &[&str], code, expected: &str| {
        let said = convert(&written(&scratch, bytes), &output, &words(arguments), code);
        assert!(said.contains(expected), "{said}");
        assert!(!output.exists());
    };
    check(b"PK\x03\x04 something else", &[], 5, "not a nettrace stream: it begins with 50 4b 03 04");
    check(b"", &[], 5, "not a nettrace stream: it begins with nothing");
    check(&nettrace6::Stream::with_trace().bytes(), &[], 3, "version 6.0 cannot be written as one of version 4");
    check(&small().end(), &["--from", "2s", "--to", "1s"], 3, "--from 2s is not before --to 1s");
    let said = convert(&scratch.path("none.nettrace"), &output, &[], 5);
    assert!(said.contains("none.nettrace: No such file"), "{said}");
    assert!(convert(&scratch.path("."), &output, &[], 5).contains("is a folder"));
}

#[test]
fn standard_input_is_read() {
    let scratch = Scratch::new();
    let output = scratch.path("out.nettrace");
    let mut command = strata(["convert".as_ref(), "-".as_ref(), "-o".as_ref(), output.as_os_str()]);
    let mut child = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    for part in small().end().chunks(100) {
        pipe.write_all(part).unwrap();
    }
    drop(pipe);
    assert!(child.wait().unwrap().success());
    assert_eq!(count(&output, &Filter::default()).1, 11);
}

#[test]
fn what_is_stopped_leaves_nothing_behind() {
    let scratch = Scratch::new();
    let nameless = rustix::fs::OFlags::TMPFILE | rustix::fs::OFlags::WRONLY;
    if rustix::fs::open(scratch.path("."), nameless, rustix::fs::Mode::RUSR).is_err() {
        println!("files without a name are not possible in {}: not tested", scratch.path(".").display());
        return;
    }
    for signal in [rustix::process::Signal::INT, rustix::process::Signal::KILL] {
        let output = scratch.path("out.nettrace");
        let mut command = strata(["convert".as_ref(), "-".as_ref(), "-o".as_ref(), output.as_os_str()]);
        let mut child = command.stdin(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut pipe = child.stdin.take().unwrap();
        pipe.write_all(&small().bytes()).unwrap();
        // Its three, and the file that is written.
        while std::fs::read_dir(format!("/proc/{}/fd", child.id())).unwrap().count() < 4 {
            assert_eq!(child.try_wait().unwrap(), None, "it waits for more");
            std::thread::yield_now();
        }
        rustix::process::kill_process(rustix::process::Pid::from_child(&child), signal).unwrap();
        assert!(!child.wait().unwrap().success());
        let left: Vec<_> =
            std::fs::read_dir(scratch.path(".")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, [""; 0], "{signal:?}");
    }
}

#[test]
fn what_is_protected_or_not_replaced_keeps_what_it_has() {
    let open_to_all = ShortFolder::new("protected");
    let input = open_to_all.0.join("in.nettrace");
    std::fs::write(&input, small().end()).unwrap();
    let folder = open_to_all.0.join("folder");
    let output = folder.join("out.nettrace");
    let rights = |path: &Path, mode| {
        std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
    };
    // As somebody for whom rights count.
    let convert = |arguments: &[&str]| {
        let words = ["convert".as_ref(), input.as_os_str(), "-o".as_ref(), output.as_os_str()];
        let mut command = as_nobody(&open_to_all, words.into_iter().chain(arguments.iter().map(AsRef::as_ref)));
        let done = command.stdin(Stdio::null()).output().unwrap();
        (done.status.code(), String::from_utf8(done.stderr).unwrap())
    };
    std::fs::create_dir(&folder).unwrap();
    rights(&folder, 0o777);
    std::fs::write(&output, "before").unwrap();
    let kept = || std::fs::read_to_string(&output).ok().as_deref() == Some("before");
    let (code, said) = convert(&[]);
    assert!(code == Some(2) && said.contains("Permission denied") && kept(), "a file of root's: {said}");
    // Where only the file may be written.
    rights(&output, 0o666);
    rights(&folder, 0o755);
    let (code, said) = convert(&["--from", "1h"]);
    assert!(code == Some(6) && kept(), "nothing to write: {said}");
    let (code, said) = convert(&[]);
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(count(&output, &Filter::default()).1, 11);
}

#[test]
fn what_is_read_is_never_written_over() {
    let scratch = Scratch::new();
    let bytes = small().end();
    let input = written(&scratch, &bytes);
    let link = scratch.path("link.nettrace");
    std::os::unix::fs::symlink(&input, &link).unwrap();
    for output in [&input, &link] {
        assert!(convert(&input, output, &[], 3).contains("is both what is read and what is written"));
    }
    let mut command = strata(["convert".as_ref(), "-".as_ref(), "-o".as_ref(), link.as_os_str()]);
    let refused = command.stdin(std::fs::File::open(&input).unwrap()).output().unwrap();
    assert_eq!(refused.status.code(), Some(3), "the same as standard input: {refused:?}");
    // A link to another file leads there, and what cannot be done leaves it as it is.
    let (other, link) = (scratch.path("other.nettrace"), scratch.path("to-other.nettrace"));
    std::fs::write(&other, "before").unwrap();
    std::os::unix::fs::symlink(&other, &link).unwrap();
    convert(&input, &link, &words(&["--from", "1h"]), 6);
    assert_eq!(std::fs::read_to_string(&other).unwrap(), "before");
    convert(&input, &link, &[], 0);
    assert_eq!(count(&other, &Filter::default()).1, 11);
    assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(std::fs::read(&input).unwrap(), bytes);
}
