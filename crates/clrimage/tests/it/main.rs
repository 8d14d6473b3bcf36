//! Tests of the public interface, in one binary.

mod built;
mod hostile;
