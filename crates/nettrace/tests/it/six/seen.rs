//! Items as owned values, and the streams that several tests begin with.

use strata_nettrace::{BlockKind, Item, Problem, ProblemKind, Refused, Summary, TraceInfo};
use strata_testkit::nettrace6::{Definition, Row, Rows, Stream, Thread};

use crate::seen::decode_chunks_as;

#[derive(Clone, PartialEq, Debug)]
pub(super) enum Seen {
    Trace(TraceInfo),
    Event(Event),
    /// Thread, number lost, and the time before and behind.
    Gap(u64, Option<u32>, (u64, u64)),
    Point(u64, Vec<(u64, u32)>),
    Problem(Problem),
}

#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Event {
    /// As the row, but threads by the ids of the operating system.
    pub(super) row: Row,
    pub(super) process: Option<u64>,
    pub(super) thread_name: Option<String>,
    pub(super) stack: Option<Vec<u64>>,
    pub(super) labels: String,
}

impl Seen {
    pub(super) fn of(item: &Item<'_>) -> Self {
        match item {
            Item::Trace(trace) => Self::Trace(*trace),
            Item::Event(event) => {
                let header = event.header;
                Self::Event(Event {
                    row: Row {
                        metadata: event.metadata.id,
                        sequence: header.sequence,
                        capture_thread: header.capture_thread,
                        processor: header.processor,
                        thread: header.thread,
                        stack: header.stack_id,
                        time: header.time,
                        labels: 0,
                        sorted: header.sorted,
                        payload: event.payload.to_vec(),
                    },
                    process: event.process_id(),
                    thread_name: event.thread_name().map(Into::into),
                    stack: event.stack.map(|stack| stack.addresses().map(|address| address.0).collect()),
                    labels: if event.labels().is_empty() { String::new() } else { format!("{:?}", event.labels()) },
                })
            }
            Item::Gap(gap) => Self::Gap(gap.capture_thread, gap.lost, (gap.after, gap.before)),
            Item::SequencePoint(point) => Self::Point(point.time, point.threads().collect()),
            Item::Problem(problem) => Self::Problem(*problem),
            other => panic!("new kind of item: {other:?}"),
        }
    }
}

/// What a stream that comes in these chunks holds.
pub(super) fn decode_chunks<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> (Vec<Seen>, Result<Summary, Refused>) {
    decode_chunks_as(chunks, Seen::of)
}

/// What a stream that must not be refused holds.
pub(super) fn decode(bytes: &[u8]) -> (Vec<Seen>, Summary) {
    let (seen, summary) = decode_chunks([bytes]);
    (seen, summary.expect("not refused"))
}

pub(super) fn events(seen: &[Seen]) -> Vec<Event> {
    let event = |item: &Seen| if let Seen::Event(event) = item { Some(event.clone()) } else { None };
    seen.iter().filter_map(event).collect()
}

/// The problems among the items: kind, offset, value.
pub(super) fn problems(seen: &[Seen]) -> Vec<(ProblemKind, usize, Option<i64>)> {
    let problem = |item: &Seen| match item {
        Seen::Problem(problem) => Some((problem.kind, problem.offset as usize, problem.value)),
        _ => None,
    };
    seen.iter().filter_map(problem).collect()
}

/// The blocks that problems are in.
pub(super) fn problem_blocks(seen: &[Seen]) -> Vec<Option<BlockKind>> {
    seen.iter().filter_map(|item| if let Seen::Problem(problem) = item { Some(problem.block) } else { None }).collect()
}

/// An event of thread 1 with its number, at a time that follows from it.
pub(super) fn row(metadata: u32, sequence: u32, stack: u32) -> Row {
    Row {
        metadata,
        sequence,
        capture_thread: 1,
        thread: 1,
        stack,
        time: 1000 + u64::from(sequence),
        processor: u32::MAX,
        payload: vec![metadata as u8; 5],
        ..Row::default()
    }
}

/// What comes out for [`row`], without its stack.
pub(super) fn event(metadata: u32, sequence: u32, stack: u32) -> Event {
    Event {
        row: Row { capture_thread: 4242, thread: 4242, ..row(metadata, sequence, stack) },
        process: Some(42),
        thread_name: Some("main".into()),
        ..Event::default()
    }
}

/// Two definitions and two threads.
pub(super) fn definitions() -> Stream {
    Stream::with_trace()
        .metadata(&[Definition::new(1, "Provider-A", 10, "First"), Definition::new(2, "Provider-B", 20, "Second")])
        .threads(&[Thread::new(1).of(42, 4242).named("main"), Thread::new(2).of(43, 77)])
}

/// The same with three stacks and two lists of labels, in front of the blocks of a test.
pub(super) fn prelude() -> Stream {
    definitions()
        .stacks(1, &[&[0x1000, 0x2000], &[0x3000], &[]])
        .labels(1, &[&[(1, vec![3; 16])], &[(2, vec![4; 16]), (9, vec![2])]])
}

/// A small stream with every kind of block, several of some.
pub(super) fn sample_stream() -> Vec<u8> {
    let other = |sequence| Row { capture_thread: 2, thread: 2, labels: 1, ..row(2, sequence, 2) };
    prelude()
        .events(&Rows::compressed().with(row(1, 1, 1)).with(row(2, 2, 0)).with(other(1)).with(row(1, 3, 2)))
        .block(200, &[1, 2, 3])
        .events(&Rows::uncompressed().with(row(1, 4, 1)).with(Row { payload: vec![], ..row(1, 5, 0) }))
        .remove_threads(&[(2, 1)])
        .sequence_point(2000, 2, &[(1, 5)])
        .metadata(&[Definition::new(1, "Provider-A", 10, "First"), Definition::new(2, "Provider-C", 30, "Third")])
        .threads(&[Thread::new(2).of(43, 78)])
        .stacks(1, &[&[0x4000, 0x5000, 0x6000]])
        .labels(1, &[&[(7, vec![1])]])
        .events(&Rows::compressed().with(row(1, 6, 1)).with(Row { stack: 1, ..other(4) }))
        .sequence_point(3000, 1, &[])
        .end()
}
