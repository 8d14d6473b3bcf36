//! Stacks of addresses, each distinct one once, as a tree that shares its root side.

use rustc_hash::FxHashMap;
use std::num::NonZeroU32;
use strata_address::Avma;
use strata_nettrace::Stack;
use strata_profile::{Cut, StackEnd};

/// From this many frames on the runtime may have left out the callers.
const DEEPEST: u32 = 100;

/// Names one stack of a [`Stacks`]: its innermost address with all its callers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct RawStack(
    /// Counted from 1, so that a stack or none takes no more room than a stack.
    NonZeroU32,
);

impl RawStack {
    /// The next one behind so many; `None` when there are more than can be numbered.
    fn behind(count: usize) -> Option<Self> {
        u32::try_from(count).ok()?.checked_add(1).and_then(NonZeroU32::new).map(Self)
    }

    pub(super) fn index(self) -> usize {
        usize::try_from(self.0.get() - 1).unwrap_or(usize::MAX)
    }
}

/// One address, called from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Node {
    pub(super) caller: Option<RawStack>,
    pub(super) address: Avma,
}

/// All stacks of the samples.
#[derive(Debug, Default)]
pub(super) struct Stacks {
    nodes: Vec<Node>,
    depths: Vec<u32>,
    known: FxHashMap<Node, RawStack>,
    /// The stacks that the stream defined since they restarted.
    of_serial: FxHashMap<u64, RawStack>,
}

impl Stacks {
    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(super) fn get(&self, stack: RawStack) -> Option<Node> {
        self.nodes.get(stack.index()).copied()
    }

    /// The stack, once for all that are equal; `None` of one without frames, or when there are more than can be numbered.
    pub(super) fn intern(&mut self, stack: &Stack<'_>) -> Option<RawStack> {
        if let Some(known) = self.of_serial.get(&stack.serial()) {
            return Some(*known);
        }
        let mut at: Option<RawStack> = None;
        let mut depth = 0_u32;
        for address in stack.addresses().rev() {
            depth = depth.saturating_add(1);
            let node = Node { caller: at, address };
            at = match self.known.get(&node) {
                Some(known) => Some(*known),
                None => {
                    let new = RawStack::behind(self.nodes.len())?;
                    self.nodes.push(node);
                    self.depths.push(depth);
                    self.known.insert(node, new);
                    Some(new)
                }
            };
        }
        if let Some(at) = at {
            self.of_serial.insert(stack.serial(), at);
        }
        at
    }

    /// No stack that was defined is spoken of any more.
    pub(super) fn restart(&mut self) {
        self.of_serial.clear();
    }

    /// How a sample's stack ends.
    pub(super) fn end_of(&self, stack: Option<RawStack>) -> StackEnd {
        match stack.and_then(|stack| self.depths.get(stack.index())) {
            None => StackEnd::Cut(Cut::Unknown),
            Some(depth) if *depth >= DEEPEST => StackEnd::Cut(Cut::TooDeep),
            Some(_) => StackEnd::Root,
        }
    }
}
