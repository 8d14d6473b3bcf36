//! Names for addresses: native and kernel symbols, read from bytes that the caller's [`files::Files`] hands over.

#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::arithmetic_side_effects)
)]

pub mod demangle;
pub mod elf;
pub mod files;
pub mod kernel;
mod readable;
