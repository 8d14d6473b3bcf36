//! Every instruction of a runtime's core library, unwound: what the code itself does to the stack must be what is undone.

use iced_x86::{Decoder, DecoderOptions, Instruction, Mnemonic, OpKind, Register};
use std::sync::Arc;
use strata_address::{Avma, AvmaRange};
use strata_clrimage::{Directory, Layout, Pe};
use strata_testkit::live::Runtime;
use strata_unwind::{AddressSpace, Code, ReadyToRunUnwindData, SampledStack, TargetMemory, Unwinder};

const BASE: u64 = 0x1_0000_0000;
const EXCEPTION_DIRECTORY: usize = 3;

/// Where the return address of the function under test lies. Each word of the stack holds its own address, and the stack is
/// mapped as code: the address of the second frame tells where the unwinder looked.
const RETURN_ADDRESS: u64 = 0x7f00_0000_0000;
const STACK: u64 = RETURN_ADDRESS - 0x20_0000;
const STACK_BYTES: u64 = 0x40_0000;

struct Target<'a> {
    pe: Pe<'a>,
}

impl TargetMemory for Target<'_> {
    fn read_word(&mut self, _: Avma) -> Option<u64> {
        None
    }

    fn read_code(&mut self, address: Avma, code: &mut [u8]) -> usize {
        let rva = u32::try_from(address.0 - BASE).unwrap();
        let bytes = self.pe.rest_of_section(rva).unwrap_or_default();
        let length = bytes.len().min(code.len());
        code[..length].copy_from_slice(&bytes[..length]);
        length
    }
}

/// Registers of a function as its instructions change them. The caller's frame pointer is the address above the return
/// address, which nothing in the function has.
struct Registers {
    sp: u64,
    fp: u64,
    /// The stack pointer that a large frame will have once it is probed.
    probed: Option<(Register, u64)>,
}

impl Registers {
    fn step(&mut self, instruction: &Instruction) {
        let (to, from) = (instruction.op0_register(), instruction.op1_register());
        let address = |registers: &Self| match instruction.memory_base() {
            Register::RSP => Some(registers.sp.wrapping_add(instruction.memory_displacement64())),
            Register::RBP => Some(registers.fp.wrapping_add(instruction.memory_displacement64())),
            _ => None,
        };
        match instruction.mnemonic() {
            Mnemonic::Push => self.sp -= 8,
            Mnemonic::Pop => {
                if to == Register::RBP {
                    self.fp = self.sp;
                }
                self.sp += 8;
            }
            Mnemonic::Sub if to == Register::RSP && instruction.op1_kind() != OpKind::Register => {
                self.sp -= instruction.immediate(1);
            }
            Mnemonic::Add if to == Register::RSP && instruction.op1_kind() != OpKind::Register => {
                self.sp += instruction.immediate(1);
            }
            Mnemonic::Lea if instruction.memory_index() == Register::None => match (to, address(self)) {
                (Register::RSP, Some(address)) => self.sp = address,
                (Register::RBP, Some(address)) => self.fp = address,
                (other, Some(address)) if instruction.memory_base() == Register::RSP => {
                    self.probed = Some((other, address));
                }
                _ => {}
            },
            Mnemonic::Mov if to == Register::RBP && from == Register::RSP => self.fp = self.sp,
            Mnemonic::Mov if to == Register::RSP && from == Register::RBP => self.sp = self.fp,
            Mnemonic::Mov if to == Register::RSP => match self.probed {
                Some((register, address)) if register == from => self.sp = address,
                _ => {}
            },
            _ => {}
        }
    }
}

/// Unwinds at each instruction of each function: how many were right, and those that were not.
fn check(runtime: Runtime) {
    let framework = runtime.framework().unwrap().unwrap();
    let bytes = std::fs::read(framework.join("System.Private.CoreLib.dll")).unwrap();
    let pe = Pe::parse(&bytes, Layout::File).unwrap();
    let Directory { rva, size } = pe.directory(EXCEPTION_DIRECTORY).unwrap();
    let rows = pe.bytes_at(rva, size).unwrap();
    let unwind = ReadyToRunUnwindData::parse(rows, |rva| pe.rest_of_section(rva).ok());
    assert_eq!(unwind.len(), rows.len() / 12, "all functions are described");

    let mut space = AddressSpace::new();
    let image = AvmaRange::sized(Avma(BASE), pe.image_size().into()).unwrap();
    space.map(image, Code::ReadyToRun { image: Arc::new(unwind), base: BASE });
    space.map(AvmaRange::sized(Avma(STACK), STACK_BYTES).unwrap(), Code::Undescribed);
    let stack: Vec<u8> = (STACK..STACK + STACK_BYTES).step_by(8).flat_map(u64::to_le_bytes).collect();
    let mut unwinder = Unwinder::new();
    let mut target = Target { pe };
    let (mut right, mut wrong) = (0_usize, Vec::new());
    for row in rows.chunks_exact(12) {
        let number = |at: usize| u32::from_le_bytes(row[at..at + 4].try_into().unwrap());
        let (start, end) = (number(0), number(4));
        let code = pe.bytes_at(start, end - start).unwrap();
        let prologue = pe.rest_of_section(number(8)).unwrap()[1];
        let mut body = None;
        let mut registers = Registers { sp: RETURN_ADDRESS, fp: RETURN_ADDRESS + 8, probed: None };
        let mut decoder = Decoder::with_ip(64, code, BASE + u64::from(start), DecoderOptions::NONE);
        while decoder.can_decode() {
            let at = decoder.ip();
            if body.is_none() && at - BASE - u64::from(start) >= prologue.into() {
                body = Some((registers.sp, registers.fp));
            }
            let sample = SampledStack {
                process: 1,
                thread: 1,
                ip: Avma(at),
                sp: Avma(registers.sp),
                fp: Avma(registers.fp),
                copy: &stack[usize::try_from(registers.sp - STACK).unwrap()..],
                kernel_chain: &[],
            };
            let mut frames = Vec::new();
            unwinder.unwind(&space, &sample, &mut target, &mut frames);
            let instruction = decoder.decode();
            match frames.get(1) {
                Some(frame) if frame.address.0 == RETURN_ADDRESS => right += 1,
                other => wrong.push(format!("{:#x} in {start:#x}, {:?}: {other:x?}", at - BASE, instruction.code())),
            }
            registers.step(&instruction);
            // The frame pointer may be set after what is described as the prologue.
            if body.is_some() && instruction.op0_register() == Register::RBP && instruction.mnemonic() != Mnemonic::Pop
            {
                body = Some((registers.sp, registers.fp));
            }
            if matches!(instruction.mnemonic(), Mnemonic::Ret | Mnemonic::Jmp)
                && let Some((sp, fp)) = body
            {
                // What follows is reached from elsewhere in the body.
                (registers.sp, registers.fp) = (sp, fp);
            }
        }
    }
    println!("{runtime}: {right} right, {} wrong: {:#?}", wrong.len(), &wrong[..wrong.len().min(20)]);
    assert!(right > 900_000 && wrong.is_empty());
}

#[test]
fn net3() {
    check(Runtime::Net3);
}

#[test]
fn net8() {
    check(Runtime::Net8);
}

#[test]
fn net9() {
    check(Runtime::Net9);
}
