//! Whatever decodes can be put in order and written again, and decodes again to the same events.

#![no_main]

use std::hash::{DefaultHasher, Hash, Hasher};

use libfuzzer_sys::fuzz_target;
use strata_nettrace::order::TimeOrder;
use strata_nettrace::write::Writer;
use strata_nettrace::{Decoder, Event, Item, ProblemKind, Summary};

/// Hashes what an event says, without the numbers and ids that each stream has of its own.
fn hash(event: &Event<'_>, hasher: &mut DefaultHasher) {
    let header = event.header;
    (header.time, header.thread, header.capture_thread, header.processor, header.sorted).hash(hasher);
    (header.activity(), header.related_activity()).hash(hasher);
    (event.metadata.id, &event.metadata.provider, &event.metadata.name, event.payload).hash(hasher);
    event.stack.map(|stack| stack.as_bytes()).hash(hasher);
}

/// What a stream holds, and the same written again.
fn rewrite(bytes: &[u8], order: bool) -> Option<(u64, u64, Summary, Vec<u8>)> {
    let (mut writer, mut events, mut hasher) = (None, 0, DefaultHasher::new());
    let mut write = |item: Item<'_>| match &item {
        Item::Trace(trace) => writer = Writer::new(trace).ok(),
        Item::Event(event) => {
            events += 1;
            hash(event, &mut hasher);
            // Blocks of a fuzzer's input are far below the limit.
            if let Some(writer) = &mut writer {
                writer.event(event).unwrap();
            }
        }
        other => {
            if let Some(writer) = &mut writer {
                writer.item(other).unwrap();
            }
        }
    };
    // A small limit, so that it is reached.
    let mut waiting = TimeOrder::with_limit(4096);
    let mut sink = |item: Item<'_>| if order { waiting.push(item, &mut write) } else { write(item) };
    let mut decoder = Decoder::new();
    decoder.feed(bytes, &mut sink).ok()?;
    let summary = decoder.finish(&mut sink).ok()?;
    waiting.finish(&mut write);
    let mut writer = writer?;
    writer.finish();
    Some((events, hasher.finish(), summary, writer.bytes().to_vec()))
}

fuzz_target!(|data: &[u8]| {
    let Some((&order, bytes)) = data.split_first() else { return };
    let Some((events, hash, summary, written)) = rewrite(bytes, order & 1 != 0) else { return };
    assert_eq!(events, summary.events, "nothing is dropped");
    let (events_again, hash_again, summary_again, written_again) = rewrite(&written, false).unwrap();
    assert_eq!((events_again, hash_again), (events, hash));
    // Definitions stay what they are.
    assert_eq!(summary_again.problems.total(), summary_again.problems.get(ProblemKind::BadFields));
    // Gaps of a hostile stream can add up to more than numbers can tell, and then show in another size.
    let has_gaps = summary.loss.lost > 0 || summary.loss.unknown > 0;
    if !has_gaps && summary.problems.get(ProblemKind::UnknownMetadata) == 0 {
        assert_eq!(written_again, written);
    }
});
