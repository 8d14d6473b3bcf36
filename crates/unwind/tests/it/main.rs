//! Tests on real images.

mod ready_to_run;
