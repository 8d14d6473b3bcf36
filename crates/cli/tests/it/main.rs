//! The `strata` command on real processes.

mod arrows;
mod support;
