//! Traces of every kind of event from live runtimes, held against TraceEvent: its event source for counts and losses, its
//! TraceLog for threads, payloads and stacks.
//!
//! Needs `cargo xtask targets`; without it every test here fails and says so.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use strata_nettrace::{Decoder, Item, Summary};
use strata_testkit::live::{self, Running, Runtime, Summed, Until};

use crate::scratch::Scratch;

const LIMIT: Duration = Duration::from_secs(120);

const RUNTIME: &str = "Microsoft-Windows-DotNETRuntime";
const RUNDOWN: &str = "Microsoft-Windows-DotNETRuntimeRundown";
const SOURCE: &str = "Strata-Happens";
const TASKS: &str = "System.Threading.Tasks.TplEventSource";

/// The events of each kind, by provider and id.
type Kinds = BTreeMap<(String, u32), Summed>;

fn ours(file: &Path) -> (Kinds, Summary) {
    let mut kinds = Kinds::new();
    let mut addresses = Vec::new();
    let mut sink = |item: Item<'_>| {
        let Item::Event(event) = item else { return };
        addresses.clear();
        addresses.extend(event.stack.iter().flat_map(|stack| stack.addresses()).map(|address| address.0));
        let kind = (event.metadata.provider.to_string(), event.metadata.event_id);
        let stack = event.stack.is_some().then_some(&addresses[..]);
        kinds.entry(kind).or_default().add(event.header.thread, event.payload, stack);
    };
    let mut decoder = Decoder::new();
    decoder.feed(&std::fs::read(file).unwrap(), &mut sink).unwrap();
    let summary = decoder.finish(&mut sink).unwrap();
    (kinds, summary)
}

/// Runs what happens on each of these runtimes, and holds our reading of the trace against TraceEvent's. `expected` are events
/// that each trace has, with how many at least; all events of a provider where the id is `None`.
fn check(runtimes: &[Runtime], what: &[&str], providers: &str, expected: &[(&str, Option<u32>, u64)]) {
    for &runtime in runtimes {
        let scratch = Scratch::new(&format!("{}-{}", what[0], runtime.name()));
        let mut told = runtime.command("Happens", what).unwrap_or_else(|missing| panic!("{missing}"));
        live::traced(&mut told, scratch.folder(), providers);
        let running =
            Running::start(told, Until::Ready, LIMIT).unwrap_or_else(|failure| panic!("{runtime}: {failure}"));
        let finished = running.wait(LIMIT).unwrap();
        assert!(finished.status.success(), "{runtime}: {finished:?}");

        let file = scratch.trace();
        let (kinds, summary) = ours(&file);
        let reading = live::oracle(&file).unwrap_or_else(|failure| panic!("{runtime}: {failure}"));
        let mut log = live::trace_log(&file, scratch.folder()).unwrap_or_else(|failure| panic!("{runtime}: {failure}"));
        table(runtime, what, &kinds, &log);

        assert_eq!(summary.problems.total(), 0, "{runtime}: {summary:?}");
        assert_eq!((summary.loss.lost, reading.error), (reading.lost, None), "{runtime}");
        let counts: BTreeMap<_, u64> = kinds.iter().map(|(kind, summed)| (kind.clone(), summed.events)).collect();
        let mut theirs = BTreeMap::new();
        for event in &reading.events {
            *theirs.entry((event.provider.clone(), event.id)).or_insert(0) += event.count;
        }
        assert_eq!(counts, theirs, "{runtime}");
        let mut kept = kinds.clone();
        for side in [&mut kept, &mut log] {
            side.retain(|(provider, id), _| !is_taken_in(provider, *id));
        }
        let unlike: Vec<_> = kept.iter().filter(|(kind, summed)| log.get(kind) != Some(summed)).collect();
        assert!(unlike.is_empty() && kept.len() == log.len(), "{runtime}: {unlike:?} against {log:?}");
        for (provider, id, at_least) in expected {
            let events: u64 = kinds
                .iter()
                .filter(|((name, number), _)| name == provider && id.is_none_or(|id| id == *number))
                .map(|(_, summed)| summed.events)
                .sum();
            // What the runtime says it dropped may be any of them.
            assert!(events + summary.loss.lost >= *at_least, "{runtime}: {events} of {provider} {id:?}");
        }
    }
}

/// Events of the lists at the end that TraceLog takes in for its own tables of methods: most of them are not in
/// its list of events.
fn is_taken_in(provider: &str, id: u32) -> bool {
    matches!((provider, id), (RUNDOWN, 144 | 150) | (RUNTIME, 144))
}

/// Our figures beside TraceLog's.
fn table(runtime: Runtime, what: &[&str], ours: &Kinds, theirs: &Kinds) {
    println!("{runtime} ({}), {}", runtime.name(), what.join(" "));
    println!(
        "{:>9} {:>9} {:>9} {:>9} {:>10} {:>10}  event",
        "events", "TraceLog", "stacks", "TraceLog", "frames", "TraceLog"
    );
    for (kind, mine) in ours {
        let other = theirs.get(kind).copied().unwrap_or_default();
        let Summed { events, stacks, frames, .. } = mine;
        println!(
            "{events:>9} {:>9} {stacks:>9} {:>9} {frames:>10} {:>10}  {} {}",
            other.events, other.stacks, other.frames, kind.0, kind.1
        );
    }
}

#[test]
fn collections_and_allocations() {
    let providers = format!("{RUNTIME}:0x8000C80003:5,{RUNTIME}Private:0x1:5");
    check(&Runtime::all(), &["gc"], &providers, &[(RUNTIME, Some(1), 20), (RUNTIME, Some(10), 100)]);
}

#[test]
fn exceptions() {
    check(&Runtime::all(), &["exceptions"], &format!("{RUNTIME}:0x8000:5"), &[(RUNTIME, Some(80), 2000)]);
}

#[test]
fn contention() {
    check(
        &Runtime::all(),
        &["contention"],
        &format!("{RUNTIME}:0x4000:5"),
        &[(RUNTIME, Some(81), 100), (RUNTIME, Some(91), 100)],
    );
}

#[test]
fn thread_pool_and_tasks() {
    let providers = format!("{RUNTIME}:0x80010000:5,{TASKS}:0x1FF:5");
    check(&Runtime::all(), &["pool"], &providers, &[(RUNTIME, None, 20), (TASKS, None, 100)]);
}

#[test]
fn an_event_source_with_arrays_and_activities() {
    let providers = format!("{SOURCE}:0xFFFFFFFFFFFF:5,{TASKS}:0x80:5");
    let expected = [1, 2, 3, 4].map(|id| (SOURCE, Some(id), 300));
    check(&Runtime::all(), &["source"], &providers, &expected);
}

#[test]
fn an_event_that_is_too_large_is_a_loss() {
    for runtime in [Runtime::Net8, Runtime::Net9, Runtime::Net10] {
        let scratch = Scratch::new(&format!("large-{}", runtime.name()));
        let mut told = runtime.command("Happens", ["large"]).unwrap_or_else(|missing| panic!("{missing}"));
        live::traced(&mut told, scratch.folder(), &format!("{SOURCE}:0xFFFFFFFFFFFF:5"));
        let running =
            Running::start(told, Until::Ready, LIMIT).unwrap_or_else(|failure| panic!("{runtime}: {failure}"));
        assert!(running.wait(LIMIT).unwrap().status.success(), "{runtime}");
        let (kinds, summary) = ours(&scratch.trace());
        let reading = live::oracle(&scratch.trace()).unwrap_or_else(|failure| panic!("{runtime}: {failure}"));
        assert_eq!(kinds[&(SOURCE.to_owned(), 3)].events, 2, "{runtime}: the one of 60 kB and the small one");
        assert_eq!((summary.loss.lost, reading.lost), (1, 1), "{runtime}: the one of 70 kB");
    }
}

#[test]
fn counters() {
    let providers = "System.Runtime:0x0:5:EventCounterIntervalSec=1";
    check(&Runtime::all(), &["counters"], providers, &[("System.Runtime", None, 30)]);
}

#[test]
fn methods_modules_and_samples() {
    let providers = format!("{RUNTIME}:0x20001C0FF:5,Microsoft-DotNETCore-SampleProfiler:0:5");
    check(&Runtime::all(), &["gc"], &providers, &[("Microsoft-DotNETCore-SampleProfiler", Some(0), 1)]);
}

#[test]
fn two_million_events() {
    let flood = ["flood", "2000000"];
    check(&[Runtime::Net8], &flood, &format!("{SOURCE}:0:5"), &[(SOURCE, Some(5), 2_000_000)]);
}
