//! From the addresses of a stack to its frames, at the time of each sample.

use super::stacks::{RawStack, Stacks};
use crate::frames;
use crate::symbols::Named;
use strata_address::Avma;
use strata_profile::{Found, ProfileBuilder, StackId, Timestamp};

/// What is where in a process, and when.
pub(super) trait CodeInTime {
    /// What is at an address at a time. It is good for later times before the one beside it.
    fn name(&mut self, address: Avma, at: Timestamp) -> (Named, Timestamp);

    /// How an address of this role was found.
    fn found(&self, role: Role) -> Found;
}

/// Names the stacks of samples that come in time order.
pub(super) struct Names<'t, C> {
    code: C,
    stacks: &'t Stacks,
    /// What each address with its callers is as the leaf of a sample.
    as_leaf: Vec<Option<Known>>,
    /// The same as the caller of another address.
    as_caller: Vec<Option<Known>>,
}

/// A stack with its names.
#[derive(Clone, Copy)]
struct Known {
    id: StackId,
    /// One of them may be another from then on.
    until: Timestamp,
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
    /// The address that says what an address of this role is in.
    pub(super) fn looked_up(self, address: Avma) -> Avma {
        frames::look_up(address, self == Role::Leaf)
    }
}

impl<'t, C: CodeInTime> Names<'t, C> {
    pub(super) fn new(code: C, stacks: &'t Stacks) -> Self {
        let unknown = vec![None; stacks.len()];
        Self { code, stacks, as_leaf: unknown.clone(), as_caller: unknown }
    }

    /// What named the stacks.
    pub(super) fn into_code(self) -> C {
        self.code
    }

    /// The stack of a sample at this time, which is not before that of the last.
    pub(super) fn stack(&mut self, builder: &mut ProfileBuilder, stack: RawStack, time: Timestamp) -> StackId {
        if let Some(known) = self.known(stack, Role::Leaf, time) {
            return known.id;
        }
        let mut waiting = vec![(stack, Role::Leaf)];
        let mut caller = None;
        // Out to the nearest caller that is known.
        while let Some(&(at, role)) = waiting.last() {
            if let Some(known) = self.known(at, role, time) {
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
            let known = self.add(builder, caller, (address, role), time);
            self.keep(at, role, known);
            caller = Some(known);
        }
        // Not empty: a stack has at least its own frame.
        caller.unwrap_or_else(|| self.add(builder, None, (Avma(0), Role::Leaf), time)).id
    }

    fn known(&self, stack: RawStack, role: Role, time: Timestamp) -> Option<Known> {
        let table = if role == Role::Leaf { &self.as_leaf } else { &self.as_caller };
        (*table.get(stack.index())?).filter(|known| time < known.until)
    }

    fn keep(&mut self, stack: RawStack, role: Role, known: Known) {
        let table = if role == Role::Leaf { &mut self.as_leaf } else { &mut self.as_caller };
        if let Some(slot) = table.get_mut(stack.index()) {
            *slot = Some(known);
        }
    }

    fn add(
        &mut self,
        builder: &mut ProfileBuilder,
        caller: Option<Known>,
        (address, role): (Avma, Role),
        time: Timestamp,
    ) -> Known {
        let (named, until) = self.code.name(role.looked_up(address), time);
        let frame = frames::add(builder, named, address, self.code.found(role));
        let until = caller.map_or(until, |caller| caller.until.min(until));
        Known { id: builder.stack(caller.map(|caller| caller.id), frame), until }
    }
}
