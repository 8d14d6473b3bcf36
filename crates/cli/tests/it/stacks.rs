//! Stacks reach the thread's root through managed, native and kernel code, and those that do not say so everywhere.

use crate::support::{Scratch, record, report, run, strata};
use crate::workload::{PerfMap, ShortFolder, profile, start};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use strata_profile::{Function, Profile, StackEnd, StackId};
use strata_testkit::live::Runtime;

/// What part of the samples of managed threads must have a whole stack, in percent.
const MIN_WHOLE: f64 = 97.0;

/// From managed code through the C library's sort and back, outermost first.
struct Chain {
    workload: &'static str,
    entry: &'static str,
    caller: &'static str,
    callback: &'static str,
}

const CHAINS: [Chain; 2] = [
    Chain { workload: "Shares", entry: "Shares.Main(", caller: "Shares.KernelC(", callback: "Shares.Compare(" },
    Chain {
        workload: "Varied",
        entry: "Shop.Program.Work(",
        caller: "Shop.Pricing.PriceList.SortNative(",
        callback: "Shop.Pricing.PriceList.ComparePrices(",
    },
];

mod whole {
    crate::workload::on_each_runtime!(super::check_whole);
}

/// Precompiled code that is mapped from inside a program, or was copied out of one.
mod whole_in_single_files {
    use super::{Runtime, check_whole};

    #[test]
    fn net8_single_28() {
        check_whole(Runtime::Net8Single28);
    }

    #[test]
    fn net8_single_30() {
        check_whole(Runtime::Net8Single30);
    }

    #[test]
    fn net10_compressed() {
        check_whole(Runtime::Net10Compressed);
    }
}

/// Images that a program inflates while it is recorded have no file: the recording tells by their memory which they are.
#[test]
fn images_are_recognised_as_they_are_copied() {
    let scratch = Scratch::new();
    let path = scratch.path("copied.strata");
    let target = Runtime::Net10Compressed.command("Shares", ["2"]).unwrap_or_else(|missing| panic!("{missing}"));
    let mut recorder = strata(["record", "-o"]);
    recorder.arg(&path).arg("--").arg(target.get_program()).args(target.get_args()).env_clear();
    recorder.envs(std::env::vars_os().filter(|(name, _)| !name.to_string_lossy().starts_with("DOTNET_")));
    recorder.envs(target.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = recorder.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));

    let profile = profile(&path);
    let frames =
        profile.samples.iter().filter_map(|sample| sample.stack).flat_map(|stack| profile.frames_from_leaf(stack));
    let found: BTreeSet<_> = frames
        .filter(|frame| {
            let module = profile.function_of(*frame).module;
            module.is_some_and(|module| profile.modules[module].name == "System.Private.CoreLib")
        })
        .map(|frame| profile.frames[frame].found.label())
        .collect();
    assert!(found.contains("cfi"), "frames of the core library were found by: {found:?}");
}

fn check_whole(runtime: Runtime) {
    for chain in CHAINS {
        let (scratch, temporary) = (Scratch::new(), ShortFolder::new());
        let running = start(runtime, chain.workload, &temporary, PerfMap::Off);
        let path = scratch.path("stacks.strata");
        record(running.pid(), 5, &path);
        let profile = profile(&path);

        let (ends, samples) = ends_of_managed_threads(&profile);
        let whole = ends.get("whole").copied().unwrap_or_default();
        let percent = whole as f64 * 100.0 / samples.max(1) as f64;
        let through =
            profile.samples.iter().filter(|sample| sample.stack.is_some_and(|stack| chain.is_in(&profile, stack)));
        let through = through.count();
        println!(
            "{runtime}, {}: {percent:.2} % of {samples} samples are whole: {ends:?}; {through} through qsort",
            chain.workload
        );
        println!("{}", cut_stacks(&profile));
        assert!(samples > 100, "{samples} samples are too few to judge");
        assert!(percent >= MIN_WHOLE, "{runtime}, {}: {percent:.2} % of {samples}: {ends:?}", chain.workload);
        assert!(through > 0, "{runtime}, {}: no stack goes from managed code through qsort and back", chain.workload);
    }
}

/// How the samples end of threads that ran managed code.
fn ends_of_managed_threads(profile: &Profile) -> (BTreeMap<&'static str, u64>, u64) {
    let is_managed = |stack: StackId| functions(profile, stack).iter().any(|function| function.kind.is_managed());
    let managed = profile.samples.iter().filter(|sample| sample.stack.is_some_and(is_managed));
    let threads: BTreeSet<_> = managed.map(|sample| sample.thread).collect();
    let mut ends = BTreeMap::new();
    let mut samples = 0;
    for sample in profile.samples.iter().filter(|sample| threads.contains(&sample.thread)) {
        *ends.entry(sample.end.label()).or_default() += 1;
        samples += 1;
    }
    (ends, samples)
}

/// The innermost frames of cut stacks and how often each came, to tell why they were cut.
fn cut_stacks(profile: &Profile) -> String {
    let mut cuts: BTreeMap<String, u64> = BTreeMap::new();
    for sample in profile.samples.iter().filter(|sample| sample.end != StackEnd::Root) {
        let names: Vec<_> = sample
            .stack
            .into_iter()
            .flat_map(|stack| profile.frames_from_leaf(stack))
            .map(|frame| format!("{} ({})", profile.function_of(frame).name, profile.frames[frame].found.label()))
            .collect();
        let (shown, left) = names.split_at(names.len().min(12));
        let more = if left.is_empty() { String::new() } else { format!(" < {} more", left.len()) };
        *cuts.entry(format!("{}: {}{more}", sample.end.label(), shown.join(" < "))).or_default() += 1;
    }
    cuts.iter().map(|(stack, count)| format!("{count:>6}  {stack}\n")).collect()
}

/// The functions of a stack, outermost first.
fn functions(profile: &Profile, stack: StackId) -> Vec<&Function> {
    let mut functions: Vec<_> = profile.frames_from_leaf(stack).map(|frame| profile.function_of(frame)).collect();
    functions.reverse();
    functions
}

impl Chain {
    fn is_in(&self, profile: &Profile, stack: StackId) -> bool {
        let in_libc = |function: &Function| {
            function.module.is_some_and(|module| profile.modules[module].name.starts_with("libc"))
                && function.name.contains("sort")
        };
        let managed = |name: &'static str| {
            move |function: &Function| function.kind.is_managed() && function.name.starts_with(name)
        };
        let mut steps = functions(profile, stack).into_iter();
        steps.any(managed(self.entry))
            && steps.any(managed(self.caller))
            && steps.any(|function| function.name.contains("IL_STUB_PInvoke"))
            && steps.any(in_libc)
            && steps.any(managed(self.callback))
    }
}

mod cut {
    crate::workload::on_each_runtime!(super::check_cut);
}

/// With hardly any stack copied, code without frame pointers cannot be walked: there are cut stacks, and every output
/// counts them as the profile does.
fn check_cut(runtime: Runtime) {
    let (scratch, temporary) = (Scratch::new(), ShortFolder::new());
    let running = start(runtime, "Shares", &temporary, PerfMap::Off);
    let path = scratch.path("cut.strata");
    let pid = running.pid().to_string();
    let output = strata(["record", "-p", &pid, "-d", "4s", "--stack-size", "8", "-o"]).arg(&path).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));

    let profile = profile(&path);
    let mut cuts: BTreeMap<String, u64> = BTreeMap::new();
    for sample in profile.samples.iter().filter(|sample| sample.end != StackEnd::Root) {
        *cuts.entry(sample.end.label().to_owned()).or_default() += 1;
    }
    println!("{runtime}: {} samples, {cuts:?}", profile.samples.len());
    assert!(!cuts.is_empty(), "no stack was cut, so nothing was tested");

    assert_eq!(reported_cuts(&path), cuts, "report loss");
    assert_eq!(tree_cuts(&path), cuts, "report tree");
    let converted = |name: &str| {
        let file = scratch.path(name);
        run(["convert".as_ref(), path.as_os_str(), "-o".as_ref(), file.as_os_str()], 0);
        std::fs::read_to_string(file).unwrap()
    };
    assert_eq!(folded_cuts(&converted("cut.folded")), cuts, "folded");
    assert_eq!(speedscope_cuts(&converted("cut.speedscope.json")), cuts, "speedscope");
    assert_eq!(firefox_cuts(&converted("cut.json")), cuts, "Firefox");
}

fn label(mark: &str) -> Option<String> {
    mark.strip_prefix('[')?.strip_suffix(']').filter(|label| label.starts_with("cut: ")).map(str::to_owned)
}

fn reported_cuts(recording: &Path) -> BTreeMap<String, u64> {
    let loss = report(recording, "loss");
    let ends = loss["loss"]["stacks_by_end"].as_array().unwrap().iter();
    let counts = ends.map(|end| (end["label"].as_str().unwrap().to_owned(), end["count"].as_u64().unwrap()));
    counts.filter(|(label, _)| label.starts_with("cut: ")).collect()
}

fn tree_cuts(recording: &Path) -> BTreeMap<String, u64> {
    let output = run(
        [
            "report".as_ref(),
            recording.as_os_str(),
            "tree".as_ref(),
            "--json".as_ref(),
            "--min-percent".as_ref(),
            "0".as_ref(),
        ],
        0,
    );
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let mut cuts = BTreeMap::new();
    let mut waiting = vec![&document["data"]];
    while let Some(value) = waiting.pop() {
        if let Some(label) = value["name"].as_str().and_then(label) {
            *cuts.entry(label).or_default() += value["total"]["samples"].as_u64().unwrap();
        }
        match value {
            serde_json::Value::Array(values) => waiting.extend(values),
            serde_json::Value::Object(fields) => waiting.extend(fields.values()),
            _ => {}
        }
    }
    cuts
}

fn folded_cuts(text: &str) -> BTreeMap<String, u64> {
    let mut cuts = BTreeMap::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (path, count) = line.rsplit_once(' ').unwrap();
        // After process and thread.
        if let Some(label) = path.split(';').nth(2).and_then(label) {
            *cuts.entry(label).or_default() += count.parse::<u64>().unwrap();
        }
    }
    cuts
}

fn speedscope_cuts(text: &str) -> BTreeMap<String, u64> {
    let file: serde_json::Value = serde_json::from_str(text).unwrap();
    let mut cuts = BTreeMap::new();
    for sample in file["profiles"].as_array().unwrap().iter().flat_map(|thread| thread["samples"].as_array().unwrap()) {
        let outermost = sample[0].as_u64().unwrap() as usize;
        if let Some(label) = label(file["shared"]["frames"][outermost]["name"].as_str().unwrap()) {
            *cuts.entry(label).or_default() += 1;
        }
    }
    cuts
}

fn firefox_cuts(text: &str) -> BTreeMap<String, u64> {
    let file: serde_json::Value = serde_json::from_str(text).unwrap();
    let shared = &file["shared"];
    let (stacks, frames, funcs) = (&shared["stackTable"], &shared["frameTable"], &shared["funcTable"]);
    let mut cuts = BTreeMap::new();
    for thread in file["threads"].as_array().unwrap() {
        for stack in thread["samples"]["stack"].as_array().unwrap() {
            let Some(mut at) = stack.as_u64() else { continue };
            while let Some(caller) = stacks["prefix"][at as usize].as_u64() {
                at = caller;
            }
            let frame = stacks["frame"][at as usize].as_u64().unwrap() as usize;
            let func = frames["func"][frame].as_u64().unwrap() as usize;
            let name = funcs["name"][func].as_u64().unwrap() as usize;
            if let Some(label) = label(shared["stringArray"][name].as_str().unwrap()) {
                *cuts.entry(label).or_default() += 1;
            }
        }
    }
    cuts
}
