//! Label lists.

use strata_nettrace::{Decoder, Fit, Guid, Item, Label, ProblemKind};
use strata_testkit::nettrace6::{Definition, Label as Written, Row, Rows, Stream, kind, string, zigzag};

use super::seen::{decode, definitions, events, problems, row};

fn text(key: &str, value: &str) -> Written {
    (5, [string(key), string(value)].concat())
}

fn number(key: &str, value: i64) -> Written {
    (6, [string(key), zigzag(value)].concat())
}

/// An event for each of these lists of labels.
fn with_lists(stream: Stream, ids: &[u32]) -> Vec<u8> {
    let rows =
        ids.iter().zip(1..).fold(Rows::compressed(), |rows, (id, n)| rows.with(Row { labels: *id, ..row(1, n, 0) }));
    stream.events(&rows).end()
}

#[test]
fn every_kind_of_label() {
    let guid = |byte| Guid([byte; 16]);
    let labels: [(Written, Label<'_>); 13] = [
        ((1, vec![1; 16]), Label::Activity(guid(1))),
        ((2, vec![2; 16]), Label::RelatedActivity(guid(2))),
        ((3, vec![3; 16]), Label::TraceId([3; 16])),
        ((4, 0x0102_0304_0506_0708u64.to_le_bytes().to_vec()), Label::SpanId(0x0102_0304_0506_0708)),
        (text("key", "välue"), Label::Text("key".into(), "välue".into())),
        (text("", ""), Label::Text("".into(), "".into())),
        (number("n", -5), Label::Number("n".into(), -5)),
        (number("least", i64::MIN), Label::Number("least".into(), i64::MIN)),
        (number("most", i64::MAX), Label::Number("most".into(), i64::MAX)),
        ((7, vec![9]), Label::Opcode(9)),
        ((8, u64::MAX.to_le_bytes().to_vec()), Label::Keywords(u64::MAX)),
        ((9, vec![1]), Label::Level(1)),
        ((10, vec![7]), Label::Version(7)),
    ];
    let written: Vec<Written> = labels.iter().map(|(written, _)| written.clone()).collect();
    let expected: Vec<&Label<'_>> = labels.iter().map(|(_, label)| label).collect();
    // One list of all, and each in a list of its own.
    let mut lists = vec![&written[..]];
    lists.extend(written.iter().map(std::slice::from_ref));
    let ids: Vec<u32> = (1..=lists.len() as u32).collect();
    let mut found: Vec<Vec<String>> = Vec::new();
    let mut activities = Vec::new();
    let mut sink = |item: Item<'_>| match item {
        Item::Event(event) => {
            found.push(event.labels().iter().map(|label| format!("{label:?}")).collect());
            activities.push((event.header.activity(), event.header.related_activity()));
        }
        Item::Problem(problem) => panic!("{problem}"),
        _ => {}
    };
    Decoder::new().feed(&with_lists(definitions().labels(1, &lists), &ids), &mut sink).unwrap();
    let shown: Vec<String> = expected.iter().map(|label| format!("{label:?}")).collect();
    assert_eq!(found[0], shown);
    assert_eq!(found[1..].concat(), shown);
    assert_eq!(
        activities[..4],
        [(Some(guid(1)), Some(guid(2))), (Some(guid(1)), None), (None, Some(guid(2))), (None, None)]
    );
}

#[test]
fn labels_overrule_the_definition() {
    let optional = vec![(1, vec![1]), (3, 0x10u64.to_le_bytes().to_vec()), (8, vec![4]), (9, vec![2])];
    let stream = definitions().metadata(&[
        Definition { optional, ..Definition::new(8, "P", 8, "Thing") },
        Definition::new(9, "P", 9, "ThingStop"),
    ]);
    let stream = stream.labels(
        1,
        &[
            &[(7, vec![2]), (8, 0x20u64.to_le_bytes().to_vec()), (9, vec![5]), (10, vec![3])],
            &[text("k", "v")],
            &[(7, vec![0])],
        ],
    );
    let cases = [(8, 0), (8, 1), (8, 2), (8, 3), (9, 0), (9, 1), (9, 3)];
    let rows = cases.iter().zip(1..).fold(Rows::compressed(), |rows, ((metadata, labels), n)| {
        rows.with(Row { labels: *labels, ..row(*metadata, n, 0) })
    });
    let mut found = Vec::new();
    let mut sink = |item: Item<'_>| {
        if let Item::Event(event) = item {
            found.push((event.opcode(), event.keywords(), event.level(), event.version()));
            let metadata = event.metadata;
            assert!(metadata.id == 9 || (metadata.opcode(), metadata.level) == (1, 4), "the definition stays as it is");
        }
    };
    Decoder::new().feed(&stream.events(&rows).end(), &mut sink).unwrap();
    let expected = [
        (1, 0x10, 4, 2),
        (2, 0x20, 5, 3),
        (1, 0x10, 4, 2),
        (0, 0x10, 4, 2),
        // The name says 2 where nothing else says anything.
        (2, 0, 0, 0),
        (2, 0x20, 5, 3),
        (2, 0, 0, 0),
    ];
    assert_eq!(found, expected);
}

fn found_labels(bytes: &[u8]) -> (Vec<String>, Vec<(ProblemKind, Option<i64>)>) {
    let (seen, _) = decode(bytes);
    let problems = problems(&seen).into_iter().map(|(kind, _, value)| (kind, value)).collect();
    (events(&seen).into_iter().map(|event| event.labels).collect(), problems)
}

#[test]
fn ids_of_lists() {
    let level = |level: u8| -> [Written; 1] { [(9, vec![level])] };
    let stream = definitions()
        .labels(5, &[&level(5), &level(6)])
        .labels(7, &[&level(7)])
        .labels(u32::MAX - 1, &[&level(254), &level(255)])
        .labels(1, &[&level(1)])
        // Again: the newer one counts.
        .labels(6, &[&level(66)]);
    let (found, problems) = found_labels(&with_lists(stream, &[5, 6, 7, u32::MAX - 1, u32::MAX, 1, 0, 2]));
    let list = |level: u8| format!("[Level({level})]");
    assert_eq!(found, [list(5), list(66), list(7), list(254), list(255), list(1), String::new(), String::new()]);
    assert_eq!(problems, [(ProblemKind::DuplicateLabels, Some(6)), (ProblemKind::UnknownLabels, Some(2))]);
    // 0 stands for none; the list behind it has the id 1.
    let (found, problems) = found_labels(&with_lists(definitions().labels(0, &[&level(9), &level(1)]), &[0, 1]));
    assert_eq!(found, [String::new(), list(1)]);
    assert_eq!(problems, [(ProblemKind::ReservedLabels, Some(0))]);
    // Ids end at the largest number.
    let stream = definitions().labels(u32::MAX, &[&level(1), &level(2)]);
    let (found, problems) = found_labels(&with_lists(stream, &[u32::MAX]));
    assert_eq!((found, problems), (vec![list(1)], vec![(ProblemKind::BadSize, None)]));
}

#[test]
fn lists_are_forgotten_at_each_sequence_point() {
    for flags in [0, 1, 2] {
        let stream = definitions()
            .labels(1, &[&[(9, vec![1])], &[(9, vec![2])]])
            .sequence_point(5, flags, &[])
            .metadata(&[Definition::new(1, "Provider-A", 10, "First")])
            .threads(&[strata_testkit::nettrace6::Thread::new(1)])
            .labels(2, &[&[(9, vec![3])]]);
        let (found, problems) = found_labels(&with_lists(stream, &[1, 2]));
        assert_eq!(found, ["", "[Level(3)]"]);
        let unknown = problems.iter().filter(|(kind, _)| *kind == ProblemKind::UnknownLabels);
        assert_eq!(unknown.collect::<Vec<_>>(), [&(ProblemKind::UnknownLabels, Some(1))]);
    }
}

#[test]
fn lists_that_cannot_be_read() {
    let block = |count: u32, rest: &[u8]| [&1u32.to_le_bytes()[..], &count.to_le_bytes(), rest].concat();
    let good = [0x89, 7];
    type Told = (ProblemKind, usize, Option<i64>);
    let cases: [(&str, Vec<u8>, Told); 9] = [
        ("no header", vec![1, 0, 0], (ProblemKind::EndsEarly, 0, None)),
        ("count", block(u32::MAX, &good), (ProblemKind::BadSize, 4, None)),
        ("count by one", block(2, &[0x89, 7, 9, 1]), (ProblemKind::EndsEarly, 12, None)),
        ("guid", block(2, &[&good[..], &[0x81, 1, 2]].concat()), (ProblemKind::EndsEarly, 10, None)),
        ("text", block(2, &[&good[..], &[0x85, 100, b'x']].concat()), (ProblemKind::EndsEarly, 10, None)),
        ("number", block(2, &[&good[..], &[0x86, 0], &[0xff; 11]].concat()), (ProblemKind::OverlongNumber, 10, None)),
        ("kind 0", block(2, &[&good[..], &[0x80, 1, 2]].concat()), (ProblemKind::UnknownEntry, 10, Some(0))),
        ("kind 11", block(3, &[&good[..], &[11, 1], &good].concat()), (ProblemKind::UnknownEntry, 10, Some(11))),
        ("in a list", block(2, &[&good[..], &[9, 1, 0xff, 2]].concat()), (ProblemKind::UnknownEntry, 12, Some(0x7f))),
    ];
    for (case, content, (kind, at, value)) in cases {
        let stream = definitions();
        let at = stream.offset() + 4 + at;
        let whole = content.len() > 8 && kind != ProblemKind::BadSize;
        let (seen, _) = decode(&with_lists(stream.block(kind::LABEL_LIST, &content), &[1]));
        assert_eq!(problems(&seen)[0], (kind, at, value), "{case}");
        let expected = if whole { "[Level(7)]" } else { "" };
        assert_eq!(events(&seen)[0].labels, expected, "{case}: a list before the damage stays");
    }
    // More bytes than lists need.
    let content = block(1, &[0x89, 7, 1, 2, 3]);
    let (found, problems) = found_labels(&with_lists(definitions().block(kind::LABEL_LIST, &content), &[1]));
    assert_eq!((found, problems), (vec!["[Level(7)]".to_owned()], vec![]));
}

#[test]
fn a_version_of_its_own_decides_how_a_payload_is_read() {
    let stream = definitions()
        .metadata(&[Definition {
            optional: vec![(9, vec![1])],
            ..Definition::new(9, "Microsoft-Windows-DotNETRuntime", 1, "")
        }])
        .labels(1, &[&[(10, vec![2])], &[(10, vec![1])], &[(10, vec![9])]]);
    let rows = [0, 1, 2, 3].iter().zip(1..).fold(Rows::compressed(), |rows, (labels, n)| {
        rows.with(Row { labels: *labels, payload: vec![0; 26], ..row(9, n, 0) })
    });
    let mut counts = Vec::new();
    let mut sink = |item: Item<'_>| {
        if let Item::Event(event) = item {
            counts.push((event.metadata.display_name().into_owned(), event.fields().count(), event.fields().fit()));
        }
    };
    Decoder::new().feed(&stream.events(&rows).end(), &mut sink).unwrap();
    let one = ("GCStart".to_owned(), 5, Fit::Longer { at: 18 });
    let two = ("GCStart".to_owned(), 6, Fit::Whole);
    assert_eq!(counts, [one.clone(), two.clone(), one, two]);
}

/// What is tried, the first ids of its blocks, which list each event gets, and the ids told as defined twice.
type Case = (&'static str, &'static [u32], [Option<u8>; 3], &'static [i64]);

#[test]
fn of_lists_defined_twice_the_newer_one_counts() {
    let level = |level: u8| vec![(9, vec![level])];
    let cases: [Case; 4] = [
        ("once", &[1, 2], [Some(0), Some(1), None], &[]),
        ("inside the run", &[1, 2, 1], [Some(2), Some(1), None], &[1]),
        ("outside of it", &[1, 3, 3], [Some(0), None, Some(2)], &[3]),
        ("met by the run", &[1, 3, 2, 3], [Some(0), Some(2), Some(3)], &[3]),
    ];
    for (case, ids, expected, duplicates) in cases {
        let stream =
            ids.iter().zip(0..).fold(definitions(), |stream, (id, number)| stream.labels(*id, &[&level(number)]));
        let (seen, _) = decode(&with_lists(stream, &[1, 2, 3]));
        let labels: Vec<_> = events(&seen).into_iter().map(|event| event.labels).collect();
        let shown = expected.map(|level| level.map_or(String::new(), |level| format!("[Level({level})]")));
        assert_eq!(labels, shown, "{case}");
        let told = problems(&seen).into_iter().filter(|problem| problem.0 == ProblemKind::DuplicateLabels);
        assert_eq!(told.map(|problem| problem.2.unwrap()).collect::<Vec<_>>(), duplicates, "{case}");
    }
}
