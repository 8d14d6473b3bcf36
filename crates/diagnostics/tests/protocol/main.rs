//! The protocol, against bytes written from its description and against peers that answer well, badly or never.

mod peers;
mod ports;
mod server;
mod sessions;
mod vectors;
