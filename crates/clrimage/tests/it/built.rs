//! Images put together by testkit: what no real file at hand has.

mod composite;
mod files;
mod metadata;
mod methods;
mod names;
