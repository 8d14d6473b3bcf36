//! Recording: perf_event rings, launch and attach, live unwinding, and the .NET event streams beside it.
//!
//! [`record`] takes CPU samples of a process (or of a program it launches) and of all it starts, unwinds each sample while
//! the target runs on, and lets the .NET runtimes among them write their events beside; all of it as it comes, into a
//! [`strata_recording::Recording`]. It knows nothing of symbols: names are found later. All `unsafe` of strata is
//! here, in `perf::ring`, `perf::event`, `target::memory`, `launch` and `standard_output`, each with its reason.

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
compile_error!(
    "strata records on Linux on x86_64; registers and instructions of other architectures are not known yet"
);

mod clock;
mod code;
mod control;
mod dotnet;
mod error;
mod launch;
mod perf;
mod progress;
mod recorder;
mod samples;
mod session;
mod standard_output;
mod target;

pub use code::{ListError, jitted_code, mapped_code};
pub use control::{Ask, Control};
pub use error::RecordError;
pub use launch::Child;
pub use perf::event::{EventKind, KernelSide};
pub use progress::{Outcome, Progress, Status, StopReason};
pub use recorder::{Interrupted, Settings, Target, record};
pub use samples::SampleCounts;
pub use standard_output::standard_output_was_closed;
