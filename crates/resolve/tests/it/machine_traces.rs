//! Made traces of whole machines, as record-trace writes them: one rule of CPU time each.

use crate::trace_answers::{counted, trace};
use strata_profile::{CodeKind, Found, Gap, Handle, Measure, NameSource, Profile, StackEnd, Tier, Unnamed, quality};
use strata_testkit::nettrace::leb128;
use strata_testkit::nettrace6::{Definition, Row, Rows, Stream, Thread, Trace, string};
use strata_testkit::universal::{definitions, id, mapping, metadata, process, symbol};

/// Samples are a millisecond apart, which the trace says.
const PERIOD: u64 = 1_000_000;
const KERNEL: u64 = 0xffff_8000_0000_0000;
const SAMPLER: u32 = 20;

/// Threads by their index: two of a shop, its process, one of a bank, its process.
const CLERK: u64 = 1;
const GUARD: u64 = 2;
const SHOP: u64 = 3;
const TELLER: u64 = 4;
const BANK: u64 = 5;

fn threads() -> Vec<Thread> {
    vec![
        Thread::new(CLERK).of(70, 71).named("clerk"),
        Thread::new(GUARD).of(70, 72),
        Thread::new(SHOP).of(70, 0),
        Thread::new(TELLER).of(90, 91).named("teller"),
        Thread::new(BANK).of(90, 0),
    ]
}

/// A stream of events in this order, all written by one thread as the writer does it.
fn stream_of(about: &Trace, stacks: &[&[u64]], events: Vec<Row>) -> Vec<u8> {
    let sampler = Definition::new(SAMPLER, "Microsoft-DotNETCore-SampleProfiler", 0, "");
    let mut rows = Rows::compressed();
    for (sequence, event) in (1..).zip(events) {
        rows = rows.with(Row { sequence, ..event });
    }
    let definitions = [definitions(), vec![sampler]].concat();
    let begin = Stream::new().trace(about).metadata(&definitions).threads(&[Thread::new(0).of(0, 0)]);
    begin.threads(&threads()).stacks(1, stacks).events(&rows).sequence_point(9_000, 1, &[]).end()
}

fn profile(stacks: &[&[u64]], events: Vec<Row>) -> Profile {
    let pairs = vec![("HardwareThreadCount", "2"), ("ExpectedCPUSamplingRate", "1000000")];
    let trace_block = Trace { pairs, ..Trace::default() };
    trace(&stream_of(&trace_block, stacks, events), 64).profile
}

fn event(metadata: u32, thread: u64, time: u64, payload: Vec<u8>) -> Row {
    Row { metadata, thread, time, payload, ..Row::default() }
}

fn sample(thread: u64, time: u64, stack: u32) -> Row {
    Row { stack, ..event(id::CPU, thread, time, leb128(1)) }
}

/// Per sample: process, thread, weight, and names from the leaf with their modules.
fn samples(profile: &Profile) -> Vec<(u32, u32, u64, Vec<String>)> {
    let name = |frame| {
        let function = profile.function_of(frame);
        let module = function.module.map(|module| &*profile.modules[module].name);
        module.map_or_else(|| function.name.clone(), |module| format!("{module}!{}", function.name))
    };
    let row = |sample: &strata_profile::Sample| {
        let thread = &profile.threads[sample.thread];
        let names = sample.stack.map_or_else(Vec::new, |stack| profile.frames_from_leaf(stack).map(name).collect());
        (profile.processes[thread.process].pid, thread.tid, sample.weight, names)
    };
    profile.samples.iter().map(row).collect()
}

/// Names of the samples' leaves.
fn leaves(profile: &Profile) -> Vec<String> {
    samples(profile).into_iter().map(|(_, _, _, names)| names[0].clone()).collect()
}

fn shop_and_bank(at: u64) -> Vec<Row> {
    let add = "void [Shop] Shop.Cart::Add(int32)[OptimizedTier1]";
    vec![
        event(id::EXISTING, SHOP, at, process(70, "shop", "Unknown")),
        event(id::METADATA, SHOP, at, metadata(1, "{\"type\": \"ELF\",\"build_id\": \"0A0b\"}", "{}")),
        event(id::MAPPING, SHOP, at, mapping(1, 0x10_0000, 0x10_ffff, 0x3000, "/lib/libc.so.6", 1)),
        event(id::SYMBOL, SHOP, at, symbol(1, 1, 0x10_1000, 0x10_10ff, "_ZN4till4openEv")),
        event(id::MAPPING, SHOP, at, mapping(2, 0x20_0000, 0x20_ffff, 0, "/memfd:doublemapper (deleted)", 0)),
        event(id::SYMBOL, SHOP, at, symbol(2, 2, 0x20_0000, 0x20_00ff, add)),
        event(id::MAPPING, SHOP, at, mapping(3, KERNEL, u64::MAX, 0, "vmlinux", 0)),
        event(id::SYMBOL, SHOP, at, symbol(3, 3, KERNEL + 0x100, KERNEL + 0x1ff, "do_syscall_64")),
        event(id::CREATE, BANK, at, process(9, "bank", "Unknown")),
        event(id::MAPPING, BANK, at, mapping(4, 0x10_0000, 0x10_ffff, 0, "/bank/vault", 0)),
        event(id::SYMBOL, BANK, at, symbol(4, 4, 0x10_1000, 0x10_10ff, "unlock")),
        event(id::EXIT, BANK, at, Vec::new()),
    ]
}

/// The stacks of the samples below: leaf first, callers by the address behind their call.
const STACKS: [&[u64]; 3] =
    [&[KERNEL + 0x120, 0x10_1100, 0x20_0100], &[0x10_1000, 0x10_2000], &[KERNEL + 0x900, 0x77_0000, 0x20_8000]];

fn of_both() -> Vec<Row> {
    vec![
        sample(CLERK, 2_000, 1),
        Row { payload: leb128(3), ..sample(TELLER, 2_500, 2) },
        sample(GUARD, 3_000, 3),
        sample(GUARD, 4_000, 0),
    ]
}

#[test]
fn each_process_has_its_own_code_wherever_the_stream_tells_of_it() {
    for (what, at_end) in [("first", false), ("last", true)] {
        let events = match at_end {
            false => [shop_and_bank(1_000), of_both()].concat(),
            true => [of_both(), shop_and_bank(8_000)].concat(),
        };
        let profile = profile(&STACKS, events);
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        assert_eq!(
            samples(&profile),
            [
                (
                    70,
                    71,
                    PERIOD,
                    names(&["[kernel]!do_syscall_64", "libc.so.6!till::open()", "Shop!Shop.Cart.Add(int32)"])
                ),
                (90, 91, 3 * PERIOD, names(&["vault!unlock", "vault!vault+0x1fff"])),
                (
                    70,
                    72,
                    PERIOD,
                    names(&[
                        "[kernel]![kernel code at 0xffff800000000900]",
                        "[unmapped 0x76ffff]",
                        "[code in memory at 0x207fff]"
                    ])
                ),
                (70, 72, PERIOD, names(&[])),
            ],
            "told {what}"
        );
        let processes: Vec<_> = profile.processes.rows().iter().map(|process| (process.pid, &*process.name)).collect();
        assert_eq!(processes, [(70, "shop"), (90, "bank")]);
        let threads: Vec<_> = profile.threads.rows().iter().map(|thread| (thread.tid, &*thread.name)).collect();
        assert_eq!(threads, [(71, "clerk"), (91, "teller"), (72, "")]);
        assert_eq!(profile.recording.measure, Measure::CpuTime { event: "cpu".into(), frequency_hz: 1000 });
        assert_eq!(profile.loss.gaps, [Gap::LossUntold]);
        let libc = profile.modules.rows().iter().find(|module| module.name == "libc.so.6").unwrap();
        assert_eq!((&*libc.path, libc.build_id.as_deref()), ("/lib/libc.so.6", Some("0a0b")));
        let kinds: Vec<_> = profile.functions.rows().iter().map(|function| function.kind).collect();
        for kind in [CodeKind::Kernel, CodeKind::Native, CodeKind::Jit(Tier::OptimizedTier1)] {
            assert!(kinds.contains(&kind), "{kind:?} in {kinds:?}");
        }
    }
}

#[test]
fn frames_say_how_they_were_found_and_named() {
    let profile = profile(&STACKS, [shop_and_bank(1_000), of_both()].concat());
    let quality = quality(&profile);
    let found: Vec<_> = quality.found.into_iter().collect();
    assert_eq!(found, [(Found::Ip, 3), (Found::TraceStack, 5)]);
    let named: Vec<_> = quality.named.into_iter().collect();
    assert_eq!(
        named,
        [
            (NameSource::TraceSymbol, 4),
            (NameSource::None(Unnamed::NoMapping), 1),
            (NameSource::None(Unnamed::NoSymbol), 3)
        ]
    );
    assert!(profile.samples.iter().all(|sample| sample.end == StackEnd::Untold));
}

#[test]
fn an_address_has_the_name_it_had_then() {
    let name = |mapping, at, name| event(id::SYMBOL, SHOP, at, symbol(9, mapping, 0x1000, 0x10ff, name));
    let mapped = |mapping_id, at, file| event(id::MAPPING, SHOP, at, mapping(mapping_id, 0x1000, 0x1fff, 0, file, 0));
    let events = vec![
        sample(CLERK, 1_500, 1),
        mapped(1, 2_000, "/a.so"),
        name(1, 2_000, "first"),
        sample(CLERK, 2_500, 1),
        // The same mapping, other code.
        name(1, 3_000, "second"),
        sample(CLERK, 3_000, 1),
        name(1, 3_500, "first"),
        sample(CLERK, 3_600, 1),
        // Another file in its place.
        mapped(2, 4_000, "/b.so"),
        sample(CLERK, 4_500, 1),
        name(2, 6_000, "late"),
        // Told again for the same mapping of another process.
        event(id::MAPPING, BANK, 6_000, mapping(1, 0x1000, 0x1fff, 0, "/a.so", 0)),
        event(id::SYMBOL, BANK, 6_000, symbol(9, 1, 0x1000, 0x10ff, "first")),
        sample(CLERK, 6_500, 1),
        sample(TELLER, 6_600, 1),
    ];
    let profile = profile(&[&[0x1010]], events);
    let expected = ["a.so!first", "a.so!first", "a.so!second", "a.so!first", "b.so!late", "b.so!late", "a.so!first"];
    assert_eq!(leaves(&profile), expected);
}

#[test]
fn a_process_with_the_id_of_another_is_another() {
    let events = vec![
        event(id::EXISTING, BANK, 1_000, process(9, "bank", "")),
        event(id::MAPPING, BANK, 1_000, mapping(1, 0x1000, 0x1fff, 0, "/bank/vault", 0)),
        sample(TELLER, 2_000, 1),
        event(id::EXIT, BANK, 3_000, Vec::new()),
        event(id::CREATE, BANK, 4_000, process(9, "cafe", "")),
        sample(TELLER, 5_000, 1),
        event(id::MAPPING, BANK, 6_000, mapping(2, 0x1000, 0x1fff, 0, "/cafe/oven", 0)),
    ];
    let profile = profile(&[&[0x1010]], events);
    let of_processes: Vec<_> =
        profile.samples.iter().map(|sample| &*profile.processes[profile.threads[sample.thread].process].name).collect();
    assert_eq!(of_processes, ["bank", "cafe"]);
    assert_eq!(leaves(&profile), ["vault!vault+0x10", "oven!oven+0x10"]);
}

#[test]
fn blocks_of_one_trace_number_threads_and_stacks_anew() {
    // So record-trace writes: before every block of events a sequence point that forgets all; threads in any order; one list
    // of labels that tells only that there is none; and rows that have every field, numbered from 1 in each block.
    const ALL_BUT_ACTIVITIES: u8 = 0xdf;
    let nothing = [(5, [string("Error"), string("Expected actual values")].concat())];
    let memory = "/memfd:doublemapper (deleted)";
    let stub = "stub<2957> GenerateDispatchStub<GenerateDispatchStub>";
    let instrumented = "void [Shop] Shop.Cart::Add(int32)[InstrumentedTierOptimized]";
    let closed = "_$LT$till..Till$u20$as$u20$core..ops..Drop$GT$::drop::h0123456789abcdef [clone .llvm] [clone .77]";
    let first = [
        Row { labels: 1, ..sample(1, 2_000, 1) },
        event(id::MAPPING, 2, 2_000, mapping(1, 0x10_0000, 0x11_0000, 0, memory, 0)),
        event(id::SYMBOL, 2, 2_000, symbol(1, 1, 0x10_0000, 0x10_0100, instrumented)),
        event(id::SYMBOL, 2, 2_000, symbol(2, 1, 0x10_0100, 0x10_0200, stub)),
        event(id::MAPPING, 2, 2_000, mapping(2, 0x11_0000, 0x12_0000, 0, "/shop/till", 0)),
        event(id::SYMBOL, 2, 2_000, symbol(3, 2, 0x11_0000, 0x11_00ff, closed)),
    ];
    let second = [Row { labels: 1, ..sample(2, 3_000, 1) }, Row { labels: 1, ..sample(1, 3_500, 2) }];
    let rows = |events: &[Row]| {
        (1..).zip(events).fold(Rows::compressed(), |rows, (sequence, event)| {
            rows.with_fields(Row { sequence, ..event.clone() }, ALL_BUT_ACTIVITIES)
        })
    };
    let block = |stream: Stream, at, threads: &[Thread], stacks: &[&[u64]], events: &[Row]| {
        let stream = stream.sequence_point(at, 1, &[]).stacks(1, stacks).threads(threads);
        stream.labels(1, &[&nothing]).events(&rows(events))
    };
    let stream = Stream::with_trace().metadata(&definitions());
    let stream = block(
        stream,
        1_000,
        &[Thread::new(0).of(0, 0), Thread::new(1).of(70, 71), Thread::new(2).of(70, 0)],
        &[&[0x10_0010, 0x10_0101, 0x11_0020]],
        &first,
    );
    let stream = block(
        stream,
        2_000,
        &[Thread::new(2).of(70, 72), Thread::new(0).of(0, 0), Thread::new(1).of(70, 71)],
        &[&[0x11_0000], &[0x10_0100]],
        &second,
    );
    let profile = trace(&stream.sequence_point(9_000, 1, &[]).end(), 64).profile;
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let (add, drop) = ("Shop!Shop.Cart.Add(int32)", "till!<till::Till as core::ops::Drop>::drop");
    assert_eq!(
        samples(&profile),
        [
            (70, 71, PERIOD, names(&[add, "GenerateDispatchStub", drop])),
            (70, 72, PERIOD, names(&[drop])),
            (70, 71, PERIOD, names(&["GenerateDispatchStub"])),
        ]
    );
    assert_eq!((profile.loss.perf_records, profile.loss.runtime_events), (0, 0));
    let kinds: Vec<_> = profile.functions.rows().iter().map(|function| function.kind).collect();
    assert_eq!(kinds, [CodeKind::Native, CodeKind::Stub, CodeKind::Jit(Tier::OptimizedTier1Instrumented)]);
}

#[test]
fn what_is_not_shown_is_counted() {
    let damaged = |metadata, payload: &[u8]| event(metadata, SHOP, 1_500, payload.to_vec());
    let events = vec![
        event(id::CSWITCH, CLERK, 1_100, leb128(77)),
        event(id::CSWITCH, CLERK, 1_200, leb128(78)),
        damaged(id::MAPPING, &[1, 2]),
        damaged(id::SYMBOL, &symbol(1, 1, 0x1000, 0x10ff, "name")[..9]),
        damaged(id::CPU, &[]),
        // It ends before it begins.
        damaged(id::MAPPING, &mapping(1, 0x2000, 0x1000, 0, "/a.so", 0)),
        event(id::SYMBOL, SHOP, 1_600, symbol(1, 99, 0x1000, 0x10ff, "homeless")),
        Row { stack: 1, ..event(SAMPLER, CLERK, 1_700, 2_u32.to_le_bytes().to_vec()) },
        sample(CLERK, 2_000, 1),
    ];
    let profile = profile(&[&[0x1010]], events);
    assert_eq!(leaves(&profile), ["[unmapped 0x1010]"]);
    let not_used: Vec<_> = profile
        .loss
        .gaps
        .iter()
        .filter(|gap| **gap != Gap::LossUntold)
        .map(|gap| if let Gap::NotUsed { events, what, .. } = gap { (*events, *what) } else { panic!("{gap:?}") })
        .collect();
    let expected =
        [(1, "samples of thread time"), (2, "context switches"), (4, "events of the collector"), (1, "symbols")];
    assert_eq!(not_used, expected);
}

#[test]
fn a_trace_without_a_period_says_what_is_taken_for_it() {
    let bytes = stream_of(&Trace::default(), &[&[0x1010]], vec![sample(CLERK, 2_000, 1)]);
    let profile = trace(&bytes, 64).profile;
    assert_eq!(profile.samples[0].weight, 1_000_000);
    assert_eq!(profile.loss.gaps, [Gap::LossUntold, Gap::SamplingPeriod { assumed_ns: 1_000_000 }]);
    assert_eq!(profile.recording.measure, Measure::CpuTime { event: "cpu".into(), frequency_hz: 0 });
}

#[test]
fn events_that_were_lost_are_counted() {
    let rows = Rows::compressed().with(Row { sequence: 1, ..sample(CLERK, 2_000, 1) });
    let stream = Stream::with_trace().metadata(&definitions()).threads(&[Thread::new(0).of(0, 0)]).threads(&threads());
    let bytes = stream.stacks(1, &[&[0x1010]]).events(&rows).sequence_point(9_000, 1, &[(0, 8)]).end();
    let loss = trace(&bytes, 64).profile.loss;
    assert_eq!((loss.perf_records, loss.runtime_events), (7, 0));
    assert!(!loss.gaps.contains(&Gap::LossUntold), "{loss:?}");
}

#[test]
fn without_samples_of_cpu_time_it_is_thread_time() {
    let events = vec![
        event(id::CSWITCH, CLERK, 1_100, leb128(77)),
        Row { stack: 1, ..event(SAMPLER, CLERK, 1_700, 2_u32.to_le_bytes().to_vec()) },
    ];
    let profile = profile(&[&[0x1010]], events);
    assert!(matches!(profile.recording.measure, Measure::ThreadTime { .. }));
    assert_eq!((profile.samples.len(), Handle::index(profile.samples[0].thread)), (1, 0));
    assert!(
        profile.loss.gaps.iter().any(|gap| matches!(gap, Gap::NotUsed { events: 1, what: "context switches", .. }))
    );
}

#[test]
fn events_of_a_machine_are_counted_in_their_processes() {
    let switch = |thread, time, stack| Row { stack, ..event(id::CSWITCH, thread, time, leb128(77)) };
    let events = vec![switch(CLERK, 2_000, 1), sample(CLERK, 2_100, 1), switch(TELLER, 2_500, 2), switch(0, 2_600, 0)];
    let bytes = stream_of(&Trace::default(), &STACKS, [shop_and_bank(1_000), events].concat());
    let profile = counted(&bytes, id::CSWITCH).profile;
    assert_eq!(profile.recording.measure, Measure::Events { what: "some".into() });
    assert_eq!(leaves_of(&profile), [(70, 1, "[kernel]!do_syscall_64"), (90, 1, "vault!unlock"), (0, 1, "")]);
    assert_eq!(profile.loss.gaps, [Gap::LossUntold], "what is shown is not among what is not used");
    let nothing = counted(&bytes, id::CREATE + 100).profile;
    assert_eq!((nothing.samples.len(), nothing.recording.measure), (0, Measure::Events { what: "some".into() }));
}

/// Per sample: process, weight, and the leaf's name, which is empty where there is none.
fn leaves_of(profile: &Profile) -> Vec<(u32, u64, &str)> {
    let rows = samples(profile).into_iter();
    let row = |(pid, _, weight, names): (u32, u32, u64, Vec<String>)| {
        let leaf = names.into_iter().next().unwrap_or_default();
        (pid, weight, &*leaf.leak())
    };
    rows.map(row).collect()
}

#[test]
fn a_process_of_which_only_a_thread_ended_keeps_its_code() {
    let shop = |at| event(id::CREATE, SHOP, at, process(70, "shop", "Unknown"));
    let exit = |at| event(id::EXIT, SHOP, at, Vec::new());
    // It goes on after its thread's end, and then becomes another program.
    let goes_on = vec![exit(1_500), sample(CLERK, 2_000, 2), shop(2_500), sample(CLERK, 3_000, 2)];
    let profile_of = |events: Vec<Row>| profile(&STACKS, [shop_and_bank(1_000), events].concat());
    assert_eq!(leaves(&profile_of(goes_on)), ["libc.so.6!till::open()", "libc.so.6!till::open()"]);
    let another = vec![sample(CLERK, 1_200, 2), exit(1_500), shop(2_500), sample(CLERK, 3_000, 2)];
    assert_eq!(leaves(&profile_of(another)), ["libc.so.6!till::open()", "[unmapped 0x101000]"]);
}

#[test]
fn a_prefix_of_a_trace_is_a_trace() {
    let whole = stream_of(&Trace::default(), &STACKS, [shop_and_bank(1_000), of_both()].concat());
    // From the first whole header on.
    for length in 20..whole.len() {
        let profile = trace(&whole[..length], 64).profile;
        let is_cut = |gap: &Gap| matches!(gap, Gap::StreamCut { bytes, .. } if *bytes == length as u64);
        assert!(profile.loss.gaps.iter().any(is_cut), "{length} bytes");
        assert!(profile.samples.len() <= 4);
    }
}
