//! The processes being recorded, as the system shows them.

pub(crate) mod images;
pub(crate) mod memory;
pub(crate) mod proc;
pub(crate) mod processes;
