//! The `strata` command on real processes.

mod arrows;
mod attach;
mod launch;
mod scene;
mod support;
