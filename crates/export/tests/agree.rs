//! Whatever the profile, all formats and the report give each function the same totals, and no sample is dropped.

use proptest::prelude::*;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use strata_export::{Compression, Format, write_profile};
use strata_profile::{CodeKind, Cut, Profile, Quality, Quantity, StackEnd, ThreadState, Tier};
use strata_report::Top;
use strata_testkit::profile::{Sketch, empty, events, mixed, thread_time};

/// Self and total of each function by its name, in samples or nanoseconds. Marks such as `[cut: ...]` are left out.
type Totals = BTreeMap<String, (u64, u64)>;

/// Adds one sample's path, outermost first.
fn add<'f>(totals: &mut Totals, path: impl IntoIterator<Item = &'f str>, weight: u64) {
    let path: Vec<&str> = path.into_iter().filter(|name| !name.starts_with("[cut: ")).collect();
    for name in path.iter().copied().collect::<BTreeSet<_>>() {
        totals.entry(name.to_owned()).or_default().1 += weight;
    }
    let leaf = path.last().expect("a sample has a leaf");
    totals.get_mut(*leaf).expect("it was added above").0 += weight;
}

fn bytes(profile: &Profile, format: Format) -> Vec<u8> {
    let mut out = Vec::new();
    write_profile(profile, format, Compression::None, &mut out).unwrap();
    out
}

fn json(profile: &Profile, format: Format) -> Value {
    serde_json::from_slice(&bytes(profile, format)).expect("the output is JSON")
}

fn numbers(column: &Value) -> Vec<u64> {
    column.as_array().unwrap().iter().map(|number| number.as_u64().unwrap()).collect()
}

fn folded(profile: &Profile) -> Totals {
    let text = String::from_utf8(bytes(profile, Format::Folded)).unwrap();
    let mut totals = Totals::new();
    for line in text.lines().filter(|line| !line.starts_with("# ")) {
        let (path, samples) = line.rsplit_once(' ').expect("a line ends with a number");
        add(&mut totals, path.split(';').skip(2), samples.parse().unwrap());
    }
    totals
}

fn speedscope(profile: &Profile) -> Totals {
    let file = json(profile, Format::Speedscope);
    let names: Vec<&str> =
        file["shared"]["frames"].as_array().unwrap().iter().map(|frame| frame["name"].as_str().unwrap()).collect();
    let mut totals = Totals::new();
    for thread in file["profiles"].as_array().unwrap() {
        let weights = numbers(&thread["weights"]);
        assert_eq!(thread["endValue"].as_u64().unwrap(), weights.iter().sum::<u64>());
        let samples = thread["samples"].as_array().unwrap();
        assert_eq!(samples.len(), weights.len());
        for (sample, weight) in samples.iter().zip(weights) {
            add(&mut totals, numbers(sample).into_iter().map(|frame| names[frame as usize]), weight);
        }
    }
    totals
}

/// By samples and by nanoseconds.
fn firefox(profile: &Profile) -> (Totals, Totals) {
    let file = json(profile, Format::Firefox);
    let shared = &file["shared"];
    let column = |table: &str, column: &str| {
        let column = numbers(&shared[table][column]);
        assert_eq!(column.len() as u64, shared[table]["length"].as_u64().unwrap());
        column
    };
    let (stack_frame, frame_func, func_name) =
        (column("stackTable", "frame"), column("frameTable", "func"), column("funcTable", "name"));
    let parents = shared["stackTable"]["prefix"].as_array().unwrap();
    let name = |stack: u64| {
        let func = frame_func[stack_frame[stack as usize] as usize];
        shared["stringArray"][func_name[func as usize] as usize].as_str().unwrap()
    };
    let quantity = profile.recording.measure.quantity();
    let (mut by_samples, mut by_ns) = (Totals::new(), Totals::new());
    for thread in file["threads"].as_array().unwrap() {
        let samples = &thread["samples"];
        let (stacks, times) = (numbers(&samples["stack"]), samples["time"].as_array().unwrap());
        assert_eq!((stacks.len(), stacks.len() as u64), (times.len(), samples["length"].as_u64().unwrap()));
        let times: Vec<f64> = times.iter().map(|time| time.as_f64().unwrap()).collect();
        assert!(times.is_sorted() && times.iter().all(|&time| time >= 0.0));
        let weights: Vec<u64> = match samples["weight"].as_array() {
            Some(weights) => weights.iter().map(|weight| (weight.as_f64().unwrap() * 1e6).round() as u64).collect(),
            // Of events, each sample is one.
            None => vec![u64::from(quantity == Quantity::Events); stacks.len()],
        };
        match quantity {
            Quantity::CpuTime => assert_eq!(numbers(&samples["threadCPUDelta"]), weights),
            Quantity::ThreadTime | Quantity::Events => assert!(samples.get("threadCPUDelta").is_none()),
        }
        for (&stack, &ns) in stacks.iter().zip(&weights) {
            let mut path: Vec<&str> =
                std::iter::successors(Some(stack), |&stack| parents[stack as usize].as_u64()).map(name).collect();
            path.reverse();
            add(&mut by_samples, path.iter().copied(), 1);
            add(&mut by_ns, path, ns);
        }
    }
    (by_samples, by_ns)
}

fn check(profile: &Profile) {
    let top = Top::of(profile, None);
    let mut by_samples = Totals::new();
    let mut by_ns = Totals::new();
    for row in &top.functions {
        by_samples.insert(row.name.to_owned(), (row.own.samples, row.total.samples));
        by_ns.insert(row.name.to_owned(), (row.own.amount, row.total.amount));
    }
    let (firefox_samples, firefox_ns) = firefox(profile);
    assert_eq!(firefox_samples, by_samples, "firefox");
    assert_eq!(firefox_ns, by_ns, "firefox");
    assert_eq!(speedscope(profile), by_ns, "speedscope");
    // Folded stacks write some names otherwise.
    let (shown, all) = match profile.recording.measure.quantity() {
        Quantity::CpuTime | Quantity::Events => (by_samples, profile.samples.len() as u64),
        // What took no time has no line.
        Quantity::ThreadTime => {
            let all = profile.samples.iter().map(|sample| sample.weight).sum();
            (by_ns.into_iter().filter(|(_, (_, total))| *total > 0).collect(), all)
        }
    };
    let visible: Totals =
        shown.into_iter().map(|(name, totals)| (strata_digest::visible(&name).replace(';', r"\x3b"), totals)).collect();
    assert_eq!(folded(profile), visible, "folded");
    assert_eq!(visible.values().map(|(own, _)| own).sum::<u64>(), all);
}

#[test]
fn made_profiles_agree() {
    check(&mixed());
    check(&empty());
    check(&thread_time());
    check(&events());
}

const KINDS: [CodeKind; 6] = [
    CodeKind::Kernel,
    CodeKind::Native,
    CodeKind::Jit(Tier::QuickJitted),
    CodeKind::Jit(Tier::OptimizedTier1),
    CodeKind::ReadyToRun,
    CodeKind::Stub,
];

#[derive(Clone, Debug)]
struct Function {
    name: String,
    kind: usize,
}

#[derive(Clone, Debug)]
struct Sampled {
    thread: usize,
    path: Vec<usize>,
    end: StackEnd,
    weight: u64,
    state: ThreadState,
}

fn sampled() -> impl Strategy<Value = Sampled> {
    let end = prop_oneof![
        3 => Just(StackEnd::Root),
        1 => Just(StackEnd::Cut(Cut::MemoryNotRead)),
        1 => Just(StackEnd::Cut(Cut::TooDeep)),
    ];
    let state = prop::sample::select(&[
        ThreadState::Running,
        ThreadState::Managed,
        ThreadState::External,
        ThreadState::Unknown,
    ]);
    (0..3usize, prop::collection::vec(0..12usize, 0..8), end, 0..3_000_000u64, state)
        .prop_map(|(thread, path, end, weight, state)| Sampled { thread, path, end, weight, state })
}

/// Functions of any name; those that are managed come in several tiers, the others have a name that no other has.
fn profile() -> impl Strategy<Value = Profile> {
    let function =
        ("\\PC{0,6}[\n;\u{1b}\" ]?\\PC{0,3}", 0..KINDS.len()).prop_map(|(name, kind)| Function { name, kind });
    let quantity = prop::sample::select(&[Quantity::CpuTime, Quantity::ThreadTime, Quantity::Events]);
    let all = (quantity, prop::collection::vec(function, 12), prop::collection::vec(sampled(), 0..40));
    all.prop_map(|(quantity, functions, samples)| {
        let mut sketch = match quantity {
            Quantity::CpuTime => Sketch::new("random"),
            Quantity::ThreadTime => Sketch::thread_time("random"),
            Quantity::Events => Sketch::events("random", "some"),
        };
        let process = sketch.process(10, "p");
        let threads = [10, 11, 12].map(|tid| sketch.thread(process, tid, if tid == 12 { "" } else { "same;name" }));
        let module = Some(sketch.module("m", None));
        let frames: Vec<_> = functions
            .iter()
            .enumerate()
            .map(|(index, function)| {
                let kind = KINDS[function.kind];
                let name = if kind.is_managed() {
                    format!("managed{}", index % 3)
                } else {
                    format!("{}#{index}", function.name)
                };
                sketch.frame(&name, module, kind)
            })
            .collect();
        for sample in samples {
            let path: Vec<_> = sample.path.iter().map(|&function| frames[function]).collect();
            let weight = if quantity == Quantity::Events { 1 } else { sample.weight };
            sketch.sample_in(sample.state, threads[sample.thread], &path, sample.end, weight);
        }
        sketch.finish()
    })
}

/// How good a profile is, counted sample by sample and frame by frame.
fn counted_one_by_one(profile: &Profile) -> Quality {
    let mut quality = Quality::default();
    for sample in &profile.samples {
        *quality.stacks.entry(sample.end).or_default() += 1;
        for frame in sample.stack.into_iter().flat_map(|stack| profile.frames_from_leaf(stack)) {
            let frame = profile.frames[frame];
            *quality.found.entry(frame.found).or_default() += 1;
            *quality.named.entry(frame.named).or_default() += 1;
            let managed = profile.functions[frame.function].kind.is_managed();
            quality.managed += u64::from(managed);
            quality.managed_named += u64::from(managed && frame.named.is_name());
        }
    }
    quality
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    #[test]
    fn any_profile_agrees(profile in profile()) {
        check(&profile);
        assert_eq!(strata_profile::quality(&profile), counted_one_by_one(&profile));
    }
}
