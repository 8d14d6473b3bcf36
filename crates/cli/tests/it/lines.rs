//! Managed frames have the line of source that was running, where there is a PDB.

use crate::support::{Scratch, record, report, run};
use crate::workload::{PerfMap, ShortFolder, on_each_runtime, profile, start};
use std::collections::BTreeMap;
use std::path::Path;
use strata_profile::{CodeKind, Profile, Tier};
use strata_testkit::live::Runtime;

on_each_runtime!(check);

/// The lines of the workload's source that end with a mark, by mark.
fn marks() -> BTreeMap<String, u32> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workloads/Lines.cs");
    let source = std::fs::read_to_string(source).unwrap();
    let mark = |(line, number): (&str, u32)| {
        let (_, mark) = line.strip_suffix('>')?.rsplit_once("// <")?;
        Some((mark.to_owned(), number))
    };
    source.lines().zip(1..).filter_map(mark).collect()
}

fn check(runtime: Runtime) {
    let (scratch, temporary) = (Scratch::new(), ShortFolder::new());
    let running = start(runtime, "Lines", &temporary, PerfMap::Off);
    let path = scratch.path("lines.strata");
    let marks = marks();
    // How much of the machine the program gets is not ours to say.
    let (profile, busy, total) = [4, 10, 30, 60]
        .into_iter()
        .find_map(|seconds| {
            record(running.pid(), seconds, &path);
            let profile = profile(&path);
            let busy = lines_of(&profile, "Lines.Busy(", true);
            let total: u64 = busy.values().sum();
            println!("{runtime}: in {seconds} s Busy runs on lines {busy:?}");
            (total > 500).then_some((profile, busy, total))
        })
        .unwrap_or_else(|| panic!("{runtime}: too few samples to judge"));
    let on = |mark: &str| busy.get(&Some(marks[mark])).copied().unwrap_or_default();
    let in_loop = on("busy-divide") + on("busy-loop");
    assert!(in_loop * 100 >= total * 95, "{runtime}: {in_loop} of {total} samples in the loop: {busy:?}");
    assert!(on("busy-divide") * 2 > total, "{runtime}: most time is spent in the division: {busy:?}");
    let inside = marks["busy-begin"]..=marks["busy-end"];
    assert!(busy.keys().flatten().all(|line| inside.contains(line)), "{runtime}: {busy:?} outside of the method");

    let callers = lines_of(&profile, "Lines.Main(", false);
    let total: u64 = callers.values().sum();
    println!("{runtime}: Main calls from lines {callers:?}");
    let called = callers.get(&Some(marks["call"])).copied().unwrap_or_default();
    assert!(total > 100 && called * 100 >= total * 95, "{runtime}: {called} of {total} from the call: {callers:?}");
    check_outputs(&path, &scratch, marks["busy-divide"]);
}

/// How often a method's frames were on which line, as the leaf or as the caller of the leaf.
fn lines_of(profile: &Profile, name: &str, as_leaf: bool) -> BTreeMap<Option<u32>, u64> {
    let mut lines = BTreeMap::new();
    for stack in profile.samples.iter().filter_map(|sample| sample.stack) {
        let mut frames = profile.frames_from_leaf(stack);
        let Some(id) = frames.nth(if as_leaf { 0 } else { 1 }) else { continue };
        let (function, frame) = (profile.function_of(id), profile.frames[id]);
        // A body that takes over in the middle of a loop has no row for each statement in the runtime's map.
        if !function.name.starts_with(name) || function.kind == CodeKind::Jit(Tier::OptimizedTier1OSR) {
            continue;
        }
        if let Some(line) = frame.line {
            assert_eq!(profile.source_files[line.file].path, "/_/Lines.cs");
        }
        *lines.entry(frame.line.map(|line| line.line.get())).or_default() += 1;
    }
    lines
}

/// Reports and exports show file and line.
fn check_outputs(recording: &Path, scratch: &Scratch, costliest: u32) {
    let top = report(recording, "top");
    let functions = top["data"]["functions"].as_array().unwrap();
    let busy = functions.iter().find(|row| row["name"].as_str().unwrap().starts_with("Lines.Busy(")).unwrap();
    assert_eq!((&busy["lines"][0]["file"], &busy["lines"][0]["line"]), (&"/_/Lines.cs".into(), &costliest.into()));
    assert_eq!(busy["lines"][0]["link"], "https://example.org/strata/workloads/Lines.cs");
    for name in ["out.json", "out.speedscope.json"] {
        let path = scratch.path(name);
        run(["convert".as_ref(), recording.as_os_str(), "-o".as_ref(), path.as_os_str()], 0);
        assert!(std::fs::read_to_string(&path).unwrap().contains("/_/Lines.cs"), "{name} has no source file");
    }
}
