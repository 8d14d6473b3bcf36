//! Files that lie.
