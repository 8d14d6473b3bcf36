//! How a stream is cut into chunks changes nothing, and no bytes make the decoder panic.

use proptest::prelude::*;
use strata_nettrace::StreamEnd;
use strata_testkit::nettrace6::{Row, Rows};

use super::seen::{decode_chunks, events, prelude, row, sample_stream};
use crate::chunks::{edited, edits};

#[test]
fn byte_by_byte_is_the_same_as_all_at_once() {
    let stream = sample_stream();
    let whole = decode_chunks([&stream[..]]);
    let summary = whole.1.as_ref().expect("good");
    assert_eq!((summary.end, summary.events, summary.problems.total()), (StreamEnd::Complete, 8, 1));
    assert_eq!((summary.loss.lost, summary.metadata), (3, 3));
    let blocks = summary.blocks;
    assert_eq!([blocks.event, blocks.metadata, blocks.stack, blocks.sequence_point, blocks.unknown], [3, 2, 2, 2, 1]);
    assert_eq!([blocks.thread, blocks.remove_thread, blocks.label_list], [2, 1, 2]);
    for size in [1, 2, 3, 5, 7, 64, 100] {
        assert_eq!(decode_chunks(stream.chunks(size)), whole, "chunks of {size}");
    }
    for at in 0..stream.len() {
        assert_eq!(decode_chunks([&stream[..at], &stream[at..]]), whole, "in two at {at}");
    }
}

#[test]
fn cut_at_every_byte_keeps_all_that_is_whole() {
    let stream = sample_stream();
    let (seen, _) = decode_chunks([&stream[..]]);
    let all = events(&seen);
    let mut least = 0;
    for at in 1..stream.len() {
        let (seen, summary) = decode_chunks([&stream[..at]]);
        let summary = summary.unwrap_or_else(|refused| panic!("cut at {at}: {refused}"));
        assert!(matches!(summary.end, StreamEnd::Cut { offset, .. } if offset == at as u64), "{at}: {:?}", summary.end);
        let unknown = summary.blocks.unknown;
        assert_eq!(summary.problems.total(), 1 + unknown, "cut at {at}: only the cut itself: {seen:?}");
        let kept = events(&seen);
        assert_eq!(kept, all[..kept.len()], "cut at {at}");
        assert!(kept.len() >= least, "cut at {at}: more bytes, fewer events");
        least = kept.len();
        assert_eq!(decode_chunks(stream[..at].chunks(1)), (seen, Ok(summary)), "cut at {at}, byte by byte");
    }
    // Only the end mark is missing.
    assert_eq!(least, all.len());
}

fn any_row() -> impl Strategy<Value = Row> {
    (0..4u32, 0..6u32, 0..4u64, 0..5u32, any::<u32>(), 0..3usize, any::<bool>()).prop_map(
        |(metadata, sequence, thread, stack, time, payload, sorted)| Row {
            metadata,
            sequence,
            capture_thread: thread,
            thread: thread ^ 1,
            stack,
            labels: stack,
            time: u64::from(time),
            sorted,
            payload: vec![7; payload * 90],
            ..Row::default()
        },
    )
}

/// A stream of random events, some of whose bytes were changed, inserted or taken away.
fn damaged_stream() -> impl Strategy<Value = Vec<u8>> {
    let blocks = prop::collection::vec((any::<bool>(), prop::collection::vec(any_row(), 0..6)), 0..4);
    (blocks, edits()).prop_map(|(blocks, edits)| {
        let mut stream = prelude();
        for (compressed, rows) in blocks {
            let empty = if compressed { Rows::compressed() } else { Rows::uncompressed() };
            stream = stream.events(&rows.into_iter().fold(empty, Rows::with)).remove_threads(&[(2, 4)]);
        }
        edited(stream.raw(&sample_stream()[20..]).end(), &edits)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1000) })]

    #[test]
    fn damaged_streams_never_panic_and_chunks_never_matter(bytes in damaged_stream(), size in 1..200usize) {
        let whole = decode_chunks([&bytes[..]]);
        prop_assert_eq!(&decode_chunks(bytes.chunks(size)), &whole);
        prop_assert_eq!(&decode_chunks(bytes.chunks(1)), &whole);
    }

    #[test]
    fn any_content_of_any_block_never_panics(kind in 1..10u8, bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let stream = prelude().block(kind, &bytes).events(&Rows::compressed().with(row(1, 1, 1))).end();
        let (_, summary) = decode_chunks([&stream[..]]);
        prop_assert_eq!(summary.map(|summary| summary.end), Ok(StreamEnd::Complete));
    }
}
