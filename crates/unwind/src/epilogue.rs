//! Whether code is about to return, where the unwind codes of its function no longer hold.
//!
//! Unwind codes tell what a prologue did and say nothing of epilogues, which undo it instruction by instruction. Those are
//! short and always alike: the stack pointer is set back, registers are popped, then the code returns or jumps elsewhere.

use crate::leaf::{LeafFrame, is_marked_as_tail_call};
use iced_x86::{Decoder, DecoderOptions, Instruction, Mnemonic, OpKind, Register};
use strata_address::Avma;

/// Stack pointer, all callee-saved registers, return, and one to spare.
const MAX_INSTRUCTIONS: usize = 10;

/// Where the return address lies, when `code` at the sampled instruction is (the rest of) an epilogue.
pub(crate) fn recognize(code: &[u8], sp: Avma, fp: Avma) -> Option<LeafFrame> {
    let mut decoder = Decoder::new(64, code, DecoderOptions::NONE);
    let mut instruction = Instruction::default();
    let mut stack_pointer = sp;
    let mut caller_fp_at = None;
    for step in 0..MAX_INSTRUCTIONS {
        if !decoder.can_decode() {
            return None;
        }
        decoder.decode_out(&mut instruction);
        match instruction.mnemonic() {
            Mnemonic::Add | Mnemonic::Lea if step == 0 => {
                stack_pointer = set_back(&instruction, sp, fp)?;
            }
            Mnemonic::Pop if instruction.op0_kind() == OpKind::Register => {
                if instruction.op0_register() == Register::RBP {
                    caller_fp_at = Some(stack_pointer);
                }
                stack_pointer = stack_pointer.checked_add(8)?;
            }
            Mnemonic::Ret => return Some(LeafFrame { return_address_at: stack_pointer, caller_fp_at }),
            // A jump that nothing was undone for stays in the function, unless it goes through a cell or says otherwise.
            Mnemonic::Jmp
                if step > 0
                    || instruction.op0_kind() == OpKind::Memory
                    || is_marked_as_tail_call(&decoder, &instruction, code) =>
            {
                return Some(LeafFrame { return_address_at: stack_pointer, caller_fp_at });
            }
            _ => return None,
        }
    }
    None
}

/// The stack pointer after the first instruction of an epilogue.
fn set_back(instruction: &Instruction, sp: Avma, fp: Avma) -> Option<Avma> {
    if instruction.op0_register() != Register::RSP {
        return None;
    }
    if instruction.mnemonic() == Mnemonic::Add {
        return Some(Avma(sp.0.wrapping_add(instruction.try_immediate(1).ok()?)));
    }
    let base = match (instruction.memory_base(), instruction.memory_index()) {
        (Register::RSP, Register::None) => sp,
        (Register::RBP, Register::None) => fp,
        _ => return None,
    };
    Some(Avma(base.0.wrapping_add(instruction.memory_displacement64())))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SP: u64 = 0x7000;

    fn check(what: &str, code: &[u8], expected: Option<(u64, Option<u64>)>) {
        let got = recognize(code, Avma(SP), Avma(SP + 0x100))
            .map(|leaf| (leaf.return_address_at.0 - SP, leaf.caller_fp_at.map(|at| at.0 - SP)));
        assert_eq!(got, expected, "{what}");
    }

    #[test]
    fn every_instruction_of_an_epilogue_tells() {
        let epilogue = [0x48, 0x83, 0xc4, 0x18, 0x5b, 0x41, 0x5f, 0x5d, 0xc3];
        check("add rsp,18h; pop rbx; pop r15; pop rbp; ret", &epilogue, Some((0x30, Some(0x28))));
        check("pop rbx; pop r15; pop rbp; ret", &epilogue[4..], Some((0x18, Some(0x10))));
        check("pop rbp; ret", &epilogue[7..], Some((8, Some(0))));
        check("ret", &epilogue[8..], Some((0, None)));
        check(
            "lea rsp,[rbp-8]; pop rbx; pop rbp; ret",
            &[0x48, 0x8d, 0x65, 0xf8, 0x5b, 0x5d, 0xc3],
            Some((0x108, Some(0x100))),
        );
    }

    #[test]
    fn tail_calls_are_ends_too() {
        check("add rsp,8; jmp rax", &[0x48, 0x83, 0xc4, 8, 0xff, 0xe0], Some((8, None)));
        check("jmp [rip+0]", &[0xff, 0x25, 0, 0, 0, 0], Some((0, None)));
        check("rex.w jmp rax", &[0x48, 0xff, 0xe0], Some((0, None)));
        check("rex.w jmp [rax]", &[0x48, 0xff, 0x20], Some((0, None)));
    }

    #[test]
    fn bodies_are_none() {
        check("jmp rax (a switch)", &[0xff, 0xe0], None);
        check("jmp short", &[0xeb, 0x10], None);
        check("mov eax,1; add rsp,8; ret", &[0xb8, 1, 0, 0, 0, 0x48, 0x83, 0xc4, 8, 0xc3], None);
        check("add rax,8; ret", &[0x48, 0x83, 0xc0, 8, 0xc3], None);
        check("pop rbx; call rax", &[0x5b, 0xff, 0xd0], None);
        check("cut", &[0x48, 0x83], None);
        check("nothing but pops", &[0x58; 32], None);
        check("no code", &[], None);
    }
}
