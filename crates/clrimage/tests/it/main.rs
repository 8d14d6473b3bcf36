//! Tests of the reader of .NET images.

mod framework;
mod images;
mod rows;
