//! Contents of metadata, stack and event blocks, while they grow.

use super::container::Container;
use crate::blob::changes;
use crate::event::{Event, Guid};
use crate::metadata::Metadata;

/// Size of a block's header, with its own field.
const HEADER_BYTES: usize = 20;

/// Flags of a block: headers are compressed.
const COMPRESSED: u16 = 1;

/// Definitions for the next metadata block.
#[derive(Default)]
pub(super) struct Definitions {
    blobs: Vec<u8>,
}

impl Definitions {
    pub(super) fn len(&self) -> usize {
        self.blobs.len()
    }

    pub(super) fn push(&mut self, metadata: &Metadata) {
        self.blobs.push(changes::PAYLOAD);
        // Definitions have no time.
        push_number(&mut self.blobs, 0);
        let bytes = metadata.raw.len().saturating_add(size_of::<u32>());
        push_number(&mut self.blobs, bytes as u64);
        self.blobs.extend(metadata.id.to_le_bytes());
        self.blobs.extend_from_slice(&metadata.raw);
    }

    pub(super) fn end(&mut self, container: &mut Container) {
        end_blobs(&mut self.blobs, "MetadataBlock", (0, 0), container);
    }
}

/// Stacks for the next stack block.
pub(super) struct Stacks {
    entries: Vec<u8>,
    first_id: u32,
    count: u32,
}

impl Stacks {
    pub(super) fn new() -> Self {
        Self { entries: Vec::new(), first_id: 1, count: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Adds a stack and gives it an id.
    pub(super) fn push(&mut self, stack: &[u8]) -> u32 {
        self.entries.extend((stack.len() as u32).to_le_bytes());
        self.entries.extend_from_slice(stack);
        let id = self.first_id.wrapping_add(self.count);
        self.count = self.count.wrapping_add(1);
        id
    }

    pub(super) fn end(&mut self, container: &mut Container) {
        if self.count == 0 {
            return;
        }
        let mut content = self.first_id.to_le_bytes().to_vec();
        content.extend(self.count.to_le_bytes());
        content.extend_from_slice(&self.entries);
        container.block("StackBlock", &content);
        self.first_id = self.first_id.wrapping_add(self.count);
        self.count = 0;
        self.entries.clear();
    }

    /// Ids start again.
    pub(super) fn restart(&mut self) {
        self.first_id = 1;
    }
}

/// Events for the next event block.
#[derive(Default)]
pub(super) struct Events {
    blobs: Vec<u8>,
    last: State,
    times: Option<(u64, u64)>,
}

/// The fields of the header written last; all zero at the start of each block.
#[derive(Clone, Copy, Default)]
struct State {
    metadata_id: u32,
    sequence: u32,
    capture_thread: u64,
    processor: u32,
    thread: u64,
    stack_id: u32,
    time: u64,
    activity: [u8; 16],
    related_activity: [u8; 16],
    payload_bytes: u32,
}

impl Events {
    pub(super) fn len(&self) -> usize {
        self.blobs.len()
    }

    pub(super) fn push(&mut self, event: &Event<'_>, sequence: u32, stack_id: u32) {
        let header = event.header;
        let guid = |guid: Option<Guid>| guid.map_or([0; 16], |guid| guid.0);
        let new = State {
            metadata_id: event.metadata.id,
            sequence,
            capture_thread: header.capture_thread,
            processor: header.processor,
            thread: header.thread,
            stack_id,
            time: header.time,
            activity: guid(header.activity()),
            related_activity: guid(header.related_activity()),
            payload_bytes: event.payload.len() as u32,
        };
        self.push_header(&new, header.sorted);
        self.blobs.extend_from_slice(event.payload);
        self.last = new;
        let (earliest, latest) = self.times.unwrap_or((u64::MAX, 0));
        self.times = Some((earliest.min(header.time), latest.max(header.time)));
    }

    fn push_header(&mut self, new: &State, sorted: bool) {
        let (last, out) = (&self.last, &mut self.blobs);
        let follows = last.sequence.wrapping_add(1);
        let numbered =
            (new.sequence, new.capture_thread, new.processor) != (follows, last.capture_thread, last.processor);
        let flag = |differs: bool, flag: u8| if differs { flag } else { 0 };
        let flags = flag(new.metadata_id != last.metadata_id, changes::METADATA)
            | flag(numbered, changes::NUMBERED)
            | flag(new.thread != last.thread, changes::THREAD)
            | flag(new.stack_id != last.stack_id, changes::STACK)
            | flag(new.activity != last.activity, changes::ACTIVITY)
            | flag(new.related_activity != last.related_activity, changes::RELATED)
            | flag(sorted, changes::SORTED)
            | flag(new.payload_bytes != last.payload_bytes, changes::PAYLOAD);
        out.push(flags);
        if flags & changes::METADATA != 0 {
            push_number(out, new.metadata_id.into());
        }
        if numbered {
            push_number(out, new.sequence.wrapping_sub(follows).into());
            push_number(out, new.capture_thread);
            push_number(out, new.processor.into());
        }
        if flags & changes::THREAD != 0 {
            push_number(out, new.thread);
        }
        if flags & changes::STACK != 0 {
            push_number(out, new.stack_id.into());
        }
        // A smaller time than before is written as a huge difference.
        push_number(out, new.time.wrapping_sub(last.time));
        if flags & changes::ACTIVITY != 0 {
            out.extend(new.activity);
        }
        if flags & changes::RELATED != 0 {
            out.extend(new.related_activity);
        }
        if flags & changes::PAYLOAD != 0 {
            push_number(out, new.payload_bytes.into());
        }
    }

    pub(super) fn end(&mut self, container: &mut Container) {
        end_blobs(&mut self.blobs, "EventBlock", self.times.unwrap_or_default(), container);
        self.last = State::default();
        self.times = None;
    }
}

/// Writes a block of these blobs, if there are any.
fn end_blobs(blobs: &mut Vec<u8>, name: &str, times: (u64, u64), container: &mut Container) {
    if blobs.is_empty() {
        return;
    }
    let mut content = Vec::with_capacity(blobs.len().saturating_add(HEADER_BYTES));
    content.extend((HEADER_BYTES as u16).to_le_bytes());
    content.extend(COMPRESSED.to_le_bytes());
    content.extend(times.0.to_le_bytes());
    content.extend(times.1.to_le_bytes());
    content.extend_from_slice(blobs);
    container.block(name, &content);
    blobs.clear();
}

/// A number in groups of 7 bits, lowest first.
fn push_number(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}
