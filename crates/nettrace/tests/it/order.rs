//! One order of time out of the turns in which threads come.

use proptest::prelude::*;
use strata_nettrace::order::{OrderCounts, TimeOrder};
use strata_nettrace::{Decoder, Item, ProblemKind, Summary};
use strata_testkit::nettrace::{Blob, Blobs, Stream};

use crate::corpus::files;
use crate::seen::{Seen, blobs, decode, event, prelude};

/// The items of a stream in the order of time.
fn in_order(bytes: &[u8], limit: usize) -> (Vec<Seen>, OrderCounts, Summary) {
    let mut seen = Vec::new();
    let mut sink = |item: Item<'_>| seen.push(Seen::of(&item));
    let mut order = TimeOrder::with_limit(limit);
    let mut decoder = Decoder::new();
    decoder.feed(bytes, &mut |item: Item<'_>| order.push(item, &mut sink)).unwrap();
    let summary = decoder.finish(&mut |item: Item<'_>| order.push(item, &mut sink)).unwrap();
    let counts = order.finish(&mut sink);
    (seen, counts, summary)
}

const AMPLE: usize = 1 << 20;

/// An event of a thread at a time.
#[derive(Clone, Copy, Debug)]
struct At {
    thread: u64,
    time: u64,
    sorted: bool,
}

const fn at(thread: u64, time: u64) -> At {
    At { thread, time, sorted: false }
}

const fn sorted(thread: u64, time: u64) -> At {
    At { thread, time, sorted: true }
}

fn stream(events: &[At]) -> Stream {
    let mut sequences = std::collections::BTreeMap::new();
    let mut block = Blobs::compressed();
    for (index, at) in events.iter().enumerate() {
        let sequence = sequences.entry(at.thread).and_modify(|sequence| *sequence += 1).or_insert(1);
        block = block.with(Blob {
            capture_thread: at.thread,
            thread: at.thread,
            time: at.time,
            sorted: at.sorted,
            activity: [(index % 3) as u8; 16],
            related: [(index % 2) as u8; 16],
            payload: (index as u32).to_le_bytes()[..1 + index % 4].to_vec(),
            ..event(1 + index as u32 % 2, *sequence, index as u32 % 4)
        });
    }
    prelude().events(&block)
}

/// What must come out: a stable sort, everything marked as sorted.
fn expected(events: &[Seen]) -> Vec<Seen> {
    let mut events: Vec<_> = events.iter().filter(|item| matches!(item, Seen::Event { .. })).cloned().collect();
    for item in &mut events {
        if let Seen::Event { blob, .. } = item {
            blob.sorted = true;
        }
    }
    events.sort_by_key(time);
    events
}

fn time(item: &Seen) -> u64 {
    match item {
        Seen::Event { blob, .. } => blob.time,
        _ => panic!("no event: {item:?}"),
    }
}

/// Checks that events say that they are sorted unless a later one was before them; says of how many that is, and marks them.
#[track_caller]
fn mark_all_sorted(events: &mut [Seen]) -> u64 {
    let (mut latest, mut behind) = (0, 0);
    for item in events {
        let Seen::Event { blob, .. } = item else { continue };
        assert_eq!(blob.sorted, blob.time >= latest, "at {}", blob.time);
        latest = latest.max(blob.time);
        behind += u64::from(!blob.sorted);
        blob.sorted = true;
    }
    behind
}

fn events(seen: Vec<Seen>) -> Vec<Seen> {
    seen.into_iter().filter(|item| matches!(item, Seen::Event { .. })).collect()
}

fn check(list: &[At], waited: u64) {
    let bytes = stream(list).end();
    let (seen, counts, _) = in_order(&bytes, AMPLE);
    assert_eq!(events(seen), expected(&decode(&bytes).0), "{list:?}");
    assert_eq!(counts, OrderCounts { waited, early: 0, out_of_order: 0 }, "{list:?}");
}

#[test]
fn threads_with_overlapping_times_are_merged() {
    check(&[], 0);
    check(&[sorted(1, 5)], 0);
    check(&[sorted(1, 5), at(1, 6), at(1, 9), sorted(2, 6), at(2, 7), at(2, 8), sorted(1, 9), sorted(2, 9)], 4);
    // One thread far ahead of the others.
    check(&[at(1, 1), at(1, 90), at(1, 91), sorted(2, 2), at(2, 3), sorted(3, 3), at(3, 95), sorted(2, 92)], 5);
}

#[test]
fn a_stream_that_is_never_sorted_waits_for_its_end() {
    check(&[at(1, 5), at(1, 6), at(2, 1), at(2, 6), at(3, 6), at(1, 6), at(2, 9)], 7);
    // Not even a thread's own events in order.
    check(&[at(1, 9), at(1, 7), at(1, 8), at(1, 1)], 4);
}

#[test]
fn equal_times_stay_in_the_order_of_the_stream() {
    check(&[at(3, 5), at(2, 5), at(1, 5), sorted(2, 5), at(1, 5), sorted(3, 5), at(3, 5)], 5);
}

#[test]
fn what_can_go_goes_at_once() {
    let list = [sorted(1, 5), at(1, 6), at(1, 9), sorted(2, 6), at(2, 7), sorted(2, 8)];
    let mut waiting = Vec::new();
    let mut order = TimeOrder::new();
    let mut decoder = Decoder::new();
    let mut sink = |item: Item<'_>| {
        let is_event = matches!(item, Item::Event(_));
        order.push(item, &mut |_| {});
        if is_event {
            waiting.push(order.waiting());
        }
    };
    decoder.feed(&stream(&list).end(), &mut sink).unwrap();
    assert_eq!(waiting, [0, 1, 2, 1, 2, 1]);
}

#[test]
fn a_sorted_event_that_is_left_out_lets_others_go() {
    let list = [at(1, 6), at(2, 7), at(1, 9), sorted(3, 8), at(2, 8), sorted(3, 9), at(1, 10)];
    let mut steps = Vec::new();
    let mut times = Vec::new();
    let mut order = TimeOrder::new();
    let mut decoder = Decoder::new();
    let mut sink = |item: Item<'_>| {
        let Item::Event(event) = &item else { return };
        let mut told = |item: Item<'_>| {
            if let Item::Event(event) = item {
                times.push(event.header.time);
            }
        };
        if event.header.sorted {
            order.reached(event.header.time, &mut told);
        } else {
            order.push(item, &mut told);
        }
        steps.push(order.waiting());
    };
    decoder.feed(&stream(&list).end(), &mut sink).unwrap();
    assert_eq!(steps, [1, 2, 3, 1, 2, 0, 1]);
    assert_eq!(times, [6, 7, 8, 9]);
    assert_eq!(order.finish(&mut |_| {}), OrderCounts { waited: 5, early: 0, out_of_order: 0 });
}

#[test]
fn what_comes_late_does_not_say_that_it_is_sorted() {
    // The promise at 9 is broken.
    let (mut seen, counts, _) = in_order(&stream(&[sorted(1, 9), sorted(2, 4), at(2, 5), sorted(3, 9)]).end(), AMPLE);
    let marks: Vec<_> = blobs(&seen).iter().map(|blob| (blob.time, blob.sorted)).collect();
    assert_eq!(marks, [(9, true), (4, false), (5, false), (9, true)]);
    assert_eq!((mark_all_sorted(&mut seen), counts.out_of_order), (2, 2));
}

#[test]
fn a_quiet_batch_is_delivered_when_asked_and_at_the_end() {
    let bytes = stream(&[at(1, 5), at(2, 3)]).bytes();
    let mut times = Vec::new();
    let mut sink = |item: Item<'_>| {
        if let Item::Event(event) = item {
            times.push(event.header.time);
        }
    };
    let mut order = TimeOrder::new();
    let mut decoder = Decoder::new();
    decoder.feed(&bytes, &mut |item: Item<'_>| order.push(item, &mut sink)).unwrap();
    assert_eq!(order.waiting(), 2);
    order.flush(&mut sink);
    assert_eq!((order.waiting(), order.counts().out_of_order), (0, 0));
    // What comes after all is not lost, and counted.
    let later = stream(&[at(3, 4)]).end();
    Decoder::new().feed(&later, &mut |item: Item<'_>| order.push(item, &mut sink)).unwrap();
    let counts = order.finish(&mut sink);
    assert_eq!(counts, OrderCounts { waited: 3, early: 0, out_of_order: 1 });
    assert_eq!(times, [3, 5, 4]);
}

#[test]
fn gaps_sequence_points_and_problems_keep_their_places() {
    let by = |thread, sequence, time| Blob { capture_thread: thread, time, ..event(1, sequence, 0) };
    let late = Blobs::compressed().with(by(2, 1, 30)).with(by(2, 5, 40));
    let bytes = prelude()
        .events(&late)
        .events(&Blobs::compressed().with(by(1, 1, 10)).with(by(1, 3, 35)).with(event(99, 4, 0)))
        .sequence_point(50, &[(1, 9), (2, 5)])
        .events(&Blobs::compressed().with(by(2, 6, 60)))
        .end();
    let (seen, ..) = in_order(&bytes, AMPLE);
    let told: Vec<_> = seen
        .iter()
        .map(|item| match item {
            Seen::Trace(_) => "trace".to_owned(),
            Seen::Event { blob, .. } => format!("event {}", blob.time),
            Seen::Gap(gap) => format!("gap of {:?} in {}", gap.lost.unwrap(), gap.capture_thread),
            Seen::SequencePoint { time, .. } => format!("point {time}"),
            Seen::Problem(problem) => problem.kind.to_string(),
        })
        .collect();
    let expected = [
        "trace",
        &ProblemKind::UnknownMetadata.to_string(),
        "event 10",
        "event 30",
        "gap of 1 in 1",
        "event 35",
        "gap of 3 in 2",
        "event 40",
        "gap of 6 in 1",
        "point 50",
        "event 60",
    ];
    assert_eq!(told, expected);
}

#[test]
fn when_too_much_waits_the_oldest_go_early_and_nothing_is_lost() {
    let list: Vec<_> = (0..500).map(|index| at(index % 3, 10_000 - index / 100 * 1000 + index)).collect();
    let bytes = stream(&list).end();
    let all = expected(&decode(&bytes).0);
    for limit in [0, 1, 300, 5000, 20_000] {
        let (seen, counts, _) = in_order(&bytes, limit);
        let mut out = events(seen);
        assert_eq!(counts.out_of_order, mark_all_sorted(&mut out), "limit {limit}");
        assert!(counts.early > 0 && counts.out_of_order > 0, "limit {limit}: {counts:?}");
        out.sort_by_key(|item| (time(item), format!("{item:?}")));
        let mut all = all.clone();
        all.sort_by_key(|item| (time(item), format!("{item:?}")));
        assert_eq!(out, all, "limit {limit}");
    }
    assert_eq!(in_order(&bytes, AMPLE).1.early, 0);
}

#[test]
fn memory_is_used_again_in_a_long_stream() {
    // Something from the far future stays all the time, so that the queue is never empty.
    let mut decoder = Decoder::new();
    let mut order = TimeOrder::with_limit(2 << 20);
    let (mut count, mut latest) = (0, 0);
    let mut sink = |item: Item<'_>| {
        if let Item::Event(event) = item {
            count += 1;
            assert!(event.header.time >= latest && event.payload.len() == 1000, "at {}", event.header.time);
            latest = event.header.time;
        }
    };
    let block = |start: u64| {
        (0..100).fold(Blobs::compressed(), |block, index| {
            let time = start * 100 + index;
            block.with(Blob { time, sorted: index == 0, payload: vec![1; 1000], ..event(1, time as u32 + 2, 1) })
        })
    };
    let mut stream =
        prelude().events(&Blobs::compressed().with(Blob { time: u64::MAX, payload: vec![1; 1000], ..event(1, 1, 1) }));
    for start in 0..100 {
        stream = stream.events(&block(start));
    }
    decoder.feed(&stream.end(), &mut |item: Item<'_>| order.push(item, &mut sink)).unwrap();
    assert_eq!(order.waiting(), 100);
    let counts = order.finish(&mut sink);
    assert_eq!((count, counts.early, counts.out_of_order), (10_001, 0, 0));
}

#[test]
fn real_files_come_out_in_order() {
    for (name, bytes) in files() {
        let (seen, counts, summary) = in_order(&bytes, 64 << 20);
        println!("{name}: {} events, {counts:?}", summary.events);
        assert_eq!((counts.out_of_order, counts.early), (0, 0), "{name}");
        let (before, after) = (expected(&decode(&bytes).0), events(seen));
        // Not by one assertion: nobody can read the difference of a hundred thousand events.
        assert_eq!(before.len(), after.len(), "{name}");
        if let Some((before, after)) = before.iter().zip(&after).find(|(before, after)| before != after) {
            panic!("{name}: {after:?} in place of {before:?}");
        }
    }
}

/// Events of which each that says it is sorted keeps that promise.
fn promises_kept() -> impl Strategy<Value = Vec<At>> {
    let steps = prop::collection::vec((0..4u64, 0..6u64, any::<bool>()), 0..60);
    steps.prop_map(|steps| {
        let mut clocks = [0; 4];
        let mut events: Vec<_> = steps
            .into_iter()
            .map(|(thread, step, sorted)| {
                let clock = &mut clocks[thread as usize];
                *clock += step;
                At { thread, time: *clock, sorted }
            })
            .collect();
        let mut earliest = u64::MAX;
        for event in events.iter_mut().rev() {
            event.sorted &= event.time <= earliest;
            earliest = earliest.min(event.time);
        }
        events
    })
}

fn any_promises() -> impl Strategy<Value = Vec<At>> {
    let step = (0..4u64, 0..20u64, any::<bool>()).prop_map(|(thread, time, sorted)| At { thread, time, sorted });
    prop::collection::vec(step, 0..60)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1000) })]

    #[test]
    fn promises_that_are_kept_give_a_stable_sort(list in promises_kept()) {
        let bytes = stream(&list).end();
        let (seen, counts, _) = in_order(&bytes, AMPLE);
        prop_assert_eq!(events(seen), expected(&decode(&bytes).0));
        prop_assert_eq!((counts.early, counts.out_of_order), (0, 0));
    }

    #[test]
    fn nothing_is_dropped_or_changed_whatever_the_stream_does(list in any_promises(), limit in 0..4000usize) {
        let bytes = stream(&list).end();
        let (mut seen, counts, _) = in_order(&bytes, limit);
        prop_assert_eq!(mark_all_sorted(&mut seen), counts.out_of_order);
        let key = |blob: &Blob| format!("{blob:?}");
        let (mut before, mut after) = (blobs(&decode(&bytes).0), blobs(&seen));
        before.iter_mut().for_each(|blob| blob.sorted = true);
        before.sort_by_key(key);
        after.sort_by_key(key);
        prop_assert_eq!(before, after);
    }
}
