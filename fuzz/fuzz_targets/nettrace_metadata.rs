//! Any definition of an event: no panic, at most one definition, and events of it come out whatever it says.
//!
//! A byte says the version; the rest is the payload of a metadata blob, or a row.

#![no_main]

#[path = "../shared/nettrace.rs"]
mod shared;

use libfuzzer_sys::fuzz_target;
use strata_nettrace::{Decoder, FieldType, Fields, StreamEnd};
use strata_testkit::{nettrace, nettrace6};

fuzz_target!(|data: &[u8]| {
    let Some((&version, definition)) = data.split_first() else { return };
    let six = version % 2 == 0 && version >= 6;
    // A row has two bytes for its size.
    let definition = definition.get(..usize::from(u16::MAX)).unwrap_or(definition);
    let start = if six { six_start(definition) } else { four_start(definition) };
    let mut decoder = Decoder::new();
    decoder.feed(&start, &mut |_| {}).expect("a good header");
    let [metadata] = decoder.metadata() else {
        assert!(decoder.metadata().is_empty());
        return;
    };
    if let Fields::Known(fields) = &metadata.fields {
        let deepest = fields.iter().map(|field| depth(&field.field_type)).max();
        assert!(deepest.is_none_or(|depth| depth < 40));
    }
    let stream = if six { six_end(start, metadata.id, data) } else { four_end(start, metadata.id, data) };
    let whole = shared::decode(&stream, usize::MAX);
    assert_eq!(shared::decode(&stream, 11), whole);
    let summary = whole.1.expect("a good header");
    assert_eq!((summary.events, summary.end), (1, StreamEnd::Complete));
});

fn depth(field_type: &FieldType) -> usize {
    use FieldType::{Array, DataLoc, FixedArray, Object, RelLoc};
    match field_type {
        Object(fields) => fields.iter().map(|field| 1 + depth(&field.field_type)).max().unwrap_or(1),
        Array(element) | FixedArray(element, _) | RelLoc(element) | DataLoc(element) => 1 + depth(element),
        _ => 1,
    }
}

fn four_start(definition: &[u8]) -> Vec<u8> {
    use nettrace::{Blob, Blobs, Stream};
    let blob = Blob { payload: definition.to_vec(), ..Blob::default() };
    Stream::with_trace().block("MetadataBlock", &Blobs::compressed().with(blob).content()).bytes()
}

fn four_end(start: Vec<u8>, id: u32, payload: &[u8]) -> Vec<u8> {
    use nettrace::{Blob, Blobs, Stream};
    let blob = Blob { metadata: id, sequence: 1, payload: payload.to_vec(), ..Blob::default() };
    Stream::continued(start).events(&Blobs::compressed().with(blob)).end()
}

fn six_start(definition: &[u8]) -> Vec<u8> {
    nettrace6::Stream::with_trace().metadata_rows(0, &[definition.to_vec()]).bytes()
}

fn six_end(start: Vec<u8>, id: u32, payload: &[u8]) -> Vec<u8> {
    use nettrace6::{Row, Rows, Stream, Thread};
    let row = Row { metadata: id, sequence: 1, payload: payload.to_vec(), ..Row::default() };
    Stream::continued(start).threads(&[Thread::new(0)]).events(&Rows::compressed().with(row)).end()
}
