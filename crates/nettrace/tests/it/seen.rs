//! Items as owned values, and the sample stream that several tests begin with.

use strata_nettrace::{Decoder, Gap, Guid, Item, Problem, ProblemKind, Refused, Summary, TraceInfo};
use strata_testkit::nettrace::{Blob, Blobs, Definition, Stream};

#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Seen {
    Trace(TraceInfo),
    Event { metadata: u32, name: String, blob: Blob, stack: Option<Vec<u64>>, offset: u64 },
    Gap(Gap),
    SequencePoint { time: u64, threads: Vec<(u64, u32)> },
    Problem(Problem),
}

impl Seen {
    pub(crate) fn of(item: &Item<'_>) -> Self {
        match item {
            Item::Trace(trace) => Self::Trace(*trace),
            Item::Event(event) => {
                let header = event.header;
                let guid = |guid: Option<Guid>| guid.map_or([0; 16], |guid| guid.0);
                Self::Event {
                    metadata: event.metadata.id,
                    name: format!("{}/{}", event.metadata.provider, event.metadata.event_id),
                    blob: Blob {
                        metadata: event.metadata.id,
                        sequence: header.sequence,
                        capture_thread: header.capture_thread,
                        processor: header.processor,
                        thread: header.thread,
                        stack: header.stack_id,
                        time: header.time,
                        activity: guid(header.activity()),
                        related: guid(header.related_activity()),
                        sorted: header.sorted,
                        payload: event.payload.to_vec(),
                    },
                    stack: event.stack.map(|stack| stack.addresses().map(|address| address.0).collect()),
                    offset: event.offset,
                }
            }
            Item::Gap(gap) => Self::Gap(*gap),
            Item::SequencePoint(point) => Self::SequencePoint { time: point.time, threads: point.threads().collect() },
            Item::Problem(problem) => Self::Problem(*problem),
            other => panic!("new kind of item: {other:?}"),
        }
    }
}

/// What a stream that comes in these chunks holds.
pub(crate) fn decode_chunks<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> (Vec<Seen>, Result<Summary, Refused>) {
    decode_chunks_as(chunks, Seen::of)
}

/// The same, the items as something else.
pub(crate) fn decode_chunks_as<'a, T>(
    chunks: impl IntoIterator<Item = &'a [u8]>,
    of: impl Fn(&Item<'_>) -> T,
) -> (Vec<T>, Result<Summary, Refused>) {
    let mut seen = Vec::new();
    let mut sink = |item: Item<'_>| seen.push(of(&item));
    let mut decoder = Decoder::new();
    for chunk in chunks {
        if let Err(refused) = decoder.feed(chunk, &mut sink) {
            // Once refused, always refused, and in the same words.
            assert_eq!(decoder.feed(chunk, &mut sink).as_ref(), Err(&refused));
            assert_eq!(decoder.finish(&mut sink).as_ref(), Err(&refused));
            return (seen, Err(refused));
        }
    }
    let summary = decoder.finish(&mut sink);
    (seen, summary)
}

/// What a stream that must not be refused holds.
pub(crate) fn decode(bytes: &[u8]) -> (Vec<Seen>, Summary) {
    let (seen, summary) = decode_chunks([bytes]);
    (seen, summary.expect("not refused"))
}

/// The events among the items.
pub(crate) fn blobs(seen: &[Seen]) -> Vec<Blob> {
    let blob = |item: &Seen| match item {
        Seen::Event { blob, .. } => Some(blob.clone()),
        _ => None,
    };
    seen.iter().filter_map(blob).collect()
}

/// The stacks of the events among the items.
pub(crate) fn stacks(seen: &[Seen]) -> Vec<Option<Vec<u64>>> {
    let stack = |item: &Seen| match item {
        Seen::Event { stack, .. } => Some(stack.clone()),
        _ => None,
    };
    seen.iter().filter_map(stack).collect()
}

/// The problems among the items.
pub(crate) fn problems(seen: &[Seen]) -> Vec<(ProblemKind, u64)> {
    let problem = |item: &Seen| match item {
        Seen::Problem(problem) => Some((problem.kind, problem.offset)),
        _ => None,
    };
    seen.iter().filter_map(problem).collect()
}

/// The gaps among the items, as thread and number lost.
pub(crate) fn gaps(seen: &[Seen]) -> Vec<(u64, Option<u32>)> {
    let gap = |item: &Seen| match item {
        Seen::Gap(gap) => Some((gap.capture_thread, gap.lost)),
        _ => None,
    };
    seen.iter().filter_map(gap).collect()
}

/// An event of thread 7 with its number, at a time that follows from it.
pub(crate) fn event(metadata: u32, sequence: u32, stack: u32) -> Blob {
    Blob {
        metadata,
        sequence,
        capture_thread: 7,
        thread: 7,
        stack,
        time: 1000 + u64::from(sequence),
        processor: u32::MAX,
        payload: vec![metadata as u8; 5],
        ..Blob::default()
    }
}

/// Two definitions and three stacks, in front of the blocks of a test.
pub(crate) fn prelude() -> Stream {
    Stream::with_trace()
        .metadata(&[Definition::native(1, "Provider-A", 10, 0), Definition::native(2, "Provider-B", 20, 1)])
        .stacks(1, &[&[0x1000, 0x2000], &[0x3000], &[]])
}

/// A small stream with every kind of block, several of some.
pub(crate) fn sample_stream() -> Vec<u8> {
    let other = |sequence| Blob { capture_thread: 1 << 40, thread: 9, activity: [3; 16], ..event(2, sequence, 2) };
    prelude()
        .events(&Blobs::compressed().with(event(1, 1, 1)).with(event(2, 2, 0)).with(other(1)).with(event(1, 3, 2)))
        .events(&Blobs::uncompressed().with(event(1, 4, 1)).with(Blob { payload: vec![], ..event(1, 5, 0) }))
        .sequence_point(2000, &[(7, 5), (1 << 40, 1)])
        .stacks(1, &[&[0x4000, 0x5000, 0x6000]])
        .events(&Blobs::compressed().with(event(1, 6, 1)).with(Blob { stack: 1, ..other(4) }))
        .end()
}
