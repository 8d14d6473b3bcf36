//! How a stream is cut into chunks changes nothing, and no bytes make the decoder panic.

use proptest::prelude::*;
use strata_nettrace::StreamEnd;
use strata_testkit::nettrace::{Blob, Blobs};

use crate::seen::{blobs, decode_chunks, prelude, sample_stream};

#[test]
fn byte_by_byte_is_the_same_as_all_at_once() {
    let stream = sample_stream();
    let whole = decode_chunks([&stream[..]]);
    assert_eq!(whole.1.as_ref().map(|summary| summary.end), Ok(StreamEnd::Complete));
    assert_eq!(blobs(&whole.0).len(), 8);
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
    let (_, summary) = decode_chunks([&stream[..]]);
    let all = blobs(&decode_chunks([&stream[..]]).0);
    let total = summary.expect("good").events;
    let mut least = 0;
    for at in 1..stream.len() {
        let (seen, summary) = decode_chunks([&stream[..at]]);
        let summary = summary.unwrap_or_else(|refused| panic!("cut at {at}: {refused}"));
        assert!(matches!(summary.end, StreamEnd::Cut { offset, .. } if offset == at as u64), "{at}: {:?}", summary.end);
        assert_eq!(summary.problems.total(), 1, "cut at {at}: only the cut itself");
        let kept = blobs(&seen);
        assert_eq!(kept, all[..kept.len()], "cut at {at}");
        assert!(kept.len() >= least, "cut at {at}: more bytes, fewer events");
        least = kept.len();
        assert_eq!(decode_chunks(stream[..at].chunks(1)), (seen, Ok(summary)), "cut at {at}, byte by byte");
    }
    // Only the end mark is missing.
    assert_eq!(least as u64, total);
}

pub(crate) fn any_blob() -> impl Strategy<Value = Blob> {
    (0..4u32, 0..6u32, 0..3u64, 0..4u32, any::<u32>(), 0..3usize, any::<bool>()).prop_map(
        |(metadata, sequence, thread, stack, time, payload, sorted)| Blob {
            metadata,
            sequence,
            capture_thread: thread * 0x1234_5678,
            thread,
            stack,
            time: u64::from(time),
            sorted,
            payload: vec![7; payload * 90],
            ..Blob::default()
        },
    )
}

/// A place in a stream, what happens there, and the byte that comes in.
pub(crate) type Edit = (prop::sample::Index, u8, u8);

/// Some edits.
pub(crate) fn edits() -> impl Strategy<Value = Vec<Edit>> {
    prop::collection::vec((any::<prop::sample::Index>(), 0..3u8, any::<u8>()), 0..4)
}

/// The stream with bytes changed, inserted or taken away.
pub(crate) fn edited(mut bytes: Vec<u8>, edits: &[Edit]) -> Vec<u8> {
    for (at, edit, byte) in edits {
        let at = at.index(bytes.len());
        match edit {
            0 => bytes[at] = *byte,
            1 => bytes.insert(at, *byte),
            _ => drop(bytes.remove(at)),
        }
    }
    bytes
}

/// A stream of random events, some of whose bytes were changed, inserted or taken away.
pub(crate) fn damaged_stream() -> impl Strategy<Value = Vec<u8>> {
    let blocks = prop::collection::vec((any::<bool>(), prop::collection::vec(any_blob(), 0..6)), 0..4);
    (blocks, edits()).prop_map(|(blocks, edits)| {
        let mut stream = prelude();
        for (compressed, events) in blocks {
            let empty = if compressed { Blobs::compressed() } else { Blobs::uncompressed() };
            stream = stream.events(&events.into_iter().fold(empty, Blobs::with)).sequence_point(5, &[(0, 9)]);
        }
        edited(stream.end(), &edits)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

    #[test]
    fn damaged_streams_never_panic_and_chunks_never_matter(bytes in damaged_stream(), size in 1..200usize) {
        let whole = decode_chunks([&bytes[..]]);
        prop_assert_eq!(&decode_chunks(bytes.chunks(size)), &whole);
        prop_assert_eq!(&decode_chunks(bytes.chunks(1)), &whole);
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = decode_chunks([&bytes[..]]);
        let behind_header = [&prelude().bytes()[..], &bytes].concat();
        let _ = decode_chunks([&behind_header[..]]);
    }
}
