//! Builders of test bytes, written from the formats' descriptions and sharing no struct with the parsers, and live test
//! targets.

#![forbid(unsafe_code)]

mod corpus;
pub mod image;
pub mod live;
pub mod nettrace;
pub mod nettrace6;
pub mod perfdata;
pub mod profile;
pub mod universal;

pub use corpus::corpus;
