//! Merges what was recorded on one clock, names it, and builds the profile.
//!
//! [`resolve`] replays a recording in time order: mappings, threads and managed code change as they changed then, and each
//! sample's addresses get the names of what was there at that moment. Symbols come from bytes that the caller's
//! [`files::Files`] hands over. What could not be read or named is counted in the profile, never dropped.

#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::arithmetic_side_effects)
)]

pub mod code_map;
pub mod demangle;
pub mod elf;
pub mod files;
mod frames;
mod images;
pub mod kernel;
mod managed;
mod mappings;
mod native;
pub mod nettrace;
mod paths;
mod precompiled;
mod process_code;
mod readable;
mod recording;
mod replay;
mod source_lines;
mod symbols;

pub use managed::method_display_name;
pub use process_code::{JittedMethod, LoadedImage, ProcessImages, jitted_methods};
pub use recording::{ResolveError, resolve};
