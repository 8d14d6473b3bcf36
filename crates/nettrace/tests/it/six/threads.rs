//! Thread and remove-thread blocks.

use strata_nettrace::{Decoder, Item, ProblemKind};
use strata_testkit::nettrace6::{Row, Rows, Stream, Thread, kind, string, string_of};

use super::seen::{decode, definitions, events, problems, row};

/// An event about each of these threads, by thread 1.
fn about(threads: &[u64]) -> Rows {
    threads
        .iter()
        .zip(1..)
        .fold(Rows::compressed(), |rows, (thread, n)| rows.with(Row { thread: *thread, ..row(1, n, 0) }))
}

/// Thread id, process and name of each event; kind and value of each problem.
type Found = (Vec<(u64, Option<u64>, Option<String>)>, Vec<(ProblemKind, Option<i64>)>);

fn found(stream: Stream, threads: &[u64]) -> Found {
    let (seen, _) = decode(&stream.events(&about(threads)).end());
    let event = |event: super::seen::Event| (event.row.thread, event.process, event.thread_name);
    (
        events(&seen).into_iter().map(event).collect(),
        problems(&seen).into_iter().map(|(kind, _, value)| (kind, value)).collect(),
    )
}

#[test]
fn what_a_stream_says_of_threads() {
    let stream = definitions().threads(&[
        Thread::new(10),
        Thread::new(11).named("name only"),
        Thread::new(12).of(5, u64::MAX),
        Thread::new(13).entry(2, &[7]),
        Thread::new(u64::MAX).of(1, 2).named(""),
        Thread::new(14).named("first").named("second").of(8, 9),
        Thread::new(15).entry(1, &string_of(b"a\xffb")),
    ]);
    let name = |name: &str| Some(name.to_owned());
    let expected = vec![
        (10, None, None),
        (11, None, name("name only")),
        (u64::MAX, Some(5), None),
        (13, Some(7), None),
        (2, Some(1), name("")),
        (9, Some(8), name("second")),
        (15, None, name("a\u{fffd}b")),
    ];
    assert_eq!(found(stream, &[10, 11, 12, 13, u64::MAX, 14, 15]), (expected, vec![]));
    let pairs = [string("k"), string("v")].concat();
    let stream = definitions().threads(&[Thread::new(10).entry(4, &pairs).entry(4, &pairs).named("n")]);
    let mut attributes = Vec::new();
    let mut sink = |item: Item<'_>| {
        if let Item::Event(event) = item {
            let info = event.thread_info().expect("defined");
            assert_eq!((info.index, info.thread_id), (10, None));
            attributes.extend(info.attributes.iter().map(|(key, value)| format!("{key}={value}")));
        }
    };
    Decoder::new().feed(&stream.events(&about(&[10])).end(), &mut sink).unwrap();
    assert_eq!(attributes, ["k=v", "k=v"]);
}

#[test]
fn threads_come_and_go() {
    let unknown = |index| (ProblemKind::UnknownThread, Some(index));
    let two = (77, Some(43), None);
    let bare = (2, None, None);
    let again = |thread| definitions().remove_threads(&[(2, 0)]).threads(&[thread]);
    let point = |flags| definitions().sequence_point(5, flags, &[]);
    let cases: [(&str, Stream, Found); 6] = [
        ("there", definitions(), (vec![two.clone()], vec![])),
        ("removed", definitions().remove_threads(&[(2, 0)]), (vec![bare.clone()], vec![unknown(2)])),
        ("another with its index", again(Thread::new(2).of(9, 90)), (vec![(90, Some(9), None)], vec![])),
        (
            "removed twice",
            definitions().remove_threads(&[(2, 0), (2, 0)]).threads(&[Thread::new(2)]),
            (vec![bare.clone()], vec![unknown(2)]),
        ),
        ("a sequence point, with a flag that is not known", point(4), (vec![two], vec![])),
        ("a sequence point that forgets", point(1).threads(&[Thread::new(1)]), (vec![bare], vec![unknown(2)])),
    ];
    for (case, stream, expected) in cases {
        assert_eq!(found(stream, &[2]), expected, "{case}");
    }
    // Defined twice: the newer one counts, and is told.
    let stream = definitions().threads(&[Thread::new(2).of(43, 77).named("worker")]);
    let expected = vec![(77, Some(43), Some("worker".to_owned()))];
    assert_eq!(found(stream, &[2]), (expected, vec![(ProblemKind::DuplicateThread, Some(2))]));
}

#[test]
fn rows_that_cannot_be_read_do_not_harm_their_neighbours() {
    let cases: [(&str, Thread, Option<ProblemKind>); 6] = [
        ("entry cut", Thread::new(3).entry(3, &[]), Some(ProblemKind::BadThread)),
        ("name too long", Thread::new(3).entry(1, &[9, b'x']), Some(ProblemKind::BadThread)),
        ("number too long", Thread::new(3).entry(2, &[0xff; 11]), Some(ProblemKind::BadThread)),
        ("half a pair", Thread::new(3).entry(4, &string("k")), Some(ProblemKind::BadThread)),
        ("unknown entry", Thread::new(3).entry(9, &[1, 2, 3]), Some(ProblemKind::UnknownEntry)),
        ("unknown entry 0", Thread::new(3).entry(0, &[]), Some(ProblemKind::UnknownEntry)),
    ];
    for (case, bad, told) in cases {
        let stream = definitions();
        let at = stream.offset() + 4 + 3;
        let stream = stream.threads(&[Thread::new(4), bad, Thread::new(5).of(6, 7)]);
        let (seen, _) = decode(&stream.events(&about(&[4, 5])).end());
        let threads: Vec<_> = events(&seen).iter().map(|event| (event.row.thread, event.process)).collect();
        assert_eq!(threads, [(4, None), (7, Some(6))], "{case}");
        let found: Vec<_> = problems(&seen).into_iter().map(|(kind, at, _)| (kind, at)).collect();
        assert_eq!(found, told.map(|kind| (kind, at)).into_iter().collect::<Vec<_>>(), "{case}");
    }
    // What an unknown entry does not hide stays.
    let stream = definitions().threads(&[Thread::new(3).of(5, 6).entry(9, &[1]).named("hidden")]);
    let expected = (vec![(6, Some(5), None)], vec![(ProblemKind::UnknownEntry, Some(9))]);
    assert_eq!(found(stream, &[3]), expected);
    // An empty row has no index.
    let (seen, _) = decode(&definitions().block(kind::THREAD, &[0, 0]).end());
    assert_eq!(problems(&seen)[0].0, ProblemKind::BadThread);
}
