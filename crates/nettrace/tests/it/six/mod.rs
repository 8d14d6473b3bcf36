//! Streams of version 6: one for each rule of the format and for each breach.

mod chunks;
mod damage;
mod definitions;
mod events;
mod labels;
mod loss;
mod order;
mod seen;
mod threads;
mod trace;
