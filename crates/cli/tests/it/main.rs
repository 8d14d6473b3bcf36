//! The `strata` command on real processes.

mod arrows;
mod named_code;
mod names;
mod others;
mod stacks;
mod support;
mod truth;
mod workload;
