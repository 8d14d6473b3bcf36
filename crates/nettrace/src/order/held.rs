//! Events that wait, as copies that borrow nothing from the decoder.

use rustc_hash::FxHashMap;

use crate::event::{Event, EventHeader};
use crate::metadata::Metadata;
use crate::stack::{PointerSize, Stack};

/// A copied event without its time. Its bytes (activity, related activity, payload) lie behind each other in the arena of the
/// queue; its definition and its stack, which many events share, in [`Shared`].
#[derive(Clone, Copy)]
pub(super) struct HeldEvent {
    /// Where its bytes begin in the arena.
    pub(super) at: usize,
    thread: u64,
    capture_thread: u64,
    offset: u64,
    definition: u32,
    /// Index of the stack + 1; 0 for none.
    stack: u32,
    sequence: u32,
    processor: u32,
    stack_id: u32,
    payload_bytes: u32,
    has_activity: bool,
    has_related_activity: bool,
    pointer_size: PointerSize,
}

const GUID_BYTES: usize = 16;

impl HeldEvent {
    /// Copies the event's bytes to the end of the arena.
    #[inline]
    pub(super) fn copy(event: &Event<'_>, shared: &mut Shared, arena: &mut Vec<u8>) -> Self {
        let header = event.header;
        let at = arena.len();
        for guid in [header.activity, header.related_activity].into_iter().flatten() {
            arena.extend_from_slice(guid);
        }
        arena.extend_from_slice(event.payload);
        Self {
            at,
            thread: header.thread,
            capture_thread: header.capture_thread,
            offset: event.offset,
            definition: shared.definition(event.metadata),
            stack: event.stack.map_or(0, |stack| shared.stack(stack)),
            sequence: header.sequence,
            processor: header.processor,
            stack_id: header.stack_id,
            // It lies in a block, whose size is limited.
            payload_bytes: event.payload.len() as u32,
            has_activity: header.activity.is_some(),
            has_related_activity: header.related_activity.is_some(),
            pointer_size: event.pointer_size,
        }
    }

    /// Bytes in the arena.
    pub(super) fn bytes(&self) -> usize {
        let guids = usize::from(self.has_activity).saturating_add(self.has_related_activity.into());
        guids.saturating_mul(GUID_BYTES).saturating_add(self.payload_bytes as usize)
    }

    /// Gives the event, for as long as `with` runs.
    #[inline]
    pub(super) fn lend(&self, time: u64, arena: &[u8], shared: &Shared, with: impl FnOnce(Event<'_>)) {
        let mut rest = arena.get(self.at..).unwrap_or_default();
        let mut guid = |has: bool| {
            let (guid, after) = rest.split_first_chunk().filter(|_| has)?;
            rest = after;
            Some(guid)
        };
        let (activity, related_activity) = (guid(self.has_activity), guid(self.has_related_activity));
        let payload = rest.get(..self.payload_bytes as usize).unwrap_or_default();
        let Some(metadata) = shared.definitions.get(self.definition as usize) else { return };
        let stack = self.stack.checked_sub(1).and_then(|index| shared.get_stack(index));
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
        };
        with(Event {
            header: &header,
            metadata: &metadata.metadata,
            stack,
            payload,
            offset: self.offset,
            pointer_size: self.pointer_size,
        });
    }
}

/// Copies of definitions and stacks, one of each for all events that wait.
#[derive(Default)]
pub(super) struct Shared {
    definitions: Vec<Definition>,
    by_id: FxHashMap<u32, u32>,
    /// Id and index of the definition asked for last.
    last_definition: Option<(u32, u32)>,
    /// How often the stream had an occasion to give ids another meaning.
    doubts: u64,
    stacks: Vec<SharedStack>,
    by_serial: FxHashMap<u64, u32>,
    /// Serial of the stack asked for last and what was given for it.
    last_stack: Option<(u64, u32)>,
    stack_bytes: Vec<u8>,
}

struct Definition {
    metadata: Metadata,
    /// Value of `doubts` when it was last seen to be what its id means.
    sure_at: u64,
}

struct SharedStack {
    serial: u64,
    at: usize,
    bytes: u32,
    pointer_size: PointerSize,
}

impl Shared {
    /// Bytes taken by stacks.
    pub(super) fn bytes(&self) -> usize {
        const INDEX: usize = size_of::<SharedStack>() + size_of::<(u64, u32)>();
        self.stacks.len().saturating_mul(INDEX).saturating_add(self.stack_bytes.len())
    }

    /// At sequence points, when nothing waits: stacks end there, and ids of definitions may get another meaning (from
    /// version 6 on).
    pub(super) fn sequence_point(&mut self) {
        self.doubts = self.doubts.saturating_add(1);
        self.last_definition = None;
        self.forget_stacks();
    }

    /// For when nothing waits.
    pub(super) fn forget_stacks(&mut self) {
        self.last_stack = None;
        if !self.stacks.is_empty() {
            self.stacks.clear();
            self.by_serial.clear();
            self.stack_bytes.clear();
        }
    }

    #[inline]
    fn definition(&mut self, metadata: &Metadata) -> u32 {
        match self.last_definition {
            Some((id, index)) if id == metadata.id => index,
            _ => self.look_up_definition(metadata),
        }
    }

    fn look_up_definition(&mut self, metadata: &Metadata) -> u32 {
        let next = self.definitions.len() as u32;
        let index = *self.by_id.entry(metadata.id).or_insert(next);
        match self.definitions.get_mut(index as usize) {
            Some(definition) if definition.sure_at == self.doubts => {}
            Some(definition) => {
                if definition.metadata != *metadata {
                    definition.metadata = metadata.clone();
                }
                definition.sure_at = self.doubts;
            }
            None => self.definitions.push(Definition { metadata: metadata.clone(), sure_at: self.doubts }),
        }
        self.last_definition = Some((metadata.id, index));
        index
    }

    /// Index + 1 of a copy of the stack.
    #[inline]
    fn stack(&mut self, stack: Stack<'_>) -> u32 {
        match self.last_stack {
            Some((serial, index)) if serial == stack.serial() => index,
            _ => self.look_up_stack(stack),
        }
    }

    fn look_up_stack(&mut self, stack: Stack<'_>) -> u32 {
        // There are fewer stacks than bytes of the stream, and the limit on bytes keeps them far below 2^32.
        let next = (self.stacks.len() as u32).saturating_add(1);
        let index = *self.by_serial.entry(stack.serial()).or_insert(next);
        if index == next {
            let bytes = stack.as_bytes();
            self.stacks.push(SharedStack {
                serial: stack.serial(),
                at: self.stack_bytes.len(),
                bytes: bytes.len() as u32,
                pointer_size: stack.pointer_size(),
            });
            self.stack_bytes.extend_from_slice(bytes);
        }
        self.last_stack = Some((stack.serial(), index));
        index
    }

    fn get_stack(&self, index: u32) -> Option<Stack<'_>> {
        let stack = self.stacks.get(index as usize)?;
        let bytes = self.stack_bytes.get(stack.at..)?.get(..stack.bytes as usize)?;
        Some(Stack::from_bytes(stack.serial, bytes, stack.pointer_size))
    }
}
