//! EventPipe stream bytes to events.
//!
//! A .NET runtime writes what happens in it as a *nettrace* stream, into a file or down its diagnostics socket. This crate
//! turns those bytes into [`Item`]s as they come:
//!
//! ```
//! use strata_nettrace::{Decoder, Item};
//!
//! # fn read() -> Option<Vec<u8>> { None }
//! # fn main() -> Result<(), strata_nettrace::Refused> {
//! let mut decoder = Decoder::new();
//! let mut with_stack = 0;
//! let mut sink = |item: Item<'_>| {
//!     if let Item::Event(event) = item {
//!         with_stack += u64::from(event.stack.is_some());
//!     }
//! };
//! # let mut stream = vec![b"Nettrace".to_vec()].into_iter();
//! while let Some(bytes) = stream.next() {
//!     decoder.feed(&bytes, &mut sink)?;
//! }
//! let summary = decoder.finish(&mut sink)?;
//! assert_eq!(summary.events, 0);
//! # Ok(())
//! # }
//! ```
//!
//! - The same code serves a live socket, a pipe and a finished file: how the bytes are cut into chunks changes nothing in
//!   what comes out.
//! - Whole blocks are read in place; only a block that straddles two chunks is copied (at most [`MAX_BLOCK_BYTES`]).
//! - What could not be read is an [`Item::Problem`] with its offset and a count in [`Summary`]; reading goes on at the next
//!   block where the stream still says where that is. Nothing panics on hostile bytes, and no allocation is larger than
//!   the bytes present justify.
//! - Events the *runtime* dropped show as [`Item::Gap`] and in [`Loss`].
//! - Items come in stream order. Events of one capture thread are in time order, those of different threads are not:
//!   [`order`] puts them in one order.
//! - Times are ticks of the stream's clock ([`TraceInfo::ticks_per_second`]); on Linux these are `CLOCK_MONOTONIC`
//!   nanoseconds. Stack addresses are [`strata_address::Avma`] of the traced process.
//!
//! [`Event::fields`] gives the payload of any event as named values, by the event's definition or, for the runtime's own
//! events, by what is known here; [`runtime`] gives some of the latter a type. [`mod@write`] writes streams again, all of them or
//! a part. Source of the format: the descriptions of nettrace versions 4 and 5 (which share one version number on the wire) and
//! 6 beside the TraceEvent library. Runtimes write the former; the latter comes from tools that trace whole machines, so there
//! each event says its process ([`Event::process_id`]). NetPerf (1 to 3) and what comes after 6 are [`Refused`] by name.

#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::arithmetic_side_effects)
)]

mod blob;
mod block;
mod cursor;
mod decoder;
mod dialect;
mod event;
mod events;
mod fields;
mod framing;
mod header;
mod loss;
mod metadata;
pub mod order;
mod places;
mod problem;
pub mod runtime;
mod sequence;
mod six;
mod stack;
mod summary;
pub mod survey;
mod text;
mod trace;
pub mod universal;
mod value;
pub mod write;

pub use decoder::Decoder;
pub use event::{Event, EventHeader, Guid, Item};
pub use fields::{Field, FieldType, Fields};
pub use framing::MAX_BLOCK_BYTES;
pub use header::Refused;
pub use loss::{Gap, Loss, ThreadLoss};
pub use metadata::Metadata;
pub use problem::{BlockKind, Problem, ProblemCounts, ProblemKind};
pub use sequence::SequencePoint;
pub use six::{Attributes, Label, Labels, MetadataDetails, ThreadInfo};
pub use stack::{PointerSize, Stack};
pub use summary::{BlockCounts, CutBlock, StreamEnd, Summary};
pub use text::{Utf8, Utf16};
pub use trace::{FormatVersion, TraceInfo, UtcTime};
pub use value::{Array, DateTime, Decimal, FieldsOfPayload, Fit, NamedNumber, Names, Object, Value};
