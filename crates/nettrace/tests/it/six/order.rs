//! Events put in order of time keep what only version 6 says of them.

use strata_nettrace::order::TimeOrder;
use strata_nettrace::{Decoder, Item};
use strata_testkit::nettrace6::{Row, Rows, Thread};

use super::seen::{Event, Seen, decode, definitions, events, prelude, row};

#[test]
fn threads_and_labels_stay_with_events_that_wait() {
    let at = |time, row| Row { time, ..row };
    let by_second = |row| Row { capture_thread: 2, thread: 2, ..row };
    let first = Rows::compressed()
        .with(at(50, Row { labels: 1, ..row(1, 1, 1) }))
        .with(at(60, Row { labels: 2, ..row(1, 2, 0) }))
        .with(at(40, by_second(row(2, 1, 2))));
    // While those wait, the index of the second thread gets another meaning, and then its first one again.
    let second = |number| Rows::uncompressed().with(at(50 + u64::from(number), by_second(row(1, number, 0))));
    let stream = prelude()
        .events(&first)
        .remove_threads(&[(2, 1)])
        .threads(&[Thread::new(2).of(9, 90).named("other")])
        .events(&second(1))
        .remove_threads(&[(2, 1)])
        .threads(&[Thread::new(2).of(43, 77)])
        .events(&second(1))
        .events(&second(2))
        .end();
    let (seen, _) = decode(&stream);
    let mut expected = events(&seen);
    assert_eq!(expected.len(), 6);
    expected.sort_by_key(|event| event.row.time);
    for event in &mut expected {
        event.row.sorted = true;
    }
    let mut ordered: Vec<Event> = Vec::new();
    let mut sink = |item: Item<'_>| {
        if let Seen::Event(event) = Seen::of(&item) {
            ordered.push(event);
        }
    };
    let mut order = TimeOrder::new();
    let mut decoder = Decoder::new();
    decoder.feed(&stream, &mut |item: Item<'_>| order.push(item, &mut sink)).unwrap();
    assert_eq!(order.waiting(), 6);
    assert_eq!(order.finish(&mut sink).out_of_order, 0);
    assert_eq!(ordered, expected);
    let threads: Vec<_> = ordered.iter().map(|event| (event.row.thread, event.process)).collect();
    assert_eq!(
        threads,
        [(77, Some(43)), (4242, Some(42)), (90, Some(9)), (77, Some(43)), (77, Some(43)), (4242, Some(42))]
    );
}

#[test]
fn what_was_forgotten_does_not_come_back() {
    let rows = Rows::compressed().with(row(1, 1, 0));
    let stream = definitions()
        .events(&rows)
        .sequence_point(2000, 1, &[])
        .threads(&[Thread::new(1).named("another")])
        .events(&rows)
        .end();
    let mut names = Vec::new();
    let mut sink = |item: Item<'_>| {
        if let Item::Event(event) = item {
            names.push(event.thread_name().map(str::to_owned));
        }
    };
    let mut order = TimeOrder::new();
    Decoder::new().feed(&stream, &mut |item: Item<'_>| order.push(item, &mut sink)).unwrap();
    order.finish(&mut sink);
    assert_eq!(names, [Some("main".to_owned()), Some("another".to_owned())]);
}

#[test]
fn what_is_said_of_threads_counts_among_the_bytes_that_wait() {
    const LIMIT: usize = 64 << 10;
    const NAME: usize = 1000;
    // Each event is of another thread under the same index, and none is sorted.
    let mut stream = definitions();
    for number in 0..500u64 {
        let name = format!("{number:0width$}", width = NAME);
        let row = Row { time: 1000 + number, capture_thread: 3, thread: 3, ..row(1, 1, 0) };
        stream = stream
            .threads(&[Thread::new(3).of(5, number).named(&name)])
            .events(&Rows::compressed().with(row))
            .remove_threads(&[(3, 1)]);
    }
    let (mut most, mut names) = (0, Vec::new());
    let mut order = TimeOrder::with_limit(LIMIT);
    let mut sink = |item: Item<'_>| {
        if let Item::Event(event) = item {
            names.push(event.thread_name().and_then(|name| name.parse::<u64>().ok()));
        }
    };
    let mut push = |item: Item<'_>| {
        order.push(item, &mut sink);
        most = most.max(order.waiting());
    };
    let mut decoder = Decoder::new();
    decoder.feed(&stream.end(), &mut push).unwrap();
    decoder.finish(&mut push).unwrap();
    let counts = order.finish(&mut sink);
    assert!((10..=LIMIT / NAME).contains(&most), "{most}");
    assert_eq!((counts.waited, counts.out_of_order), (500, 0));
    assert!(counts.early > 400, "{counts:?}");
    assert_eq!(names, (0..500).map(Some).collect::<Vec<_>>());
}
