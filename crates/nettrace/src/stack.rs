//! Stacks: a table of what the stream defined, and a borrowed view of one.

use std::collections::HashMap;

use strata_address::Avma;

use crate::cursor::Cursor;
use crate::problem::{Damage, ProblemKind};

/// Size of a pointer in the traced process.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
// As wide as what stands beside it in a stack: padding would be copied in overlapping pieces, with every event.
#[repr(u64)]
pub enum PointerSize {
    /// 4 bytes.
    Four,
    /// 8 bytes.
    Eight,
}

impl PointerSize {
    pub(crate) fn from_bytes(bytes: u32) -> Option<Self> {
        match bytes {
            4 => Some(Self::Four),
            8 => Some(Self::Eight),
            _ => None,
        }
    }

    /// The size in bytes.
    pub const fn bytes(self) -> usize {
        match self {
            Self::Four => 4,
            Self::Eight => 8,
        }
    }
}

/// The managed frames of one stack, leaf first: the first address is the current instruction, the others are return
/// addresses as they stand (subtract 1 before looking them up).
///
/// The runtime leaves out native, kernel and its own frames, and cuts deep stacks (at 100 frames) on the root side.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Stack<'a> {
    serial: u64,
    bytes: &'a [u8],
    pointer_size: PointerSize,
}

impl<'a> Stack<'a> {
    /// Which definition of the stream this is, from 0: two events with the same serial have the same addresses, so work
    /// done for one stack can be kept. Unlike the stream's own stack ids, serials never start again.
    pub fn serial(&self) -> u64 {
        self.serial
    }

    /// Number of frames.
    pub fn len(&self) -> usize {
        match self.pointer_size {
            PointerSize::Four => self.bytes.len() >> 2,
            PointerSize::Eight => self.bytes.len() >> 3,
        }
    }

    /// Whether there is no frame. Stacks of events have one at least: an event without frames has no `Stack` at all.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The addresses as they stand in the stream, of the traced process' pointer size each.
    pub fn as_bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Size of each address.
    pub fn pointer_size(&self) -> PointerSize {
        self.pointer_size
    }

    /// A stack that was copied to another place.
    pub(crate) fn from_bytes(serial: u64, bytes: &'a [u8], pointer_size: PointerSize) -> Self {
        Self { serial, bytes, pointer_size }
    }

    /// The addresses, leaf first.
    pub fn addresses(&self) -> impl DoubleEndedIterator<Item = Avma> + ExactSizeIterator + 'a {
        let pointer_size = self.pointer_size;
        self.bytes.chunks_exact(pointer_size.bytes()).map(move |address| {
            Avma(match pointer_size {
                PointerSize::Four => address.first_chunk().map_or(0, |bytes| u64::from(u32::from_le_bytes(*bytes))),
                PointerSize::Eight => address.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes)),
            })
        })
    }
}

impl core::fmt::Debug for Stack<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_list().entries(self.addresses()).finish()
    }
}

#[derive(Clone, Copy)]
struct Entry {
    start: usize,
    bytes: u32,
}

impl Entry {
    /// In the place of one that was defined again: where no stack can be.
    const REPLACED: Self = Self { start: usize::MAX, bytes: 0 };

    fn bytes<'a>(&self, arena: &'a [u8]) -> Option<&'a [u8]> {
        arena.get(self.start..self.start.checked_add(self.bytes as usize)?)
    }
}

/// The stacks defined since the last sequence point.
#[derive(Default)]
pub(crate) struct StackTable {
    arena: Vec<u8>,
    entries: Vec<Entry>,
    first_id: u32,
    /// Definitions outside the run that starts at `first_id`, and newer ones of ids inside it: seen only when blocks are lost
    /// or hostile. A map, so that an id costs no memory for the ids below it.
    strays: HashMap<u32, (u64, Entry)>,
    /// Serial of `entries[0]`.
    first_serial: u64,
    defined: u64,
}

impl StackTable {
    /// Stacks defined in the stream so far.
    pub(crate) fn defined(&self) -> u64 {
        self.defined
    }

    /// Forgets all stacks: their ids start again after a sequence point.
    pub(crate) fn forget(&mut self) {
        self.arena.clear();
        self.entries.clear();
        self.strays.clear();
    }

    #[inline]
    pub(crate) fn get(&self, id: u32, pointer_size: PointerSize) -> Option<Stack<'_>> {
        let index = id.wrapping_sub(self.first_id);
        let in_run = self.entries.get(index as usize).and_then(|entry| entry.bytes(&self.arena));
        let (serial, bytes) = match in_run {
            Some(bytes) => (self.first_serial.wrapping_add(u64::from(index)), bytes),
            None => self.get_stray(id)?,
        };
        Some(Stack { serial, bytes, pointer_size })
    }

    #[cold]
    fn get_stray(&self, id: u32) -> Option<(u64, &[u8])> {
        let (serial, entry) = self.strays.get(&id)?;
        Some((*serial, entry.bytes(&self.arena)?))
    }

    /// Takes in the content of a stack block. Stacks before the damage, if there is any, stay.
    ///
    /// `problem` is told what was found, with its position in `content`.
    pub(crate) fn read_block(
        &mut self,
        content: &[u8],
        pointer_size: PointerSize,
        mut problem: impl FnMut(ProblemKind, usize, Option<i64>),
    ) -> Result<(), (Damage, usize)> {
        let mut cursor = Cursor::new(content);
        let header = |cursor: &mut Cursor<'_>| Ok((cursor.u32()?, cursor.u32()?));
        let (first_id, count) = header(&mut cursor).map_err(|damage| (damage, 0))?;
        // Every stack takes at least its size field, so this bounds the work by the bytes present.
        if u64::from(count).saturating_mul(4) > content.len() as u64 {
            return Err((Damage::BadSize, 4));
        }
        let base = self.arena.len();
        self.arena.extend_from_slice(content);
        for index in 0..count {
            let position = cursor.position();
            let bytes =
                cursor.u32().and_then(|bytes| cursor.take(bytes as usize)).map_err(|damage| (damage, position))?;
            let uneven = bytes.len() & pointer_size.bytes().wrapping_sub(1);
            if uneven != 0 {
                problem(ProblemKind::UnevenStack, position, Some(bytes.len() as i64));
            }
            let entry = Entry {
                start: base.saturating_add(position).saturating_add(4),
                bytes: bytes.len().saturating_sub(uneven) as u32,
            };
            let id = first_id.checked_add(index).ok_or((Damage::BadSize, position))?;
            if !self.define(id, entry) {
                problem(ProblemKind::DuplicateStack, position, Some(id.into()));
            }
        }
        Ok(())
    }

    /// Adds a stack, in the place of one with its id if there is one; says whether there was none.
    fn define(&mut self, id: u32, entry: Entry) -> bool {
        if self.entries.is_empty() && self.strays.is_empty() {
            self.first_id = id;
            self.first_serial = self.defined;
        }
        // Serials count definitions, so the run goes on only while no stray came between.
        let next = u32::try_from(self.entries.len()).ok().and_then(|length| self.first_id.checked_add(length));
        if next == Some(id) && self.first_serial.saturating_add(self.entries.len() as u64) == self.defined {
            // An id that ends the run is not among the strays: as long as there is one, the run does not go on.
            self.entries.push(entry);
            self.defined = self.defined.saturating_add(1);
            return true;
        }
        // A newer one has a serial of its own, which only strays can have.
        let in_run = self.entries.get_mut(id.wrapping_sub(self.first_id) as usize);
        let replaced = in_run.is_some_and(|entry| {
            *entry = Entry::REPLACED;
            true
        });
        let stray = self.strays.insert(id, (self.defined, entry));
        self.defined = self.defined.saturating_add(1);
        !replaced && stray.is_none()
    }
}
