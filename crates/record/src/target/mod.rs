//! The processes being recorded, as the system shows them.

mod bundled;
mod copied;
mod dotnet_image;
pub(crate) mod images;
mod mapping;
pub(crate) mod memory;
pub(crate) mod proc;
pub(crate) mod processes;
#[cfg(test)]
mod tests;
