//! Names of managed code are those that the runtime itself gives it.

use crate::named_code::{Code, NamedCode, plain};
use crate::support::{Scratch, record, run};
use crate::workload::{PATIENCE, PerfMap, ShortFolder, on_each_runtime, profile, start};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::Read;
use std::path::Path;
use strata_address::Avma;
use strata_diagnostics::{Level, Provider, Rundown, SessionRequest, StackWalk};
use strata_profile::{CodeKind, Found, FrameId, Handle, NameSource, Profile, Unnamed};
use strata_testkit::live::{self, Runtime};

on_each_runtime!(check);

#[test]
fn net8_single_28() {
    check(Runtime::Net8Single28);
}

#[test]
fn net8_single_30() {
    check(Runtime::Net8Single30);
}

#[test]
fn net10_compressed() {
    check(Runtime::Net10Compressed);
}

/// What part of the managed frames must have the runtime's own name, in percent.
const MIN_EQUAL: f64 = 100.0;

/// How many frames there may be in precompiled code that the runtime itself does not name, in percent.
const MAX_UNTOLD: u64 = 3;

fn check(runtime: Runtime) {
    for workload in ["Shares", "Varied"] {
        let (scratch, temporary) = (Scratch::new(), ShortFolder::new());
        let running = start(runtime, workload, &temporary, PerfMap::On);
        let path = scratch.path("names.strata");
        record(running.pid(), 5, &path);

        let code = written_by_the_runtime(temporary.path(), running.pid());
        let precompiled = listed_by_the_runtime(running.pid(), &scratch);
        let counts = compare(&profile(&path), &code, &precompiled);
        println!("{runtime}, {workload}: {}", counts.line(&code));
        assert!(code.odd_lines.len() * 100 <= code.len(), "the map is not understood: {:?}", code.odd_lines);
        assert!(counts.managed > 500, "{} managed frames are too few to judge", counts.managed);
        let percent = counts.equal as f64 * 100.0 / counts.managed as f64;
        assert!(
            percent >= MIN_EQUAL,
            "{runtime}, {workload}: {percent:.2} % of managed frames\n{}",
            counts.mismatches()
        );
        assert_eq!(counts.nameless, 0, "frames in precompiled code without any name");
        assert_eq!(counts.not_of_image, 0, "precompiled methods that were not named by their image");
        // Marshalling stubs that were compiled ahead of time (3.1) are in none of the runtime's lists.
        let untold: u64 = counts.untold.values().sum();
        assert!(untold * 100 <= counts.managed * MAX_UNTOLD, "{untold} frames that only we name: {:?}", counts.untold);
        let other_tier: u64 = counts.other_tier.values().sum();
        assert!(other_tier * 100 <= counts.managed, "{runtime}, {workload}: tiers\n{}", counts.mismatches());
        no_output_shows_the_double_mapping(runtime, &path, &scratch);
    }
}

/// What the runtime wrote while it ran.
fn written_by_the_runtime(temporary: &Path, pid: u32) -> NamedCode {
    let mut code = NamedCode::default();
    code.read_perf_map(&temporary.join(format!("perf-{pid}.map")));
    let jitdump = temporary.join(format!("jit-{pid}.dump"));
    if jitdump.exists() {
        code.read_jitdump(&jitdump);
    }
    code
}

/// What the runtime lists when it is asked for all its methods, by a session that strata has no part in; read by the
/// runtime's own makers' reader.
fn listed_by_the_runtime(pid: u32, scratch: &Scratch) -> NamedCode {
    let request = SessionRequest {
        providers: vec![Provider::new("Microsoft-Windows-DotNETRuntime", 0x8, Level::Informational)],
        buffer_mb: 256,
        rundown: Rundown::Default,
        stack_walk: StackWalk::Off,
    };
    let endpoint = strata_diagnostics::find(pid).unwrap();
    let mut session = endpoint.start_session(&request, PATIENCE).unwrap();
    session.set_timeout(Some(PATIENCE)).unwrap();
    let id = session.id();
    let bytes = std::thread::scope(|scope| {
        let reader = scope.spawn(move || {
            let mut bytes = Vec::new();
            session.read_to_end(&mut bytes).unwrap();
            bytes
        });
        endpoint.stop_session(id, PATIENCE).unwrap();
        reader.join().unwrap()
    });
    let file = scratch.path("listed.nettrace");
    std::fs::write(&file, bytes).unwrap();
    let reading = live::oracle(&file).unwrap_or_else(|failure| panic!("{failure}"));
    let mut listed = NamedCode::default();
    reading.methods.iter().for_each(|method| listed.add_method(method));
    assert!(listed.len() > 0, "the runtime listed nothing");
    listed
}

/// Frames, each counted once for each sample that it is in.
#[derive(Default)]
struct Counts {
    /// Frames in code that strata or the runtime calls managed.
    managed: u64,
    equal: u64,
    /// Of the equal ones: those that a map or dump of the runtime names.
    by_map: u64,
    /// Of the equal ones: those that only the rundown names.
    by_rundown: u64,
    /// Of the equal ones: those whose name is not the last that was written for the address.
    not_latest: u64,
    /// Of the equal ones: those of which the runtime wrote down another tier.
    other_tier: BTreeMap<String, u64>,
    /// Of the equal ones: those that the map spells otherwise, and the rundown as we do.
    other_in_map: u64,
    /// Code in memory that neither side has a method for: the runtime's stubs.
    stubs: u64,
    /// Precompiled code that neither side has a name for.
    nameless: u64,
    /// Precompiled methods whose name is not from their image.
    not_of_image: u64,
    /// Precompiled methods that the runtime does not list.
    untold: BTreeMap<String, u64>,
    unequal: BTreeMap<String, u64>,
}

impl Counts {
    fn line(&self, code: &NamedCode) -> String {
        format!(
            "{} of {} managed frames have the runtime's name ({:.2} %): {} by map, {} by rundown, {} not the latest at \
             their address, {} in another tier, {} otherwise in the map; {} frames in stubs, {} that the runtime does not name, {} that nobody names; it wrote {} methods and {} odd lines",
            self.equal,
            self.managed,
            self.equal as f64 * 100.0 / self.managed.max(1) as f64,
            self.by_map,
            self.by_rundown,
            self.not_latest,
            self.other_tier.values().sum::<u64>(),
            self.other_in_map,
            self.stubs,
            self.untold.values().sum::<u64>(),
            self.nameless,
            code.len(),
            code.odd_lines.len(),
        ) + &if self.unequal.is_empty() && self.other_tier.is_empty() {
            String::new()
        } else {
            format!("\n{}", self.mismatches())
        }
    }

    fn mismatches(&self) -> String {
        self.unequal.iter().chain(&self.other_tier).map(|(what, count)| format!("{count:>8}  {what}\n")).collect()
    }
}

fn compare(profile: &Profile, code: &NamedCode, rundown: &NamedCode) -> Counts {
    let mut frames = vec![0_u64; profile.frames.len()];
    for stack in profile.samples.iter().filter_map(|sample| sample.stack) {
        for frame in profile.frames_from_leaf(stack) {
            frames[frame.index()] += 1;
        }
    }
    let mut counts = Counts::default();
    for (id, count) in frames.into_iter().enumerate().filter(|(_, count)| *count > 0) {
        judge(profile, FrameId::from_index(id), count, code, rundown, &mut counts);
    }
    counts
}

fn judge(profile: &Profile, id: FrameId, count: u64, code: &NamedCode, rundown: &NamedCode, counts: &mut Counts) {
    let frame = profile.frames[id];
    let function = profile.function_of(id);
    if function.kind == CodeKind::Kernel {
        return;
    }
    // A return address belongs to the call before it.
    let address = if frame.found == Found::Ip { frame.address } else { Avma(frame.address.0 - 1) };
    let (written, listed) = (code.at(address), rundown.at(address));
    let candidates = if written.is_empty() { &listed } else { &written };
    if candidates.is_empty() && !function.kind.is_managed() {
        let unnamed = frame.named == NameSource::None(Unnamed::NoMethod);
        counts.stubs += if unnamed { count } else { 0 };
        return;
    }
    if candidates.is_empty() && !frame.named.is_name() {
        counts.nameless += count;
        return;
    }
    let is_precompiled = function.kind == CodeKind::ReadyToRun;
    counts.not_of_image += if is_precompiled && frame.named != NameSource::R2rImage { count } else { 0 };
    if candidates.is_empty() && is_precompiled {
        *counts.untold.entry(function.name.clone()).or_default() += count;
        return;
    }
    counts.managed += count;
    let is = |code: &Code| {
        let arguments = function.name.strip_prefix(&*code.name);
        arguments.is_some_and(|arguments| plain(arguments) == code.arguments)
    };
    match candidates.iter().rposition(|code| is(code)) {
        Some(place) => {
            counts.equal += count;
            *(if written.is_empty() { &mut counts.by_rundown } else { &mut counts.by_map }) += count;
            counts.not_latest += if place + 1 < candidates.len() { count } else { 0 };
            let told: Vec<_> = candidates.iter().filter(|code| is(code)).filter_map(|code| code.tier).collect();
            let ours = function.kind.tier_label();
            if !told.is_empty() && ours.is_some_and(|ours| !told.contains(&ours)) {
                let what =
                    format!("{} ({}) is {ours:?}, the runtime wrote {told:?}", function.name, frame.named.label());
                *counts.other_tier.entry(what).or_default() += count;
            }
        }
        // Maps spell function pointers otherwise, and 8.0 leaves out the last letter of some names.
        None if listed.iter().any(|code| is(code)) => {
            counts.equal += count;
            counts.other_in_map += count;
        }
        None => {
            let theirs: Vec<_> = candidates.iter().map(|code| format!("{}{}", code.name, code.arguments)).collect();
            let what = format!(
                "{} ({:?}, {}), the runtime says {}",
                function.name,
                function.kind,
                frame.named.label(),
                if theirs.is_empty() { "nothing".to_owned() } else { theirs.join(" or ") }
            );
            *counts.unequal.entry(what).or_default() += count;
        }
    }
}

/// The runtime maps its code twice, through a file in memory that is an accident of how it does that.
fn no_output_shows_the_double_mapping(runtime: Runtime, recording: &Path, scratch: &Scratch) {
    const MAPPING: &str = "doublemapper";
    let has = |bytes: &[u8]| bytes.windows(MAPPING.len()).any(|window| window == MAPPING.as_bytes());
    if matches!(runtime, Runtime::Net8 | Runtime::Net9) {
        assert!(has(&std::fs::read(recording.join("perf.data")).unwrap()), "the mapping is not there to be hidden");
    }
    for view in ["top", "tree", "threads", "loss"] {
        for json in [None, Some("--json")] {
            let all: &[&str] = match view {
                "top" => &["--limit", "100000"],
                "tree" => &["--min-percent", "0"],
                _ => &[],
            };
            let arguments = [OsStr::new("report"), recording.as_os_str(), OsStr::new(view)];
            let output = run(arguments.into_iter().chain(all.iter().copied().chain(json).map(OsStr::new)), 0);
            assert!(!has(&output.stdout) && !has(&output.stderr), "report {view} shows {MAPPING}");
        }
    }
    for file in ["out.json", "out.speedscope.json", "out.folded"] {
        let path = scratch.path(file);
        run(["convert".as_ref(), recording.as_os_str(), "-o".as_ref(), path.as_os_str()], 0);
        assert!(!has(&std::fs::read(&path).unwrap()), "{file} shows {MAPPING}");
    }
}
