//! What each report looks like, as text and as JSON.

use strata_profile::{Profile, Quantity};
use strata_report::{Calls, Document, Losses, Report, Threads, Top, Tree, Width};
use strata_testkit::profile::{empty, events, mixed, thread_time};

const WIDE: Width = Width::Columns(100);

/// Compares both forms of a report with their snapshots, and checks what holds for every report.
fn check<'p, R: Report>(name: &str, profile: &'p Profile, width: Width, make: impl Fn(&'p Profile) -> R) {
    let document = Document::new(profile, make(profile));
    let text = document.text(width).replace(&"L".repeat(64 * 1024), "<65536 times L>");
    for line in text.lines() {
        let fits = matches!(width, Width::Columns(columns) if line.chars().count() <= columns);
        assert!(fits || width == Width::Unlimited, "wider than {width:?}: {line}");
        assert!(!line.chars().any(char::is_control), "{line:?}");
    }
    assert!(text.contains("Loss: "), "every report ends by saying what was lost");
    insta::assert_snapshot!(name, text);

    let mut json = Vec::new();
    document.write_json(&mut json).unwrap();
    let json = String::from_utf8(json).unwrap();
    let parsed: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(parsed["schema"], "strata-report/1");
    assert_eq!(parsed["report"], R::NAME);
    if profile.recording.measure.quantity() != Quantity::CpuTime {
        let all = format!("{text}{json}").to_lowercase();
        assert!(!all.contains("cpu"), "{all}");
        assert!(profile.recording.measure.quantity() != Quantity::Events || !all.contains("thread time"), "{all}");
    }
    // The 64 KiB name is whole in JSON, but no snapshot needs it.
    insta::assert_snapshot!(format!("{name}_json"), json.replace(&"L".repeat(64 * 1024), "<65536 times L>"));
}

#[test]
fn top() {
    check("top", &mixed(), WIDE, |profile| Top::of(profile, None));
    check("top_limit_3_width_80", &mixed(), Width::Columns(80), |profile| Top::of(profile, Some(3)));
    check("top_empty", &empty(), WIDE, |profile| Top::of(profile, None));
}

#[test]
fn names_are_whole_where_width_has_no_limit() {
    check("top_unlimited", &mixed(), Width::Unlimited, |profile| Top::of(profile, None));
    check("tree_unlimited", &straight(), Width::Unlimited, |profile| Tree::of(profile, Calls::ByThread, 1.0));
}

#[test]
fn straight_ways_are_folded_and_recursion_is_one_row() {
    check("tree_straight", &straight(), Width::Columns(80), |profile| Tree::of(profile, Calls::ByThread, 1.0));
}

/// A thread that goes straight through native and many managed frames, parts, and sorts by recursion.
fn straight() -> Profile {
    let mut sketch = strata_testkit::profile::Sketch::new("straight");
    let process = sketch.process(1, "shop");
    let thread = sketch.thread(process, 1, "pricing");
    let libc = Some(sketch.module("libc.so.6", None));
    let coreclr = Some(sketch.module("libcoreclr.so", None));
    let app = Some(sketch.module("Shop.Web.Server", None));
    let jit = strata_profile::CodeKind::Jit(strata_profile::Tier::OptimizedTier1);
    let mut path = vec![
        sketch.frame("clone3", libc, strata_profile::CodeKind::Native),
        sketch.frame("Thread::Start(void*)", coreclr, strata_profile::CodeKind::Runtime),
        sketch.frame("DispatchCallSimple(unsigned long*)", coreclr, strata_profile::CodeKind::Runtime),
    ];
    for step in 0..14 {
        let name = format!("Shop.Web.Middleware`1[System.__Canon]+<InvokeAsync>d__{step}.MoveNext(System.Object)");
        path.push(sketch.frame(&name, app, jit));
    }
    let sort = sketch.frame("Shop.Pricing.Sorter`1[System.Int32].Sort(value System.Span`1<!0>,int32)", app, jit);
    let compare = sketch.frame("Shop.Pricing.PriceList.<Sort>m__0(int32,int32)", app, jit);
    let print = sketch.frame("Shop.Invoices.Printer.Print(int32)", app, jit);
    for depth in 1..=6 {
        let mut frames = path.clone();
        frames.extend(std::iter::repeat_n(sort, depth));
        frames.push(compare);
        sketch.sample(thread, &frames, strata_profile::StackEnd::Root);
    }
    path.push(print);
    sketch.sample_of(thread, &path, strata_profile::StackEnd::Root, 2_000_000);
    // Too little to be shown.
    path.push(compare);
    sketch.sample_of(thread, &path, strata_profile::StackEnd::Root, 1);
    sketch.finish()
}

#[test]
fn tree() {
    check("tree_width_80", &mixed(), Width::Columns(80), |profile| Tree::of(profile, Calls::ByThread, 0.5));
    check("tree_merged_pruned", &mixed(), WIDE, |profile| Tree::of(profile, Calls::Merged, 10.0));
    check("tree_empty", &empty(), WIDE, |profile| Tree::of(profile, Calls::ByThread, 0.5));
}

#[test]
fn threads() {
    check("threads", &mixed(), WIDE, Threads::of);
    check("threads_of_one_process_width_80", &straight(), Width::Columns(80), Threads::of);
    check("threads_empty", &empty(), WIDE, Threads::of);
}

#[test]
fn loss() {
    check("loss", &mixed(), WIDE, Losses::of);
    check("loss_empty", &empty(), WIDE, Losses::of);
}

#[test]
fn thread_time_by_what_threads_did() {
    check("thread_time_top", &thread_time(), WIDE, |profile| Top::of(profile, None));
    check("thread_time_tree", &thread_time(), WIDE, |profile| Tree::of(profile, Calls::ByThread, 0.0));
    check("thread_time_threads", &thread_time(), WIDE, Threads::of);
    check("thread_time_loss", &thread_time(), WIDE, Losses::of);
}

#[test]
fn events_by_where_they_happened() {
    check("events_top", &events(), WIDE, |profile| Top::of(profile, None));
    check("events_tree", &events(), WIDE, |profile| Tree::of(profile, Calls::ByThread, 0.0));
    check("events_threads", &events(), WIDE, Threads::of);
    check("events_loss", &events(), WIDE, Losses::of);
}

#[test]
fn samples_without_cpu_time_have_no_percentage() {
    let mut profile = mixed();
    for sample in &mut profile.samples {
        sample.weight = 0;
    }
    let top = Top::of(&profile, None);
    assert_eq!(top.all.percent, None);
    assert!(top.functions.iter().all(|row| row.own.percent.is_none() && row.total.percent.is_none()));
    assert_eq!(top.functions[0].name, "App.Work(int)", "samples decide where no CPU time does");
    assert!(!top.text(WIDE).contains("NaN"));
}

#[test]
fn recursion_counts_once_and_tiers_are_one_function() {
    let profile = mixed();
    let top = Top::of(&profile, None);
    let row = |name: &str| top.functions.iter().find(|row| row.name == name).unwrap();
    let fib = row("App.Fib(int)");
    assert_eq!((fib.own.samples, fib.total.samples), (3, 3));
    let work = row("App.Work(int)");
    assert_eq!(
        work.tiers.iter().map(|tier| tier.tier).collect::<Vec<_>>(),
        ["OptimizedTier1", "OptimizedTier1OSR", "QuickJitted"]
    );
    let own: u64 = top.functions.iter().map(|row| row.own.samples).sum();
    assert_eq!(own, profile.samples.len() as u64, "every sample has one leaf");
}

#[test]
fn a_stack_of_ten_thousand_frames_is_no_problem() {
    let mut sketch = strata_testkit::profile::Sketch::new("deep");
    let process = sketch.process(1, "deep");
    let thread = sketch.thread(process, 1, "deep");
    let frames: Vec<_> = (0..10_000)
        .map(|number| sketch.frame(&format!("f{}", number % 7), None, strata_profile::CodeKind::Native))
        .collect();
    sketch.sample(thread, &frames, strata_profile::StackEnd::Root);
    let profile = sketch.finish();
    let tree = Document::new(&profile, Tree::of(&profile, Calls::ByThread, 0.5));
    assert_eq!(tree.data.rows.len(), 10_001);
    assert!(tree.text(Width::Columns(80)).lines().all(|line| line.chars().count() <= 80));
    assert_eq!(Top::of(&profile, None).functions.len(), 7);
}
