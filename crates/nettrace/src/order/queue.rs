//! What waits: a merge of runs in which the times ascend.

use core::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use super::held::HeldEvent;
use crate::loss::Gap;

/// Below this many bytes the arena is not worth tidying up: it stays in the processor's cache.
const SMALL_ARENA: usize = 256 << 10;

/// No slot.
const NONE: u32 = u32::MAX;

/// Something that waits. The bytes of an event are in the arena.
#[derive(Clone, Copy)]
pub(super) enum Held {
    Event(HeldEvent),
    Gap(Gap),
}

/// First in, first out for equal times; earliest first otherwise.
///
/// Events come in long runs of ascending times, because a stream has them thread by thread: each run is a list through the
/// slots, and only their first ones are compared. A run ends where a time is smaller than the one before it, so that no order
/// of a hostile stream costs more than a heap does.
#[derive(Default)]
pub(super) struct Queue {
    slots: Vec<Slot>,
    /// Free slots, as a list.
    free: Vec<u32>,
    firsts: BinaryHeap<Reverse<First>>,
    /// The slot filled last, while it waits.
    last: Option<u32>,
    arrivals: u64,
    arena: Vec<u8>,
    /// Where arenas are copied to when they are compacted.
    spare: Vec<u8>,
    /// Bytes of the arena that belong to something that waits.
    live: usize,
}

#[derive(Clone, Copy)]
struct Slot {
    time: u64,
    arrival: u64,
    /// The slot after it in its run.
    next: u32,
    held: Option<Held>,
}

/// The first of a run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct First {
    time: u64,
    arrival: u64,
    slot: u32,
}

impl Queue {
    pub(super) fn len(&self) -> usize {
        self.slots.len().saturating_sub(self.free.len())
    }

    /// Bytes taken, were one more with so many bytes in the arena to wait.
    pub(super) fn size_with(&self, bytes: usize) -> usize {
        let slots = self.len().saturating_add(1).saturating_mul(size_of::<Slot>());
        slots.saturating_add(self.arena.len()).saturating_add(bytes)
    }

    /// The bytes of all events that wait, and of those that just went.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.arena
    }

    pub(super) fn first_time(&self) -> Option<u64> {
        self.firsts.peek().map(|Reverse(first)| first.time)
    }

    /// Adds something with the bytes that belong to it.
    pub(super) fn push<'a>(&mut self, time: u64, mut held: Held, parts: impl Iterator<Item = &'a [u8]>) {
        let start = self.arena.len();
        parts.for_each(|part| self.arena.extend_from_slice(part));
        self.live = self.live.saturating_add(self.arena.len().saturating_sub(start));
        if let Held::Event(event) = &mut held {
            event.at = start;
        }
        let arrival = self.arrivals;
        self.arrivals = arrival.wrapping_add(1);
        let filled = Slot { time, arrival, next: NONE, held: Some(held) };
        let slot = self.fill(filled);
        match self.last.and_then(|last| self.slots.get_mut(last as usize)).filter(|last| last.time <= time) {
            Some(last) => last.next = slot,
            None => self.firsts.push(Reverse(First { time, arrival, slot })),
        }
        self.last = Some(slot);
    }

    fn fill(&mut self, filled: Slot) -> u32 {
        if let Some(free) = self.free.pop()
            && let Some(slot) = self.slots.get_mut(free as usize)
        {
            *slot = filled;
            return free;
        }
        // The limit on bytes keeps the number of slots far below 2^32.
        let slot = self.slots.len() as u32;
        self.slots.push(filled);
        slot
    }

    /// Takes the earliest. Its bytes stay where they are until [`Queue::tidy`].
    pub(super) fn pop(&mut self) -> Option<(u64, Held)> {
        let mut first = self.firsts.peek_mut()?;
        let index = first.0.slot;
        let slot = self.slots.get_mut(index as usize)?;
        let (time, next, held) = (slot.time, slot.next, slot.held.take()?);
        match self.slots.get(next as usize) {
            Some(slot) => *first = Reverse(First { time: slot.time, arrival: slot.arrival, slot: next }),
            None => drop(PeekMut::pop(first)),
        }
        self.free.push(index);
        if self.last == Some(index) {
            self.last = None;
        }
        if let Held::Event(event) = &held {
            self.live = self.live.saturating_sub(event.bytes());
        }
        Some((time, held))
    }

    /// Gives back the memory of what went, where that is cheap.
    #[inline]
    pub(super) fn tidy(&mut self) {
        if self.firsts.is_empty() {
            self.slots.clear();
            self.free.clear();
            self.arena.clear();
            self.last = None;
        } else if self.arena.len() > SMALL_ARENA && self.live < self.arena.len() >> 1 {
            self.compact();
        }
    }

    /// Whether much of the arena belongs to nothing that waits.
    pub(super) fn is_worth_compacting(&self) -> bool {
        let dead = self.arena.len().saturating_sub(self.live);
        dead > self.arena.len() >> 2
    }

    /// Moves the bytes of all that waits together.
    #[cold]
    pub(super) fn compact(&mut self) {
        self.spare.clear();
        for slot in &mut self.slots {
            let Some(Held::Event(event)) = &mut slot.held else { continue };
            let end = event.at.saturating_add(event.bytes());
            let bytes = self.arena.get(event.at..end).unwrap_or_default();
            event.at = self.spare.len();
            self.spare.extend_from_slice(bytes);
        }
        core::mem::swap(&mut self.arena, &mut self.spare);
        // Kept only while it is small: both together must not take twice the limit.
        self.spare.clear();
        self.spare.shrink_to(SMALL_ARENA);
    }
}
