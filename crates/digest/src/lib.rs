//! What every output shows alike, so that no two outputs can disagree.
//!
//! [`Groups`] says which functions count as one, [`CallTree`] turns samples into a tree with cut stacks under a node of
//! their own, [`visible()`] makes control characters in names visible, and [`LossSummary`] says in words and numbers
//! what is missing. All are functions of a finished [`strata_profile::Profile`]; nothing here knows an output format.

#![forbid(unsafe_code)]

mod groups;
mod loss;
mod quality;
mod tree;
mod visible;

pub use groups::{Group, Groups};
pub use loss::{Counted, LossSummary};
pub use quality::quality;
pub use tree::{CallTree, Children, Node, NodeId, Place, Weight};
pub use visible::visible;
