//! Unwind records of the Windows x64 format: what a function's prologue does to the stack, so that it can be undone.
//!
//! .NET writes them on Linux too and adds a code for frames that are large. What they say of registers whose callers do not
//! keep them (XMM) is passed over.

use framehop::x86_64::{Reg, UnwindRegsX86_64};

/// What a prologue made: how to come from a function to its caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    /// Bytes of code that make it.
    pub(crate) prologue: u8,
    /// The last step of the prologue first.
    steps: Box<[Step]>,
}

/// One step of a prologue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Step {
    /// Bytes from the function's start to the end of the instruction that does it.
    done_at: u8,
    does: Does,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Does {
    /// Pushes a register.
    Push(Reg),
    /// Moves the stack pointer down by so many bytes.
    Allocate(u32),
    /// Sets a register to so many bytes above the stack pointer, which may move later.
    SetBase(Reg, u32),
    /// Stores a register so many bytes above the base, or above the stack pointer where there is none.
    Save(Reg, u32),
}

/// The stack could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NotRead;

/// What follows the codes of a record: the row of another function whose frame this code runs in.
const CHAINED: u8 = 4;

/// A chain longer than this is damaged or hostile: real ones have two.
const MAX_CHAIN: usize = 32;

impl Frame {
    /// The bytes that say it all, where the record is not chained to another.
    pub(crate) fn own_bytes(record: &[u8]) -> Option<&[u8]> {
        let [head, _, count, _] = *record.first_chunk()?;
        (head >> 3 & CHAINED == 0).then(|| record.get(..codes_end(count)))?
    }

    /// Reads a record, and those that it is chained to. `None` when it makes no sense, is for code that is not called, or has
    /// more codes than may still be read: `codes_left` counts down, for records that are left out too.
    pub(crate) fn parse<'data>(
        record: &[u8],
        record_at: impl Fn(u32) -> Option<&'data [u8]>,
        codes_left: &mut usize,
    ) -> Option<Self> {
        let mut steps = Vec::new();
        let prologue = *record.get(1)?;
        let mut next = Some(record);
        for depth in 0..MAX_CHAIN {
            let Some(record) = next else { return Some(Self { prologue, steps: steps.into() }) };
            let own = steps.len();
            *codes_left = codes_left.checked_sub(usize::from(*record.get(2)?))?;
            read_codes(record, &mut steps)?;
            if depth > 0 {
                // Chained code begins with the whole frame of the other function.
                steps.iter_mut().skip(own).for_each(|step| step.done_at = 0);
            }
            next = chained_to(record)?.map(|rva| record_at(rva).ok_or(())).transpose().ok()?;
        }
        None
    }

    /// How many steps there are.
    #[cfg(test)]
    pub(crate) fn steps(&self) -> usize {
        self.steps.len()
    }

    /// Undoes what the prologue had done `offset` bytes into the function: from the registers in the function to those in
    /// its caller, whose instruction pointer is returned.
    pub(crate) fn undo(
        &self,
        offset: u64,
        regs: &mut UnwindRegsX86_64,
        mut word: impl FnMut(u64) -> Option<u64>,
    ) -> Result<u64, NotRead> {
        let done = || self.steps.iter().filter(|step| u64::from(step.done_at) <= offset).map(|step| step.does);
        let base = done().find_map(|does| match does {
            Does::SetBase(register, above) => Some(regs.get(register).wrapping_sub(above.into())),
            _ => None,
        });
        let base = base.unwrap_or(regs.sp());
        for does in done() {
            match does {
                Does::Push(register) => {
                    let value = word(regs.sp()).ok_or(NotRead)?;
                    regs.set(register, value);
                    regs.set_sp(regs.sp().wrapping_add(8));
                }
                Does::Allocate(bytes) => regs.set_sp(regs.sp().wrapping_add(bytes.into())),
                Does::SetBase(..) => regs.set_sp(base),
                Does::Save(register, above) => {
                    regs.set(register, word(base.wrapping_add(above.into())).ok_or(NotRead)?);
                }
            }
        }
        let return_address = word(regs.sp()).ok_or(NotRead)?;
        regs.set_sp(regs.sp().wrapping_add(8));
        regs.set_ip(return_address);
        Ok(return_address)
    }
}

/// Where the codes of a record end.
fn codes_end(count: u8) -> usize {
    4 + 2 * usize::from(count)
}

/// The RVA of the record that a record is chained to, if it is; `None` when the record is cut.
fn chained_to(record: &[u8]) -> Option<Option<u32>> {
    let [head, _, count, _] = *record.first_chunk()?;
    if head >> 3 & CHAINED == 0 {
        return Some(None);
    }
    let row = codes_end(count.checked_add(count & 1)?);
    record.get(row + 8..)?.first_chunk().map(|rva| Some(u32::from_le_bytes(*rva)))
}

fn read_codes(record: &[u8], steps: &mut Vec<Step>) -> Option<()> {
    let [head, _, count, base] = *record.first_chunk()?;
    if head & 7 != 1 {
        return None;
    }
    let (codes, _) = record.get(4..codes_end(count))?.as_chunks::<2>();
    let mut codes = codes.iter().copied();
    while let Some([done_at, code]) = codes.next() {
        let (operation, info) = (code & 15, code >> 4);
        let mut number = || codes.next().map(|slot| u32::from(u16::from_le_bytes(slot)));
        let does = match (operation, info) {
            (0, _) => Does::Push(register(info)),
            (1, 0) => Does::Allocate(number()? * 8),
            (1, 1) => Does::Allocate(number()? | number()? << 16),
            (2, _) => Does::Allocate(u32::from(info) * 8 + 8),
            (3, _) => Does::SetBase(register(base & 15), u32::from(base >> 4) * 16),
            (4, _) => Does::Save(register(info), number()? * 8),
            (5, _) => Does::Save(register(info), number()? | number()? << 16),
            // XMM registers.
            (8, _) => {
                number()?;
                continue;
            }
            (9, _) => {
                number()?;
                number()?;
                continue;
            }
            // .NET's own, for bases further up than the record's head can say.
            (11, _) => Does::SetBase(register(base & 15), (number()? | number()? << 16).checked_mul(16)?),
            _ => return None,
        };
        steps.push(Step { done_at, does });
    }
    Some(())
}

/// By the number that instructions have for it.
fn register(number: u8) -> Reg {
    match number & 15 {
        0 => Reg::RAX,
        1 => Reg::RCX,
        2 => Reg::RDX,
        3 => Reg::RBX,
        4 => Reg::RSP,
        5 => Reg::RBP,
        6 => Reg::RSI,
        7 => Reg::RDI,
        8 => Reg::R8,
        9 => Reg::R9,
        10 => Reg::R10,
        11 => Reg::R11,
        12 => Reg::R12,
        13 => Reg::R13,
        14 => Reg::R14,
        _ => Reg::R15,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SP: u64 = 0x7000;

    fn parse<'data>(record: &[u8], record_at: impl Fn(u32) -> Option<&'data [u8]>) -> Option<Frame> {
        Frame::parse(record, record_at, &mut 10_000)
    }

    /// Undoes a frame over a stack whose word at each address is that address, with the frame pointer 0x100 above the stack
    /// pointer: how far up the return address lies, and the frame pointer of the caller.
    fn undo(frame: &Frame, offset: u64) -> (u64, u64) {
        let mut regs = UnwindRegsX86_64::new(0, SP, SP + 0x100);
        let return_address = frame.undo(offset, &mut regs, Some).unwrap();
        assert_eq!((regs.sp(), regs.ip()), (return_address + 8, return_address));
        (return_address - SP, regs.bp() - SP)
    }

    #[test]
    fn each_point_of_a_prologue_is_undone() {
        // push rbp; push r15; push rbx; sub rsp,20h; lea rbp,[rsp+30h]
        let record = [0x19, 13, 4, 0, 8, 0x32, 4, 0x30, 3, 0xf0, 1, 0x50];
        let frame = parse(&record, |_| None).unwrap();
        let got = [0, 1, 3, 4, 8, 13, 500].map(|offset| undo(&frame, offset));
        let expected = [(0, 0x100), (8, 0), (0x10, 8), (0x18, 0x10), (0x38, 0x30), (0x38, 0x30), (0x38, 0x30)];
        assert_eq!(got, expected);
    }

    #[test]
    fn a_base_register_is_where_the_frame_is_however_the_stack_moves() {
        // push rbp; push rbx; sub rsp,38h; lea rbp,[rsp+30h]; mov [rsp+8],r12; then 0x40 bytes of alloca.
        let record = [0x19, 20, 6, 0x35, 18, 0xc4, 1, 0, 13, 3, 6, 0x62, 2, 0x30, 1, 0x50];
        let frame = parse(&record, |_| None).unwrap();
        assert_eq!(undo(&frame, 100), (0x100 - 0x30 + 0x38 + 0x10, 0x100 - 0x30 + 0x38 + 8));
        // The same with .NET's code: 0x300 above.
        let record = [0x19, 20, 5, 0xf5, 13, 11, 0x30, 0, 0, 0, 6, 0x62, 1, 0x50];
        let frame = parse(&record, |_| None).unwrap();
        let mut regs = UnwindRegsX86_64::new(0, SP, SP + 0x1000);
        assert_eq!(frame.undo(100, &mut regs, Some), Ok(SP + 0x1000 - 0x300 + 0x38 + 8));
    }

    #[test]
    fn large_frames() {
        for (record, bytes) in [
            (&[1, 7, 2, 0, 7, 1, 0x20, 0][..], 0x100),
            (&[1, 7, 3, 0, 7, 0x11, 0x10, 0, 1, 0], 0x1_0010),
            (&[1, 7, 3, 0, 9, 0x68, 1, 0, 7, 2], 8),
        ] {
            assert_eq!(undo(&parse(record, |_| None).unwrap(), 9), (bytes, 0x100), "{record:?}");
        }
    }

    #[test]
    fn chained_code_has_the_frame_of_the_other_function() {
        let hot = [1, 1, 1, 0, 1, 0x50, 0, 0];
        // sub rsp,8, then the hot function's row.
        let mut cold = vec![0x21, 4, 1, 0, 4, 2, 0, 0];
        cold.extend([0x100_u32, 0x200, 0x40].map(u32::to_le_bytes).as_flattened());
        let frame = parse(&cold, |rva| (rva == 0x40).then_some(&hot[..])).unwrap();
        assert_eq!([0, 4].map(|offset| undo(&frame, offset)), [(8, 0), (0x10, 8)]);
        assert_eq!(parse(&cold, |_| None), None, "the other is not there");
        let own = cold.clone();
        assert_eq!(parse(&cold, |_| Some(&own)), None, "chained to itself");
        assert_eq!((Frame::own_bytes(&cold), Frame::own_bytes(&hot)), (None, Some(&hot[..6])));
    }

    #[test]
    fn records_that_make_no_sense_are_none() {
        let records: [&[u8]; 6] = [
            &[],
            &[1, 0, 0],
            &[3, 0, 0, 0],
            &[1, 0, 1, 0],
            // An allocation without its size, and an interrupt's frame.
            &[1, 0, 1, 0, 4, 1],
            &[1, 0, 1, 0, 0, 10],
        ];
        for record in records {
            assert_eq!(parse(record, |_| None), None, "{record:?}");
        }
    }

    #[test]
    fn a_stack_that_cannot_be_read_is_an_error() {
        let frame = parse(&[1, 1, 1, 0, 1, 0x50], |_| None).unwrap();
        let mut regs = UnwindRegsX86_64::new(0, SP, SP);
        assert_eq!(frame.undo(1, &mut regs, |_| None), Err(NotRead));
    }

    #[test]
    fn no_more_codes_are_read_than_may_be() {
        let record = [1, 2, 2, 0, 2, 0x30, 1, 0x50];
        let mut left = 3;
        assert!(Frame::parse(&record, |_| None, &mut left).is_some());
        assert_eq!((Frame::parse(&record, |_| None, &mut left), left), (None, 1));
    }
}
