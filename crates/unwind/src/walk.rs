//! The walk from the sampled instruction to the thread's first frame.

use crate::leaf::{self, LeafFrame};
use crate::roots::Roots;
use crate::sample::{FoundFrame, SampledStack, TargetMemory};
use crate::space::{AddressSpace, ToldBy};
use framehop::x86_64::{CacheX86_64, UnwindRegsX86_64};
use framehop::{Error as CfiError, FrameAddress, MayAllocateDuringUnwind, Unwinder as _};
use strata_address::Avma;
use strata_stack::{Cut, Found, StackEnd};

/// More frames than this are not followed.
const MAX_FRAMES: usize = 2048;

/// Walks stacks; holds what speeds up the next walk.
pub struct Unwinder {
    cache: CacheX86_64<MayAllocateDuringUnwind>,
    described: Described,
    roots: Roots,
}

impl Default for Unwinder {
    fn default() -> Self {
        Self { cache: CacheX86_64::new_in(), described: Described::default(), roots: Roots::default() }
    }
}

/// Remembers what tells the callers of addresses: the same return addresses come again and again.
struct Described {
    slots: Box<[(u64, Avma, ToldBy); Described::SLOTS]>,
}

impl Default for Described {
    fn default() -> Self {
        // No address space has generation 0.
        Self { slots: Box::new([(0, Avma(0), ToldBy::Instructions); Self::SLOTS]) }
    }
}

impl Described {
    /// More than a busy program's distinct return addresses in some milliseconds; 24 bytes each.
    const SLOTS: usize = 2048;

    /// As [`AddressSpace::told_by`].
    fn look_up(&mut self, space: &AddressSpace, address: Avma) -> Option<ToldBy> {
        let slot = &mut self.slots[address.0 as usize % Self::SLOTS];
        if (slot.0, slot.1) != (space.generation(), address) {
            *slot = (space.generation(), address, space.told_by(address)?);
        }
        Some(slot.2)
    }
}

struct Stack<'a, M> {
    sample: &'a SampledStack<'a>,
    memory: &'a mut M,
    beyond_copy: bool,
}

impl<M: TargetMemory> Stack<'_, M> {
    fn word(&mut self, address: u64) -> Option<u64> {
        let offset = address.checked_sub(self.sample.sp.0)?;
        let copied = usize::try_from(offset).ok().and_then(|offset| self.sample.copy.get(offset..)?.first_chunk());
        if let Some(bytes) = copied {
            return Some(u64::from_le_bytes(*bytes));
        }
        self.beyond_copy = true;
        self.memory.read_word(Avma(address))
    }
}

/// One step outwards.
enum Step {
    To(FoundFrame),
    Root,
    Stuck(Cut),
}

impl Unwinder {
    /// A new unwinder.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends the sample's user frames to `frames`, leaf first, and says how the stack ends.
    pub fn unwind<M: TargetMemory>(
        &mut self,
        space: &AddressSpace,
        sample: &SampledStack<'_>,
        memory: &mut M,
        frames: &mut Vec<FoundFrame>,
    ) -> StackEnd {
        let first = frames.len();
        frames.push(FoundFrame { address: sample.ip, found: Found::Ip });
        let mut stack = Stack { sample, memory, beyond_copy: false };
        let mut regs = UnwindRegsX86_64::new(sample.ip.0, sample.sp.0, sample.fp.0);
        let end = loop {
            let Some(&inner) = frames.last() else { break StackEnd::Cut(Cut::Unknown) };
            if frames.len() - first >= MAX_FRAMES {
                break StackEnd::Cut(Cut::TooDeep);
            }
            let sp_before = regs.sp();
            match self.step(space, inner, &mut regs, &mut stack) {
                Step::Root => break StackEnd::Root,
                Step::Stuck(why) => break StackEnd::Cut(why),
                // The stack pointer of every caller lies further out; anything else would loop.
                Step::To(_) if regs.sp() <= sp_before => break StackEnd::Cut(Cut::BadFramePointer),
                Step::To(frame) if space.code_at(look_up(frame.address)).is_none() => {
                    break StackEnd::Cut(Cut::NotCode);
                }
                Step::To(frame) => frames.push(frame),
            }
        };
        let end = reconcile(space, sample.kernel_chain, frames, first, end);
        if end == StackEnd::Root {
            self.roots.learn(sample, &frames[first..]);
            return end;
        }
        if self.roots.complete(sample, space, frames) { StackEnd::Root } else { end }
    }

    /// A thread ended: its number may come again.
    pub fn forget_thread(&mut self, thread: u32) {
        self.roots.forget_thread(thread);
    }

    /// A process ended or replaced its program.
    pub fn forget_process(&mut self, process: u32) {
        self.roots.forget_process(process);
    }

    fn step<M: TargetMemory>(
        &mut self,
        space: &AddressSpace,
        inner: FoundFrame,
        regs: &mut UnwindRegsX86_64,
        stack: &mut Stack<'_, M>,
    ) -> Step {
        let is_leaf = inner.found == Found::Ip;
        let at = if is_leaf { inner.address } else { look_up(inner.address) };
        let Some(told_by) = self.described.look_up(space, at) else { return Step::Stuck(Cut::NotCode) };
        if told_by == ToldBy::CallFrameInformation {
            return self.step_by_cfi(space, inner, regs, stack);
        }
        if is_leaf && let Some(step) = step_by_instructions(space, inner.address, regs, stack) {
            return step;
        }
        match told_by {
            ToldBy::FramePointer => step_by_frame_pointer(regs, stack),
            ToldBy::Instructions | ToldBy::CallFrameInformation => Step::Stuck(Cut::NoUnwindData),
        }
    }

    fn step_by_cfi<M: TargetMemory>(
        &mut self,
        space: &AddressSpace,
        inner: FoundFrame,
        regs: &mut UnwindRegsX86_64,
        stack: &mut Stack<'_, M>,
    ) -> Step {
        let address = if inner.found == Found::Ip {
            FrameAddress::from_instruction_pointer(inner.address.0)
        } else {
            match FrameAddress::from_return_address(inner.address.0) {
                Some(address) => address,
                None => return Step::Root,
            }
        };
        let mut read = |address| stack.word(address).ok_or(());
        match space.cfi().unwind_frame(address, regs, &mut self.cache, &mut read) {
            Ok(Some(0)) | Ok(None) | Err(CfiError::ReturnAddressIsNull) => Step::Root,
            Ok(Some(return_address)) => Step::To(stack.found(return_address, Found::Cfi)),
            Err(CfiError::CouldNotReadStack(_)) => Step::Stuck(Cut::MemoryNotRead),
            Err(_) => Step::Stuck(Cut::NoUnwindData),
        }
    }
}

impl<M> Stack<'_, M> {
    /// A frame, marked as found in live memory once the walk has left the copy.
    fn found(&self, address: u64, found: Found) -> FoundFrame {
        FoundFrame { address: Avma(address), found: if self.beyond_copy { Found::LiveMemory } else { found } }
    }
}

fn step_by_instructions<M: TargetMemory>(
    space: &AddressSpace,
    ip: Avma,
    regs: &mut UnwindRegsX86_64,
    stack: &mut Stack<'_, M>,
) -> Option<Step> {
    let mut code = [0; leaf::CODE_WINDOW];
    let length = stack.memory.read_code(ip, &mut code).min(code.len());
    let LeafFrame { return_address_at, caller_fp_at } = leaf::analyze(&code[..length], ip, Avma(regs.sp()))?;
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

fn step_by_frame_pointer<M: TargetMemory>(regs: &mut UnwindRegsX86_64, stack: &mut Stack<'_, M>) -> Step {
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
fn look_up(return_address: Avma) -> Avma {
    return_address.checked_sub(1).unwrap_or(return_address)
}

/// Holds what was read after the sample against what the kernel saw at the sample.
///
/// Frames found in live memory are kept when they lead to the root and the kernel's chain does not contradict them.
/// Otherwise they are dropped, and the kernel's chain takes over where it goes on from a frame that is sure.
fn reconcile(
    space: &AddressSpace,
    kernel_chain: &[u64],
    frames: &mut Vec<FoundFrame>,
    first: usize,
    end: StackEnd,
) -> StackEnd {
    let sure = frames[first..].iter().position(|frame| frame.found == Found::LiveMemory).map(|at| first + at);
    let used_live_memory = sure.is_some();
    let sure = sure.unwrap_or(frames.len());
    if end == StackEnd::Root && !used_live_memory {
        return end;
    }
    let anchor = frames[sure - 1].address.0;
    let onward: &[u64] = match kernel_chain.iter().position(|&address| address == anchor) {
        Some(at) => &kernel_chain[at + 1..],
        None => &[],
    };
    let is_code = |address: &u64| space.code_at(look_up(Avma(*address))).is_some();
    let next = onward.first().filter(|address| is_code(address));
    let contradicted = next.is_some_and(|next| !frames[sure..].iter().any(|frame| frame.address.0 == *next));
    if end == StackEnd::Root && !contradicted {
        return end;
    }
    frames.truncate(sure);
    for &address in onward.iter().take_while(|address| is_code(address)) {
        frames.push(FoundFrame { address: Avma(address), found: Found::KernelChain });
    }
    match end {
        StackEnd::Root => StackEnd::Cut(Cut::MemoryChanged),
        cut => cut,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space::Code;
    use strata_address::AvmaRange;

    const STACK: u64 = 0x7000;

    /// A target whose code is the same bytes everywhere and whose stack is only in the copy.
    struct Target(&'static [u8]);

    impl TargetMemory for Target {
        fn read_word(&mut self, _: Avma) -> Option<u64> {
            None
        }

        fn read_code(&mut self, _: Avma, code: &mut [u8]) -> usize {
            let length = self.0.len().min(code.len());
            code[..length].copy_from_slice(&self.0[..length]);
            length
        }
    }

    const BODY: &[u8] = &[0xe8, 0, 0, 0, 0];
    const RET: &[u8] = &[0xc3];

    /// Walks from a leaf at 0x1010 with `frame pointer` at the third stack word: (addresses, ways, end).
    fn walk(code: Code, instructions: &'static [u8], kernel_chain: &[u64]) -> (Vec<u64>, Vec<Found>, StackEnd) {
        let mut space = AddressSpace::new();
        space.map(AvmaRange::new(Avma(0x1000), Avma(0x2000)).unwrap(), code);
        // A return address for a leaf that returns at once; then what a frame pointer leads to, the last frame.
        let words = [0x1020_u64, 0, 0, 0x1040, 0, 0];
        let copy: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let (ip, sp, fp) = (Avma(0x1010), Avma(STACK), Avma(STACK + 16));
        let sample = SampledStack { process: 1, thread: 1, ip, sp, fp, copy: &copy, kernel_chain };
        let mut frames = Vec::new();
        let end = Unwinder::new().unwind(&space, &sample, &mut Target(instructions), &mut frames);
        (frames.iter().map(|frame| frame.address.0).collect(), frames.iter().map(|frame| frame.found).collect(), end)
    }

    #[test]
    fn frame_pointers_are_followed_only_where_code_keeps_them() {
        let (addresses, _, end) = walk(Code::FramePointers, BODY, &[]);
        assert_eq!((addresses, end), (vec![0x1010, 0x1040], StackEnd::Cut(Cut::BadFramePointer)));
        let (addresses, _, end) = walk(Code::Undescribed, BODY, &[]);
        assert_eq!((addresses, end), (vec![0x1010], StackEnd::Cut(Cut::NoUnwindData)));
    }

    #[test]
    fn code_of_which_nothing_is_known_is_walked_by_instructions_then_by_the_kernel() {
        let (addresses, found, end) = walk(Code::Undescribed, RET, &[]);
        assert_eq!((addresses, end), (vec![0x1010, 0x1020], StackEnd::Cut(Cut::NoUnwindData)));
        assert_eq!(found, [Found::Ip, Found::Instructions]);
        let (addresses, found, end) = walk(Code::Undescribed, BODY, &[0x1010, 0x1040, 0x1050]);
        assert_eq!((addresses, end), (vec![0x1010, 0x1040, 0x1050], StackEnd::Cut(Cut::NoUnwindData)));
        assert_eq!(found, [Found::Ip, Found::KernelChain, Found::KernelChain]);
    }
}
