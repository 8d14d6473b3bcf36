//! Tests of the crate on real files and on files put together by the testkit.

mod built;
mod bundle;
mod debug_info;
mod frameworks;
mod hostile;
mod images;
mod known_images;
mod lines;
mod made_assemblies;
mod made_names;
mod names;
mod observed;
mod rows;
mod runtime;
