//! Tests on real images, and on images put together by testkit.

mod built;
mod hostile;
mod observed;
mod runtime;
