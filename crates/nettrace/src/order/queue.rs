//! What waits: a merge of runs in which the times ascend.

use core::cmp::Reverse;
use std::collections::BinaryHeap;

use super::held::HeldEvent;
use crate::loss::Gap;

/// Below this many bytes it is not worth giving memory back: what is there stays in the processor's cache.
const SMALL: usize = 512 << 10;

/// Something that waits. The bytes of an event are in the arena.
#[derive(Clone, Copy)]
pub(super) enum Held {
    Event(HeldEvent),
    Gap(Gap),
}

/// Earliest first; first in, first out for equal times.
///
/// Events come in long runs of ascending times, because a stream has them thread by thread. Slots are filled one after the
/// other, so that a run is a stretch of slots, and only the first ones of the runs are compared. A run ends where a time is
/// smaller than the one before it: no order of a hostile stream costs more than a heap does.
#[derive(Default)]
pub(super) struct Queue {
    slots: Vec<Slot>,
    firsts: BinaryHeap<Reverse<First>>,
    arena: Vec<u8>,
    /// Slots that wait, and the bytes of the arena that belong to them.
    waiting: usize,
    waiting_bytes: usize,
}

struct Slot {
    time: u64,
    waits: bool,
    held: Held,
}

/// The first of a run that still waits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct First {
    time: u64,
    slot: usize,
}

impl Queue {
    pub(super) fn len(&self) -> usize {
        self.waiting
    }

    /// Bytes taken, those included that wait to be given back.
    pub(super) fn bytes(&self) -> usize {
        self.slots.len().saturating_mul(size_of::<Slot>()).saturating_add(self.arena.len())
    }

    /// Bytes that one more slot takes.
    pub(super) const fn slot_bytes() -> usize {
        size_of::<Slot>()
    }

    /// Where in the arena the next bytes go.
    pub(super) fn arena(&mut self) -> &mut Vec<u8> {
        &mut self.arena
    }

    /// Adds something whose bytes are in the arena.
    #[inline]
    pub(super) fn push(&mut self, time: u64, held: Held) {
        let slot = self.slots.len();
        if self.slots.last().is_none_or(|last| !last.waits || last.time > time) {
            self.firsts.push(Reverse(First { time, slot }));
        }
        self.waiting = self.waiting.saturating_add(1);
        self.waiting_bytes = self.waiting_bytes.saturating_add(held.bytes());
        self.slots.push(Slot { time, waits: true, held });
    }

    /// Takes what is not later than `until`, but no more than `most`; `with` gets the time of each and the arena.
    pub(super) fn release(&mut self, until: u64, most: usize, mut with: impl FnMut(u64, &Held, &[u8])) {
        let before = self.waiting;
        let least = before.saturating_sub(most);
        while self.waiting > least
            && let Some(Reverse(First { time, slot })) = self.firsts.peek().copied()
            && time <= until
        {
            self.firsts.pop();
            let rival = self.firsts.peek().copied();
            let mut index = slot;
            // A slot that follows in the run was compared when it was pushed: whether it belongs to it shows in its time.
            let mut reached = time;
            while let Some(slot) = self.slots.get_mut(index).filter(|slot| slot.time >= reached) {
                let first = First { time: slot.time, slot: index };
                let comes_later = rival.is_some_and(|Reverse(rival)| first > rival);
                if slot.time > until || comes_later || self.waiting <= least {
                    self.firsts.push(Reverse(first));
                    break;
                }
                slot.waits = false;
                self.waiting = self.waiting.saturating_sub(1);
                self.waiting_bytes = self.waiting_bytes.saturating_sub(slot.held.bytes());
                with(slot.time, &slot.held, &self.arena);
                reached = slot.time;
                index = index.saturating_add(1);
            }
        }
        if self.waiting != before {
            self.give_back(1);
        }
    }

    /// Gives back the memory of what went if that is more than one part in `2 ^ part` of all; says whether it did.
    pub(super) fn give_back(&mut self, part: u32) -> bool {
        if self.waiting == 0 {
            let had = !self.slots.is_empty();
            self.slots.clear();
            self.firsts.clear();
            self.arena.clear();
            return had;
        }
        let gone = self.slots.len().saturating_sub(self.waiting).saturating_mul(size_of::<Slot>());
        let gone = gone.saturating_add(self.arena.len()).saturating_sub(self.waiting_bytes);
        let is_worth_it = gone > self.bytes() >> part && (part > 1 || gone > SMALL);
        if is_worth_it {
            self.compact();
        }
        is_worth_it
    }

    /// Moves all that waits together.
    #[cold]
    fn compact(&mut self) {
        self.slots.retain(|slot| slot.waits);
        let mut end = 0;
        for slot in &mut self.slots {
            let bytes = slot.held.bytes();
            let Held::Event(event) = &mut slot.held else { continue };
            // Slots have their bytes in their own order, so nothing is written over that is still needed.
            let start = core::mem::replace(&mut event.at, end);
            let stop = start.saturating_add(bytes);
            if start > end && stop <= self.arena.len() {
                self.arena.copy_within(start..stop, end);
            }
            end = end.saturating_add(bytes);
        }
        self.arena.truncate(end);
        // Slots that are neighbours now may be one run.
        self.firsts.clear();
        let mut before = u64::MAX;
        for (index, slot) in self.slots.iter().enumerate() {
            if index == 0 || slot.time < before {
                self.firsts.push(Reverse(First { time: slot.time, slot: index }));
            }
            before = slot.time;
        }
    }
}

impl Held {
    /// Bytes in the arena.
    fn bytes(&self) -> usize {
        match self {
            Self::Event(event) => event.bytes(),
            Self::Gap(_) => 0,
        }
    }
}
