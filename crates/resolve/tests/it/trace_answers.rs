//! Real traces, against their known answers.

use std::collections::{BTreeMap, BTreeSet};

use strata_nettrace::{Decoder, Item};
use strata_profile::{Gap, Measure, NameSource, Profile, StackId, ThreadState, quality};
use strata_resolve::files::HostFiles;
use strata_resolve::nettrace::{ImageFiles, Shown, Trace, TraceReader};
use strata_testkit::corpus;

fn bytes(name: &str) -> Option<Vec<u8>> {
    Some(std::fs::read(corpus()?.join("nettrace").join(name)).unwrap())
}

/// Reads a trace in pieces of this many bytes, without images.
pub(crate) fn trace(bytes: &[u8], piece: usize) -> Trace {
    read(bytes, piece, Shown::Samples)
}

/// Counts those events of a trace that have this number of their definition.
pub(crate) fn counted(bytes: &[u8], metadata: u32) -> Trace {
    let mut counts = |item: &Item<'_>| matches!(item, Item::Event(event) if event.metadata.id == metadata);
    read(bytes, 64, Shown::Events { what: "some".to_owned(), counts: &mut counts })
}

fn read(bytes: &[u8], piece: usize, shown: Shown<'_>) -> Trace {
    let mut decoder = Decoder::new();
    let mut reader = TraceReader::new("test.nettrace", shown);
    for piece in bytes.chunks(piece) {
        decoder.feed(piece, &mut |item| reader.take(&item)).unwrap();
    }
    let summary = decoder.finish(&mut |item| reader.take(&item)).unwrap();
    reader.finish(&summary, &ImageFiles { files: &HostFiles::default(), candidates: Vec::new() })
}

/// Frames from the outermost on, as the known answers spell them: `module!name`.
fn path(profile: &Profile, stack: StackId) -> Vec<String> {
    let frames = profile.frames_from_leaf(stack).map(|frame| {
        let function = profile.function_of(frame);
        let module =
            function.module.map_or("", |module| &profile.modules.rows()[strata_profile::Handle::index(module)].name);
        format!("{module}!{}", function.name)
    });
    let mut path: Vec<_> = frames.collect();
    path.reverse();
    path
}

/// The lines of a file of folded stacks.
fn answer(name: &str) -> Option<BTreeMap<Vec<String>, u64>> {
    let text = String::from_utf8(bytes(name)?).unwrap();
    let line = |line: &str| {
        let (path, weight) = line.rsplit_once(' ').unwrap();
        let path = path.split(';').map(|frame| frame.replace("class ", "")).collect();
        (path, weight.parse().unwrap())
    };
    Some(text.lines().map(line).collect())
}

#[test]
fn time_of_a_single_thread_to_the_nanosecond() {
    let Some(stream) = bytes("net5-single-thread.nettrace") else { return };
    let Trace { profile, .. } = trace(&stream, 1 << 16);
    assert!(matches!(profile.recording.measure, Measure::ThreadTime { usual_gap_ns: Some(1_000_000..2_000_000) }));
    let mut all: BTreeMap<Vec<String>, u64> = BTreeMap::new();
    // The other answer leaves out the times that begin outside of managed code.
    let mut begun_managed: BTreeMap<Vec<String>, u64> = BTreeMap::new();
    let mut before = ThreadState::Managed;
    for sample in &profile.samples {
        let path = path(&profile, sample.stack.unwrap());
        if before == ThreadState::Managed {
            *begun_managed.entry(path.clone()).or_default() += sample.weight;
        }
        *all.entry(path).or_default() += sample.weight;
        before = sample.state;
    }
    assert_eq!(all.values().sum::<u64>(), 8_173_890_741);
    assert_eq!(Some(all), answer("net5-single-thread.expected.folded"));
    assert_eq!(Some(begun_managed), answer("net5-single-thread.managed-only.expected.folded"));
}

#[test]
fn how_the_bytes_come_changes_nothing() {
    let Some(stream) = bytes("net5-single-thread.nettrace") else { return };
    let shown = |piece| {
        let Trace { profile, contents } = trace(&stream, piece);
        format!("{:?} {:?} {:?} {contents:?}", profile.samples, profile.functions, profile.loss)
    };
    let whole = shown(stream.len());
    assert!(shown(1) == whole && shown(4099) == whole);
}

#[test]
fn samples_and_names_of_all_traces() {
    // Name, samples: managed and external, frames: named and all.
    let expected = [
        ("net10-alloc", [0, 0], [0, 0]),
        ("net10-contention", [29, 39], [807, 807]),
        ("net10-counters", [0, 0], [0, 0]),
        ("net10-exceptions", [22, 26], [705, 705]),
        ("net3.0-win-all-events", [2, 35_159], [34_372, 539_953]),
        ("net5-macos-mixed-managed-external-samples", [3904, 2427], [28_987, 28_987]),
        ("net5-macos-only-managed-samples", [7423, 0], [27_273, 27_273]),
        ("net5-single-thread", [5559, 5], [16_676, 16_676]),
        ("net5-win-array-types", [0, 0], [0, 0]),
        ("net6-linux-gc-threads-exceptions", [3, 36], [393, 399]),
        ("net6-win-streamed-samples", [5, 306], [2167, 2313]),
        ("net8-counters", [0, 0], [0, 0]),
        ("truncated-no-rundown", [4, 7334], [0, 52_072]),
    ];
    for (name, [managed, external], [named, frames]) in expected {
        let Some(stream) = bytes(&format!("{name}.nettrace")) else { return };
        let Trace { profile, .. } = trace(&stream, 1 << 20);
        let of_state = |state| profile.samples.iter().filter(|sample| sample.state == state).count();
        assert_eq!([ThreadState::Managed, ThreadState::External].map(of_state), [managed, external], "{name}");
        assert_eq!(profile.samples.len(), managed + external, "{name}");
        assert!(profile.samples.iter().all(|sample| sample.stack.is_some()), "{name}");
        let share = quality(&profile).named_frames();
        assert_eq!([share.part, share.whole], [named, frames], "{name}");
    }
}

#[test]
fn without_a_rundown_addresses_stay_apart() {
    let Some(stream) = bytes("truncated-no-rundown.nettrace") else { return };
    let Trace { profile, contents } = trace(&stream, 1 << 20);
    assert!(!contents.has_rundown && profile.loss.gaps.contains(&Gap::NoRundown), "{:?}", profile.loss);
    let addresses: BTreeSet<_> = profile.frames.rows().iter().map(|frame| frame.address).collect();
    let names: BTreeSet<_> = profile.functions.rows().iter().map(|function| &*function.name).collect();
    assert!(names.len() == profile.functions.len() && names.len() >= addresses.len(), "one name for each address");
    assert!(names.iter().all(|name| name.starts_with("[.NET code at 0x")), "{names:?}");
    assert!(profile.frames.rows().iter().all(|frame| !NameSource::is_name(frame.named)));
}

#[test]
fn a_trace_of_windows_has_its_modules_times_and_machine() {
    let Some(stream) = bytes("net6-win-streamed-samples.nettrace") else { return };
    let Trace { profile, .. } = trace(&stream, 1 << 20);
    let recording = &profile.recording;
    assert_eq!((&*recording.system, &*recording.arch), ("Windows", "x64"));
    assert_eq!(profile.processes.rows()[0].runtime_version.as_deref(), Some("6.0.1523.11507"));
    assert!(profile.modules.rows().iter().any(|module| module.name == "System.Private.CoreLib"));
    assert!(profile.modules.rows().iter().all(|module| !module.name.contains(['\\', '/', ':'])));
    // 0.228 s from the first event to the last, in ticks of 100 ns.
    let (first, last) = (profile.samples.first().unwrap().time, profile.samples.last().unwrap().time);
    assert!((50_000_000..228_000_000).contains(&last.since(first)), "{}", last.since(first));
    assert_eq!(last.since(first) % 100, 0);
}
