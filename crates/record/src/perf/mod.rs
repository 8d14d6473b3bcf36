//! The kernel's perf events: opening them, and reading what they write.

pub(crate) mod cpus;
pub(crate) mod event;
pub(crate) mod order;
pub(crate) mod ring;
pub(crate) mod sampler;
