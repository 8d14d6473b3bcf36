//! Recording.
mod perf;
mod samples;
mod target;
