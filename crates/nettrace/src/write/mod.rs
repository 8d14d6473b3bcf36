//! Items to the bytes of a stream of version 4.

mod block;
mod container;
mod numbers;

use rustc_hash::{FxHashMap, FxHashSet};

use block::{Definitions, Events, Stacks};
use container::Container;
use numbers::{Numbers, PointFor};

use crate::event::{Event, Item};
use crate::framing::MAX_BLOCK_BYTES;
use crate::loss::Gap;
use crate::sequence::SequencePoint;
use crate::stack::Stack;
use crate::trace::{FormatVersion, TraceInfo};

/// Content that a block has at most, unless one event alone is larger: what runtimes write.
const BLOCK_BYTES: usize = 100 << 10;

/// Writes a stream of version 4 (with the tags of version 5), as runtimes do.
///
/// Takes what a [`crate::Decoder`] hands out, all of it or only some. Readers of what comes out see the same events, with the
/// definitions and stacks that they had:
///
/// - Definitions are written where their first event is, byte for byte as the source had them. A stack is written once between
///   two sequence points, and gets an id of its own.
/// - Events keep their order, their times, and whether they say that they are sorted. Readers take another capture thread only
///   from a sorted event, so what is filtered has to go through [`crate::order::TimeOrder`] first.
/// - Events get new numbers within their capture thread: what was left out on purpose does not look like loss. Every
///   [`Gap`] of the source stays a gap of the same size, in front of the thread's next event or sequence point. For a gap in
///   front of a thread's first event, a sequence point that names the thread is put there, since without one its first number
///   may be any.
/// - Problems of the source are not in what is written.
///
/// Does no I/O: the bytes gather in [`Writer::bytes`] until [`Writer::clear`]. Beside them it keeps one block, and some bytes
/// for each capture thread, each definition, and each stack since the last sequence point. The same items give the same bytes.
pub struct Writer {
    container: Container,
    definitions: Definitions,
    /// Ids of definitions written.
    defined: FxHashSet<u32>,
    stacks: Stacks,
    /// Id of each stack written since the last sequence point, by its serial.
    stack_ids: FxHashMap<u64, u32>,
    events: Events,
    numbers: Numbers,
    counts: WriteCounts,
}

/// What a [`Writer`] has written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WriteCounts {
    /// Events.
    pub events: u64,
    /// Definitions.
    pub definitions: u64,
    /// Stacks, one without frames among them. A stack can be written again after each sequence point.
    pub stacks: u64,
    /// Gaps of the source that readers of what was written cannot see.
    pub hidden_gaps: u64,
    /// Bytes.
    pub bytes: u64,
}

/// In place of a stack's serial, none of which gets so far.
const NO_STACK: u64 = u64::MAX;

/// An event with its definition that does not fit into a block that readers accept; nothing was written of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("event at byte {offset} of the source has {payload} bytes of payload: too many for one block")]
pub struct EventTooLong {
    /// Where the event is in the source.
    pub offset: u64,
    /// Bytes of its payload.
    pub payload: usize,
}

/// A stream of a newer version: it says things that version 4 has no place for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("a stream of version {0} cannot be written as one of version 4")]
pub struct NewerSource(pub FormatVersion);

/// Bytes that a block may have beside the payload of one event: its header, and the event's.
const OVERHEAD: usize = 128;

impl Writer {
    /// Begins a stream.
    ///
    /// # Errors
    ///
    /// [`NewerSource`] when the source is neither of version 4 nor 5.
    pub fn new(trace: &TraceInfo) -> Result<Self, NewerSource> {
        if trace.version.major > 4 {
            return Err(NewerSource(trace.version));
        }
        let mut container = Container::new();
        container.trace(trace);
        Ok(Self {
            container,
            definitions: Definitions::default(),
            defined: FxHashSet::default(),
            stacks: Stacks::new(),
            stack_ids: FxHashMap::default(),
            events: Events::default(),
            numbers: Numbers::default(),
            counts: WriteCounts::default(),
        })
    }

    /// Bytes that are ready: a stream's next ones.
    pub fn bytes(&self) -> &[u8] {
        self.container.bytes()
    }

    /// Forgets the bytes of [`Writer::bytes`]: they are where they should be.
    pub fn clear(&mut self) {
        self.container.clear();
    }

    /// What was written so far, bytes of the block at work not counted.
    pub fn counts(&self) -> WriteCounts {
        WriteCounts { bytes: self.container.offset(), ..self.counts }
    }

    /// Writes an item; [`Item::Trace`] and [`Item::Problem`] have no place in the middle of a stream and are left out.
    ///
    /// # Errors
    ///
    /// [`EventTooLong`]. The stream goes on without the event, whose number is not given to another: it shows as lost.
    pub fn item(&mut self, item: &Item<'_>) -> Result<(), EventTooLong> {
        match item {
            Item::Event(event) => self.event(event),
            Item::Gap(gap) => {
                self.gap(gap);
                Ok(())
            }
            Item::SequencePoint(point) => {
                self.sequence_point(point);
                Ok(())
            }
            Item::Trace(_) | Item::Problem(_) => Ok(()),
        }
    }

    /// Writes an event.
    ///
    /// # Errors
    ///
    /// [`EventTooLong`], as [`Writer::item`].
    pub fn event(&mut self, event: &Event<'_>) -> Result<(), EventTooLong> {
        let sequence = self.numbers.next(event.header.capture_thread);
        if event.payload.len().saturating_add(OVERHEAD) > MAX_BLOCK_BYTES as usize {
            return Err(EventTooLong { offset: event.offset, payload: event.payload.len() });
        }
        if self.events.len().saturating_add(event.payload.len()).saturating_add(OVERHEAD) > BLOCK_BYTES {
            self.end_blocks();
        }
        let metadata = event.metadata;
        if !self.defined.contains(&metadata.id) {
            self.make_room(self.definitions.len(), metadata.raw.len().saturating_add(OVERHEAD));
            self.definitions.push(metadata);
            self.defined.insert(metadata.id);
            self.counts.definitions = self.counts.definitions.saturating_add(1);
        }
        let stack_id = self.stack_id(event.stack);
        self.events.push(event, sequence, stack_id);
        self.counts.events = self.counts.events.saturating_add(1);
        Ok(())
    }

    /// The id of a stack. Without one, as runtimes do it, that of a stack without frames: TraceEvent takes the stack of the
    /// event before for that of an event whose id is 0.
    fn stack_id(&mut self, stack: Option<Stack<'_>>) -> u32 {
        let (serial, bytes) = stack.map_or((NO_STACK, &[][..]), |stack| (stack.serial(), stack.as_bytes()));
        if let Some(id) = self.stack_ids.get(&serial) {
            return *id;
        }
        self.make_room(self.stacks.len(), bytes.len());
        let id = self.stacks.push(bytes);
        self.stack_ids.insert(serial, id);
        self.counts.stacks = self.counts.stacks.saturating_add(1);
        id
    }

    /// Ends the blocks when one of `length` bytes has no room for so many more.
    fn make_room(&mut self, length: usize, bytes: usize) {
        if length.saturating_add(bytes) > BLOCK_BYTES {
            self.end_blocks();
        }
    }

    /// Keeps a gap visible.
    pub fn gap(&mut self, gap: &Gap) {
        match self.numbers.point_for(gap) {
            PointFor::None => {}
            PointFor::Thread(number) => {
                self.end_blocks();
                self.point(gap.after, &[(gap.capture_thread, number)]);
            }
            PointFor::TooMany => self.counts.hidden_gaps = self.counts.hidden_gaps.saturating_add(1),
        }
        self.numbers.gap(gap);
    }

    /// Writes a sequence point: it names the threads that the source's names, with their new numbers.
    pub fn sequence_point(&mut self, point: &SequencePoint<'_>) {
        self.end_blocks();
        let threads = self.numbers.sequence_point(point.threads());
        self.point(point.time, &threads);
    }

    fn point(&mut self, time: u64, threads: &[(u64, u32)]) {
        let mut content = time.to_le_bytes().to_vec();
        // There are no more than the source had in one block.
        content.extend((threads.len() as u32).to_le_bytes());
        for (thread, sequence) in threads {
            content.extend(thread.to_le_bytes());
            content.extend(sequence.to_le_bytes());
        }
        self.container.block("SPBlock", &content);
        self.stacks.restart();
        self.stack_ids.clear();
    }

    /// Writes what there is of blocks, in the order in which readers need them.
    fn end_blocks(&mut self) {
        self.definitions.end(&mut self.container);
        self.stacks.end(&mut self.container);
        self.events.end(&mut self.container);
    }

    /// Writes the rest and the end mark. The last bytes are in [`Writer::bytes`]; nothing may be written after it.
    pub fn finish(&mut self) {
        self.end_blocks();
        self.container.end();
    }
}
