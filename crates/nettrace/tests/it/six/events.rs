//! Rows of event blocks.

use strata_nettrace::runtime::{RuntimeEvent, SampleType};
use strata_nettrace::{Decoder, Item, ProblemKind};
use strata_testkit::nettrace6::{Definition, Row, Rows, kind};

use super::seen::{Event, decode, definitions, event, events, prelude, problems, row};

#[test]
fn events_come_out_as_they_went_in_with_either_header() {
    let other = |row| Row { capture_thread: 2, thread: 1, processor: 3, ..row };
    let rows = [
        row(1, 1, 1),
        row(2, 2, 2),
        // Earlier than the one before.
        Row { time: 900, sorted: true, ..row(2, 3, 0) },
        // Another thread, which has its own numbers, about yet another.
        other(row(1, 1, 1)),
        Row { labels: 1, ..other(row(1, 2, 1)) },
        Row { labels: 2, ..other(row(1, 3, 1)) },
        Row { payload: vec![9; 1000], time: u64::MAX, ..row(1, 4, 1) },
        Row { payload: vec![], thread: 2, ..row(2, 5, 3) },
    ];
    let from = |event: Event, row: Row| Event { row, ..event };
    let by_other = |row: Row| Row { capture_thread: 77, thread: 4242, ..row };
    let long = Some(vec![0x1000, 0x2000]);
    let all = [
        Event { stack: long.clone(), ..event(1, 1, 1) },
        Event { stack: Some(vec![0x3000]), ..event(2, 2, 2) },
        from(event(2, 3, 0), Row { time: 900, sorted: true, ..event(2, 3, 0).row }),
        Event { stack: long.clone(), ..from(event(1, 1, 1), by_other(rows[3].clone())) },
        Event {
            stack: long.clone(),
            labels: "[Activity(03030303-0303-0303-0303-030303030303)]".into(),
            ..from(event(1, 2, 1), Row { labels: 0, ..by_other(rows[4].clone()) })
        },
        Event {
            stack: long.clone(),
            labels: "[RelatedActivity(04040404-0404-0404-0404-040404040404), Level(2)]".into(),
            ..from(event(1, 3, 1), Row { labels: 0, ..by_other(rows[5].clone()) })
        },
        Event { stack: long, ..from(event(1, 4, 1), Row { capture_thread: 4242, thread: 4242, ..rows[6].clone() }) },
        Event {
            process: Some(43),
            thread_name: None,
            ..from(event(2, 5, 3), Row { capture_thread: 4242, thread: 77, ..rows[7].clone() })
        },
    ];
    for (empty, flags) in [(Rows::compressed(), 0), (Rows::compressed(), 0x9f), (Rows::uncompressed(), 0)] {
        let block = rows.iter().fold(empty, |block, row| block.with_fields(row.clone(), flags));
        let (seen, summary) = decode(&prelude().events(&block).end());
        assert_eq!(events(&seen), all);
        assert_eq!((summary.events, summary.events_without_stack), (8, 2));
        assert_eq!(summary.times, Some((900, u64::MAX)));
        assert_eq!((summary.loss.lost, summary.problems.total()), (0, 0));
    }
}

#[test]
fn bytes_of_the_formats_description() {
    let compressed = [
        0xdf, // everything
        0x02, // metadata
        0x00, 0x01, 0x03, // number, capture thread, processor
        0x02, // thread
        0x02, // stack
        0xc0, 0x84, 0x3d, // time
        0x01, // labels
        0x03, 7, 8, 9, // payload
        // The next one: nothing but its time, and a flag that stands for nothing.
        0x20, 0x05, 1, 2, 3,
    ];
    let (seen, summary) = decode(&prelude().events(&Rows::compressed().raw(&compressed)).end());
    let first = Row {
        metadata: 2,
        sequence: 1,
        capture_thread: 4242,
        processor: 3,
        thread: 77,
        stack: 2,
        time: 1_000_000,
        sorted: true,
        payload: vec![7, 8, 9],
        ..Row::default()
    };
    let second = Row { sequence: 2, time: 1_000_005, sorted: false, payload: vec![1, 2, 3], ..first.clone() };
    let rows: Vec<_> = events(&seen).into_iter().map(|event| event.row).collect();
    assert_eq!(rows, [first, second]);
    assert_eq!((summary.loss.lost, summary.problems.total()), (0, 0));
    let uncompressed = [
        &57u32.to_le_bytes()[..],
        &0x8000_0002u32.to_le_bytes(), // metadata, not sorted
        &1u32.to_le_bytes(),           // number
        &2u64.to_le_bytes(),           // thread
        &1u64.to_le_bytes(),           // capture thread
        &3u32.to_le_bytes(),           // processor
        &0u32.to_le_bytes(),           // stack
        &9u64.to_le_bytes(),           // time
        &0u32.to_le_bytes(),           // labels
        &1u32.to_le_bytes(),           // payload
        &[5],
        &[0xee; 8], // of a newer writer
    ]
    .concat();
    // Not padded: the next row begins at once.
    let (seen, summary) = decode(&prelude().events(&Rows::uncompressed().raw(&uncompressed).with(row(1, 2, 0))).end());
    let found: Vec<_> = events(&seen).into_iter().map(|event| (event.row.time, event.row.thread)).collect();
    assert_eq!(found, [(9, 77), (1002, 4242)]);
    assert!(events(&seen).iter().all(|event| !event.row.sorted));
    assert_eq!((summary.loss.lost, summary.problems.total()), (0, 0));
}

#[test]
fn a_block_begins_with_all_fields_zero() {
    let stream = prelude().threads(&[strata_testkit::nettrace6::Thread::new(0).of(1, 5)]);
    let bare = [0x80, 0x07, 0x00];
    // No definition has the id 0, until one does.
    let (seen, _) = decode(&stream.clone().events(&Rows::compressed().raw(&bare)).end());
    assert_eq!(problems(&seen)[0].0, ProblemKind::UnknownMetadata);
    let stream = stream.metadata(&[Definition::new(0, "P", 0, "")]);
    let (seen, summary) = decode(&stream.events(&Rows::compressed().raw(&bare).raw(&[0, 1])).end());
    let found: Vec<_> = events(&seen).into_iter().map(|event| (event.row.thread, event.row.sequence)).collect();
    assert_eq!((found, summary.problems.total()), (vec![(5, 1), (5, 2)], 0));
}

#[test]
fn longer_headers_and_rows_of_newer_writers_change_nothing() {
    let fill = |empty: Rows| empty.with(row(1, 1, 1)).with(row(2, 2, 0)).with(Row { labels: 2, ..row(1, 3, 2) });
    let (seen, _) = decode(&prelude().events(&fill(Rows::compressed())).end());
    let expected = events(&seen);
    for (size, extra) in [(20, 1), (22, 0), (28, 4), (300, 100)] {
        for empty in [Rows::compressed(), Rows::uncompressed()] {
            let (seen, summary) = decode(&prelude().events(&fill(empty.header_size(size).extra(extra))).end());
            assert_eq!(events(&seen), expected);
            assert_eq!(summary.problems.total(), 0);
        }
    }
}

#[test]
fn an_event_without_a_stack_does_not_show_the_one_before() {
    for empty in [Rows::compressed(), Rows::uncompressed()] {
        for flags in [0, 0x9f] {
            let rows = [(1, 1), (2, 0), (3, 1), (4, 3), (5, 0)];
            let block =
                rows.iter().fold(empty.clone(), |block, (n, stack)| block.with_fields(row(1, *n, *stack), flags));
            let (seen, summary) = decode(&prelude().events(&block).end());
            let long = Some(vec![0x1000, 0x2000]);
            let stacks: Vec<_> = events(&seen).into_iter().map(|event| event.stack).collect();
            assert_eq!(stacks, [long.clone(), None, long, None, None]);
            assert_eq!((summary.events_without_stack, summary.problems.total()), (3, 0));
        }
    }
}

#[test]
fn what_was_never_defined_is_told_and_the_event_kept_without_it() {
    use ProblemKind::{UnknownLabels, UnknownMetadata, UnknownStack, UnknownThread};
    let unnamed = |event: Event| Event { process: None, thread_name: None, ..event };
    type Told = &'static [(ProblemKind, i64)];
    let cases: [(&str, Row, Option<Event>, Told); 6] = [
        ("stack", row(1, 1, 9), Some(event(1, 1, 9)), &[(UnknownStack, 9)]),
        ("labels", Row { labels: 7, ..row(1, 1, 0) }, Some(event(1, 1, 0)), &[(UnknownLabels, 7)]),
        (
            "thread",
            Row { thread: 50, ..row(1, 1, 0) },
            Some(unnamed(Event { row: Row { thread: 50, ..event(1, 1, 0).row }, ..event(1, 1, 0) })),
            &[(UnknownThread, 50)],
        ),
        (
            "capture thread",
            Row { capture_thread: 1 << 40, ..row(1, 1, 0) },
            Some(Event { row: Row { capture_thread: 1 << 40, ..event(1, 1, 0).row }, ..event(1, 1, 0) }),
            &[(UnknownThread, 1 << 40)],
        ),
        (
            "all",
            Row { thread: 5, capture_thread: 5, labels: 6, ..row(1, 1, 8) },
            Some(unnamed(Event { row: Row { thread: 5, capture_thread: 5, ..event(1, 1, 8).row }, ..event(1, 1, 8) })),
            &[(UnknownThread, 5), (UnknownLabels, 6), (UnknownStack, 8)],
        ),
        ("definition", row(3, 1, 0), None, &[(UnknownMetadata, 3)]),
    ];
    for (case, bad, expected, told) in cases {
        for empty in [Rows::compressed(), Rows::uncompressed()] {
            let block = empty.with(bad.clone()).with(Row { labels: 0, ..row(2, 2, 0) });
            let stream = prelude();
            let at = stream.offset() + 4 + 20;
            let (seen, summary) = decode(&stream.events(&block).end());
            let all: Vec<_> = expected.clone().into_iter().chain([event(2, 2, 0)]).collect();
            assert_eq!(events(&seen), all, "{case}");
            let told: Vec<_> = told.iter().map(|(kind, value)| (*kind, at, Some(*value))).collect();
            assert_eq!(problems(&seen), told, "{case}");
            assert_eq!(summary.problems.total(), told.len() as u64, "{case}");
        }
    }
    // Each event of them counts.
    let block = (1..=1000).fold(Rows::compressed(), |block, n| block.with(Row { thread: 9, ..row(1, n, 0) }));
    let (seen, summary) = decode(&prelude().events(&block).end());
    assert_eq!((events(&seen).len(), problems(&seen).len()), (1000, 20));
    assert_eq!(summary.problems.get(ProblemKind::UnknownThread), 1000);
}

#[test]
fn the_runtimes_own_events_are_known_in_any_version() {
    let provider = "Microsoft-DotNETCore-SampleProfiler";
    let stream = definitions().metadata(&[Definition::new(7, provider, 0, "")]);
    let rows = Rows::compressed().with(Row { payload: 2u32.to_le_bytes().to_vec(), ..row(7, 1, 0) });
    let mut samples = Vec::new();
    let mut sink = |item: Item<'_>| {
        if let Item::Event(event) = item {
            samples.push(matches!(RuntimeEvent::decode(&event), Ok(Some(RuntimeEvent::Sample(SampleType::Managed)))));
        }
    };
    Decoder::new().feed(&stream.events(&rows).end(), &mut sink).unwrap();
    assert_eq!(samples, [true]);
}

#[test]
fn an_empty_event_block_holds_nothing() {
    let (seen, summary) = decode(&prelude().block(kind::EVENT, &Rows::compressed().content()).end());
    assert_eq!((events(&seen).len(), summary.problems.total(), summary.blocks.event), (0, 0, 1));
    assert_eq!(summary.times, None);
}
