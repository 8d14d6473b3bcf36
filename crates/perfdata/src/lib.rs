//! Reads and writes perf.data: perf_event records as borrowed values, in file or in time order.
//!
//! Four parts, each usable alone:
//!
//! - [`record`]: one record's bytes -> [`Record`], as they come from a kernel ring or a file; nothing is allocated;
//! - [`mod@encode`]: the same values -> bytes;
//! - [`writer`]: [`Writer`], a perf.data file of which every flushed prefix is a readable file;
//! - [`mod@file`]: [`PerfData`], a whole perf.data file in memory -> events, features, records.
//!
//! All bytes are little-endian. Times are nanoseconds of the clock that the event used ([`EventAttr::clock`]). Record
//! layouts are those of `linux/perf_event.h`; the file around them is described by perf's `perf.data-file-format`.
//!
//! Bytes are never trusted: a count is checked against the bytes present before it is used, and what cannot be read is
//! an error with its offset, not a panic.

#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::arithmetic_side_effects)
)]

mod attr;
mod build_id;
mod cursor;
pub mod encode;
mod feature_bytes;
mod features;
pub mod file;
mod living;
mod notes;
pub mod record;
pub mod writer;

pub use attr::{AttrFlags, CLOCK_MONOTONIC, EventAttr, EventDescription, Sampling};
pub use build_id::{BuildId, BuildIdTooLong};
pub use encode::{EncodeError, encode};
pub use features::{BuildIdEntry, ClockData, CpuCounts, Features, TimeSpan};
pub use file::{PerfData, RecordAt};
pub use living::{Began, Ended, LivingThreads};
pub use notes::{FileError, Note, Problem, ProblemKind};
pub use record::{Record, RecordData, RecordError, RecordFormat};
pub use writer::{WriteError, Writer};
