//! The `strata` command on real processes.

mod arrows;
mod attach;
mod convert;
mod crash;
mod faults;
mod images;
mod launch;
mod lines;
mod named_code;
mod names;
mod others;
mod outlived;
mod ps;
mod scene;
mod stacks;
mod standard_output;
mod support;
mod traces;
mod truth;
mod workload;
