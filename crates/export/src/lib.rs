//! Profiles as files that other tools open.
//!
//! One file per format, one signature: `write(&Profile, &mut dyn Write) -> io::Result<()>`. Output is written as it is
//! made; no document is ever held as a whole. Every format shows each sample, marks cut stacks with a `[cut: ...]` frame
//! as the outermost one and a sample without frames with `[no frames]`, and tells what was lost.

#![forbid(unsafe_code)]

pub mod firefox;
pub mod folded;
mod format;
mod json;
pub mod speedscope;

pub use format::{Compression, Format, UnknownExtension, write_profile};
