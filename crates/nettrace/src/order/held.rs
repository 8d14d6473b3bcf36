//! Events that wait, as copies that borrow nothing from the decoder.

use super::shared::Shared;
use crate::event::{Event, EventHeader};
use crate::six::Labels;
use crate::stack::PointerSize;

/// A copied event without its time. Its bytes (activity, related activity, labels, payload) lie behind each other in the arena
/// of the queue; its definition, its stack and its thread, which many events share, in [`Shared`].
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
    /// Index of what the stream says of its thread + 1; 0 for none.
    thread_info: u32,
    sequence: u32,
    processor: u32,
    stack_id: u32,
    labels_bytes: u32,
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
        arena.extend_from_slice(header.labels.as_bytes());
        arena.extend_from_slice(event.payload);
        Self {
            at,
            thread: header.thread,
            capture_thread: header.capture_thread,
            offset: event.offset,
            definition: shared.definition(event.metadata),
            stack: event.stack.map_or(0, |stack| shared.stack(stack)),
            thread_info: header.thread_info.map_or(0, |info| shared.thread(info)),
            sequence: header.sequence,
            processor: header.processor,
            stack_id: header.stack_id,
            // Both lie in blocks, whose size is limited.
            labels_bytes: header.labels.as_bytes().len() as u32,
            payload_bytes: event.payload.len() as u32,
            has_activity: header.activity.is_some(),
            has_related_activity: header.related_activity.is_some(),
            pointer_size: event.pointer_size,
        }
    }

    /// Bytes in the arena.
    pub(super) fn bytes(&self) -> usize {
        let guids = usize::from(self.has_activity).saturating_add(self.has_related_activity.into());
        let rest = (self.labels_bytes as usize).saturating_add(self.payload_bytes as usize);
        guids.saturating_mul(GUID_BYTES).saturating_add(rest)
    }

    /// Gives the event, for as long as `with` runs, with its time and whether it counts as sorted.
    #[inline]
    pub(super) fn lend(
        &self,
        (time, sorted): (u64, bool),
        arena: &[u8],
        shared: &Shared,
        with: impl FnOnce(Event<'_>),
    ) {
        let mut rest = arena.get(self.at..).unwrap_or_default();
        let mut guid = |has: bool| {
            let (guid, after) = rest.split_first_chunk().filter(|_| has)?;
            rest = after;
            Some(guid)
        };
        let (activity, related_activity) = (guid(self.has_activity), guid(self.has_related_activity));
        let (labels, rest) = rest.split_at_checked(self.labels_bytes as usize).unwrap_or_default();
        let payload = rest.get(..self.payload_bytes as usize).unwrap_or_default();
        let Some(metadata) = shared.get_definition(self.definition) else { return };
        let stack = self.stack.checked_sub(1).and_then(|index| shared.get_stack(index));
        let header = EventHeader {
            thread: self.thread,
            capture_thread: self.capture_thread,
            time,
            sequence: self.sequence,
            processor: self.processor,
            stack_id: self.stack_id,
            sorted,
            activity,
            related_activity,
            labels: Labels::from_bytes(labels),
            thread_info: self.thread_info.checked_sub(1).and_then(|index| shared.get_thread(index)),
        };
        with(Event { header: &header, metadata, stack, payload, offset: self.offset, pointer_size: self.pointer_size });
    }
}
