//! The innermost frame, read off the instructions that follow the sampled one.
//!
//! A frame pointer says nothing about a function that has not set it yet, has restored it already, or never sets it: in a
//! prologue, an epilogue, a write barrier or a stub the frame pointer is still the caller's, and following it would skip
//! the caller. Walking forward over straight-line code tells where the return address lies in all these cases: the code
//! either sets the frame pointer from the stack pointer (a prologue) or returns (an epilogue, a leaf) before it calls
//! anything.

use iced_x86::{Code, Decoder, DecoderOptions, Instruction, Mnemonic, OpKind, Register};
use strata_address::Avma;

/// Where the caller's state lies for a frame that the frame pointer does not describe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LeafFrame {
    /// Where on the stack the return address lies.
    pub(crate) return_address_at: Avma,
    /// Where the caller's frame pointer lies; `None` when it still is in the register.
    pub(crate) caller_fp_at: Option<Avma>,
}

/// How far ahead is looked. Prologues and epilogues of the JIT are shorter; write barriers take up to about 25.
const MAX_INSTRUCTIONS: usize = 40;

/// Bytes of code that are enough for one look.
pub(crate) const CODE_WINDOW: usize = 160;

/// What the code from `ip` on says about the frame, or `None` when the frame pointer already describes it (or the code
/// does not tell).
pub(crate) fn analyze(code: &[u8], ip: Avma, sp: Avma) -> Option<LeafFrame> {
    let mut decoder = Decoder::with_ip(64, code, ip.0, DecoderOptions::NONE);
    let mut instruction = Instruction::default();
    let mut stack_pointer = sp;
    let mut caller_fp_at = None;
    for _ in 0..MAX_INSTRUCTIONS {
        if !decoder.can_decode() {
            return None;
        }
        decoder.decode_out(&mut instruction);
        match instruction.mnemonic() {
            Mnemonic::INVALID | Mnemonic::Call | Mnemonic::Leave | Mnemonic::Int3 | Mnemonic::Ud2 => return None,
            Mnemonic::Ret => return Some(LeafFrame { return_address_at: stack_pointer, caller_fp_at }),
            Mnemonic::Push => stack_pointer = stack_pointer.checked_sub(8)?,
            Mnemonic::Pop => {
                if instruction.op0_register() == Register::RBP {
                    caller_fp_at = Some(stack_pointer);
                }
                stack_pointer = stack_pointer.checked_add(8)?;
            }
            Mnemonic::Jmp => {
                let is_tail_call = caller_fp_at.is_some() || is_marked_as_tail_call(&decoder, &instruction, code);
                return leaves(&instruction, is_tail_call)
                    .then_some(LeafFrame { return_address_at: stack_pointer, caller_fp_at });
            }
            _ if writes(&instruction, Register::RSP) => {
                stack_pointer = moved_stack_pointer(&instruction, stack_pointer)?;
            }
            _ if writes(&instruction, Register::RBP) => {
                // A prologue sets the frame pointer to where it pushed the caller's.
                let frame = frame_from_stack_pointer(&instruction, stack_pointer)?;
                return Some(LeafFrame { return_address_at: frame.checked_add(8)?, caller_fp_at: None });
            }
            _ => {}
        }
    }
    None
}

/// Whether a jump leaves the function with the caller's frame on top of the stack: as a tail call, or through a pointer beside
/// the code, as stubs do. Other jumps stay inside (loops, switch tables).
fn leaves(instruction: &Instruction, is_tail_call: bool) -> bool {
    is_tail_call || instruction.code() == Code::Jmp_rm64 && instruction.is_ip_rel_memory_operand()
}

/// Whether the jump just decoded has the prefix (REX.W, without which it does the same) that marks ends of functions for
/// unwinders. Runtimes write it in their stubs too.
pub(crate) fn is_marked_as_tail_call(decoder: &Decoder<'_>, jump: &Instruction, code: &[u8]) -> bool {
    let first = decoder.position().checked_sub(jump.len()).and_then(|start| code.get(start));
    jump.code() == Code::Jmp_rm64 && first.is_some_and(|prefix| prefix & 0xf8 == 0x48)
}

fn writes(instruction: &Instruction, register: Register) -> bool {
    let reads_only = matches!(instruction.mnemonic(), Mnemonic::Cmp | Mnemonic::Test);
    instruction.op0_kind() == OpKind::Register && instruction.op0_register() == register && !reads_only
}

fn moved_stack_pointer(instruction: &Instruction, stack_pointer: Avma) -> Option<Avma> {
    let immediate = || instruction.try_immediate(1).ok();
    match instruction.mnemonic() {
        Mnemonic::Add => Some(Avma(stack_pointer.0.wrapping_add(immediate()?))),
        Mnemonic::Sub => Some(Avma(stack_pointer.0.wrapping_sub(immediate()?))),
        Mnemonic::Lea => based_on_stack_pointer(instruction, stack_pointer),
        _ => None,
    }
}

fn frame_from_stack_pointer(instruction: &Instruction, stack_pointer: Avma) -> Option<Avma> {
    match instruction.mnemonic() {
        Mnemonic::Mov if instruction.op1_register() == Register::RSP => Some(stack_pointer),
        Mnemonic::Lea => based_on_stack_pointer(instruction, stack_pointer),
        _ => None,
    }
}

fn based_on_stack_pointer(instruction: &Instruction, stack_pointer: Avma) -> Option<Avma> {
    let plain = instruction.memory_base() == Register::RSP && instruction.memory_index() == Register::None;
    plain.then(|| Avma(stack_pointer.0.wrapping_add(instruction.memory_displacement64())))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SP: Avma = Avma(0x7000);

    fn check(what: &str, code: &[u8], expected: Option<(u64, Option<u64>)>) {
        let got = analyze(code, Avma(0x1000), SP)
            .map(|leaf| (leaf.return_address_at.0 - SP.0, leaf.caller_fp_at.map(|at| at.0 - SP.0)));
        assert_eq!(got, expected, "{what}");
    }

    #[test]
    fn prologues_epilogues_and_stubs_tell_where_the_return_address_is() {
        check("before push rbp; mov rbp,rsp", &[0x55, 0x48, 0x8b, 0xec], Some((0, None)));
        check("between push rbp and mov rbp,rsp", &[0x48, 0x8b, 0xec], Some((8, None)));
        let pushes = [0x55, 0x41, 0x57, 0x53, 0x48, 0x83, 0xec, 0x18, 0x48, 0x8d, 0x6c, 0x24, 0x28];
        check("push rbp; push r15; push rbx; sub rsp,18h; lea rbp,[rsp+28h]", &pushes, Some((0, None)));
        check("the same after push r15", &pushes[3..], Some((16, None)));
        check("the same before lea", &pushes[8..], Some((0x30, None)));
        check(
            "add rsp,18h; pop rbx; pop rbp; ret",
            &[0x48, 0x83, 0xc4, 0x18, 0x5b, 0x5d, 0xc3],
            Some((0x28, Some(0x20))),
        );
        check("ret", &[0xc3], Some((0, None)));
        check(
            "mov [rdi],rsi; shr rdi,0Bh; ret (a write barrier)",
            &[0x48, 0x89, 0x37, 0x48, 0xc1, 0xef, 0x0b, 0xc3],
            Some((0, None)),
        );
        check("jmp [rip+0FFAh] (a stub)", &[0xff, 0x25, 0xfa, 0x0f, 0, 0], Some((0, None)));
        check("rex.w jmp rax (a tail call)", &[0x48, 0xff, 0xe0], Some((0, None)));
        let stub = [0x49, 0xba, 1, 2, 3, 4, 5, 6, 7, 8, 0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8, 0x48, 0xff, 0xe0];
        check("mov r10,..; mov rax,..; rex.w jmp rax (a stub)", &stub, Some((0, None)));
        check("pop rbp; jmp rax (a tail call)", &[0x5d, 0xff, 0xe0], Some((8, Some(0))));
    }

    #[test]
    fn bodies_are_left_to_the_frame_pointer() {
        check("call rel32", &[0xe8, 0, 0, 0, 0, 0xc3], None);
        check("lea rsp,[rbp-8]; pop; ret", &[0x48, 0x8d, 0x65, 0xf8, 0x5b, 0xc3], None);
        check("leave; ret", &[0xc9, 0xc3], None);
        check("jmp rax (a switch table)", &[0xff, 0xe0], None);
        check("jmp back (a loop)", &[0xeb, 0xfe], None);
        check("and rsp,-10h", &[0x48, 0x83, 0xe4, 0xf0, 0xc3], None);
        check("no code", &[], None);
        check("cut instruction", &[0x48], None);
        check("nothing but nops", &[0x90; 64], None);
    }
}
