//! A program that dies while it is recorded has all its names: none depends on what a runtime says at its end.

use crate::scene::{expect_words, record_attached, wait_for_words};
use crate::support::Scratch;
use crate::workload::{PATIENCE, PerfMap, ShortFolder, manifest, on_each_runtime, profile, start};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;
use strata_nettrace::runtime::{Occasion, RuntimeEvent};
use strata_nettrace::{Decoder, Item};
use strata_profile::{CodeKind, NameSource, Profile, Share, quality};
use strata_recording::StreamKind;
use strata_testkit::live::{Runtime, Until};

on_each_runtime!(check);

#[test]
fn net8_single_28() {
    check(Runtime::Net8Single28);
}

#[test]
fn net10_compressed() {
    check(Runtime::Net10Compressed);
}

/// How long it is recorded before it dies.
const LIFE: Duration = Duration::from_secs(3);

fn check(runtime: Runtime) {
    let (killed, clean) = (recorded(runtime, Some("KILL")), recorded(runtime, None));
    for (how, recording) in [("killed", &killed), ("clean", &clean)] {
        println!("{runtime}, {how}: {recording:?}");
        let Share { part, whole } = recording.managed;
        assert!(whole > 500, "{runtime}, {how}: {whole} managed frames are too few to judge");
        assert_eq!(part, whole, "{runtime}, {how}: managed frames without a name");
        assert!(recording.sources.contains_key("r2r image"), "{runtime}, {how}: no precompiled code");
    }
    assert_eq!(killed.listed_at_the_end, 0, "{runtime}: it cannot have said what it has");
}

#[derive(Debug)]
struct Recorded {
    managed: Share,
    /// Managed frames by where their name is from.
    sources: BTreeMap<&'static str, u64>,
    /// Methods that the live stream ends with a list of.
    listed_at_the_end: u64,
}

/// Records a workload that has `signal` sent to it, or goes on until the recording was stopped.
fn recorded(runtime: Runtime, signal: Option<&str>) -> Recorded {
    let (scratch, temporary) = (Scratch::new(), ShortFolder::new());
    let path = scratch.path("x.strata");
    let target = start(runtime, "Varied", &temporary, PerfMap::Off);
    let seconds = LIFE.as_secs().to_string() + "s";
    let options: &[&str] = if signal.is_some() { &[] } else { &["-d", &seconds] };
    let recorder = record_attached(target.pid(), &path, options);
    let strata = strata_testkit::live::Running::start(recorder, Until::Started, PATIENCE).unwrap();
    wait_for_words(&strata, "listening to the .NET runtime");
    if let Some(signal) = signal {
        std::thread::sleep(LIFE);
        target.signal(signal).unwrap();
    }
    let finished = strata.wait(PATIENCE).unwrap();
    expect_words(&finished, 0, if signal.is_some() { &["the target ended"] } else { &[] });
    let profile = profile(&path);
    Recorded {
        managed: quality(&profile).named_managed_frames(),
        sources: sources(&profile),
        listed_at_the_end: listed_at_the_end(&path),
    }
}

fn sources(profile: &Profile) -> BTreeMap<&'static str, u64> {
    let mut sources = BTreeMap::new();
    for frame in profile.samples.iter().filter_map(|sample| sample.stack).flat_map(|it| profile.frames_from_leaf(it)) {
        if matches!(profile.function_of(frame).kind, CodeKind::Jit(_) | CodeKind::ReadyToRun) {
            let named: NameSource = profile.frames[frame].named;
            *sources.entry(named.label()).or_default() += 1;
        }
    }
    sources
}

fn listed_at_the_end(recording: &Path) -> u64 {
    let mut listed = 0;
    for stream in manifest(recording).runtimes.iter().flat_map(|runtime| &runtime.streams) {
        let bytes = std::fs::read(recording.join(&stream.file)).unwrap();
        let mut sink = |item: Item<'_>| {
            let Item::Event(event) = item else { return };
            let event = RuntimeEvent::decode(&event);
            let is_listed = matches!(event, Ok(Some(RuntimeEvent::Method(Occasion::RundownEnd, _))));
            listed += u64::from(is_listed && stream.kind == StreamKind::Live);
        };
        let mut decoder = Decoder::new();
        decoder.feed(&bytes, &mut sink).and_then(|()| decoder.finish(&mut sink)).unwrap();
    }
    listed
}
