//! Streams of both framings, blocks and definitions, for the targets of `nettrace`.

use strata_testkit::nettrace::{self, Blob, Blobs, utf16};
use strata_testkit::nettrace6::{self, Row, Rows, Thread, field, fields, kind, string};

use super::{Seed, seed};

/// Whole streams, behind a byte for the size of chunks.
pub(super) fn streams() -> Vec<Seed> {
    let chunks = |size: u8, stream: Vec<u8>| [vec![size], stream].concat();
    vec![seed("four", chunks(7, four())), seed("six", chunks(50, six())), seed("netperf", chunks(3, netperf()))]
}

fn netperf() -> Vec<u8> {
    b"\x14\0\0\0!FastSerialization.1\x05\x05\x01\x03\0\0\0".to_vec()
}

fn blob(metadata: u32, sequence: u32, stack: u32) -> Blob {
    let time = 1000 + u64::from(sequence);
    Blob { metadata, sequence, capture_thread: 7, thread: 7, stack, time, payload: vec![1; 3], ..Blob::default() }
}

fn blobs(empty: Blobs) -> Blobs {
    let other = Blob { capture_thread: 8, thread: 9, activity: [3; 16], sorted: true, ..blob(2, 1, 2) };
    empty.with(blob(1, 1, 1)).with(blob(1, 2, 0)).with(other).with(blob(2, 4, 1))
}

fn four() -> Vec<u8> {
    nettrace::Stream::with_trace()
        .metadata(&definitions_of_four())
        .stacks(1, &[&[0x1000, 0x2000], &[0x3000], &[]])
        .events(&blobs(Blobs::compressed()))
        .sequence_point(2000, &[(7, 9), (8, 1)])
        .events(&blobs(Blobs::uncompressed()))
        .end()
}

fn definitions_of_four() -> [nettrace::Definition; 2] {
    let list = [&1u32.to_le_bytes()[..], &9u32.to_le_bytes(), &utf16("x")].concat();
    let array = [&utf16("a")[..], &19u32.to_le_bytes(), &10u32.to_le_bytes()].concat();
    let tag = [&1u32.to_le_bytes()[..], &(array.len() as u32 + 4).to_le_bytes(), &array].concat();
    let native = nettrace::Definition::native;
    [
        nettrace::Definition { fields: list, ..native(1, "Microsoft-Windows-DotNETRuntime", 143, 2) },
        nettrace::Definition { tags: vec![(1, vec![2]), (2, tag)], name: "Stop".into(), ..native(2, "P", 2, 0) },
    ]
}

fn row(metadata: u32, sequence: u32, stack: u32) -> Row {
    let time = 1000 + u64::from(sequence);
    Row { metadata, sequence, capture_thread: 1, thread: 1, stack, time, payload: vec![1; 3], ..Row::default() }
}

fn rows(empty: Rows) -> Rows {
    let other = Row { capture_thread: 2, thread: 1, labels: 1, sorted: true, ..row(2, 1, 2) };
    empty.with(row(1, 1, 1)).with(row(1, 2, 0)).with(other).with(row(2, 4, 1))
}

fn six() -> Vec<u8> {
    nettrace6::Stream::with_trace()
        .metadata(&definitions_of_six())
        .threads(&[Thread::new(1).of(42, 4242).named("main"), Thread::new(2)])
        .stacks(1, &[&[0x1000, 0x2000], &[0x3000], &[]])
        .labels(1, &[&labels()[..2], &labels()[2..]])
        .events(&rows(Rows::compressed()))
        .remove_threads(&[(2, 4)])
        .sequence_point(2000, 3, &[(1, 9)])
        .events(&rows(Rows::uncompressed()))
        .end()
}

fn labels() -> [nettrace6::Label; 5] {
    let pair = [string("k"), string("v")].concat();
    [(1, vec![1; 16]), (5, pair), (6, [string("n"), vec![3]].concat()), (9, vec![2]), (10, vec![1])]
}

fn definitions_of_six() -> [nettrace6::Definition; 2] {
    let object = [vec![1], fields(&[field("x", &[9], 1)])].concat();
    let types: [&[u8]; 6] = [&[18], &[19, 10], &[20], &[22, 6, 3, 0], &[24, 23], &object];
    let optional = vec![(1, vec![2]), (3, vec![1; 8]), (4, string("t")), (6, [string("k"), string("v")].concat())];
    let new = nettrace6::Definition::new;
    [
        new(1, "Microsoft-Windows-DotNETRuntime", 143, ""),
        nettrace6::Definition {
            fields: types.iter().map(|field_type| field("f", field_type, 0)).collect(),
            optional,
            ..new(2, "P", 2, "Stop")
        },
    ]
}

/// Blocks: a byte for the size of chunks and one for the version, then for each its kind, two bytes of size, and its content.
pub(super) fn blocks() -> Vec<Seed> {
    let block = |kind: u8, content: &[u8]| [&[kind][..], &(content.len() as u16).to_le_bytes(), content].concat();
    let four = |stream: nettrace::Stream, header: usize| stream.bytes().split_off(header);
    // What stands in front of the content: the stream's header and trace, tags and names, size and padding.
    let content = |kind: u8, stream: nettrace::Stream| {
        let start = nettrace::Stream::with_trace().offset();
        let bytes = four(stream, start);
        let name = bytes[11..15].try_into().map(u32::from_le_bytes).expect("a length") as usize;
        let at = (start + 15 + name + 1 + 4).next_multiple_of(4) - start;
        block(kind, &bytes[at..bytes.len() - 1])
    };
    let start = nettrace::Stream::with_trace;
    let of_four = [
        content(kind::METADATA, start().metadata(&definitions_of_four())),
        content(kind::STACK, start().stacks(4, &[&[0x1000, 0x2000], &[]])),
        content(kind::EVENT, start().events(&blobs(Blobs::compressed()))),
        content(kind::SEQUENCE_POINT, start().sequence_point(2000, &[(7, 9)])),
        content(kind::EVENT, start().events(&blobs(Blobs::uncompressed()))),
    ];
    let of_six = |kind: u8, stream: nettrace6::Stream| {
        let start = nettrace6::Stream::new().offset() + 4;
        block(kind, &stream.bytes()[start..])
    };
    let start = nettrace6::Stream::new;
    let of_six = [
        of_six(kind::METADATA, start().metadata(&definitions_of_six())),
        of_six(kind::THREAD, start().threads(&[Thread::new(3).of(1, 2).named("n"), Thread::new(4)])),
        of_six(kind::STACK, start().stacks(4, &[&[0x1000, 0x2000], &[]])),
        of_six(kind::LABEL_LIST, start().labels(3, &[&labels()])),
        of_six(kind::EVENT, start().events(&rows(Rows::compressed()))),
        of_six(kind::REMOVE_THREAD, start().remove_threads(&[(2, 4)])),
        of_six(kind::SEQUENCE_POINT, start().sequence_point(2000, 1, &[(1, 9)])),
        of_six(kind::EVENT, start().events(&rows(Rows::uncompressed()))),
    ];
    vec![seed("four", [vec![9, 4], of_four.concat()].concat()), seed("six", [vec![60, 6], of_six.concat()].concat())]
}

/// Definitions: a byte for the version, then the payload of a metadata blob or a row.
pub(super) fn definitions() -> Vec<Seed> {
    let of_four = definitions_of_four().map(|definition| [vec![4], definition.payload()].concat());
    let of_six = definitions_of_six().map(|definition| [vec![6], definition.row()].concat());
    let all = [("four-1", "four-2"), ("six-1", "six-2")];
    let mut seeds = Vec::new();
    for ((first, second), [one, two]) in all.into_iter().zip([of_four, of_six]) {
        seeds.extend([seed(first, one), seed(second, two)]);
    }
    seeds
}
