//! Sizes that lie, damaged blocks, and what stays readable around them.

use strata_nettrace::{BlockKind, CutBlock, ProblemKind, StreamEnd};
use strata_testkit::nettrace::{Blob, Blobs, Definition, Stream, Trace, leb128, utf16};

use crate::seen::{blobs, decode, event, prelude, problems};

fn good_block() -> Blobs {
    Blobs::compressed().with(event(1, 50, 1))
}

/// Reads a good stream with one bad block in it: the events around it stay, and the problem is told where it is.
#[track_caller]
fn check(case: &str, name: &str, content: &[u8], kind: ProblemKind, at: usize, kept: usize) {
    let stream = prelude().events(&Blobs::compressed().with(event(1, 49, 1)));
    let header = 15 + name.len() + 1 + 4;
    let content_at = (stream.offset() + header).next_multiple_of(4);
    let (seen, summary) = decode(&stream.block(name, content).events(&good_block()).end());
    let sequences: Vec<u32> = blobs(&seen).iter().map(|blob| blob.sequence).collect();
    assert_eq!(problems(&seen).first(), Some(&(kind, (content_at + at) as u64)), "{case}: {seen:?}");
    assert_eq!((sequences.first(), sequences.last()), (Some(&49), Some(&50)), "{case}");
    assert_eq!(sequences.len(), 2 + kept, "{case}");
    assert_eq!(summary.end, StreamEnd::Complete, "{case}");
    assert_eq!(summary.problems.get(kind), 1, "{case}");
}

#[test]
fn sizes_that_lie_inside_blocks() {
    use ProblemKind::{BadBlockHeader, BadMetadata, BadSize, EndsEarly, OverlongNumber};
    let stacks = |first: u32, count: u32, rest: &[u8]| [&first.to_le_bytes()[..], &count.to_le_bytes(), rest].concat();
    check("stack count", "StackBlock", &stacks(4, 0x7fff_ffff, &[0; 8]), BadSize, 4, 0);
    check("stack count by one", "StackBlock", &stacks(4, 2, &[0, 0, 0, 0]), EndsEarly, 12, 0);
    check("stack bytes", "StackBlock", &stacks(4, 1, &[0xff, 0xff, 0xff, 0x7f, 1, 2]), EndsEarly, 8, 0);
    check("stack ids", "StackBlock", &stacks(u32::MAX, 2, &[0; 8]), BadSize, 12, 0);
    check("no stack header", "StackBlock", &[1, 0], EndsEarly, 0, 0);
    check("no event header", "EventBlock", &[20], EndsEarly, 0, 0);
    check("short header", "EventBlock", &Blobs::compressed().header_size(19).content(), BadBlockHeader, 0, 0);
    let long = [&21u16.to_le_bytes()[..], &[1, 0], &[0; 16]].concat();
    check("header past the end", "EventBlock", &long, BadBlockHeader, 0, 0);
    check("header past the end", "MetadataBlock", &long, BadBlockHeader, 0, 0);
    // One good event is kept in front of the damage.
    let one = Blobs::compressed().with(event(1, 1, 1));
    let behind = one.content().len();
    let payload = [&[0x80][..], &leb128(0), &leb128(u32::MAX.into()), &[1, 2, 3]].concat();
    check("payload", "EventBlock", &one.clone().raw(&payload).content(), EndsEarly, behind, 1);
    let varint = [&[0x01][..], &[0xff; 11]].concat();
    check("varint", "EventBlock", &one.clone().raw(&varint).content(), OverlongNumber, behind, 1);
    let varint = [&[0x00][..], &[0x80; 11]].concat();
    check("varint of time", "EventBlock", &one.clone().raw(&varint).content(), OverlongNumber, behind, 1);
    let full = Blobs::uncompressed().with(event(1, 1, 1));
    let behind = full.content().len();
    check("blob size", "EventBlock", &full.clone().raw(&[3, 0, 0, 0]).content(), EndsEarly, behind, 1);
    let mut small = Blobs::uncompressed().with(event(1, 1, 1)).content();
    small[20] = 10;
    check("blob smaller than its header", "EventBlock", &small, BadSize, 20, 0);
    let points = |count: u32| [&[0; 8][..], &count.to_le_bytes(), &[0; 12]].concat();
    check("threads", "SPBlock", &points(u32::MAX), BadSize, 8, 0);
    check("threads by one", "SPBlock", &points(2), BadSize, 8, 0);
    let unterminated = [&9u32.to_le_bytes()[..], &utf16("P")[..2]].concat();
    let blob = |payload: Vec<u8>| Blobs::compressed().with(Blob { payload, ..Blob::default() }).content();
    check("provider without an end", "MetadataBlock", &blob(unterminated), BadMetadata, 20, 0);
    check("definition 0", "MetadataBlock", &blob(Definition::native(0, "P", 1, 0).payload()), BadMetadata, 20, 0);
    check("empty definition", "MetadataBlock", &blob(vec![]), BadMetadata, 20, 0);
}

#[test]
fn a_bad_definition_does_not_harm_its_neighbours() {
    let bad = Blob { payload: vec![1, 2, 3], ..Blob::default() };
    let good = |id| Blob { payload: Definition::native(id, "P", id, 0).payload(), ..Blob::default() };
    let block = Blobs::compressed().with(good(8)).with(bad).with(good(9)).with(good(8)).content();
    let events = Blobs::compressed().with(event(8, 1, 0)).with(event(9, 2, 0));
    let (seen, summary) = decode(&Stream::with_trace().block("MetadataBlock", &block).events(&events).end());
    assert_eq!(blobs(&seen).len(), 2);
    assert_eq!(summary.metadata, 2);
    let kinds: Vec<_> = summary.problems.iter().collect();
    assert_eq!(kinds, [(ProblemKind::BadMetadata, 1), (ProblemKind::DuplicateMetadata, 1)]);
}

#[test]
fn events_without_a_definition_are_counted_and_told_a_few_times() {
    let block = (1..=1000).fold(Blobs::compressed(), |block, n| block.with(event(if n == 500 { 1 } else { 77 }, n, 0)));
    let (seen, summary) = decode(&prelude().events(&block).end());
    assert_eq!(blobs(&seen).iter().map(|blob| blob.sequence).collect::<Vec<_>>(), [500]);
    assert_eq!(summary.problems.get(ProblemKind::UnknownMetadata), 999);
    assert_eq!(problems(&seen).len(), 20);
    assert_eq!(summary.loss.lost, 0, "they were in the stream");
}

#[test]
fn definition_ids_may_be_any_number() {
    let ids = [1, 3, 1000, u32::MAX, 0x7fff_ffff];
    let definitions: Vec<_> = ids.iter().map(|id| Definition::native(*id, "P", *id, 0)).collect();
    let block = ids.iter().zip(1..).fold(Blobs::compressed(), |block, (id, n)| block.with(event(*id, n, 0)));
    let (seen, _) = decode(&Stream::with_trace().metadata(&definitions).events(&block).end());
    assert_eq!(blobs(&seen).iter().map(|blob| blob.metadata).collect::<Vec<_>>(), ids);
}

#[test]
fn reading_stops_where_the_container_is_damaged_and_says_where() {
    use ProblemKind::{BadBlockSize, BadFraming, BadTrace, BadTypeName};
    let start = || prelude().events(&good_block());
    let at = start().offset();
    let name_length = |length: i32| [&[5, 5, 1][..], &[0; 8], &length.to_le_bytes(), &[0; 99]].concat();
    let cases: [(&str, Vec<u8>, ProblemKind, usize, usize); 11] = [
        ("tag", start().raw(b"garbage").end(), BadFraming, at, 1),
        ("second tag", start().raw(&[5, 6, 1]).raw(&[0; 20]).end(), BadFraming, at + 1, 1),
        ("third tag", start().raw(&[5, 5, 5]).raw(&[0; 20]).end(), BadFraming, at + 2, 1),
        ("negative name", start().raw(&name_length(-1)).end(), BadTypeName, at + 11, 1),
        ("long name", start().raw(&name_length(65)).end(), BadTypeName, at + 11, 1),
        ("end of type", start().raw(&name_length(5)).end(), BadFraming, at + 20, 1),
        ("negative size", start().block_of_size("EventBlock", -1, &[]).end(), BadBlockSize, at + 26, 1),
        ("huge size", start().block_of_size("EventBlock", (16 << 20) + 1, &[]).end(), BadBlockSize, at + 26, 1),
        ("no trace", Stream::new().events(&good_block()).end(), BadTrace, 32, 0),
        (
            "pointers of 5 bytes",
            Stream::new().trace(Trace { pointer_size: 5, ..Trace::default() }).end(),
            BadTrace,
            32,
            0,
        ),
        ("clock", Stream::new().trace(Trace { frequency: 0, ..Trace::default() }).end(), BadTrace, 32, 0),
    ];
    for (case, bytes, kind, at, events) in cases {
        let (seen, summary) = decode(&bytes);
        assert_eq!(summary.end, StreamEnd::Damaged { offset: at as u64 }, "{case}");
        assert_eq!(problems(&seen), [(kind, at as u64)], "{case}");
        assert_eq!(blobs(&seen).len(), events, "{case}");
    }
}

#[test]
fn a_size_that_does_not_lead_to_the_end_of_its_block_keeps_what_is_before() {
    let content = good_block().with(event(1, 51, 1)).content();
    let stream = prelude().block_of_size("EventBlock", content.len() as i32 - 1, &content).events(&good_block());
    let (seen, summary) = decode(&stream.end());
    assert_eq!(blobs(&seen).len(), 1);
    assert!(matches!(summary.end, StreamEnd::Damaged { .. }));
    let kinds: Vec<_> = problems(&seen).into_iter().map(|(kind, _)| kind).collect();
    assert_eq!(kinds, [ProblemKind::EndsEarly, ProblemKind::BadFraming]);
}

#[test]
fn the_end_of_a_cut_stream() {
    let stream = prelude().events(&good_block().with(event(1, 51, 1))).bytes();
    let content = good_block().with(event(1, 51, 1)).content().len();
    let offset = (stream.len() - 1 - content) as u64;
    let cut = |missing: usize| {
        let bytes = &stream[..stream.len() - missing];
        (decode(bytes), bytes.len() as u64)
    };
    // Between blocks.
    let ((seen, summary), length) = cut(0);
    assert_eq!((blobs(&seen).len(), summary.end), (2, StreamEnd::Cut { offset: length, block: None }));
    // In the last event, and in front of the block's end tag.
    for (missing, events) in [(1, 2), (2, 1), (5, 1)] {
        let ((seen, summary), length) = cut(missing);
        let declared = content as u64;
        let present = declared - (missing as u64 - 1);
        let block = Some(CutBlock { kind: BlockKind::Event, offset, declared, present });
        assert_eq!((blobs(&seen).len(), summary.end), (events, StreamEnd::Cut { offset: length, block }));
        assert_eq!(problems(&seen), [(ProblemKind::Cut, length)]);
    }
    // Nothing but the trace object, and less.
    let short = Stream::with_trace().bytes();
    let (seen, summary) = decode(&short);
    assert_eq!((seen.len(), summary.events), (2, 0));
    let (_, summary) = decode(&short[..90]);
    assert_eq!(summary.trace, None);
    assert!(matches!(summary.end, StreamEnd::Cut { block: Some(CutBlock { kind: BlockKind::Trace, .. }), .. }));
    let (_, summary) = decode(b"Nettr");
    assert_eq!(summary.end, StreamEnd::Cut { offset: 5, block: None });
}

#[test]
fn what_follows_the_end_is_told_once() {
    let stream = Stream::with_trace().raw(&[1]).raw(b"more").raw(&[0; 100]).bytes();
    let (seen, summary) = decode(&stream);
    assert_eq!(problems(&seen), [(ProblemKind::TrailingBytes, stream.len() as u64 - 104)]);
    assert_eq!(summary.end, StreamEnd::Complete);
    let twice = Stream::with_trace().trace(Trace { process_id: 1, ..Trace::default() }).end();
    let (seen, summary) = decode(&twice);
    assert_eq!(problems(&seen)[0].0, ProblemKind::DuplicateTrace);
    assert_eq!(summary.trace.and_then(|trace| trace.process_id), Some(4242));
}

#[test]
fn a_second_trace_object_stops_nothing_whatever_it_says() {
    let good = || prelude().events(&good_block());
    for (case, version) in [("older", 3), ("newer", 9)] {
        let second = good().object_start("Trace", version, version).raw(&[0; 48]).raw(&[6]);
        let (seen, summary) = decode(&second.events(&good_block()).end());
        assert_eq!((blobs(&seen).len(), summary.end), (2, StreamEnd::Complete), "{case}");
        assert_eq!(summary.problems.iter().collect::<Vec<_>>(), [(ProblemKind::DuplicateTrace, 1)], "{case}");
    }
    let unusable = good().trace(Trace { pointer_size: 5, ..Trace::default() });
    let (seen, summary) = decode(&unusable.events(&good_block()).end());
    assert_eq!((blobs(&seen).len(), summary.end), (2, StreamEnd::Complete));
    assert_eq!(summary.problems.iter().collect::<Vec<_>>(), [(ProblemKind::DuplicateTrace, 1)]);
}
