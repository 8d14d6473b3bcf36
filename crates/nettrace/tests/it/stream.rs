//! What is in good streams comes out.

use strata_nettrace::{Field, FieldType, Fields, Item, PointerSize, ProblemKind, Refused, StreamEnd, UtcTime};
use strata_testkit::nettrace::{Blob, Blobs, Definition, Stream, Trace, utf16};

use crate::seen::{Seen, blobs, decode, decode_chunks, event, gaps, prelude, problems, sample_stream, stacks};

#[test]
fn the_trace_object_comes_first() {
    let (seen, summary) = decode(&Stream::with_trace().end());
    let [Seen::Trace(trace)] = &seen[..] else { panic!("{seen:?}") };
    assert_eq!(summary.trace, Some(*trace));
    let utc = UtcTime { year: 2026, month: 7, day: 3, hour: 1, minute: 2, second: 3, millisecond: 4 };
    assert_eq!(trace.utc, utc);
    assert_eq!((trace.sync_ticks, trace.ticks_per_second), (1_000, 1_000_000_000));
    assert_eq!((trace.pointer_size, trace.process_id), (PointerSize::Eight, Some(4242)));
    assert_eq!((trace.processors, trace.sampling_period_ns), (Some(2), Some(1_000_000)));
    assert_eq!((summary.end, summary.problems.total()), (StreamEnd::Complete, 0));
    assert_eq!(trace.nanoseconds(u64::MAX), u64::MAX);
    let (_, windows) = decode(&Stream::new().trace(Trace { frequency: 10_000_000, ..Trace::default() }).end());
    let windows = windows.trace.unwrap();
    assert_eq!(windows.nanoseconds(17), 1_700);
    assert_eq!(windows.nanoseconds(u64::MAX), u64::MAX);
}

#[test]
fn events_come_out_as_they_went_in_with_either_header() {
    let all = [
        event(1, 1, 1),
        event(2, 2, 2),
        // Earlier than the one before.
        Blob { time: 900, sorted: true, ..event(2, 3, 0) },
        // Another thread, which starts its own numbers, about yet another.
        Blob { capture_thread: u64::MAX, thread: 77, sequence: 1, processor: 3, ..event(1, 0, 1) },
        Blob { capture_thread: u64::MAX, thread: 77, activity: [1; 16], related: [2; 16], ..event(1, 2, 1) },
        Blob { capture_thread: u64::MAX, thread: 77, activity: [0; 16], related: [2; 16], ..event(1, 3, 1) },
        Blob { payload: vec![9; 1000], time: u64::MAX, ..event(1, 4, 1) },
        Blob { payload: vec![], ..event(2, 5, 1) },
    ];
    for empty in [Blobs::compressed(), Blobs::uncompressed()] {
        for flags in [0, 0xbf] {
            let block = all.iter().fold(empty.clone(), |block, blob| block.with_fields(blob.clone(), flags));
            let (seen, summary) = decode(&prelude().events(&block).end());
            assert_eq!(blobs(&seen), all);
            let long = Some(vec![0x1000, 0x2000]);
            let short = Some(vec![0x3000]);
            let expected = [&long, &short, &None, &long, &long, &long, &long, &long].map(Clone::clone);
            assert_eq!(stacks(&seen), expected);
            assert_eq!((summary.events, summary.events_without_stack), (8, 1));
            assert_eq!(summary.times, Some((900, u64::MAX)));
            assert_eq!((summary.loss.lost, summary.problems.total()), (0, 0));
        }
    }
}

#[test]
fn the_formats_own_example() {
    let example = [
        0xcf, 0x05, 0x00, 0x92, 0x21, 0xff, 0xff, 0xff, 0xff, 0x0f, 0x92, 0x21, 0x01, 0xc0, 0x84, 0x3d, 0x0c, //
        1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12,
    ];
    let expected = Blob {
        metadata: 5,
        sequence: 1,
        capture_thread: 4242,
        processor: u32::MAX,
        thread: 4242,
        stack: 1,
        time: 1_000_000,
        sorted: true,
        payload: (1..=12).collect(),
        ..Blob::default()
    };
    let stream = prelude().metadata(&[Definition::native(5, "P", 1, 0)]);
    let at = stream.offset();
    let (seen, _) = decode(&stream.events(&Blobs::compressed().raw(&example)).end());
    assert_eq!(blobs(&seen), std::slice::from_ref(&expected));
    // Content begins at the next multiple of 4 behind tags, versions, name and size; blobs 20 bytes later.
    let content = (at + 15 + "EventBlock".len() + 1 + 4).next_multiple_of(4);
    let offset = (content + 20) as u64;
    assert!(matches!(seen.last(), Some(Seen::Event { offset: at, .. }) if *at == offset), "{seen:?}");
    // The builder writes the same bytes.
    let built = Blobs::compressed().with_fields(expected, 0xcf).content();
    assert_eq!(built[20..], example);
}

#[test]
fn numbers_without_a_flag_go_up_by_one_except_for_metadata_id_0() {
    let block = Blobs::compressed()
        // Metadata 1, number 1 of thread 7, time 1, no payload.
        .raw(&[0x83, 1, 0, 7, 0, 1, 0])
        // Metadata 2, then nothing new, then metadata 0, which has no number; all one tick later.
        .raw(&[0x01, 2, 1, 0x00, 1, 0x01, 0, 1])
        .raw(&[0x01, 1, 1])
        // Two numbers on.
        .raw(&[0x02, 1, 7, 0, 1]);
    let (seen, summary) = decode(&prelude().events(&block).end());
    let found: Vec<_> = blobs(&seen).iter().map(|blob| (blob.metadata, blob.sequence, blob.time)).collect();
    assert_eq!(found, [(1, 1, 1), (2, 2, 2), (2, 3, 3), (1, 4, 5), (1, 6, 6)]);
    assert_eq!(gaps(&seen), [(7, Some(1))]);
    assert_eq!(summary.problems.get(ProblemKind::UnknownMetadata), 1);
}

#[test]
fn an_event_without_a_stack_has_none_next_to_one_that_has() {
    for block in [Blobs::compressed(), Blobs::uncompressed()] {
        let block = block.with(event(1, 1, 1)).with(event(1, 2, 0)).with(event(1, 3, 3)).with(event(1, 4, 1));
        let (seen, summary) = decode(&prelude().events(&block).end());
        let stack = Some(vec![0x1000, 0x2000]);
        // The third names the interned empty stack.
        assert_eq!(stacks(&seen), [stack.clone(), None, None, stack]);
        assert_eq!(summary.events_without_stack, 2);
        assert_eq!(summary.problems.total(), 0);
    }
}

#[test]
fn stack_ids_start_again_after_a_sequence_point_and_serials_do_not() {
    let stream = prelude()
        .events(&Blobs::compressed().with(event(1, 1, 1)).with(event(1, 2, 1)).with(event(1, 3, 2)))
        .sequence_point(1500, &[(7, 3)])
        .events(&Blobs::compressed().with(event(1, 4, 2)))
        .stacks(1, &[&[0x9000], &[0xa000]])
        .events(&Blobs::compressed().with(event(1, 5, 1)).with(event(1, 6, 2)))
        .end();
    let (seen, _) = decode(&stream);
    let found = stacks(&seen);
    let long = Some(vec![0x1000, 0x2000]);
    assert_eq!(found, [long.clone(), long, Some(vec![0x3000]), None, Some(vec![0x9000]), Some(vec![0xa000])]);
    let mut serials = Vec::new();
    let mut sink = |item: Item<'_>| {
        if let Item::Event(event) = item {
            serials.extend(event.stack.map(|stack| stack.serial()));
        }
    };
    let mut decoder = strata_nettrace::Decoder::new();
    decoder.feed(&stream, &mut sink).unwrap();
    assert_eq!(serials, [0, 0, 1, 3, 4]);
    // The stack of before is told to be missing.
    assert_eq!(problems(&seen).iter().map(|(kind, _)| *kind).collect::<Vec<_>>(), [ProblemKind::UnknownStack]);
}

#[test]
fn a_stack_defined_again_has_a_serial_of_its_own() {
    let block = |n| Blobs::compressed().with(event(1, n, 1)).with(event(1, n + 1, 2)).with(event(1, n + 2, 4));
    let stream = prelude().events(&block(1)).stacks(2, &[&[0x7000]]).stacks(4, &[&[0x8000]]).events(&block(4)).end();
    let mut found = Vec::new();
    let mut sink = |item: Item<'_>| match item {
        Item::Event(event) => found.extend(event.stack.map(|stack| stack.serial())),
        Item::Problem(problem) if problem.kind == ProblemKind::DuplicateStack => assert_eq!(problem.value, Some(2)),
        _ => {}
    };
    strata_nettrace::Decoder::new().feed(&stream, &mut sink).unwrap();
    assert_eq!(found, [0, 1, 0, 3, 4]);
}

#[test]
fn stack_blocks_with_holes_between_their_ids() {
    let stream = Stream::with_trace()
        .metadata(&[Definition::native(1, "P", 1, 0)])
        .stacks(5, &[&[0x5000]])
        .stacks(6, &[&[0x6000]])
        .stacks(u32::MAX - 1, &[&[0xe000], &[0xf000]])
        .stacks(1, &[&[0x1000]]);
    let block = [5, 6, u32::MAX - 1, u32::MAX, 1, 2, 7]
        .iter()
        .zip(1..)
        .fold(Blobs::compressed(), |block, (stack, n)| block.with(event(1, n, *stack)));
    let (seen, summary) = decode(&stream.events(&block).end());
    let addresses: Vec<_> = stacks(&seen).into_iter().map(|stack| stack.map(|stack| stack[0])).collect();
    let expected = [Some(0x5000), Some(0x6000), Some(0xe000), Some(0xf000), Some(0x1000), None, None];
    assert_eq!(addresses, expected);
    assert_eq!(summary.problems.get(ProblemKind::UnknownStack), 2);
}

#[test]
fn of_stacks_defined_twice_the_newer_one_counts() {
    let named = |first: u32| {
        [1, 2, 3].into_iter().zip(first..).fold(Blobs::compressed(), |all, (id, n)| all.with(event(1, n, id)))
    };
    let start = || Stream::with_trace().metadata(&[Definition::native(1, "P", 1, 0)]).stacks(1, &[&[1], &[2]]);
    let cases: [(&str, Stream, [Option<u64>; 3], u64); 4] = [
        ("once", start(), [Some(1), Some(2), None], 0),
        ("inside the run", start().stacks(2, &[&[20], &[30]]), [Some(1), Some(20), Some(30)], 1),
        ("twice more", start().stacks(1, &[&[10]]).stacks(1, &[&[11]]), [Some(11), Some(2), None], 2),
        (
            "outside of it",
            start().stacks(9, &[&[9]]).stacks(3, &[&[3]]).stacks(3, &[&[33]]),
            [Some(1), Some(2), Some(33)],
            1,
        ),
    ];
    for (case, stream, expected, duplicates) in cases {
        let stream = stream.events(&named(1)).sequence_point(50, &[(7, 3)]).stacks(1, &[&[4], &[5]]).events(&named(4));
        let (seen, summary) = decode(&stream.end());
        let found: Vec<_> = stacks(&seen).into_iter().map(|stack| stack.map(|stack| stack[0])).collect();
        // After a sequence point nothing is a second definition.
        assert_eq!(found, [expected, [Some(4), Some(5), None]].concat(), "{case}");
        assert_eq!(summary.problems.get(ProblemKind::DuplicateStack), duplicates, "{case}");
    }
}

#[test]
fn thirty_two_bit_stacks() {
    let stack = [0xfedc_ba98u32, 0x10].iter().flat_map(|address| address.to_le_bytes()).collect();
    let stream = Stream::new()
        .trace(Trace { pointer_size: 4, ..Trace::default() })
        .metadata(&[Definition::native(1, "P", 1, 0)])
        .stack_bytes(1, &[stack, vec![1, 0, 0, 0, 9, 9]])
        .events(&Blobs::compressed().with(event(1, 1, 1)).with(event(1, 2, 2)))
        .end();
    let (seen, _) = decode(&stream);
    assert_eq!(stacks(&seen), [Some(vec![0xfedc_ba98, 0x10]), Some(vec![1])]);
    assert_eq!(problems(&seen).len(), 1, "two bytes too many are told");
}

#[test]
fn longer_headers_and_unknown_parts_of_newer_writers_change_nothing() {
    let plain = |size| Blobs::compressed().header_size(size).with(event(1, 1, 1)).with(event(2, 2, 0));
    let (expected, _) = decode(&prelude().events(&plain(20)).end());
    for size in [22, 28, 300] {
        let (seen, summary) = decode(&prelude().events(&plain(size)).end());
        assert_eq!(blobs(&seen), blobs(&expected));
        assert_eq!(summary.problems.total(), 0);
    }
    let stream = prelude().block("FutureBlock", &[0xff; 33]).events(&plain(20)).end();
    let (seen, summary) = decode(&stream);
    assert_eq!(blobs(&seen), blobs(&expected));
    assert_eq!((summary.problems.total(), summary.blocks.unknown), (1, 1));
    // A block that asks for a newer reader is not guessed at; the ones around it are.
    let content = plain(20).content();
    let stream = prelude().object_start("EventBlock", 3, 3).raw(&(content.len() as u32).to_le_bytes());
    let padding = stream.offset().next_multiple_of(4) - stream.offset();
    let stream = stream.raw(&vec![0; padding]).raw(&content).raw(&[6]).events(&plain(20)).end();
    let (seen, _) = decode(&stream);
    assert_eq!(blobs(&seen), blobs(&expected));
    assert_eq!(problems(&seen)[0].0, ProblemKind::NewerBlock);
}

fn field_v1(code: u32, nested: &[u8], name: &str) -> Vec<u8> {
    [&code.to_le_bytes(), nested, &utf16(name)].concat()
}

fn field_v2(name: &str, types: &[u8], extra: usize) -> Vec<u8> {
    let name = utf16(name);
    let size = (4 + name.len() + types.len() + extra) as u32;
    [&size.to_le_bytes(), &name[..], types, &vec![0xaa; extra]].concat()
}

fn counted(fields: &[Vec<u8>]) -> Vec<u8> {
    [&(fields.len() as u32).to_le_bytes()[..], &fields.concat()].concat()
}

#[test]
fn field_lists() {
    let field = |name: &str, field_type| Field { name: name.into(), field_type };
    let nested = counted(&[field_v1(9, &[], "x"), field_v1(18, &[], "y")]);
    let v1 = counted(&[field_v1(1, &nested, "pair"), field_v1(12, &[], "size")]);
    let object = FieldType::Object(vec![field("x", FieldType::Int32), field("y", FieldType::Text)]);
    let expected_v1 = Fields::Known(vec![field("pair", object), field("size", FieldType::UInt64)]);
    // Each record has a size, so that newer writers can add to it.
    let array = [19u32, 10].map(u32::to_le_bytes).concat();
    let v2 = |extra| counted(&[field_v2("numbers", &array, extra), field_v2("on", &3u32.to_le_bytes(), extra)]);
    let numbers = FieldType::Array(Box::new(FieldType::UInt32));
    let expected_v2 = Fields::Known(vec![field("numbers", numbers), field("on", FieldType::Boolean)]);
    // Arrays of arrays, and of objects, whose fields are written like those of the list itself.
    let inner = counted(&[field_v2("x", &9u32.to_le_bytes(), 4), field_v2("y", &18u32.to_le_bytes(), 0)]);
    let objects = [&19u32.to_le_bytes()[..], &1u32.to_le_bytes(), &inner].concat();
    let arrays = [19u32, 19, 6].map(u32::to_le_bytes).concat();
    let nested_v2 = counted(&[field_v2("pairs", &objects, 0), field_v2("rows", &arrays, 8)]);
    let expected_nested = Fields::Known(vec![
        field(
            "pairs",
            FieldType::Array(Box::new(FieldType::Object(vec![
                field("x", FieldType::Int32),
                field("y", FieldType::Text),
            ]))),
        ),
        field("rows", FieldType::Array(Box::new(FieldType::Array(Box::new(FieldType::Byte))))),
    ]);
    let base = || Definition { name: "RequestStart".into(), ..Definition::native(1, "My-Source", 3, 2) };
    let mut deep = field_v1(9, &[], "leaf");
    for _ in 0..1000 {
        deep = field_v1(1, &counted(&[deep]), "");
    }
    let cases = [
        ("none", base(), Fields::Known(vec![]), None, 1),
        ("version 4", Definition { fields: v1.clone(), ..base() }, expected_v1.clone(), None, 1),
        ("version 5", Definition { tags: vec![(2, v2(0))], ..base() }, expected_v2.clone(), None, 1),
        ("longer records", Definition { tags: vec![(2, v2(8))], ..base() }, expected_v2.clone(), None, 1),
        ("unknown tag", Definition { tags: vec![(3, vec![7; 9]), (2, v2(0))], ..base() }, expected_v2, None, 1),
        ("both", Definition { fields: v1.clone(), tags: vec![(2, v2(0))], ..base() }, expected_v1.clone(), None, 1),
        ("nested", Definition { tags: vec![(2, nested_v2)], ..base() }, expected_nested, None, 1),
        (
            "types of version 6",
            Definition { tags: vec![(2, counted(&[field_v2("v", &20u32.to_le_bytes(), 0)]))], ..base() },
            Fields::Opaque,
            None,
            1,
        ),
        ("opcode 0", Definition { tags: vec![(1, vec![0])], ..base() }, Fields::Known(vec![]), Some(0), 1),
        ("opcode 2", Definition { tags: vec![(1, vec![2])], ..base() }, Fields::Known(vec![]), Some(2), 2),
        ("unknown type", Definition { fields: counted(&[field_v1(99, &[], "x")]), ..base() }, Fields::Opaque, None, 1),
        ("count lies", Definition { fields: vec![0xff, 0xff, 0xff, 0x7f], ..base() }, Fields::Opaque, None, 1),
        ("too deep", Definition { fields: counted(&[deep]), ..base() }, Fields::Opaque, None, 1),
    ];
    for (case, definition, fields, stated_opcode, opcode) in cases {
        let bytes =
            Stream::with_trace().metadata(&[definition]).events(&Blobs::compressed().with(event(1, 1, 0))).end();
        let mut events = 0;
        let mut problems = 0;
        let mut sink = |item: Item<'_>| match item {
            Item::Event(event) => {
                events += 1;
                assert_eq!(event.metadata.fields, fields, "{case}");
                assert_eq!(event.metadata.stated_opcode, stated_opcode, "{case}");
                assert_eq!(event.metadata.opcode(), opcode, "{case}");
                assert_eq!(&*event.metadata.name, "RequestStart");
                assert_eq!((event.metadata.event_id, event.metadata.version, event.metadata.level), (3, 2, 4));
            }
            Item::Problem(problem) => {
                problems += 1;
                assert_eq!((problem.kind, problem.value), (ProblemKind::BadFields, Some(1)), "{case}");
            }
            _ => {}
        };
        let mut decoder = strata_nettrace::Decoder::new();
        decoder.feed(&bytes, &mut sink).unwrap();
        assert_eq!((events, problems), (1, usize::from(fields == Fields::Opaque)), "{case}");
    }
}

#[test]
fn streams_that_are_not_read_say_what_they_are() {
    let newer = Stream::new().object_start("Trace", 7, 6).raw(&[0; 48]).raw(&[6]).end();
    let older = Stream::new().object_start("Trace", 3, 0).raw(&[0; 48]).raw(&[6]).end();
    let good = sample_stream();
    let netperf = [b"\x14\0\0\0!FastSerialization.1\x05\x05\x01", &3u32.to_le_bytes()[..]].concat();
    let seven = [b"Nettrace\0\0\0\0", &7u32.to_le_bytes()[..], &1u32.to_le_bytes()].concat();
    let not = |first: &[u8]| Refused::NotNettrace { first: first.to_vec() };
    let cases: [(&[u8], Refused); 9] = [
        (b"", not(b"")),
        (b"hi", not(b"hi")),
        (b"%PDF-1.7 and more", not(b"%PDF-1.7")),
        (&good[100..], not(&good[100..108])),
        (b"Nettracex\0\0\0!FastSerialization.1", not(b"Nettrace")),
        (&netperf, Refused::NetPerf { version: Some(3) }),
        (&older, Refused::NetPerf { version: Some(3) }),
        (&seven, Refused::Newer { major: 7, minor: 1 }),
        (&newer, Refused::NewerTrace { version: 7, reader: 6 }),
    ];
    for (bytes, expected) in cases {
        let (seen, refused) = decode_chunks([bytes]);
        assert_eq!((seen, refused), (vec![], Err(expected.clone())));
        let (_, bytewise) = decode_chunks(bytes.chunks(1));
        assert_eq!(bytewise, Err(expected));
    }
    let unfinished = decode_chunks([&netperf[..12]]).1;
    assert_eq!(unfinished, Err(Refused::NetPerf { version: None }));
}
