//! Made streams: one rule of thread time each.

use crate::trace_answers::{counted, trace};
use strata_profile::{CodeKind, Cut, Gap, LongGaps, NameSource, Profile, StackEnd, ThreadState, Unnamed};
use strata_resolve::nettrace::Trace;
use strata_testkit::nettrace::{Blob, Blobs, Definition, Stream, utf16};

const RUNTIME: &str = "Microsoft-Windows-DotNETRuntime";
const RUNDOWN: &str = "Microsoft-Windows-DotNETRuntimeRundown";
const SAMPLER: u64 = 99;

const SAMPLE: u32 = 1;
const LOAD: u32 = 2;
const UNLOAD: u32 = 3;
const LISTED: u32 = 4;
const LISTED_MODULE: u32 = 5;
const COMPLETE: u32 = 6;

const MANAGED: u32 = 2;
const EXTERNAL: u32 = 1;

/// A stream of events in the order of `events`, with these stacks.
fn stream(stacks: &[&[u64]], events: Vec<Blob>) -> Vec<u8> {
    let definitions = [
        Definition::native(SAMPLE, "Microsoft-DotNETCore-SampleProfiler", 0, 0),
        Definition::native(LOAD, RUNTIME, 143, 1),
        Definition::native(UNLOAD, RUNTIME, 144, 1),
        Definition::native(LISTED, RUNDOWN, 144, 1),
        Definition::native(LISTED_MODULE, RUNDOWN, 154, 2),
        Definition::native(COMPLETE, RUNDOWN, 146, 1),
    ];
    let mut blobs = Blobs::compressed();
    for (sequence, event) in (1..).zip(events) {
        blobs = blobs.with(Blob { sequence, capture_thread: SAMPLER, ..event });
    }
    Stream::with_trace().metadata(&definitions).stacks(1, stacks).events(&blobs).end()
}

fn sample(thread: u64, time: u64, stack: u32, state: u32) -> Blob {
    Blob { metadata: SAMPLE, thread, time, stack, payload: state.to_le_bytes().to_vec(), ..Blob::default() }
}

/// A method event. Bit 3 of the flags is of jitted code.
fn method(metadata: u32, time: u64, name: &str, start: u64, size: u32, flags: u32) -> Blob {
    let mut payload = [start + 7, 0x700, start].map(u64::to_le_bytes).concat();
    payload.extend([size, 0x0600_0001, flags].map(u32::to_le_bytes).concat());
    payload.extend([utf16("Shop.Cart"), utf16(name), utf16("void  (int32)")].concat());
    payload.extend([0, 0]);
    Blob { metadata, thread: SAMPLER, time, payload, ..Blob::default() }
}

fn module(time: u64, path: &str) -> Blob {
    let mut payload = [0x700_u64, 0x800].map(u64::to_le_bytes).concat();
    payload.extend([8_u32, 0].map(u32::to_le_bytes).concat());
    payload.extend([utf16(path), utf16(""), vec![0, 0]].concat());
    for _ in 0..2 {
        payload.extend([0; 20]);
        payload.extend(utf16(""));
    }
    Blob { metadata: LISTED_MODULE, thread: SAMPLER, time, payload, ..Blob::default() }
}

fn complete(time: u64) -> Blob {
    Blob { metadata: COMPLETE, thread: SAMPLER, time, payload: vec![0, 0], ..Blob::default() }
}

/// Per sample: thread, weight, names from the leaf.
fn samples(profile: &Profile) -> Vec<(u32, u64, Vec<&str>)> {
    let names = |stack| profile.frames_from_leaf(stack).map(|frame| &*profile.function_of(frame).name).collect();
    let row = |sample: &strata_profile::Sample| {
        let thread = profile.threads.rows()[strata_profile::Handle::index(sample.thread)].tid;
        (thread, sample.weight, sample.stack.map_or_else(Vec::new, names))
    };
    profile.samples.iter().map(row).collect()
}

#[test]
fn time_goes_to_the_sample_that_ends_it() {
    let stacks: &[&[u64]] = &[&[0x1000], &[0x2000]];
    let events = vec![
        sample(1, 2_000, 1, MANAGED),
        sample(2, 2_010, 2, EXTERNAL),
        sample(1, 3_000, 2, EXTERNAL),
        sample(2, 3_020, 2, EXTERNAL),
        // At the same time as before, then late.
        sample(1, 3_000, 1, MANAGED),
        sample(1, 40_000, 1, MANAGED),
        sample(3, 41_000, 0, EXTERNAL),
        sample(3, 42_000, 1, 0),
    ];
    let Trace { profile, .. } = trace(&stream(stacks, events), 64);
    let weights: Vec<_> = samples(&profile).into_iter().map(|(thread, weight, _)| (thread, weight)).collect();
    assert_eq!(
        weights,
        [(1, 0), (2, 0), (1, 1_000), (1, 0), (2, 1_010), (1, 37_000), (3, 0), (3, 1_000)],
        "in the order of time"
    );
    assert_eq!(profile.loss.long_gaps, Some(LongGaps { count: 1, total_ns: 37_000, from_ns: 10_000 }));
    assert_eq!(profile.loss.sampler_errors, 1);
    let ends: Vec<_> = profile.samples.iter().map(|sample| (sample.state, sample.end)).collect();
    assert_eq!(ends[6], (ThreadState::External, StackEnd::Cut(Cut::Unknown)), "no frame at all");
    assert_eq!(ends[7], (ThreadState::Unknown, StackEnd::Root));
}

#[test]
fn a_list_at_the_end_names_what_ran_before() {
    // The leaf is at the very start of a method, its caller's call is the last instruction of another: the return address is
    // the first one behind it. Between the two methods is a place that is neither's.
    let stacks: &[&[u64]] = &[&[0x1000, 0x2040], &[0x1040, 0x2041]];
    let events = vec![
        sample(1, 2_000, 1, MANAGED),
        sample(1, 3_000, 2, MANAGED),
        method(LISTED, 9_000, "Add", 0x1000, 0x40, 8),
        method(LISTED, 9_000, "Main", 0x2000, 0x40, 0),
        module(9_500, r"C:\shop\Shop.Core.dll"),
        complete(9_900),
    ];
    let Trace { profile, contents } = trace(&stream(stacks, events), 64);
    let names: Vec<_> = samples(&profile).into_iter().map(|(_, _, names)| names).collect();
    assert_eq!(
        names,
        [vec!["Shop.Cart.Add(int32)", "Shop.Cart.Main(int32)"], vec!["[.NET code at 0x1040]", "[.NET code at 0x2040]"]]
    );
    let kinds: Vec<_> = profile.functions.rows().iter().map(|function| function.kind).collect();
    assert!(kinds.contains(&CodeKind::ReadyToRun) && kinds.contains(&CodeKind::Managed), "{kinds:?}");
    assert_eq!(profile.modules.rows()[0].name, "Shop.Core");
    // The runtime told all it had: that it has no method there is no lack of the trace.
    assert!(contents.has_rundown && !profile.loss.gaps.contains(&Gap::NoRundown));
    assert!(profile.frames.rows().iter().any(|frame| frame.named == NameSource::None(Unnamed::NoMethod)));
}

#[test]
fn unloads_at_the_end_of_a_process_take_no_names_away() {
    let stacks: &[&[u64]] = &[&[0x1010], &[0x2010]];
    let events = vec![
        method(LOAD, 1_500, "Add", 0x1000, 0x40, 8),
        sample(1, 2_000, 1, MANAGED),
        sample(1, 2_500, 2, MANAGED),
        method(UNLOAD, 3_000, "Add", 0x1000, 0x40, 8),
        // Known only by this.
        method(UNLOAD, 3_000, "Main", 0x2000, 0x40, 8),
        sample(1, 3_100, 1, MANAGED),
        sample(1, 3_200, 2, MANAGED),
    ];
    let Trace { profile, .. } = trace(&stream(stacks, events), 64);
    let names: Vec<_> = samples(&profile).into_iter().map(|(_, _, names)| names.concat()).collect();
    assert_eq!(names, ["Add", "Main", "Add", "Main"].map(|name| format!("Shop.Cart.{name}(int32)")));
}

#[test]
fn an_address_has_the_name_it_had_then() {
    const DYNAMIC: u32 = 9;
    let stacks: &[&[u64]] = &[&[0x1010]];
    let second = 1_000_000_000;
    let events = vec![
        method(LOAD, second, "First", 0x1000, 0x40, DYNAMIC),
        sample(1, 2 * second, 1, MANAGED),
        method(UNLOAD, 3 * second, "First", 0x1000, 0x40, DYNAMIC),
        sample(1, 4 * second, 1, MANAGED),
        method(LOAD, 8 * second, "Second", 0x1000, 0x40, DYNAMIC),
        sample(1, 9 * second, 1, MANAGED),
    ];
    let Trace { profile, .. } = trace(&stream(stacks, events), 64);
    let names: Vec<_> = samples(&profile).into_iter().map(|(_, _, names)| names.concat()).collect();
    assert_eq!(names, ["Shop.Cart.First(int32)", "[.NET code at 0x1010]", "Shop.Cart.Second(int32)"]);
}

#[test]
fn stacks_may_be_cut_where_the_runtime_stops_walking() {
    let deep: Vec<u64> = (0..100).map(|frame| 0x1000 + frame * 16).collect();
    let stacks: &[&[u64]] = &[&deep, &deep[1..]];
    let events = vec![sample(1, 2_000, 1, MANAGED), sample(1, 3_000, 2, MANAGED)];
    let Trace { profile, .. } = trace(&stream(stacks, events), 64);
    let ends: Vec<_> = profile.samples.iter().map(|sample| sample.end).collect();
    assert_eq!(ends, [StackEnd::Cut(Cut::TooDeep), StackEnd::Root]);
}

#[test]
fn a_prefix_of_a_trace_is_a_trace() {
    let stacks: &[&[u64]] = &[&[0x1000, 0x2040], &[0x1040, 0x2041]];
    let events = vec![
        sample(1, 2_000, 1, MANAGED),
        sample(1, 3_000, 2, MANAGED),
        method(LISTED, 9_000, "Add", 0x1000, 0x40, 8),
        complete(9_900),
    ];
    let whole = stream(stacks, events);
    // From the first whole header on.
    for length in 32..whole.len() {
        let Trace { profile, .. } = trace(&whole[..length], 64);
        let is_cut = |gap: &Gap| matches!(gap, Gap::StreamCut { bytes, .. } if *bytes == length as u64);
        assert!(profile.loss.gaps.iter().any(is_cut), "{length} bytes");
        assert!(profile.samples.len() <= 2);
    }
}

#[test]
fn events_are_counted_with_and_without_stacks() {
    let events = vec![
        method(LOAD, 1_000, "Add", 0x1000, 0x100, 8),
        sample(1, 2_000, 1, MANAGED),
        Blob { stack: 1, ..method(UNLOAD, 3_000, "Remove", 0x5000, 0x100, 8) },
        method(UNLOAD, 4_000, "Remove", 0x6000, 0x100, 8),
    ];
    let profile = counted(&stream(&[&[0x1010]], events), UNLOAD).profile;
    let row = |sample: &strata_profile::Sample| {
        let names = sample.stack.map_or("", |stack| {
            let leaf = profile.frames_from_leaf(stack).next().unwrap();
            &profile.function_of(leaf).name
        });
        (sample.time.0, sample.weight, sample.state, sample.end, names)
    };
    let rows: Vec<_> = profile.samples.iter().map(row).collect();
    let running = ThreadState::Running;
    assert_eq!(
        rows,
        [(3_000, 1, running, StackEnd::Root, "Shop.Cart.Add(int32)"), (4_000, 1, running, StackEnd::Untold, ""),]
    );
    assert_eq!(profile.loss.long_gaps, None);
}
