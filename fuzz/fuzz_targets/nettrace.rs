//! Any bytes, in any chunks: no panic, and the same items and summary as all at once.

#![no_main]

use std::hash::{DefaultHasher, Hash, Hasher};

use libfuzzer_sys::fuzz_target;
use strata_nettrace::runtime::RuntimeEvent;
use strata_nettrace::{Decoder, Item, Refused, Summary};

/// What a stream in chunks of `size` bytes holds; its items as a hash of all they show.
fn decode(bytes: &[u8], size: usize) -> (u64, Result<Summary, Refused>) {
    let mut hasher = DefaultHasher::new();
    let mut sink = |item: Item<'_>| match item {
        Item::Event(event) => {
            let header = event.header;
            (header.time, header.thread, header.sequence, event.offset, event.payload).hash(&mut hasher);
            header.activity().hash(&mut hasher);
            if let Some(stack) = event.stack {
                stack.serial().hash(&mut hasher);
                stack.addresses().rev().for_each(|address| address.hash(&mut hasher));
            }
            match RuntimeEvent::decode(&event) {
                Ok(Some(RuntimeEvent::Method(_, method))) => {
                    method.names.map(|names| names.name.to_string()).hash(&mut hasher);
                }
                Ok(Some(RuntimeEvent::MethodIlMap(_, map))) => {
                    assert_eq!(map.entries().count(), map.len());
                    map.entries().for_each(|entry| entry.hash(&mut hasher));
                }
                Ok(event) => event.is_some().hash(&mut hasher),
                Err(error) => error.present.hash(&mut hasher),
            }
        }
        other => format!("{other:?}").hash(&mut hasher),
    };
    let mut decoder = Decoder::new();
    let refused = bytes.chunks(size.max(1)).find_map(|chunk| decoder.feed(chunk, &mut sink).err());
    let summary = match refused {
        Some(refused) => Err(refused),
        None => decoder.finish(&mut sink),
    };
    (hasher.finish(), summary)
}

fuzz_target!(|data: &[u8]| {
    let Some((&size, bytes)) = data.split_first() else { return };
    let whole = decode(bytes, usize::MAX);
    assert_eq!(decode(bytes, size.into()), whole);
    if let Ok(summary) = whole.1 {
        // Nothing is counted that the bytes cannot have held.
        assert!(summary.events <= summary.bytes && summary.stacks <= summary.bytes);
    }
});
