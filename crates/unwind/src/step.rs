//! Single steps of a walk: from a frame to its caller, by each way but call frame information.

use crate::leaf::{self, LeafFrame};
use crate::sample::{FoundFrame, SampledStack, TargetMemory};
use crate::space::{AddressSpace, Code};
use crate::unwind_codes::NotRead;
use crate::{epilogue, thunk};
use framehop::x86_64::UnwindRegsX86_64;
use strata_address::Avma;
use strata_stack::{Cut, Found};

/// The sampled stack, first the copy of it and then what the target has there now.
pub(crate) struct Stack<'a, M> {
    sample: &'a SampledStack<'a>,
    memory: &'a mut M,
    beyond_copy: bool,
}

impl<'a, M: TargetMemory> Stack<'a, M> {
    pub(crate) fn new(sample: &'a SampledStack<'a>, memory: &'a mut M) -> Self {
        Self { sample, memory, beyond_copy: false }
    }

    /// The instructions from an address on.
    fn code_from(&mut self, address: Avma) -> CodeWindow {
        let mut bytes = [0; leaf::CODE_WINDOW];
        let length = self.memory.read_code(address, &mut bytes).min(bytes.len());
        CodeWindow { bytes, length }
    }

    pub(crate) fn word(&mut self, address: u64) -> Option<u64> {
        let offset = address.checked_sub(self.sample.sp.0)?;
        let copied = usize::try_from(offset).ok().and_then(|offset| self.sample.copy.get(offset..)?.first_chunk());
        if let Some(bytes) = copied {
            return Some(u64::from_le_bytes(*bytes));
        }
        self.beyond_copy = true;
        self.memory.read_word(Avma(address))
    }
}

/// Some instructions.
struct CodeWindow {
    bytes: [u8; leaf::CODE_WINDOW],
    length: usize,
}

impl CodeWindow {
    fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

/// One step outwards.
pub(crate) enum Step {
    To(FoundFrame),
    Root,
    Stuck(Cut),
}

impl<M> Stack<'_, M> {
    /// A frame, marked as found in live memory once the walk has left the copy.
    pub(crate) fn found(&self, address: u64, found: Found) -> FoundFrame {
        FoundFrame { address: Avma(address), found: if self.beyond_copy { Found::LiveMemory } else { found } }
    }
}

pub(crate) fn by_unwind_codes<M: TargetMemory>(
    space: &AddressSpace,
    inner: FoundFrame,
    at: Avma,
    regs: &mut UnwindRegsX86_64,
    stack: &mut Stack<'_, M>,
) -> Step {
    let Some(Code::ReadyToRun { image, base }) = space.code_at(at) else { return Step::Stuck(Cut::NotCode) };
    let Some((function, frame)) = image.function(at.0.wrapping_sub(*base)) else {
        return Step::Stuck(Cut::NoUnwindData);
    };
    // What was done when the instruction came to be executed, not what a call before it had done.
    let offset = inner.address.0.wrapping_sub(*base).wrapping_sub(function.start.into());
    if inner.found == Found::Ip && offset >= frame.prologue.into() {
        let (sp, fp) = (Avma(regs.sp()), Avma(regs.bp()));
        let code = stack.code_from(inner.address);
        let leaf = epilogue::recognize(code.bytes(), sp, fp);
        if let Some(step) = leaf.and_then(|leaf| to_caller_of(leaf, space, regs, stack)) {
            return step;
        }
    }
    match frame.undo(offset, regs, |address| stack.word(address)) {
        Ok(0) => Step::Root,
        Ok(return_address) => Step::To(stack.found(return_address, Found::Cfi)),
        Err(NotRead) => Step::Stuck(Cut::MemoryNotRead),
    }
}

pub(crate) fn out_of_thunk<M: TargetMemory>(
    space: &AddressSpace,
    regs: &mut UnwindRegsX86_64,
    stack: &mut Stack<'_, M>,
) -> Option<Step> {
    let code = stack.code_from(stack.sample.ip.checked_sub(thunk::CODE_BEFORE as u64)?);
    let leaf = thunk::recognize(code.bytes(), Avma(regs.sp()))?;
    to_caller_of(leaf, space, regs, stack)
}

pub(crate) fn by_instructions<M: TargetMemory>(
    space: &AddressSpace,
    regs: &mut UnwindRegsX86_64,
    stack: &mut Stack<'_, M>,
) -> Option<Step> {
    let ip = stack.sample.ip;
    let code = stack.code_from(ip);
    let leaf = leaf::analyze(code.bytes(), ip, Avma(regs.sp()))?;
    to_caller_of(leaf, space, regs, stack)
}

/// To the caller of an innermost frame that was read off its instructions, if there is code.
fn to_caller_of<M: TargetMemory>(
    leaf: LeafFrame,
    space: &AddressSpace,
    regs: &mut UnwindRegsX86_64,
    stack: &mut Stack<'_, M>,
) -> Option<Step> {
    let LeafFrame { return_address_at, caller_fp_at } = leaf;
    let return_address = stack.word(return_address_at.0)?;
    let caller_fp = match caller_fp_at {
        Some(at) => stack.word(at.0)?,
        None => regs.bp(),
    };
    space.code_at(look_up(Avma(return_address)))?;
    regs.set_sp(return_address_at.checked_add(8)?.0);
    regs.set_bp(caller_fp);
    regs.set_ip(return_address);
    Some(Step::To(stack.found(return_address, Found::Instructions)))
}

pub(crate) fn by_frame_pointer<M: TargetMemory>(regs: &mut UnwindRegsX86_64, stack: &mut Stack<'_, M>) -> Step {
    let frame = regs.bp();
    if frame < regs.sp() || !frame.is_multiple_of(8) || frame > u64::MAX - 16 {
        return Step::Stuck(Cut::BadFramePointer);
    }
    let (Some(caller_fp), Some(return_address)) = (stack.word(frame), stack.word(frame + 8)) else {
        return Step::Stuck(Cut::MemoryNotRead);
    };
    if return_address == 0 {
        return Step::Root;
    }
    regs.set_sp(frame + 16);
    regs.set_bp(caller_fp);
    regs.set_ip(return_address);
    Step::To(stack.found(return_address, Found::FramePointer))
}

/// A return address belongs to the call before it.
pub(crate) fn look_up(return_address: Avma) -> Avma {
    return_address.checked_sub(1).unwrap_or(return_address)
}
