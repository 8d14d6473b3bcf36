//! Events that wait, as copies that borrow nothing from the decoder.

use std::collections::HashMap;

use rustc_hash::FxHashMap;

use crate::event::{Event, EventHeader};
use crate::metadata::Metadata;
use crate::six::{Labels, ThreadInfo};
use crate::stack::{PointerSize, Stack};

/// A copied event without its time. Its bytes (activity, related activity, labels, stack, payload) lie behind each other in the
/// arena.
#[derive(Clone, Copy)]
pub(super) struct HeldEvent {
    /// Where its bytes begin in the arena.
    pub(super) at: usize,
    /// Which of [`Definitions`] is its own.
    pub(super) definition: u32,
    /// Which of [`Threads`] it is about, if the stream says anything of it.
    pub(super) thread_info: Option<u32>,
    thread: u64,
    capture_thread: u64,
    offset: u64,
    /// Serial number of its stack.
    stack: Option<u64>,
    pointer_size: PointerSize,
    sequence: u32,
    processor: u32,
    stack_id: u32,
    labels_bytes: u32,
    stack_bytes: u32,
    payload_bytes: u32,
    has_activity: bool,
    has_related_activity: bool,
}

const GUID_BYTES: usize = 16;

impl HeldEvent {
    /// The event and the bytes to put into the arena for it.
    pub(super) fn of<'a>(event: &Event<'a>, definition: u32, thread_info: Option<u32>) -> (Self, [&'a [u8]; 5]) {
        let header = event.header;
        let stack_bytes = event.stack.map_or(&[][..], |stack| stack.as_bytes());
        let guid = |guid: Option<&'a [u8; GUID_BYTES]>| guid.map_or(&[][..], |guid| &guid[..]);
        let held = Self {
            at: 0,
            definition,
            thread_info,
            thread: header.thread,
            capture_thread: header.capture_thread,
            offset: event.offset,
            stack: event.stack.map(|stack| stack.serial()),
            pointer_size: event.pointer_size,
            sequence: header.sequence,
            processor: header.processor,
            stack_id: header.stack_id,
            // They lie in blocks, whose size is limited.
            labels_bytes: header.labels.as_bytes().len() as u32,
            stack_bytes: stack_bytes.len() as u32,
            payload_bytes: event.payload.len() as u32,
            has_activity: header.activity.is_some(),
            has_related_activity: header.related_activity.is_some(),
        };
        let labels = header.labels.as_bytes();
        (held, [guid(header.activity), guid(header.related_activity), labels, stack_bytes, event.payload])
    }

    /// Bytes that [`HeldEvent::of`] would give for the event.
    pub(super) fn bytes_of(event: &Event<'_>) -> usize {
        Self::of(event, 0, None).0.bytes()
    }

    /// Bytes in the arena.
    pub(super) fn bytes(&self) -> usize {
        let guids = usize::from(self.has_activity).saturating_add(self.has_related_activity.into());
        let rest = (self.stack_bytes as usize)
            .saturating_add(self.payload_bytes as usize)
            .saturating_add(self.labels_bytes as usize);
        guids.saturating_mul(GUID_BYTES).saturating_add(rest)
    }

    /// Gives the event, for as long as `with` runs.
    pub(super) fn lend(
        &self,
        time: u64,
        arena: &[u8],
        metadata: &Metadata,
        thread_info: Option<&ThreadInfo>,
        with: impl FnOnce(Event<'_>),
    ) {
        let mut rest = arena.get(self.at..).unwrap_or_default();
        let mut take = |bytes: usize| {
            let (taken, after) = rest.split_at_checked(bytes).unwrap_or_default();
            rest = after;
            taken
        };
        let activity = self.has_activity.then(|| take(GUID_BYTES).first_chunk()).flatten();
        let related_activity = self.has_related_activity.then(|| take(GUID_BYTES).first_chunk()).flatten();
        let labels = Labels::from_bytes(take(self.labels_bytes as usize));
        let stack = take(self.stack_bytes as usize);
        let payload = take(self.payload_bytes as usize);
        let header = EventHeader {
            thread: self.thread,
            capture_thread: self.capture_thread,
            time,
            sequence: self.sequence,
            processor: self.processor,
            stack_id: self.stack_id,
            // Nothing earlier comes after it in the order it is handed on in.
            sorted: true,
            activity,
            related_activity,
            labels,
            thread_info,
        };
        let pointer_size = self.pointer_size;
        let stack = self.stack.map(|serial| Stack::from_bytes(serial, stack, pointer_size));
        with(Event { header: &header, metadata, stack, payload, offset: self.offset, pointer_size });
    }
}

/// Copies of the definitions of events that waited, found by id.
#[derive(Default)]
pub(super) struct Definitions {
    all: Vec<Kept>,
    index: FxHashMap<u32, u32>,
    /// Id and index of the one asked for last.
    last: Option<(u32, u32)>,
    /// How often the stream had an occasion to give ids another meaning.
    doubts: u64,
}

struct Kept {
    metadata: Metadata,
    /// Value of `doubts` when it was last seen to be what its id means.
    sure_at: u64,
}

impl Definitions {
    pub(super) fn get(&self, index: u32) -> Option<&Metadata> {
        self.all.get(index as usize).map(|kept| &kept.metadata)
    }

    /// At sequence points, where nothing waits, ids may get another meaning (from version 6 on).
    pub(super) fn doubt(&mut self) {
        self.doubts = self.doubts.saturating_add(1);
        self.last = None;
    }

    #[inline]
    pub(super) fn index_of(&mut self, metadata: &Metadata) -> u32 {
        match self.last {
            Some((id, index)) if id == metadata.id => index,
            _ => self.look_up(metadata),
        }
    }

    fn look_up(&mut self, metadata: &Metadata) -> u32 {
        let next = self.all.len() as u32;
        let index = *self.index.entry(metadata.id).or_insert(next);
        match self.all.get_mut(index as usize) {
            Some(kept) if kept.sure_at == self.doubts => {}
            Some(kept) => {
                if kept.metadata != *metadata {
                    kept.metadata = metadata.clone();
                }
                kept.sure_at = self.doubts;
            }
            None => self.all.push(Kept { metadata: metadata.clone(), sure_at: self.doubts }),
        }
        self.last = Some((metadata.id, index));
        index
    }
}

/// Copies of what the stream said of the threads of events that waited (from version 6 on).
#[derive(Default)]
pub(super) struct Threads {
    all: Vec<ThreadInfo>,
    /// The newest one of each index of the stream.
    index: HashMap<u64, u32>,
    last: u32,
}

impl Threads {
    pub(super) fn get(&self, index: u32) -> Option<&ThreadInfo> {
        self.all.get(index as usize)
    }

    /// Lets all go; nothing may wait.
    pub(super) fn forget(&mut self) {
        self.all.clear();
        self.index.clear();
    }

    /// A thread's index can be given to another one at any time, so that what was kept is compared.
    pub(super) fn index_of(&mut self, info: &ThreadInfo) -> u32 {
        if self.get(self.last) != Some(info) {
            self.last = self.look_up(info);
        }
        self.last
    }

    fn look_up(&mut self, info: &ThreadInfo) -> u32 {
        if let Some(index) = self.index.get(&info.index).copied().filter(|index| self.get(*index) == Some(info)) {
            return index;
        }
        let next = self.all.len() as u32;
        self.index.insert(info.index, next);
        self.all.push(info.clone());
        next
    }
}
