//! The `strata` command on real processes.

mod arrows;
mod attach;
mod faults;
mod launch;
mod ps;
mod scene;
mod support;
