//! Traces of a program with one thread that spins and nine that sleep: what their thread time is, and what names it has when
//! the list of methods at the end is not there.

use super::*;
use crate::support::report;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::time::Duration;
use strata_nettrace::runtime::RUNDOWN_PROVIDER;
use strata_nettrace::{Decoder, Item};
use strata_testkit::live::{self, Running, Runtime, Until};

const LIMIT: Duration = Duration::from_secs(120);
const SAMPLER: &str = "Microsoft-DotNETCore-SampleProfiler:0:4";
/// Loader, Jit, and where precompiled methods begin.
const NAMES: &str = "Microsoft-Windows-DotNETRuntime:0x2000000018:5";

/// Has the runtime write a trace of the program; gives it with what the program said it spun, in seconds.
fn traced(scratch: &Scratch, seconds: &str, providers: &str) -> (PathBuf, f64) {
    let folder = scratch.path("trace");
    std::fs::create_dir(&folder).unwrap();
    let mut command = Runtime::Net8.command("Sleepers", [seconds]).unwrap_or_else(|missing| panic!("{missing}"));
    live::traced(&mut command, &folder, providers);
    let running = Running::start(command, Until::Ready, LIMIT).unwrap_or_else(|failure| panic!("{failure}"));
    let finished = running.wait(LIMIT).unwrap();
    let spun = finished.stdout.iter().find_map(|line| line.strip_prefix("spun ")).unwrap().parse().unwrap();
    let files = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let trace = files.into_iter().find(|path| path.extension().is_some_and(|extension| extension == "nettrace"));
    (trace.unwrap(), spun)
}

fn ms(cost: &Value) -> f64 {
    cost["thread_time_ns"].as_f64().unwrap() / 1e6
}

#[test]
fn threads_that_sleep_are_external_and_the_one_that_spins_is_managed() {
    let scratch = Scratch::new();
    let (trace, spun) = traced(&scratch, "3", &format!("{SAMPLER},{NAMES}"));
    let spun_ms = spun * 1e3;
    let tree = report(&trace, "tree");
    let rows = tree["data"]["rows"].as_array().unwrap();
    let root_of = |mut row: usize| {
        while let Some(parent) = rows[row]["parent"].as_u64() {
            row = parent as usize;
        }
        rows[row]["name"].as_str().unwrap().to_owned()
    };
    let threads_in = |method: &str| -> BTreeSet<String> {
        let in_method = |(_, row): &(usize, &Value)| row["name"].as_str().unwrap().contains(method);
        rows.iter().enumerate().filter(in_method).map(|(index, _)| root_of(index)).collect()
    };
    let (spinners, sleepers) = (threads_in("Sleepers.Spin("), threads_in("Sleepers.Sleeper("));
    assert_eq!((spinners.len(), sleepers.len()), (1, 9), "{spinners:?} {sleepers:?}");

    let threads = report(&trace, "threads");
    let mut shown = Vec::new();
    for thread in threads["data"]["threads"].as_array().unwrap() {
        let tid = format!("tid {} ", thread["tid"]);
        let [managed, external, all] = [&thread["managed"], &thread["external"], &thread["cost"]].map(ms);
        shown.push(format!("{tid}managed {managed:.1} external {external:.1} all {all:.1}"));
        let is_among = |threads: &BTreeSet<String>| threads.iter().any(|name| name.starts_with(&tid));
        if is_among(&spinners) {
            // However busy the machine is: the thread that spins is never outside of managed code for long.
            assert!(managed > 0.3 * all, "{shown:#?} {spun_ms}");
        } else if is_among(&sleepers) {
            assert!(external > 0.9 * all, "{shown:#?} {spun_ms}");
        }
    }
    println!("spun {spun_ms:.1} ms\n{}", shown.join("\n"));
    let top = report(&trace, "top");
    let states: BTreeMap<&str, f64> = top["data"]["states"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["state"].as_str().unwrap(), row["cost"]["thread_time_percent"].as_f64().unwrap()))
        .collect();
    // One thread of eleven: main waits for the one that spins.
    assert!((1.0..40.0).contains(&states["managed"]) && states["external"] > 60.0, "{states:?}");
}

/// Per thread and name, how many samples.
fn leaves(trace: &Path, symbols: &[&Path]) -> (BTreeMap<String, u64>, String) {
    let mut arguments = vec![OsStr::new("report"), trace.as_os_str()];
    arguments.extend(["top", "--json", "--limit", "100000"].map(OsStr::new));
    for folder in symbols {
        arguments.extend([OsStr::new("--symbols"), folder.as_os_str()]);
    }
    let output = run(arguments, 0);
    let top: Value = serde_json::from_slice(&output.stdout).unwrap();
    let rows = top["data"]["functions"].as_array().unwrap();
    let mut totals = BTreeMap::new();
    for row in rows {
        *totals.entry(row["name"].as_str().unwrap().to_owned()).or_default() +=
            row["total"]["samples"].as_u64().unwrap();
    }
    (totals, top["loss"]["gaps"].to_string())
}

#[test]
fn images_name_what_a_trace_without_its_list_of_methods_cannot() {
    let scratch = Scratch::new();
    let (trace, _) = traced(&scratch, "1", &format!("{SAMPLER},{NAMES}"));
    // Everything before the first event of the list.
    let bytes = std::fs::read(&trace).unwrap();
    let mut list = u64::MAX;
    let mut decoder = Decoder::new();
    let mut sink = |item: Item<'_>| match item {
        Item::Event(event) if &*event.metadata.provider == RUNDOWN_PROVIDER => list = list.min(event.offset),
        _ => {}
    };
    decoder.feed(&bytes, &mut sink).unwrap();
    let cut = written(&scratch, "cut.nettrace", &bytes[..usize::try_from(list).unwrap()]);

    let framework = Runtime::Net8.framework().unwrap().unwrap();
    let (whole, _) = leaves(&trace, &[]);
    let (without, gaps) = leaves(&cut, &[]);
    let (with, _) = leaves(&cut, &[&framework]);
    let unnamed = |totals: &BTreeMap<String, u64>| {
        totals.keys().filter(|name| name.starts_with("[.NET code at")).cloned().collect::<Vec<_>>()
    };
    assert!(!unnamed(&without).is_empty() && gaps.contains("rundown"), "{without:?} {gaps}");
    println!(
        "{} functions, without images {} unnamed addresses, with {:?}",
        whole.len(),
        unnamed(&without).len(),
        unnamed(&with)
    );
    let sleep = "System.Threading.Thread.Sleep(int32)";
    assert!(with.contains_key(sleep) && !without.contains_key(sleep), "{with:?}");
    // Images know more than the list: that has no code of calls to native functions.
    let named = whole.iter().filter(|(name, _)| !name.starts_with("[.NET code at"));
    let lacking: Vec<_> = named.filter(|(name, samples)| with.get(*name).is_none_or(|with| with < samples)).collect();
    assert!(lacking.is_empty(), "{lacking:?}");
    assert!(unnamed(&with).len() <= unnamed(&whole).len(), "{:?} {:?}", unnamed(&with), unnamed(&whole));

    // An image of another build of the same name is refused, and said to be.
    let framework = Runtime::Net9.framework().unwrap().unwrap();
    let (wrong, gaps) = leaves(&cut, &[&framework]);
    assert_eq!(wrong, without);
    assert!(gaps.contains("another build was running") && gaps.contains("System.Private.CoreLib.dll"), "{gaps}");
}
