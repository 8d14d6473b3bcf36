//! Version 6: what it writes in another way than versions 4 and 5, and what it adds.
//!
//! Blocks have a size and a number in the place of tags and names; threads are defined like stacks and named by an index;
//! labels hold what events have beside their payload. Whatever a row, a header or a block has behind its known part is
//! skipped.

mod attributes;
mod block;
mod fields;
mod framing;
mod labels;
mod metadata;
mod rows;
mod threads;
mod trace;

pub use attributes::Attributes;
pub(crate) use framing::read_object;
pub(crate) use labels::LabelTable;
pub use labels::{Label, Labels};
pub use metadata::MetadataDetails;
pub use threads::ThreadInfo;
pub(crate) use threads::ThreadTable;
pub(crate) use trace::read_trace;
