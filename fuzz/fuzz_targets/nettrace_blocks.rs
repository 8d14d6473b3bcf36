//! Any content of blocks in a stream that is good otherwise: no panic, the same in any chunks, and the stream is read to its
//! end.
//!
//! Two bytes say the size of chunks and the version; then each block has a byte for its kind, two for its size, and its content.

#![no_main]

#[path = "../shared/nettrace.rs"]
mod shared;

use libfuzzer_sys::fuzz_target;
use strata_nettrace::StreamEnd;
use strata_testkit::{nettrace, nettrace6};

fuzz_target!(|data: &[u8]| {
    let Some((&[size, version], rest)) = data.split_first_chunk() else { return };
    let stream = if version % 2 == 0 && version >= 6 { six(rest) } else { four(rest) };
    let whole = shared::decode(&stream, usize::MAX);
    assert_eq!(shared::decode(&stream, size.into()), whole);
    assert_eq!(whole.1.map(|summary| summary.end), Ok(StreamEnd::Complete));
});

fn blocks(mut bytes: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    std::iter::from_fn(move || {
        let (&[kind, low, high], rest) = bytes.split_first_chunk()?;
        let size = usize::from(u16::from_le_bytes([low, high])).min(rest.len());
        let (content, rest) = rest.split_at(size);
        bytes = rest;
        Some((kind, content))
    })
}

fn four(bytes: &[u8]) -> Vec<u8> {
    use nettrace::{Definition, Stream};
    let stream = Stream::with_trace()
        .metadata(&[Definition::native(1, "P", 1, 0), Definition::native(2, "Microsoft-Windows-DotNETRuntime", 143, 2)])
        .stacks(1, &[&[0x1000, 0x2000], &[0x3000], &[]]);
    let names = ["EventBlock", "MetadataBlock", "SPBlock", "StackBlock", "OtherBlock"];
    let name = |kind: u8| names[usize::from(kind.wrapping_sub(2)) % names.len()];
    blocks(bytes).fold(stream, |stream, (kind, content)| stream.block(name(kind), content)).end()
}

fn six(bytes: &[u8]) -> Vec<u8> {
    use nettrace6::{Definition, Stream, Thread};
    let stream = Stream::with_trace()
        .metadata(&[Definition::new(1, "P", 1, ""), Definition::new(2, "Microsoft-Windows-DotNETRuntime", 143, "")])
        .threads(&[Thread::new(1).of(42, 4242).named("main"), Thread::new(2)])
        .stacks(1, &[&[0x1000, 0x2000], &[0x3000], &[]])
        .labels(1, &[&[(1, vec![1; 16]), (9, vec![2])]]);
    // Any kind but the end.
    blocks(bytes).fold(stream, |stream, (kind, content)| stream.block(kind.max(1), content)).end()
}
