//! What was written is read again as what it was.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use strata_nettrace::order::TimeOrder;
use strata_nettrace::write::{EventTooLong, WriteCounts, Writer};
use strata_nettrace::{Decoder, Gap, Item, MAX_BLOCK_BYTES, Metadata, ProblemKind, StreamEnd, Summary, TraceInfo};
use strata_testkit::nettrace::{Blob, Blobs, Definition, Stream, Trace, utf16};

use crate::chunks::damaged_stream;
use crate::corpus::files;
use crate::seen::{Seen, decode, event, gaps, prelude, sample_stream};

/// What a stream says, without the numbers and ids that each stream has of its own.
#[derive(Clone, PartialEq, Debug)]
enum Said {
    Event { blob: Blob, stack: Option<Vec<u64>> },
    Gap { thread: u64, lost: Option<u32>, after: u64, before: u64 },
    Point(u64),
}

#[derive(Debug)]
struct Reading {
    trace: Option<TraceInfo>,
    said: Vec<Said>,
    /// Those of the events that came.
    definitions: BTreeMap<u32, Metadata>,
    summary: Summary,
}

impl Reading {
    fn gaps(&self) -> Vec<&Said> {
        self.said.iter().filter(|said| matches!(said, Said::Gap { .. })).collect()
    }

    fn events(&self) -> Vec<&Said> {
        self.said.iter().filter(|said| matches!(said, Said::Event { .. })).collect()
    }
}

fn read(bytes: &[u8]) -> Reading {
    let mut said = Vec::new();
    let mut used = BTreeSet::new();
    let mut sink = |item: Item<'_>| match Seen::of(&item) {
        Seen::Event { mut blob, stack, .. } => {
            used.insert(blob.metadata);
            (blob.sequence, blob.stack) = (0, 0);
            said.push(Said::Event { blob, stack });
        }
        Seen::Gap(Gap { capture_thread: thread, lost, after, before, .. }) => {
            said.push(Said::Gap { thread, lost, after, before });
        }
        Seen::SequencePoint { time, .. } => said.push(Said::Point(time)),
        Seen::Trace(_) | Seen::Problem(_) => {}
    };
    let mut decoder = Decoder::new();
    decoder.feed(bytes, &mut sink).unwrap();
    let definitions = decoder.metadata().iter().map(|metadata| (metadata.id, metadata.clone())).collect();
    let summary = decoder.finish(&mut sink).unwrap();
    let mut reading = Reading { trace: summary.trace, said, definitions, summary };
    // A cut stream may define events in its last block.
    reading.definitions.retain(|id, _| used.contains(id));
    reading
}

/// Writes those items again that are wanted.
fn rewrite(bytes: &[u8], chunk: usize, want: impl Fn(&Item<'_>) -> bool) -> (Vec<u8>, WriteCounts, Vec<EventTooLong>) {
    let (mut writer, mut out, mut refused) = (None, Vec::new(), Vec::new());
    let mut decoder = Decoder::new();
    for chunk in bytes.chunks(chunk) {
        decoder.feed(chunk, &mut |item: Item<'_>| write(&mut writer, &item, &want, &mut refused)).unwrap();
        if let Some(writer) = &mut writer {
            out.extend(writer.bytes());
            writer.clear();
        }
    }
    decoder.finish(&mut |item: Item<'_>| write(&mut writer, &item, &want, &mut refused)).unwrap();
    let Some(mut writer) = writer else { return (out, WriteCounts::default(), refused) };
    writer.finish();
    out.extend(writer.bytes());
    (out, writer.counts(), refused)
}

fn write(
    writer: &mut Option<Writer>,
    item: &Item<'_>,
    want: &impl Fn(&Item<'_>) -> bool,
    refused: &mut Vec<EventTooLong>,
) {
    if let Item::Trace(trace) = item {
        *writer = Some(Writer::new(trace).unwrap());
    } else if want(item) {
        refused.extend(writer.as_mut().unwrap().item(item).err());
    }
}

/// Sizes of all blocks, found by their names.
fn block_sizes(bytes: &[u8]) -> Vec<u32> {
    let names = [&b"EventBlock\x06"[..], b"MetadataBlock\x06", b"StackBlock\x06", b"SPBlock\x06"];
    let at = |start: usize| {
        let name = names.iter().find(|name| bytes[start..].starts_with(name))?;
        bytes.get(start + name.len()..start + name.len() + 4)
    };
    (0..bytes.len()).filter_map(at).map(|size| u32::from_le_bytes(size.try_into().unwrap())).collect()
}

#[track_caller]
fn assert_same(name: &str, before: &Reading, after: &Reading) {
    assert_eq!(before.trace, after.trace, "{name}");
    assert_eq!(before.definitions, after.definitions, "{name}");
    // Not by one assertion: nobody can read the difference of a hundred thousand events.
    if let Some((before, after)) = before.said.iter().zip(&after.said).find(|(before, after)| before != after) {
        panic!("{name}: {after:?} in place of {before:?}");
    }
    assert_eq!(before.said.len(), after.said.len(), "{name}");
    assert_eq!((after.summary.end, after.summary.problems.total()), (StreamEnd::Complete, 0), "{name}");
}

#[test]
fn real_files_are_read_again_as_they_were() {
    for (name, bytes) in files() {
        let (written, counts, _) = rewrite(&bytes, bytes.len(), |_| true);
        let (before, after) = (read(&bytes), read(&written));
        println!("{name}: {} bytes, written again {} bytes", bytes.len(), written.len());
        assert_same(&name, &before, &after);
        assert_eq!(counts.events, before.summary.events, "{name}");
        assert_eq!((counts.bytes, counts.hidden_gaps), (written.len() as u64, 0), "{name}");
        assert!(block_sizes(&written).iter().all(|size| *size <= 100 << 10), "{name}");
        assert!(written == rewrite(&bytes, 4321, |_| true).0, "{name}: other bytes from other chunks");
        assert!(written == rewrite(&written, usize::MAX, |_| true).0, "{name}: other bytes from what was written");
    }
}

#[test]
fn every_kind_of_item_is_written_again() {
    let bytes = sample_stream();
    let written = rewrite(&bytes, usize::MAX, |_| true).0;
    assert_same("sample", &read(&bytes), &read(&written));
    assert!(!read(&bytes).gaps().is_empty());
    // Nothing of it comes from the source's own numbers.
    assert_eq!(rewrite(&written, usize::MAX, |_| true).0, written);
}

#[test]
fn a_stream_without_events_is_one() {
    let written = rewrite(&Stream::with_trace().bytes(), usize::MAX, |_| true).0;
    assert_eq!(written, Stream::with_trace().end());
    let small = Stream::new().trace(Trace { pointer_size: 4, ..Trace::default() }).end();
    assert_eq!(rewrite(&small, 1, |_| true).0, small);
}

#[test]
fn definitions_stay_byte_for_byte() {
    let odd = Definition {
        id: 7,
        provider: "9lives!<b>&\"x".into(),
        name: "line\nbreak 😀".into(),
        event_id: 3,
        keywords: u64::MAX,
        version: 2,
        level: 5,
        // An array in fields of version 5 that are longer than known ones, an opcode, a tag that nobody knows.
        tags: vec![
            (1, vec![9]),
            (2, {
                let mut field = utf16("numbers");
                field.extend([19, 0, 0, 0, 9, 0, 0, 0, 0xaa, 0xbb]);
                let mut fields = 1u32.to_le_bytes().to_vec();
                fields.extend((field.len() as u32 + 4).to_le_bytes());
                fields.extend(field);
                fields
            }),
            (77, vec![1, 2, 3]),
        ],
        ..Definition::default()
    };
    // Half a surrogate pair in the provider's name, which no `str` can have, and fields that cannot be read.
    let mut payload = Definition { id: 8, provider: "\u{e000}".into(), ..odd.clone() }.payload();
    payload[4..6].copy_from_slice(&0xd800u16.to_le_bytes());
    payload.truncate(payload.len() - 5);
    let blobs = Blobs::compressed().with(Blob { payload: odd.payload(), ..Blob::default() });
    let blobs = blobs.with(Blob { payload: payload.clone(), ..Blob::default() });
    let stream = Stream::with_trace().block("MetadataBlock", &blobs.content());
    let bytes = stream.events(&Blobs::compressed().with(event(8, 1, 0)).with(event(7, 2, 0))).end();
    let written = rewrite(&bytes, usize::MAX, |_| true).0;
    let (before, after) = (read(&bytes), read(&written));
    assert_eq!(before.definitions, after.definitions);
    assert_eq!(after.definitions[&7].opcode(), 9);
    for payload in [&odd.payload(), &payload] {
        assert!(written.windows(payload.len()).any(|window| window == payload));
    }
}

/// An event of a thread with its number.
fn by(thread: u64, sequence: u32) -> Blob {
    Blob { capture_thread: thread, ..event(1, sequence, 1) }
}

fn block(events: &[(u64, u32)]) -> Blobs {
    events.iter().fold(Blobs::compressed(), |block, (thread, sequence)| block.with(by(*thread, *sequence)))
}

/// Writes the stream without the events of these times; checks the gaps that are seen then, and that no stack is lost.
fn check_gaps(stream: Stream, left_out: &[u64], expected: &[(u64, Option<u32>)]) {
    let bytes = stream.end();
    let want = |item: &Item<'_>| !matches!(item, Item::Event(event) if left_out.contains(&event.header.time));
    let (written, counts, _) = rewrite(&bytes, usize::MAX, want);
    assert_eq!(gaps(&decode(&written).0), expected, "without {left_out:?}");
    assert_eq!(counts.hidden_gaps, 0);
    assert_eq!(rewrite(&written, usize::MAX, |_| true).0, written);
    let wanted = |said: &&Said| !matches!(said, Said::Event { blob, .. } if left_out.contains(&blob.time));
    let (before, after) = (read(&bytes), read(&written));
    let before: Vec<_> = before.events().into_iter().filter(wanted).collect();
    assert_eq!(after.events(), before, "without {left_out:?}");
}

#[test]
fn what_is_left_out_is_no_loss() {
    // Times are 1000 + the number.
    check_gaps(prelude().events(&block(&[(7, 1), (7, 2), (7, 3), (9, 4), (7, 4)])), &[1002, 1004], &[]);
    check_gaps(prelude().events(&block(&[(7, 90), (7, 1), (7, 2)])), &[1001], &[]);
    let points = prelude().events(&block(&[(7, 1), (9, 1)])).sequence_point(3000, &[(7, 1), (9, 1), (5, 8)]);
    check_gaps(points.clone().stacks(1, &[&[1]]).events(&block(&[(7, 2), (9, 2)])), &[1001], &[]);
    check_gaps(points, &[1001, 1002], &[]);
}

#[test]
fn real_gaps_keep_their_size() {
    check_gaps(prelude().events(&block(&[(7, 1), (7, 5), (7, 6)])), &[], &[(7, Some(3))]);
    check_gaps(prelude().events(&block(&[(7, 1), (7, 2), (7, 5), (7, 6)])), &[1002, 1005], &[(7, Some(2))]);
    // At a sequence point.
    let point = prelude().events(&block(&[(7, 1), (7, 2)])).sequence_point(3000, &[(7, 6)]);
    check_gaps(point.clone(), &[1002], &[(7, Some(4))]);
    // Of a thread of which nothing else is left: in front of its first event, and with no event at all.
    check_gaps(prelude().events(&block(&[(9, 8), (7, 1), (7, 5)])), &[1001], &[(7, Some(3))]);
    check_gaps(point, &[1001, 1002], &[(7, Some(4))]);
}

#[test]
fn gaps_of_unknown_size_stay_unknown() {
    check_gaps(prelude().events(&block(&[(7, 90), (7, 5), (7, 6)])), &[], &[(7, None)]);
    check_gaps(prelude().events(&block(&[(7, 90), (7, 5), (7, 6)])), &[1090], &[(7, None)]);
    // Threads that the last sequence point did not name, but an added one is not to blame for it.
    let stream = prelude().events(&block(&[(7, 1), (9, 1), (9, 4), (7, 90), (7, 5), (7, 6)]));
    check_gaps(stream, &[], &[(9, Some(2)), (7, Some(88)), (7, None)]);
    let stream = prelude().events(&block(&[(7, 90), (9, 1), (9, 4), (7, 5), (7, 6)]));
    check_gaps(stream, &[1001], &[(9, Some(2)), (7, None)]);
}

#[test]
fn sequence_points_are_not_added_without_end() {
    let threads = 1000;
    let blobs = (0..threads).fold(Blobs::compressed(), |blobs, thread| {
        let at = |sequence| Blob { time: 2000 + u64::from(sequence), ..by(thread, sequence) };
        blobs.with(at(1)).with(at(3))
    });
    let bytes = prelude().events(&blobs).end();
    let want = |item: &Item<'_>| !matches!(item, Item::Event(event) if event.header.time == 2001);
    let (written, counts, _) = rewrite(&bytes, usize::MAX, want);
    let shown = gaps(&decode(&written).0).len() as u64;
    assert_eq!(shown + counts.hidden_gaps, threads);
    assert_eq!(shown, 256);
}

#[test]
fn an_event_without_a_stack_names_one_without_frames() {
    // TraceEvent would show the stack of the event before.
    let blobs = Blobs::compressed().with(event(1, 1, 1)).with(event(1, 2, 0)).with(event(1, 3, 3)).with(event(1, 4, 1));
    let (seen, _) = decode(&rewrite(&prelude().events(&blobs).end(), usize::MAX, |_| true).0);
    let ids: Vec<_> = crate::seen::blobs(&seen).iter().map(|blob| blob.stack).collect();
    assert_eq!(ids, [1, 2, 2, 1]);
    assert_eq!(crate::seen::stacks(&seen).iter().map(Option::is_some).collect::<Vec<_>>(), [true, false, false, true]);
}

#[test]
fn large_events_get_blocks_of_their_own() {
    let sizes = [60_000, 70_000, 200_000, 3, 1 << 20];
    let blobs = sizes.iter().zip(1..).fold(Blobs::compressed(), |blobs, (size, sequence)| {
        blobs.with(Blob { payload: vec![sequence as u8; *size], ..event(1, sequence, 1) })
    });
    let bytes = prelude().events(&blobs).end();
    let written = rewrite(&bytes, usize::MAX, |_| true).0;
    assert_same("large", &read(&bytes), &read(&written));
    assert_eq!(read(&written).summary.blocks.event, 5);
}

#[test]
fn an_event_that_fits_in_no_block_is_refused_and_shows_as_lost() {
    let large = Blob { payload: vec![1; MAX_BLOCK_BYTES as usize - 50], ..event(1, 2, 0) };
    let stream = prelude().events(&Blobs::compressed().with(event(1, 1, 0)));
    let stream = stream.events(&Blobs::compressed().with(large)).events(&Blobs::compressed().with(event(1, 3, 0)));
    let bytes = stream.end();
    assert_eq!(read(&bytes).summary.events, 3);
    let (written, counts, refused) = rewrite(&bytes, usize::MAX, |_| true);
    assert_eq!(refused.iter().map(|refused| refused.payload).collect::<Vec<_>>(), [MAX_BLOCK_BYTES as usize - 50]);
    assert_eq!((counts.events, read(&written).summary.loss.lost), (2, 1));
}

#[test]
fn an_ordered_copy_has_every_event_where_its_time_is() {
    for (name, bytes) in files() {
        let mut writer = None;
        let mut sink = |item: Item<'_>| write(&mut writer, &item, &|_| true, &mut Vec::new());
        let mut order = TimeOrder::new();
        let mut decoder = Decoder::new();
        decoder.feed(&bytes, &mut |item: Item<'_>| order.push(item, &mut sink)).unwrap();
        decoder.finish(&mut |item: Item<'_>| order.push(item, &mut sink)).unwrap();
        order.finish(&mut sink);
        let mut writer = writer.unwrap();
        writer.finish();
        let mut times = Vec::new();
        for said in read(writer.bytes()).said {
            if let Said::Event { blob, .. } = said {
                assert!(blob.sorted, "{name}");
                times.push(blob.time);
            }
        }
        println!("{name}: {} bytes, in order {} bytes", bytes.len(), writer.bytes().len());
        assert!(times.is_sorted(), "{name}");
        assert_eq!(times.len() as u64, read(&bytes).summary.events, "{name}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

    #[test]
    fn whatever_decodes_can_be_written_and_decodes_again(bytes in damaged_stream()) {
        let mut decoder = Decoder::new();
        if decoder.feed(&bytes, &mut |_| {}).is_err() || decoder.trace().is_none() {
            return Ok(());
        }
        let before = read(&bytes);
        let written = rewrite(&bytes, usize::MAX, |_| true).0;
        let after = read(&written);
        // Definitions stay what they are.
        let problems = &after.summary.problems;
        prop_assert_eq!(problems.total(), problems.get(ProblemKind::BadFields));
        prop_assert_eq!(before.events(), after.events());
        prop_assert_eq!(&before.definitions, &after.definitions);
        // Two gaps with nothing but an unreadable event between them become one.
        if before.summary.problems.get(ProblemKind::UnknownMetadata) == 0 {
            prop_assert_eq!(before.gaps(), after.gaps());
            prop_assert_eq!(&rewrite(&written, usize::MAX, |_| true).0, &written);
        }
    }
}
