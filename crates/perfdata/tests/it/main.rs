//! Tests of perf.data bytes: built by hand, made up, written by perf, and read by perf.

mod by_hand;
mod corpus;
mod hostile;
mod perf;
mod read_by_perf;
mod round_trip;
mod written_by_perf;
