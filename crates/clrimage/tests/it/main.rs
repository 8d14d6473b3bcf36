//! Tests on real images.

mod observed;
mod runtime;
