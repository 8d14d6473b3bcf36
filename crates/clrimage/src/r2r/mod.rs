//! The tables of ReadyToRun images: which code belongs to which method.

mod bits;
mod composite;
mod debug_info;
mod entry_point;
mod exceptions;
mod functions;
mod header;
mod hot_cold;
mod imports;
mod instance;
mod native_array;
mod native_hashtable;
mod thunks;
mod unwind;

pub use debug_info::DebugInfo;
pub use exceptions::Handler;
pub use header::{CoreHeader, ReadyToRun, SectionKind};
pub use instance::{InstanceSignature, MethodToken};
pub use thunks::{Thunk, ThunkKind};

pub(crate) use composite::Components;
pub(crate) use exceptions::ExceptionTable;
pub(crate) use functions::{Function, RuntimeFunctions};
pub(crate) use hot_cold::{ColdRows, HotColdMap};
pub(crate) use instance::TypeSkipper;
pub(crate) use native_array::NativeArray;
pub(crate) use native_hashtable::NativeHashtable;
pub(crate) use thunks::thunks;
