//! Registers, stack bytes and image unwind data to return addresses.
//!
//! An [`AddressSpace`] is what one process has mapped as code; [`Unwinder::unwind`] turns one sample (registers, a copy of
//! the top of the stack, and the chain the kernel walked) into frames, each with how it was found. Where an image has
//! unwind data that is used and nothing else: call frame information in ELF images, unwind codes in precompiled .NET ones (and
//! the instructions of an epilogue, which those do not describe). Where there is none (JIT code) frame pointers are
//! followed, and the innermost frame is read off the instructions around it, because a prologue, an epilogue or a leaf
//! stub has no frame yet. Stack memory beyond the copy is read from the living target and believed only when it agrees with
//! the kernel's chain and leads to the thread's first frame.
//!
//! The same interface serves live unwinding and offline unwinding: the target is behind [`TargetMemory`].

#![forbid(unsafe_code)]

mod epilogue;
mod image;
mod leaf;
mod ready_to_run;
mod roots;
mod sample;
mod space;
mod step;
mod thunk;
mod unwind_codes;
mod walk;

pub use image::{ElfUnwindData, ImageError};
pub use ready_to_run::ReadyToRunUnwindData;
pub use sample::{FoundFrame, SampledStack, TargetMemory};
pub use space::{AddressSpace, Code};
pub use walk::Unwinder;
