//! Reads .NET images: where each precompiled method is, what it is called, and which source line it came from.
//!
//! An image is a PE file, alone or inside a single-file bundle, with ECMA-335 metadata and, when it was compiled ahead of
//! time, a ReadyToRun section. This crate turns its bytes into ranges first; a name is made only when it is asked for. It
//! knows nothing of processes: addresses are relative to the image base ([`strata_address::Rva`]).

#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::arithmetic_side_effects)
)]

pub mod bundle;
mod bytes;
pub mod debug_directory;
mod error;
mod identity;
mod image;
mod inflate;
mod lines;
mod map;
pub mod metadata;
mod methods;
mod names;
pub mod pdb;
mod pe;
mod r2r;

pub use error::{Error, ErrorKind};
pub use identity::ImageIdentity;
pub use image::{Component, Image};
pub use lines::{IlOffset, NativeMapping, il_offset, source_line};
pub use map::{MapLine, map_lines};
pub use methods::{ColdPart, Method, MethodSource, MethodTable, Part, Place, Problem, ProblemKind};
pub use names::{Assemblies, EventName, Mark, MethodName, NameError, Names, NoAssemblies};
pub use pe::{Architecture, CliHeader, Directory, Layout, Machine, Pe, Section, System};
pub use r2r::{
    CoreHeader, DebugInfo, Handler, InstanceSignature, MethodToken, ReadyToRun, SectionKind, Thunk, ThunkKind,
};
