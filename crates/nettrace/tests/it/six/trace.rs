//! Header, framing and trace block.

use strata_nettrace::{
    BlockKind, CutBlock, FormatVersion, PointerSize, ProblemKind, Refused, StreamEnd, TraceInfo, UtcTime,
};
use strata_testkit::nettrace6::{Definition, Rows, Stream, Thread, Trace, kind, string, string_of};

use super::seen::{Seen, decode, decode_chunks, event, events, prelude, problem_blocks, problems, row};

#[test]
fn the_trace_block_comes_first_and_has_what_its_writer_has_to_say() {
    let all = [
        ("HardwareThreadCount", "16"),
        ("ProcessId", "4242"),
        ("ExpectedCPUSamplingRate", "1000000"),
        ("SystemPageSize", "4096"),
        ("odd \"name\"\n", "<b>"),
        ("", ""),
    ];
    let odd = [("ProcessId", "-3"), ("HardwareThreadCount", "many"), ("ExpectedCPUSamplingRate", "99999999999")];
    let cases: [(&[_], [Option<u32>; 3]); 4] = [
        (&all, [Some(16), Some(4242), Some(1_000_000)]),
        (&[], [None, None, None]),
        (&odd, [None, None, None]),
        (&[("ProcessId", "1"), ("ProcessId", "2")], [None, Some(1), None]),
    ];
    for (pairs, [processors, process_id, sampling_period_ns]) in cases {
        let trace = Trace { pairs: pairs.to_vec(), ..Trace::default() };
        // Whatever the minor version, and whatever a newer writer adds to the block.
        for (minor, extra) in [(0, &[][..]), (9, &[0xff; 5])] {
            let content = [trace.content(), extra.to_vec()].concat();
            let (seen, summary) = decode(&Stream::of_version(6, minor).block(kind::TRACE, &content).end());
            let info = TraceInfo {
                version: FormatVersion { major: 6, minor },
                utc: UtcTime { year: 2026, month: 7, day: 3, hour: 1, minute: 2, second: 3, millisecond: 4 },
                sync_ticks: 1_000,
                ticks_per_second: 1_000_000_000,
                pointer_size: PointerSize::Eight,
                process_id,
                processors,
                sampling_period_ns,
            };
            assert_eq!(seen, [Seen::Trace(info)]);
            assert_eq!((summary.trace, summary.end), (Some(info), StreamEnd::Complete));
            let found: Vec<_> = summary.attributes.iter().map(|(k, v)| (k.into_owned(), v.into_owned())).collect();
            let expected: Vec<_> = pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
            assert_eq!(found, expected);
        }
    }
}

#[test]
fn text_that_is_not_utf8_is_shown_as_far_as_it_is() {
    let mut content = Trace { pairs: vec![], ..Trace::default() }.content();
    content.truncate(content.len() - 4);
    content.extend(1u32.to_le_bytes());
    content.extend(string("key"));
    content.extend(string_of(&[b'a', 0xff, b'b']));
    let (_, summary) = decode(&Stream::new().block(kind::TRACE, &content).end());
    assert_eq!(summary.attributes.get("key").as_deref(), Some("a\u{fffd}b"));
    assert_eq!(format!("{:?}", summary.attributes), r#"{"key": "a�b"}"#);
}

#[test]
fn pairs_that_cannot_be_read_leave_the_trace_usable() {
    let good = Trace { pairs: vec![("ProcessId", "7")], ..Trace::default() }.content();
    let count = good.len() - string("ProcessId").len() - string("7").len() - 4;
    let mut many = good.clone();
    many[count] = 200;
    let mut long = good.clone();
    *long.last_mut().unwrap() = 1;
    let at = long.len() - 2;
    long[at] = 5;
    let start = Stream::new().offset() + 4;
    let cases = [(many, good.len(), Some(7)), (long, count + 4, None), (good[..count + 2].to_vec(), count, None)];
    for (content, at, process_id) in cases {
        let (seen, summary) = decode(&Stream::new().block(kind::TRACE, &content).end());
        assert_eq!(problems(&seen), [(ProblemKind::EndsEarly, start + at, None)]);
        assert_eq!(problem_blocks(&seen), [Some(BlockKind::Trace)]);
        assert_eq!(summary.trace.and_then(|trace| trace.process_id), process_id);
        assert_eq!(summary.end, StreamEnd::Complete);
    }
}

#[test]
fn streams_that_cannot_be_used_stop_where_they_say_so() {
    use ProblemKind::BadTrace;
    let trace = |trace: &Trace| Stream::new().trace(trace).events(&Rows::compressed().with(row(1, 1, 0))).end();
    let cases = [
        ("no trace", Stream::new().metadata(&[Definition::new(1, "P", 1, "")]).end(), 20),
        ("pointers of 5 bytes", trace(&Trace { pointer_size: 5, ..Trace::default() }), 20),
        ("clock", trace(&Trace { frequency: 0, ..Trace::default() }), 20),
        ("short", Stream::new().block(kind::TRACE, &Trace::default().content()[..35]).end(), 20),
    ];
    for (case, bytes, at) in cases {
        let (seen, summary) = decode(&bytes);
        assert_eq!(problems(&seen), [(BadTrace, at, None)], "{case}");
        assert_eq!(summary.end, StreamEnd::Damaged { offset: at as u64 }, "{case}");
    }
    for (major, minor) in [(7, 0), (u32::MAX, 3), (5, 0)] {
        let (seen, refused) = decode_chunks([&Stream::of_version(major, minor).trace(&Trace::default()).end()[..]]);
        assert_eq!((seen, refused), (vec![], Err(Refused::Newer { major, minor })));
    }
}

#[test]
fn a_second_trace_block_is_told_and_changes_nothing() {
    let second = Trace { pairs: vec![("ProcessId", "9")], pointer_size: 4, ..Trace::default() };
    let stream = prelude();
    let at = stream.offset() + 4;
    let (seen, summary) = decode(&stream.trace(&second).events(&Rows::compressed().with(row(1, 1, 2))).end());
    assert_eq!(problems(&seen), [(ProblemKind::DuplicateTrace, at, None)]);
    assert_eq!(summary.trace.and_then(|trace| trace.process_id), None);
    assert_eq!(summary.attributes.get("ProcessId"), None);
    assert_eq!(events(&seen)[0].stack, Some(vec![0x3000]));
}

#[test]
fn blocks_of_unknown_kinds_are_skipped() {
    let rows = Rows::compressed().with(row(1, 1, 0)).with(row(2, 2, 0));
    for kind in [9, 200, 255] {
        for content in [&[][..], &[0; 3], &[0xff; 1000]] {
            let stream = prelude();
            let at = stream.offset() + 4;
            let (seen, summary) = decode(&stream.block(kind, content).events(&rows).end());
            assert_eq!(events(&seen), [event(1, 1, 0), event(2, 2, 0)]);
            assert_eq!(problems(&seen), [(ProblemKind::UnknownBlock, at, Some(kind.into()))]);
            assert_eq!((summary.blocks.unknown, summary.end), (1, StreamEnd::Complete));
        }
    }
}

#[test]
fn the_end_of_stream_is_the_end() {
    for content in [&[][..], &[1, 2, 3]] {
        let (seen, summary) = decode(&prelude().block(kind::END_OF_STREAM, content).bytes());
        assert_eq!((problems(&seen), summary.end), (vec![], StreamEnd::Complete));
    }
    let stream = prelude().block(kind::END_OF_STREAM, &[]);
    let at = stream.offset();
    let (seen, summary) = decode(&stream.events(&Rows::compressed().with(row(1, 1, 0))).end());
    assert_eq!(problems(&seen), [(ProblemKind::TrailingBytes, at, None)]);
    assert_eq!((summary.events, summary.end), (0, StreamEnd::Complete));
}

#[test]
fn the_end_of_a_cut_stream() {
    let rows = Rows::compressed().with(row(1, 1, 0)).with(row(1, 2, 0));
    let stream = prelude().events(&rows).bytes();
    let content = rows.content().len();
    let (seen, summary) = decode(&stream);
    let length = stream.len() as u64;
    assert_eq!((events(&seen).len(), summary.end), (2, StreamEnd::Cut { offset: length, block: None }));
    let cut = &stream[..stream.len() - 1];
    let (seen, summary) = decode(cut);
    let block = CutBlock {
        kind: BlockKind::Event,
        offset: length - content as u64,
        declared: content as u64,
        present: content as u64 - 1,
    };
    assert_eq!(summary.end, StreamEnd::Cut { offset: length - 1, block: Some(block) });
    assert_eq!((events(&seen).len(), problems(&seen)), (1, vec![(ProblemKind::Cut, cut.len(), Some(1))]));
    // A size that lies takes what follows for the rest of its block, and then the stream ends too early.
    let long = prelude().block_of_size(kind::EVENT, 0x00ff_ffff, &rows.content()).end();
    let (seen, summary) = decode(&long);
    assert!(matches!(summary.end, StreamEnd::Cut { block: Some(CutBlock { declared: 0x00ff_ffff, .. }), .. }));
    assert_eq!(events(&seen).len(), 2);
}

#[test]
fn thirty_two_bit_stacks() {
    let stack = [0xfedc_ba98u32, 0x10].iter().flat_map(|address| address.to_le_bytes()).collect();
    let stream = Stream::new()
        .trace(&Trace { pointer_size: 4, ..Trace::default() })
        .metadata(&[Definition::new(1, "P", 1, "")])
        .threads(&[Thread::new(1)]);
    let at = stream.offset() + 4 + 8 + 4 + 8;
    let stream = stream.stack_bytes(1, &[stack, vec![1, 0, 0, 0, 9, 9]]);
    let (seen, _) = decode(&stream.events(&Rows::compressed().with(row(1, 1, 1)).with(row(1, 2, 2))).end());
    let stacks: Vec<_> = events(&seen).into_iter().map(|event| event.stack).collect();
    assert_eq!(stacks, [Some(vec![0xfedc_ba98, 0x10]), Some(vec![1])]);
    assert_eq!(problems(&seen), [(ProblemKind::UnevenStack, at, Some(6))]);
}
