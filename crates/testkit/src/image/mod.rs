//! .NET images, put together from the descriptions of their formats (ECMA-335, ReadyToRun, portable PDB, single-file bundles).
//!
//! [`Image`] makes a PE file with precompiled code from plain lists, [`metadata::Assembly`] the metadata it holds,
//! [`bundle::Bundle`] an executable with files in it, [`pdb::Pdb`] the lines. Each tells where it put things, so that tests
//! need not compute it; and each can be made to lie.

pub mod bundle;
pub mod code;
pub mod debug_directory;
pub mod debug_info;
pub mod encode;
mod entries;
pub mod imports;
pub mod metadata;
pub mod native_format;
pub mod pdb;
pub mod pe;
mod ready_to_run;
pub mod samples;
pub mod signature;
pub mod tables;

pub use ready_to_run::{Built, Changes, Component, Image, Kind};
