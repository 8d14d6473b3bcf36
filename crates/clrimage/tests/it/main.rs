//! Tests of the crate on real files and on files put together by the testkit.

mod bundle;
mod debug_info;
mod images;
mod lines;

mod observed;
mod runtime;
