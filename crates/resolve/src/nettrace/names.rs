//! From the addresses of a stack to its frames, at the time of each sample.

use super::stacks::{RawStack, Stacks};
use crate::symbols::Named;
use strata_address::Avma;
use strata_profile::{Found, Frame, FrameId, Function, ProfileBuilder, SourceLine, StackId, Timestamp};

/// What is where in a process, at a moment that only moves forward.
pub(super) trait CodeInTime {
    /// Moves to a moment; returns whether anything changed.
    fn advance(&mut self, to: Timestamp) -> bool;

    /// What is at an address.
    fn name(&mut self, address: Avma) -> Named;

    /// How an address of this role was found.
    fn found(&self, role: Role) -> Found;
}

/// Names the stacks of samples that come in time order.
pub(super) struct Names<'t, C> {
    code: C,
    stacks: &'t Stacks,
    /// Counts the changes of code; what is known from before a change is looked up again.
    epoch: u32,
    /// What each address with its callers was as the leaf of a sample, and when.
    as_leaf: Vec<Option<(u32, StackId)>>,
    /// The same as the caller of another address.
    as_caller: Vec<Option<(u32, StackId)>>,
}

/// What an address of a stack stands for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// The instruction that was to run next.
    Leaf,
    /// The one behind a call.
    Caller,
}

impl Role {
    /// The address that says what an address of this role is in: a return address belongs to the call before it.
    pub(super) fn looked_up(self, address: Avma) -> Avma {
        match self {
            Role::Leaf => address,
            Role::Caller => address.checked_sub(1).unwrap_or(address),
        }
    }
}

impl<'t, C: CodeInTime> Names<'t, C> {
    pub(super) fn new(code: C, stacks: &'t Stacks) -> Self {
        let unknown = vec![None; stacks.len()];
        Self { code, stacks, epoch: 0, as_leaf: unknown.clone(), as_caller: unknown }
    }

    /// What named the stacks.
    pub(super) fn into_code(self) -> C {
        self.code
    }

    /// The stack of a sample at this time, which is not before that of the last.
    pub(super) fn stack(&mut self, builder: &mut ProfileBuilder, stack: RawStack, time: Timestamp) -> StackId {
        if self.code.advance(time) {
            self.epoch = self.epoch.wrapping_add(1);
        }
        if let Some(known) = self.known(stack, Role::Leaf) {
            return known;
        }
        let mut waiting = vec![(stack, Role::Leaf)];
        let mut caller = None;
        // Out to the nearest caller that is known.
        while let Some(&(at, role)) = waiting.last() {
            if let Some(known) = self.known(at, role) {
                waiting.pop();
                caller = Some(known);
                break;
            }
            match self.stacks.get(at).and_then(|node| node.caller) {
                Some(further) => waiting.push((further, Role::Caller)),
                None => break,
            }
        }
        // And back in.
        while let Some((at, role)) = waiting.pop() {
            let address = self.stacks.get(at).map_or(Avma(0), |node| node.address);
            let frame = self.frame(builder, address, role);
            let id = builder.stack(caller, frame);
            self.keep(at, role, id);
            caller = Some(id);
        }
        caller.unwrap_or_else(|| {
            // Not reached: a stack has at least its own frame.
            let frame = self.frame(builder, Avma(0), Role::Leaf);
            builder.stack(None, frame)
        })
    }

    fn known(&self, stack: RawStack, role: Role) -> Option<StackId> {
        let table = if role == Role::Leaf { &self.as_leaf } else { &self.as_caller };
        let (epoch, id) = (*table.get(stack.index())?)?;
        (epoch == self.epoch).then_some(id)
    }

    fn keep(&mut self, stack: RawStack, role: Role, id: StackId) {
        let table = if role == Role::Leaf { &mut self.as_leaf } else { &mut self.as_caller };
        if let Some(slot) = table.get_mut(stack.index()) {
            *slot = Some((self.epoch, id));
        }
    }

    fn frame(&mut self, builder: &mut ProfileBuilder, address: Avma, role: Role) -> FrameId {
        let named = self.code.name(role.looked_up(address));
        let module = named.module.map(|module| builder.module(module));
        let function = builder.function(Function { name: named.name, module, kind: named.kind });
        let line =
            named.line.map(|line| SourceLine { file: builder.source_file((*line.file).clone()), line: line.number });
        builder.frame(Frame { function, address, found: self.code.found(role), named: named.source, line })
    }
}
