//! What the unwinder is given and what it gives back.

use strata_address::Avma;
use strata_stack::Found;

/// Memory of the target as it is now, some milliseconds after the sample.
pub trait TargetMemory {
    /// The 8 bytes at a stack address, little-endian; `None` when they cannot be read.
    fn read_word(&mut self, address: Avma) -> Option<u64>;

    /// Fills `code` with the instructions from `address` on; returns how many bytes could be read.
    fn read_code(&mut self, address: Avma, code: &mut [u8]) -> usize;
}

/// What one sample holds about the user side of its stack.
#[derive(Clone, Copy, Debug)]
pub struct SampledStack<'a> {
    /// The process, by any number that no other living process has.
    pub process: u32,
    /// The thread, by any number that no other living thread has.
    pub thread: u32,
    /// Instruction pointer.
    pub ip: Avma,
    /// Stack pointer.
    pub sp: Avma,
    /// Frame pointer.
    pub fp: Avma,
    /// Stack bytes from `sp` on, copied at the moment of the sample.
    pub copy: &'a [u8],
    /// The user part of the chain the kernel walked: `ip`, then return addresses.
    pub kernel_chain: &'a [u64],
}

/// One frame of a walked stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoundFrame {
    /// The sampled instruction, or a return address.
    pub address: Avma,
    /// How it was found.
    pub found: Found,
}
