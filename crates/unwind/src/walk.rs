//! The walk from the sampled instruction to the thread's first frame.

use crate::roots::Roots;
use crate::sample::{FoundFrame, SampledStack, TargetMemory};
use crate::space::{AddressSpace, ToldBy};
use crate::step::{self, Stack, Step, look_up};
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
        let mut stack = Stack::new(sample, memory);
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
        match told_by {
            ToldBy::CallFrameInformation => return self.step_by_cfi(space, inner, regs, stack),
            ToldBy::UnwindCodes => return step::by_unwind_codes(space, inner, at, regs, stack),
            ToldBy::Thunk | ToldBy::FramePointer | ToldBy::Instructions => {}
        }
        let thunk = (is_leaf && told_by == ToldBy::Thunk).then(|| step::out_of_thunk(space, regs, stack)).flatten();
        if let Some(step) = thunk {
            return step;
        }
        if is_leaf && let Some(step) = step::by_instructions(space, regs, stack) {
            return step;
        }
        match told_by {
            ToldBy::FramePointer | ToldBy::Thunk => step::by_frame_pointer(regs, stack),
            _ => Step::Stuck(Cut::NoUnwindData),
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
    use crate::ready_to_run::ReadyToRunUnwindData;
    use crate::space::Code;
    use std::sync::Arc;
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
    fn precompiled_code_is_walked_by_its_unwind_codes_and_stubs_beside_it_by_their_instructions() {
        // One function, from 0x1000 on: sub rsp,18h, done after four bytes.
        let record = [1, 4, 1, 0, 4, 0x22];
        let image = |start: u32, end: u32| {
            let rows: Vec<u8> = [start, end, 0].iter().flat_map(|number| number.to_le_bytes()).collect();
            let image = ReadyToRunUnwindData::parse(&rows, |_| Some(&record));
            Code::ReadyToRun { image: Arc::new(image), base: 0x1000 }
        };
        let (addresses, found, _) = walk(image(0, 0x100), BODY, &[]);
        assert_eq!((&addresses[..2], found[1]), (&[0x1010, 0x1040][..], Found::Cfi));
        let (addresses, found, _) = walk(image(0xe, 0x100), BODY, &[]);
        assert_eq!((&addresses[..2], found[1]), (&[0x1010, 0x1020][..], Found::Cfi), "before the stack pointer moved");
        let (addresses, found, _) = walk(image(0, 0x100), RET, &[]);
        assert_eq!((&addresses[..2], found[1]), (&[0x1010, 0x1020][..], Found::Instructions), "at its end");
        const STUB: &[u8] =
            &[0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0x33, 0xc0, 0x6a, 3, 0xff, 0x35, 0, 0, 0, 0, 0xff, 0x25, 0, 0, 0, 0];
        let (addresses, found, _) = walk(image(0x100, 0x200), STUB, &[]);
        assert_eq!((&addresses[..2], found[1]), (&[0x1010, 0x1020][..], Found::Instructions), "in a stub");
        let (addresses, found, _) = walk(image(0x100, 0x200), BODY, &[]);
        assert_eq!((&addresses[..2], found[1]), (&[0x1010, 0x1040][..], Found::FramePointer), "beside functions");
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
