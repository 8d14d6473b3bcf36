//! Any bytes as an image, any stack over it: frames come out or a reason why not.

#![no_main]

use libfuzzer_sys::fuzz_target;
use std::sync::Arc;
use strata_address::{Avma, AvmaRange};
use strata_unwind::{AddressSpace, Code, ElfUnwindData, ReadyToRunUnwindData, SampledStack, TargetMemory, Unwinder};

/// A target of which everything reads as the same bytes.
struct Everywhere<'a>(&'a [u8]);

impl TargetMemory for Everywhere<'_> {
    fn read_word(&mut self, address: Avma) -> Option<u64> {
        let at = usize::try_from(address.0).ok()? % self.0.len().max(1);
        self.0.get(at..)?.first_chunk().map(|bytes| u64::from_le_bytes(*bytes))
    }

    fn read_code(&mut self, _: Avma, code: &mut [u8]) -> usize {
        let length = code.len().min(self.0.len());
        code[..length].copy_from_slice(&self.0[..length]);
        length
    }
}

/// An image whose function table is all of it, with unwind records anywhere in it.
fn ready_to_run(image: &[u8]) -> Code {
    let record_at = |rva| image.get(usize::try_from(rva).ok()?..);
    let unwind = ReadyToRunUnwindData::parse(image, record_at);
    if unwind.is_empty() { Code::FramePointers } else { Code::ReadyToRun { image: Arc::new(unwind), base: 0x10000 } }
}

fuzz_target!(|input: (&[u8], &[u8], [u64; 3])| {
    let (image, memory, [ip, sp, fp]) = input;
    let mut space = AddressSpace::new();
    if let Some(range) = AvmaRange::sized(Avma(0x10000), 0x100_0000) {
        let code = match ElfUnwindData::parse(image) {
            Ok(image) => Code::Elf { image: Arc::new(image), bias: 0x10000 },
            Err(_) => ready_to_run(image),
        };
        space.map(range, code);
    }
    let stack = SampledStack {
        process: 1,
        thread: 1,
        ip: Avma(0x10000 + ip % 0x100_0000),
        sp: Avma(sp),
        fp: Avma(fp),
        copy: memory,
        kernel_chain: &[ip, sp, fp],
    };
    let mut frames = Vec::new();
    Unwinder::new().unwind(&space, &stack, &mut Everywhere(memory), &mut frames);
    assert!(!frames.is_empty());
});
