//! Tests of the reader of .NET images.

mod framework;
mod images;
mod made_names;
mod names;
mod observed;
mod rows;
mod runtime;
