//! Profiles as tables and trees: text for people and JSON for programs, from the same values.
//!
//! Each report is a plain value made from a [`strata_profile::Profile`]; [`Document`] puts it beside what was recorded
//! and what was lost. Percentages are of all that the report shows, CPU time, thread time or events as the profile measures, and
//! absent when that is zero. Text has no colour, keeps to a given [`Width`] where there is one, and shows control characters in names as escapes; JSON has the
//! names as they are.

#![forbid(unsafe_code)]

mod cost;
mod document;
mod losses;
mod names;
mod text;
mod threads;
mod top;
mod tree;
mod width;

pub use cost::{Cost, Whole};
pub use document::{Document, Recording, Report, SCHEMA};
pub use losses::Losses;
pub use names::Spelling;
pub use threads::{States, ThreadRow, Threads};
pub use top::{CategoryRow, FunctionRow, LineRow, StateRow, TierRow, Top};
pub use tree::{CallRow, Calls, RowKind, Tree};
pub use width::Width;
