//! Readers that no one here wrote see in our files what we see.

use crate::support::{Scratch, record, report, run};
use crate::workload::{PATIENCE, PerfMap, ShortFolder, manifest, on_each_runtime, profile, start};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output};
use std::time::Instant;
use strata_nettrace::runtime::{RUNDOWN_PROVIDER, RUNTIME_PROVIDER, RuntimeEvent};
use strata_nettrace::{Decoder, Item};
use strata_profile::{Profile, Sample};
use strata_testkit::live::{self, Runtime};

on_each_runtime!(check);

fn check(runtime: Runtime) {
    let (scratch, temporary) = (Scratch::new(), ShortFolder::new());
    let running = start(runtime, "Shares", &temporary, PerfMap::Off);
    let path = scratch.path("others.strata");
    record(running.pid(), 5, &path);
    drop(running);
    let profile = profile(&path);
    println!("{runtime}: {} samples", profile.samples.len());
    assert!(profile.samples.len() > 100, "{} samples are too few to judge", profile.samples.len());

    perf_reads_the_samples(&path, &profile);
    trace_event_reads_the_streams(&path);
    firefox_profiler_lists_the_functions(&path, &scratch);
    speedscope_takes_the_file(&path, &profile, &scratch);
    folded_stacks_add_up(&path, &scratch);
}

fn output_of(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

fn text(output: Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn json(output: Output) -> serde_json::Value {
    serde_json::from_slice(&output.stdout).unwrap()
}

/// `perf` counts as many samples, and its dump of each has the same thread, time and addresses in the same order.
fn perf_reads_the_samples(recording: &Path, profile: &Profile) {
    let file = recording.join("perf.data");
    let perf = |arguments: &[&str]| {
        let (name, rest) = arguments.split_first().unwrap();
        text(output_of(Command::new("perf").arg(name).arg("-i").arg(&file).args(rest)))
    };
    let summary = perf(&["report", "--stdio", "-n", "--no-children", "-g", "none", "--sort", "pid"]);
    let rows = summary.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty());
    let counted: u64 = rows.map(|row| row.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap()).sum();
    assert_eq!(counted, profile.samples.len() as u64, "perf report counts otherwise:\n{summary}");

    let script = perf(&["script", "-F", "comm,tid,time,event", "--ns"]);
    assert_eq!(script.lines().filter(|line| line.contains("cpu-clock")).count(), profile.samples.len(), "perf script");

    let mut dumped = dumped_chains(&perf(&["script", "-D"]));
    let mut ours: Vec<_> = profile.samples.iter().map(|sample| chain(profile, sample)).collect();
    dumped.sort();
    ours.sort();
    let different = dumped.iter().zip(&ours).filter(|(theirs, ours)| theirs != ours);
    let different: Vec<_> = different.collect();
    assert!(
        different.is_empty() && dumped.len() == ours.len(),
        "{} of {} samples differ, the first: {:x?}",
        different.len(),
        ours.len(),
        different.first()
    );

    // The chain that all this is about: jitted code in jitted code below the program's entry.
    let jitted = |sample: &&Sample| {
        let frames = sample.stack.into_iter().flat_map(|stack| profile.frames_from_leaf(stack));
        let mut names = frames.map(|frame| profile.function_of(frame).name.as_str());
        names.any(|name| name.starts_with("Shares.KernelA(")) && names.any(|name| name.starts_with("Shares.Main("))
    };
    let seen = profile.samples.iter().filter(jitted).count();
    assert!(seen > 0, "no sample of KernelA in Main");
}

/// Thread, time, and addresses of a sample, leaf first.
type Chain = (u32, u64, Vec<u64>);

fn chain(profile: &Profile, sample: &Sample) -> Chain {
    let frames = sample.stack.into_iter().flat_map(|stack| profile.frames_from_leaf(stack));
    let addresses = frames.map(|frame| profile.frames[frame].address.0).collect();
    (profile.threads[sample.thread].tid, sample.time.0, addresses)
}

/// Samples as `perf script -D` shows them:
///
/// ```text
/// 1 3637548122273 0x2090 [0x130]: PERF_RECORD_SAMPLE(IP, 0x1): 27978/27978: 0xffffffff813a4413 period: 1001001 addr: 0
/// ... FP chain: nr:29
/// .....  0: ffffffffffffff80
/// ```
fn dumped_chains(dump: &str) -> Vec<Chain> {
    /// From here on up an address is a mark that says what kind of code follows.
    const FIRST_MARK: u64 = 0xffff_ffff_ffff_f001;
    let mut chains: Vec<Chain> = Vec::new();
    for line in dump.lines() {
        if let Some((head, tail)) = line.split_once(": PERF_RECORD_SAMPLE(") {
            let time = head.split_whitespace().rev().nth(2).unwrap().parse().unwrap();
            let task = tail.split(": ").nth(1).unwrap();
            chains.push((task.split_once('/').unwrap().1.parse().unwrap(), time, Vec::new()));
        } else if let Some((number, address)) = line.strip_prefix("..... ").and_then(|rest| rest.split_once(": "))
            && number.trim().parse::<u64>().is_ok()
            && let Ok(address) = u64::from_str_radix(address.trim(), 16)
            && address < FIRST_MARK
        {
            chains.last_mut().expect("a chain belongs to a sample").2.push(address);
        }
    }
    chains
}

/// TraceEvent counts as many method events of each kind as our decoder, and reads the same from them.
fn trace_event_reads_the_streams(recording: &Path) {
    let manifest = manifest(recording);
    let streams: Vec<_> = manifest.runtimes.iter().flat_map(|runtime| &runtime.streams).collect();
    assert_eq!(streams.len(), 2, "{streams:?}");
    for stream in streams {
        let file = recording.join(&stream.file);
        let theirs = live::oracle(&file).unwrap_or_else(|failure| panic!("{}: {failure}", stream.file));
        assert_eq!((theirs.lost, &theirs.error), (0, &None), "{}", stream.file);
        let ours = decode(&std::fs::read(&file).unwrap());

        let counted = |events: &[live::EventCount]| -> BTreeMap<(String, u32), u64> {
            let method = events.iter().filter(|event| is_method_event(&event.provider, event.id));
            method.map(|event| ((event.provider.clone(), event.id), event.count)).collect()
        };
        assert_eq!(ours.counts, counted(&theirs.events), "{}", stream.file);
        assert_eq!(ours.events, theirs.total(), "events in all of {}", stream.file);
        let mut listed: Vec<_> = theirs
            .methods
            .into_iter()
            .map(|method| (method.start.0, method.size, method.namespace, method.name, method.signature))
            .collect();
        listed.sort();
        println!("  {}: {} events, {} methods", stream.file, ours.events, listed.len());
        assert!(!listed.is_empty(), "{} lists no method", stream.file);
        let same = listed.iter().zip(&ours.methods).take_while(|(theirs, ours)| theirs == ours).count();
        assert!(
            listed == ours.methods,
            "{}: {} methods, we have {}; the first that differs: {:?}, ours {:?}",
            stream.file,
            listed.len(),
            ours.methods.len(),
            listed.get(same),
            ours.methods.get(same)
        );
    }
}

#[derive(Default)]
struct Decoded {
    events: u64,
    counts: BTreeMap<(String, u32), u64>,
    /// Start, size, type, name and signature of every method that the oracle lists too, sorted.
    methods: Vec<(u64, u64, String, String, String)>,
}

/// Loads, unloads and both ends of a rundown, in their short and long forms.
fn is_method_event(provider: &str, id: u32) -> bool {
    [RUNTIME_PROVIDER, RUNDOWN_PROVIDER].contains(&provider) && (141..=144).contains(&id)
}

fn decode(bytes: &[u8]) -> Decoded {
    let mut decoded = Decoded::default();
    let mut sink = |item: Item<'_>| {
        let Item::Event(event) = item else { return };
        decoded.events += 1;
        let (provider, id) = (&*event.metadata.provider, event.metadata.event_id);
        if !is_method_event(provider, id) {
            return;
        }
        *decoded.counts.entry((provider.to_owned(), id)).or_default() += 1;
        let Ok(Some(RuntimeEvent::Method(_, method))) = RuntimeEvent::decode(&event) else {
            panic!("event {id} of {provider} has no method");
        };
        // The oracle lists the long forms, and no unloads.
        if let Some(names) = method.names
            && (id, provider) != (144, RUNTIME_PROVIDER)
        {
            let texts = [names.namespace, names.name, names.signature].map(|text| text.to_string());
            let [namespace, name, signature] = texts;
            decoded.methods.push((method.start.0, u64::from(method.size), namespace, name, signature));
        }
    };
    let mut decoder = Decoder::new();
    decoder.feed(bytes, &mut sink).unwrap();
    let summary = decoder.finish(&mut sink).unwrap();
    assert_eq!(summary.problems.total(), 0, "{summary:?}");
    decoded.methods.sort();
    decoded
}

/// One of its daemons, ended with its guard.
struct FirefoxProfiler {
    folder: ShortFolder,
}

impl FirefoxProfiler {
    fn load(file: &Path) -> Self {
        let profiler = Self { folder: ShortFolder::new() };
        let end = Instant::now() + PATIENCE;
        // It waits half a second for its daemon, which is not enough on a busy machine; to try again is its own advice.
        loop {
            let loaded = profiler.command().arg("load").arg(file).output().unwrap();
            if loaded.status.success() {
                return profiler;
            }
            let stderr = String::from_utf8_lossy(&loaded.stderr);
            assert!(Instant::now() < end && stderr.contains("did not become ready"), "{stderr}");
        }
    }

    fn command(&self) -> Command {
        let mut command = live::profiler_cli().unwrap_or_else(|missing| panic!("{missing}"));
        command.env("HOME", self.folder.path()).env("PROFILER_CLI_SESSION_DIR", self.folder.path().join("s"));
        command
    }

    fn ask(&self, arguments: &[&str]) -> serde_json::Value {
        json(output_of(self.command().args(arguments).arg("--json")))
    }
}

impl Drop for FirefoxProfiler {
    fn drop(&mut self) {
        // It knows the daemons of this folder only.
        let _ = self.command().args(["stop", "--all"]).output();
    }
}

/// The Firefox Profiler lists the functions with most samples of their own in our order, with our counts.
fn firefox_profiler_lists_the_functions(recording: &Path, scratch: &Scratch) {
    let file = scratch.path("others.json.gz");
    run(["convert".as_ref(), recording.as_os_str(), "-o".as_ref(), file.as_os_str()], 0);
    let profiler = FirefoxProfiler::load(&file);
    let list = profiler.ask(&["thread", "list", "--limit", "0"]);
    let threads = list["threads"].as_array().unwrap().iter();
    let handles: Vec<_> = threads.map(|thread| thread["threadHandle"].as_str().unwrap()).collect();
    // Several threads together are counted in samples, one thread in milliseconds.
    let merged = handles.join(",");
    let shown = profiler.ask(&["thread", "functions", "--limit", "0", "--include-idle", "--thread", &merged]);
    let shown = shown["functions"].as_array().unwrap();

    let top = report(recording, "top");
    let ours = top["data"]["functions"].as_array().unwrap();
    let samples = |value: &serde_json::Value| value.as_f64().unwrap();
    let own = |row: &serde_json::Value| (row["name"].as_str().unwrap().to_owned(), samples(&row["self"]["samples"]));
    let own_shown = |row: &serde_json::Value| (row["name"].as_str().unwrap().to_owned(), samples(&row["selfSamples"]));
    // Functions with equally many samples have no order.
    let first = |mut rows: Vec<(String, f64)>| {
        rows.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        rows.truncate(5);
        rows
    };
    let order = |rows: &[(String, f64)]| rows.windows(2).all(|pair| pair[0].1 >= pair[1].1);
    let (ours_first, shown_first): (Vec<_>, Vec<_>) =
        (ours.iter().map(own).collect(), shown.iter().map(own_shown).collect());
    assert!(order(&shown_first) && order(&ours_first));
    assert_eq!(first(shown_first), first(ours_first));
    for row in ours.iter().take(5) {
        let theirs = shown.iter().find(|other| other["name"] == row["name"]).unwrap();
        assert_eq!(samples(&theirs["totalSamples"]), samples(&row["total"]["samples"]), "{row}");
    }
}

/// The file fits speedscope's own schema, and its weights are all the CPU time.
fn speedscope_takes_the_file(recording: &Path, profile: &Profile, scratch: &Scratch) {
    let file = scratch.path("others.speedscope.json");
    run(["convert".as_ref(), recording.as_os_str(), "-o".as_ref(), file.as_os_str()], 0);
    let schema = live::speedscope_schema().unwrap_or_else(|missing| panic!("{missing}"));
    live::validate_json(&file, &schema).unwrap_or_else(|problem| panic!("{problem}"));
    let document: serde_json::Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    let threads = document["profiles"].as_array().unwrap().iter();
    let weights = threads.flat_map(|thread| thread["weights"].as_array().unwrap());
    let weight: u64 = weights.map(|weight| weight.as_u64().unwrap()).sum();
    assert_eq!(weight, profile.samples.iter().map(|sample| sample.weight).sum::<u64>());
}

/// Folded stacks have all samples, and each function as often as the report.
fn folded_stacks_add_up(recording: &Path, scratch: &Scratch) {
    let file = scratch.path("others.folded");
    run(["convert".as_ref(), recording.as_os_str(), "-o".as_ref(), file.as_os_str()], 0);
    let text = std::fs::read_to_string(&file).unwrap();
    let (mut all, mut own, mut total) = (0, BTreeMap::<&str, u64>::new(), BTreeMap::<&str, u64>::new());
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (path, count) = line.rsplit_once(' ').unwrap();
        let count: u64 = count.parse().unwrap();
        // After process and thread, and where a stack was cut.
        let mut frames: Vec<_> = path.split(';').skip(2).filter(|frame| !frame.starts_with("[cut: ")).collect();
        all += count;
        *own.entry(frames.last().copied().unwrap_or_default()).or_default() += count;
        frames.sort_unstable();
        frames.dedup();
        frames.into_iter().for_each(|frame| *total.entry(frame).or_default() += count);
    }
    let top = report(recording, "top");
    assert_eq!(top["data"]["all"]["samples"], all);
    let rows = top["data"]["functions"].as_array().unwrap();
    // Folded stacks know names only: functions of one name are one there.
    let mut of_name: BTreeMap<&str, u64> = BTreeMap::new();
    for row in rows {
        *of_name.entry(row["name"].as_str().unwrap()).or_default() += row["self"]["samples"].as_u64().unwrap();
    }
    let of_name: BTreeMap<_, _> = of_name.into_iter().filter(|(_, samples)| *samples > 0).collect();
    assert_eq!(own, of_name);
    for kernel in ["Shares.KernelA(int32)", "Shares.KernelB(int32)", "Shares.KernelC(int32)"] {
        let row = rows.iter().find(|row| row["name"] == kernel).unwrap();
        assert_eq!(row["total"]["samples"], total[kernel], "{kernel}");
    }
}
