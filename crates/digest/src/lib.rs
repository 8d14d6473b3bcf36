//! What every output shows alike, so that no two outputs can disagree.
//!
//! It stands between the profile and whatever shows it: reports and file formats both take their functions, trees, words
//! and percentages from here, and neither knows the other. A thing belongs here when two outputs would otherwise each
//! decide it, and into `strata-profile` when it is about the profile whether or not anyone shows it.
//!
//! - [`Groups`]: which functions count as one;
//! - [`CallTree`]: samples as a tree, cut stacks under a node of their own, recursion folded if wanted;
//! - [`Sources`]: where in its source a function is;
//! - [`LossSummary`]: what is missing, in words and numbers;
//! - [`identified()`]: a thread or process by its name and number;
//! - [`percent()`]: a percentage that never claims all or nothing falsely;
//! - [`visible()`], [`visible_json()`]: names that cannot act on a terminal or break a line-based format.
//!
//! All are functions of a finished [`strata_profile::Profile`]; nothing here knows an output format.

#![forbid(unsafe_code)]

mod groups;
mod identified;
mod loss;
mod percent;
mod recursion;
mod sources;
mod tree;
mod visible;

pub use groups::{Group, Groups};
pub use identified::identified;
pub use loss::{Counted, LossSummary};
pub use percent::percent;
pub use recursion::Folded;
pub use sources::Sources;
pub use tree::{CallTree, Children, Node, NodeId, Place, Weight};
pub use visible::{visible, visible_json};
