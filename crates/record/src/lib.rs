//! Recording.
mod perf;
mod target;
