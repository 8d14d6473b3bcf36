//! Stubs of precompiled images: they push up to two words for a helper of the runtime and jump to it, without a frame and
//! without unwind data.

use crate::leaf::LeafFrame;
use iced_x86::{Decoder, DecoderOptions, Instruction, Mnemonic, OpKind};
use strata_address::Avma;

/// Bytes of code before the sampled instruction that are looked at: the longest push of a stub.
pub(crate) const CODE_BEFORE: usize = 6;

/// What a stub pushes when it pushes anything.
const PUSHES: u64 = 2;

/// `mov` or `xor`, two pushes, and the jump.
const MAX_INSTRUCTIONS: usize = 4;

/// Where the return address lies, when `code` is a stub that is at its byte `CODE_BEFORE`.
pub(crate) fn recognize(code: &[u8], sp: Avma) -> Option<LeafFrame> {
    let (before, from) = code.split_at_checked(CODE_BEFORE)?;
    let mut decoder = Decoder::new(64, from, DecoderOptions::NONE);
    let mut instruction = Instruction::default();
    let mut pushes_left = 0;
    for _ in 0..MAX_INSTRUCTIONS {
        if !decoder.can_decode() {
            return None;
        }
        decoder.decode_out(&mut instruction);
        match instruction.mnemonic() {
            Mnemonic::Xor | Mnemonic::Mov if pushes_left == 0 && instruction.op0_kind() == OpKind::Register => {}
            Mnemonic::Push => pushes_left += 1,
            Mnemonic::Jmp if instruction.is_ip_rel_memory_operand() => {
                let pushed = match pushes_left {
                    0 if !ends_with_push(before) => 0,
                    left => PUSHES.checked_sub(left)?,
                };
                return Some(LeafFrame { return_address_at: sp.checked_add(8 * pushed)?, caller_fp_at: None });
            }
            _ => return None,
        }
    }
    None
}

/// Whether the last instruction pushed a word from beside the code, as stubs do before they jump.
fn ends_with_push(before: &[u8]) -> bool {
    before.starts_with(&[0xff, 0x35])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_return_address_is_below_what_was_pushed() {
        // xor eax,eax; push 3; push [rip+1000h]; jmp [rip+1000h]
        let stub = [
            0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0x33, 0xc0, 0x6a, 3, 0xff, 0x35, 0, 0x10, 0, 0, 0xff, 0x25, 0, 0x10, 0,
            0,
        ];
        let at = |offset: usize| recognize(&stub[offset..], Avma(0)).map(|leaf| leaf.return_address_at.0);
        assert_eq!([0, 2, 4, 10].map(at), [Some(0), Some(0), Some(8), Some(16)]);
        // jmp [rip+1000h] after the padding of another.
        let helper = [0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xff, 0x25, 0, 0x10, 0, 0];
        let frame = LeafFrame { return_address_at: Avma(0x7000), caller_fp_at: None };
        assert_eq!(recognize(&helper, Avma(0x7000)), Some(frame));
    }

    #[test]
    fn other_code_is_no_stub() {
        for code in [&b""[..], &[0x90; 40], &[0xc3; 40], &[0x55; 40], &[0xff, 0x35, 0, 0, 0, 0, 0xff, 0xe0]] {
            assert_eq!(recognize(code, Avma(0)), None, "{code:x?}");
        }
    }
}
