//! Reading a nettrace stream in chunks, looking at everything it shows.

use std::hash::{DefaultHasher, Hash, Hasher};

use strata_nettrace::runtime::RuntimeEvent;
use strata_nettrace::{Decoder, Event, Item, Refused, Summary};

/// What a stream in chunks of `size` bytes holds; its items as a hash of all they show.
pub fn decode(bytes: &[u8], size: usize) -> (u64, Result<Summary, Refused>) {
    let mut hasher = DefaultHasher::new();
    let mut sink = |item: Item<'_>| match item {
        Item::Event(event) => look_at(&event, &mut hasher),
        other => format!("{other:?}").hash(&mut hasher),
    };
    let mut decoder = Decoder::new();
    let refused = bytes.chunks(size.max(1)).find_map(|chunk| decoder.feed(chunk, &mut sink).err());
    let summary = match refused {
        Some(refused) => Err(refused),
        None => decoder.finish(&mut sink),
    };
    if let Ok(summary) = &summary {
        // Nothing is counted that the bytes cannot have held.
        assert!(summary.events <= summary.bytes && summary.stacks <= summary.bytes);
    }
    (hasher.finish(), summary)
}

fn look_at(event: &Event<'_>, hasher: &mut DefaultHasher) {
    let header = event.header;
    (header.time, header.thread, header.capture_thread, header.sequence, event.offset, event.payload).hash(hasher);
    (header.activity(), header.related_activity(), event.process_id(), event.thread_name()).hash(hasher);
    (event.opcode(), event.keywords(), event.level(), event.version()).hash(hasher);
    event.labels().iter().for_each(|label| format!("{label:?}").hash(hasher));
    event.fields().for_each(|(name, value)| (name, value.to_string()).hash(hasher));
    format!("{:?}", event.fields().fit()).hash(hasher);
    if let Some(stack) = event.stack {
        stack.serial().hash(hasher);
        stack.addresses().rev().for_each(|address| address.hash(hasher));
    }
    match RuntimeEvent::decode(event) {
        Ok(Some(RuntimeEvent::Method(_, method))) => {
            method.names.map(|names| names.name.to_string()).hash(hasher);
        }
        Ok(Some(RuntimeEvent::MethodIlMap(_, map))) => {
            assert_eq!(map.entries().count(), map.len());
            map.entries().for_each(|entry| entry.hash(hasher));
        }
        Ok(event) => event.is_some().hash(hasher),
        Err(error) => error.present.hash(hasher),
    }
}
