//! Names of methods, in the spellings that other tools give them.
//!
//! A name is made from metadata and, for instances of generic code, from a signature of the image. Nothing is made until it
//! is asked for, and each of the spellings is a walk over a few bytes.

mod error;
mod generic;
mod method;
mod modules;
mod namer;
mod signature;
mod spelling;
mod type_name;
mod writer;

pub use error::NameError;
pub use method::{EventName, Mark, MethodName};
pub use modules::{Assemblies, NoAssemblies};
pub use namer::Names;
