//! Native and kernel symbols against what binutils, the linker and running programs say; traces against known answers.

#![expect(clippy::unwrap_used, reason = "a test stops at the first thing that is not as it should be")]

mod files;
mod hostile;
mod machine_traces;
mod oracle;
mod programs;
mod runtime;
mod system;
mod trace_answers;
mod trace_streams;
