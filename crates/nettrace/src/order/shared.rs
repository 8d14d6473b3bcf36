//! What many events that wait have in common, copied once.

use std::collections::HashMap;

use rustc_hash::FxHashMap;

use crate::metadata::Metadata;
use crate::six::ThreadInfo;
use crate::stack::{PointerSize, Stack};

/// Copies of definitions, stacks and what the stream says of threads, one of each for all events that wait.
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
    threads: Threads,
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
    /// Bytes taken by stacks and by what the stream says of threads.
    pub(super) fn bytes(&self) -> usize {
        const INDEX: usize = size_of::<SharedStack>() + size_of::<(u64, u32)>();
        let stacks = self.stacks.len().saturating_mul(INDEX).saturating_add(self.stack_bytes.len());
        stacks.saturating_add(self.threads.bytes)
    }

    /// Bytes that this much about a thread takes at most.
    pub(super) fn bytes_of(info: &ThreadInfo) -> usize {
        const INDEX: usize = size_of::<ThreadInfo>() + size_of::<(u64, u32)>();
        info.text_bytes().saturating_add(INDEX)
    }

    /// At sequence points, when nothing waits: stacks end there, and ids of definitions may get another meaning (from
    /// version 6 on).
    pub(super) fn sequence_point(&mut self) {
        self.doubts = self.doubts.saturating_add(1);
        self.last_definition = None;
        self.forget();
    }

    /// Forgets stacks and threads, for when nothing waits.
    pub(super) fn forget(&mut self) {
        self.threads = Threads::default();
        self.last_stack = None;
        if !self.stacks.is_empty() {
            self.stacks.clear();
            self.by_serial.clear();
            self.stack_bytes.clear();
        }
    }

    #[inline]
    pub(super) fn definition(&mut self, metadata: &Metadata) -> u32 {
        match self.last_definition {
            Some((id, index)) if id == metadata.id => index,
            _ => self.look_up_definition(metadata),
        }
    }

    pub(super) fn get_definition(&self, index: u32) -> Option<&Metadata> {
        self.definitions.get(index as usize).map(|definition| &definition.metadata)
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
    pub(super) fn stack(&mut self, stack: Stack<'_>) -> u32 {
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

    pub(super) fn get_stack(&self, index: u32) -> Option<Stack<'_>> {
        let stack = self.stacks.get(index as usize)?;
        let bytes = self.stack_bytes.get(stack.at..)?.get(..stack.bytes as usize)?;
        Some(Stack::from_bytes(stack.serial, bytes, stack.pointer_size))
    }

    /// Index + 1 of a copy of what the stream says of a thread.
    pub(super) fn thread(&mut self, info: &ThreadInfo) -> u32 {
        self.threads.index_of(info).saturating_add(1)
    }

    pub(super) fn get_thread(&self, index: u32) -> Option<&ThreadInfo> {
        self.threads.all.get(index as usize)
    }
}

/// Copies of what the stream says of threads (from version 6 on).
#[derive(Default)]
struct Threads {
    all: Vec<ThreadInfo>,
    /// The newest one of each index of the stream.
    newest: HashMap<u64, u32>,
    last: u32,
    bytes: usize,
}

impl Threads {
    /// A thread's index can be given to another one at any time, so that what was kept is compared.
    fn index_of(&mut self, info: &ThreadInfo) -> u32 {
        if self.all.get(self.last as usize) != Some(info) {
            self.last = self.look_up(info);
        }
        self.last
    }

    fn look_up(&mut self, info: &ThreadInfo) -> u32 {
        let kept = self.newest.get(&info.index).copied();
        if let Some(index) = kept.filter(|index| self.all.get(*index as usize) == Some(info)) {
            return index;
        }
        let next = self.all.len() as u32;
        self.newest.insert(info.index, next);
        self.bytes = self.bytes.saturating_add(Shared::bytes_of(info));
        self.all.push(info.clone());
        next
    }
}
