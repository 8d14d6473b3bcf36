//! Any definition of an event with any payload: no panic, all values can be shown, and what is shown fits what is told.

#![no_main]

use libfuzzer_sys::fuzz_target;
use strata_nettrace::runtime::described_events;
use strata_nettrace::universal::{SYSTEM_PROVIDER, UniversalEvent};
use strata_nettrace::{Decoder, Event, Fit, Item, Value};
use strata_testkit::nettrace::{Blob, Blobs, Definition, Stream, Trace};

/// Number of values in a value, itself included.
fn count(value: &Value<'_>) -> usize {
    match value {
        Value::Array(array) => {
            assert!(array.iter().count() == array.len());
            array.iter().map(|element| count(&element)).sum::<usize>() + 1
        }
        Value::Object(object) => {
            assert!(object.iter().count() == object.len());
            object.iter().map(|(_, value)| count(&value)).sum::<usize>() + 1
        }
        _ => 1,
    }
}

fn look(event: &Event<'_>, longest: usize) {
    let mut fields = event.fields();
    let mut values = 0;
    for (name, value) in fields.by_ref() {
        values += count(&value);
        assert!(format!("{name}={value} {value:?}").len() >= name.len());
    }
    // What a definition names once can take no bytes; all else does.
    assert!(values <= longest + 17 * event.payload.len(), "{values} values in {} bytes", event.payload.len());
    assert_eq!(fields.bytes(), event.payload);
    let length = event.payload.len();
    match fields.fit() {
        Fit::Whole => {}
        Fit::Longer { at } => assert!(at < length),
        Fit::Short { at } => assert!(at <= length),
        Fit::Opaque => assert!(length > 0 && values == 0),
    }
    assert!(!event.metadata.display_name().is_empty());
    let _ = UniversalEvent::decode(event);
}

/// What the bytes are taken as.
fn definition(kind: u8, bytes: &[u8]) -> Definition {
    let number = u16::from_le_bytes([bytes.first().copied().unwrap_or(0), bytes.get(1).copied().unwrap_or(0)]);
    match kind % 3 {
        // Fields of version 4.
        0 => Definition { name: "E".into(), fields: bytes.to_vec(), ..Definition::native(1, "Source", 1, 0) },
        // Fields of version 5.
        1 => Definition { name: "E".into(), tags: vec![(2, bytes.to_vec())], ..Definition::native(1, "Source", 1, 0) },
        // One of the runtime's own events, in one of its versions or a later one, or one of a collector.
        _ => {
            let of_machines = ["ProcessCreate", "ProcessMapping", "ProcessMappingMetadata", "ProcessSymbol"];
            let of_machines = of_machines.map(|name| (SYSTEM_PROVIDER, None, name, 0));
            let mut events: Vec<_> = described_events().chain(of_machines).collect();
            events.sort_unstable();
            let (provider, id, name, version) = events[usize::from(number) % events.len()];
            let definition = Definition::native(1, provider, id.unwrap_or(0), version + u32::from(kind > 200));
            Definition { name: if id.is_none() { name.into() } else { String::new() }, ..definition }
        }
    }
}

fuzz_target!(|data: &[u8]| {
    let [kind, length, rest @ ..] = data else { return };
    let (described, payload) = rest.split_at(usize::from(*length).min(rest.len()));
    let trace = Trace { pointer_size: if kind & 0x40 == 0 { 8 } else { 4 }, ..Trace::default() };
    let blob = Blob { metadata: 1, sequence: 1, payload: payload.to_vec(), ..Blob::default() };
    let stream = Stream::new()
        .trace(trace)
        .metadata(&[definition(*kind, described)])
        .events(&Blobs::compressed().with(blob))
        .end();
    let mut sink = |item: Item<'_>| {
        if let Item::Event(event) = item {
            look(&event, described.len() + 100);
        }
    };
    Decoder::new().feed(&stream, &mut sink).expect("a stream");
});
