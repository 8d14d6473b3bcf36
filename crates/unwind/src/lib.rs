//! Registers, stack bytes and image unwind data to return addresses.
//!
//! An [`AddressSpace`] is what one process has mapped as code; [`Unwinder::unwind`] turns one sample (registers, a copy of
//! the top of the stack, and the chain the kernel walked) into frames, each with how it was found. Where an image has
//! call frame information that is used and nothing else; where there is none (JIT code, precompiled managed code) frame
//! pointers are followed, and the innermost frame is read off the instructions around it, because a prologue, an epilogue
//! or a leaf stub has no frame yet. Stack memory beyond the copy is read from the living target and believed only when it
//! agrees with the kernel's chain and leads to the thread's first frame.
//!
//! The same interface serves live unwinding and offline unwinding: the target is behind [`TargetMemory`].

#![forbid(unsafe_code)]

mod image;
mod leaf;
mod roots;
mod sample;
mod space;
mod walk;

pub use image::{ElfUnwindData, ImageError};
pub use sample::{FoundFrame, SampledStack, TargetMemory};
pub use space::{AddressSpace, Code};
pub use walk::Unwinder;
