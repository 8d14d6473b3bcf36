//! Sizes that lie, damaged blocks, and what stays readable around them.

use strata_nettrace::{BlockKind, ProblemKind, StreamEnd};
use strata_testkit::nettrace::leb128;
use strata_testkit::nettrace6::{Row, Rows, kind, sized};

use super::seen::{Seen, decode, events, prelude, problem_blocks, problems, row};

/// Reads a good stream with one bad block in it: the events around it stay, and the problem is told where it is.
#[track_caller]
fn check(case: &str, kind: u8, content: &[u8], told: (ProblemKind, usize, Option<i64>), kept: usize) {
    let stream = prelude().events(&Rows::compressed().with(row(1, 1, 1)));
    let at = stream.offset() + 4 + told.1;
    let good = Rows::uncompressed().with(Row { time: 9999, ..row(1, 2, 0) });
    let (seen, summary) = decode(&stream.block(kind, content).events(&good).end());
    let times: Vec<_> = events(&seen).iter().map(|event| event.row.time).collect();
    assert_eq!(problems(&seen).first(), Some(&(told.0, at, told.2)), "{case}: {seen:?}");
    assert_eq!((times.first(), times.last()), (Some(&1001), Some(&9999)), "{case}");
    assert_eq!(times.len(), 2 + kept, "{case}");
    assert_eq!((summary.end, summary.problems.get(told.0)), (StreamEnd::Complete, 1), "{case}");
    let blocks = [
        BlockKind::Unknown,
        BlockKind::Trace,
        BlockKind::Event,
        BlockKind::Metadata,
        BlockKind::SequencePoint,
        BlockKind::Stack,
        BlockKind::Thread,
        BlockKind::RemoveThread,
        BlockKind::LabelList,
    ];
    assert_eq!(problem_blocks(&seen).first(), Some(&Some(blocks[usize::from(kind)])), "{case}");
}

#[test]
fn event_blocks() {
    use ProblemKind::{BadBlockHeader, BadSize, EndsEarly, OverlongNumber};
    check("no header", kind::EVENT, &[20], (EndsEarly, 0, None), 0);
    check("short header", kind::EVENT, &Rows::compressed().header_size(19).content(), (BadBlockHeader, 0, Some(19)), 0);
    let long = [&21u16.to_le_bytes()[..], &[1, 0], &[0; 16]].concat();
    check("header past the end", kind::EVENT, &long, (BadBlockHeader, 0, Some(21)), 0);
    // One good event is kept in front of the damage.
    let one = Rows::compressed().with(row(1, 2, 1));
    let behind = one.content().len();
    let bad: [(&str, Vec<u8>, ProblemKind); 9] = [
        ("payload", [vec![0x80, 0], leb128(u32::MAX.into()), vec![1, 2, 3]].concat(), EndsEarly),
        ("metadata", [vec![0x01], vec![0xff; 11]].concat(), OverlongNumber),
        ("number", vec![0x02, 0xff, 0xff, 0xff, 0xff, 0x1f, 1, 1], OverlongNumber),
        ("capture thread", [vec![0x02, 0], vec![0xff; 11]].concat(), OverlongNumber),
        ("thread", [vec![0x04], vec![0x80; 11]].concat(), OverlongNumber),
        ("stack", [vec![0x08], vec![0xff; 11]].concat(), OverlongNumber),
        ("time", [vec![0x00], vec![0x80; 11]].concat(), OverlongNumber),
        ("labels", [vec![0x10, 0], vec![0xff; 11]].concat(), OverlongNumber),
        ("flags only", vec![0x9f], EndsEarly),
    ];
    for (case, bytes, kind) in bad {
        check(case, kind::EVENT, &one.clone().raw(&bytes).content(), (kind, behind, None), 1);
    }
    let full = Rows::uncompressed().with(row(1, 2, 1));
    let behind = full.content().len();
    let small = [&10u32.to_le_bytes()[..], &[0; 10]].concat();
    let mut payload = Rows::uncompressed().with(row(1, 3, 1)).content()[20..].to_vec();
    payload[48] = 6;
    let bad: [(&str, Vec<u8>, ProblemKind); 4] = [
        ("size", vec![9, 0, 0, 0, 1], EndsEarly),
        ("half a size", vec![9, 0], EndsEarly),
        ("smaller than its header", small, BadSize),
        ("payload larger than the row", payload, BadSize),
    ];
    for (case, bytes, kind) in bad {
        check(case, kind::EVENT, &full.clone().raw(&bytes).content(), (kind, behind, None), 1);
    }
}

#[test]
fn other_blocks() {
    use ProblemKind::{BadBlockHeader, BadMetadata, BadSize, EndsEarly, OverlongNumber, UnknownThread};
    let stacks = |first: u32, count: u32, rest: &[u8]| [&first.to_le_bytes()[..], &count.to_le_bytes(), rest].concat();
    check("stack count", kind::STACK, &stacks(4, 0x7fff_ffff, &[0; 8]), (BadSize, 4, None), 0);
    check("stack count by one", kind::STACK, &stacks(4, 2, &[0; 4]), (EndsEarly, 12, None), 0);
    check("stack bytes", kind::STACK, &stacks(4, 1, &[0xff, 0xff, 0xff, 0x7f, 1, 2]), (EndsEarly, 8, None), 0);
    check("stack ids", kind::STACK, &stacks(u32::MAX, 2, &[0; 8]), (BadSize, 12, None), 0);
    check("no stack header", kind::STACK, &[1, 0], (EndsEarly, 0, None), 0);
    check("no metadata header", kind::METADATA, &[1], (EndsEarly, 0, None), 0);
    check("metadata header past the end", kind::METADATA, &[5, 0, 1, 2], (BadBlockHeader, 0, Some(5)), 0);
    check("metadata row past the end", kind::METADATA, &[0, 0, 9, 0, 1], (EndsEarly, 2, None), 0);
    check("half a size", kind::METADATA, &[0, 0, 9], (EndsEarly, 2, None), 0);
    check("empty metadata row", kind::METADATA, &[0, 0, 0, 0], (BadMetadata, 2, None), 0);
    check("thread row past the end", kind::THREAD, &[9, 0, 5], (EndsEarly, 0, None), 0);
    check("behind a good thread", kind::THREAD, &[sized(&[5]), vec![1]].concat(), (EndsEarly, 3, None), 0);
    check("removal cut", kind::REMOVE_THREAD, &[2, 0, 9], (EndsEarly, 2, None), 0);
    check("removal of index", kind::REMOVE_THREAD, &[0xff; 11], (OverlongNumber, 0, None), 0);
    check("removal of number", kind::REMOVE_THREAD, &[2, 0xff, 0xff, 0xff, 0xff, 0x7f], (OverlongNumber, 0, None), 0);
    check("removal of nobody", kind::REMOVE_THREAD, &[50, 0, 2, 0], (UnknownThread, 0, Some(50)), 0);
    let point = |flags: u32, count: u32, rest: &[u8]| {
        [&5u64.to_le_bytes()[..], &flags.to_le_bytes(), &count.to_le_bytes(), rest].concat()
    };
    check("no point", kind::SEQUENCE_POINT, &[0; 15], (EndsEarly, 0, None), 0);
    check("threads", kind::SEQUENCE_POINT, &point(0, u32::MAX, &[1, 0]), (BadSize, 12, None), 0);
    check("threads by one", kind::SEQUENCE_POINT, &point(0, 2, &[0x81, 0, 0, 1]), (EndsEarly, 19, None), 0);
    check("thread index", kind::SEQUENCE_POINT, &point(0, 1, &[0xff; 11]), (OverlongNumber, 16, None), 0);
    check("nobody", kind::SEQUENCE_POINT, &point(0, 2, &[1, 1, 50, 7]), (UnknownThread, 18, Some(50)), 0);
}

#[test]
fn a_sequence_point_that_cannot_be_read_still_was_one() {
    let rows = Rows::compressed().with(Row { labels: 1, ..row(1, 1, 1) });
    let (seen, _) = decode(&prelude().block(kind::SEQUENCE_POINT, &[0; 3]).events(&rows).end());
    let kinds: Vec<_> = problems(&seen).into_iter().map(|(kind, ..)| kind).collect();
    assert_eq!(kinds, [ProblemKind::EndsEarly, ProblemKind::UnknownLabels, ProblemKind::UnknownStack]);
    // And its flags count, if they were there.
    let content = [&5u64.to_le_bytes()[..], &1u32.to_le_bytes(), &9u32.to_le_bytes()].concat();
    let (seen, _) = decode(&prelude().block(kind::SEQUENCE_POINT, &content).events(&rows).end());
    let kinds: Vec<_> = problems(&seen).into_iter().map(|(kind, ..)| kind).collect();
    assert_eq!(kinds[..2], [ProblemKind::BadSize, ProblemKind::UnknownThread]);
}

#[test]
fn the_largest_blocks_of_the_smallest_things() {
    let lists = (0x00ff_ffff - 8) / 2;
    let content = [&1u32.to_le_bytes()[..], &(lists as u32).to_le_bytes(), &[0x89, 1].repeat(lists)].concat();
    let threads = 500_000;
    let rows = Rows::compressed().with(Row { labels: lists as u32, ..row(1, 1, 1) });
    let named = [&[0; 12][..], &(threads as u32).to_le_bytes(), &[1, 0].repeat(threads)].concat();
    let stream = prelude().block(kind::LABEL_LIST, &content).block(kind::THREAD, &sized(&[7]).repeat(threads));
    let (seen, summary) = decode(&stream.events(&rows).block(kind::SEQUENCE_POINT, &named).end());
    assert_eq!(events(&seen)[0].labels, "[Level(1)]");
    let again = threads as u64 - 1;
    let told: Vec<_> = summary.problems.iter().collect();
    assert_eq!(told, [(ProblemKind::DuplicateThread, again), (ProblemKind::DuplicateLabels, 2)]);
    // A thread that a point names over and over is told as often as there are threads.
    assert_eq!(seen.last(), Some(&Seen::Point(0, vec![(4242, 0); 3])));
}
