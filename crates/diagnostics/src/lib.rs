//! The .NET runtime's diagnostics socket.
//!
//! Every CoreCLR process since 3.0 listens on a Unix socket in its temporary directory. Over it a profiler asks who the
//! process is, starts an EventPipe session whose events then arrive on the same connection, and stops that session. This
//! crate finds the socket ([`discover`]), speaks the message format ([`wire`], [`reply`]), and offers both directions: an
//! [`Endpoint`] to which we connect, and a [`ReversePort`] to which a runtime that we launch connects.
//!
//! What the stream of a [`Session`] contains is not this crate's matter: it is handed on as bytes.
//!
//! Rules that hold everywhere here:
//! - every wait has a time-out, and a peer that answers slowly, wrongly or never is an [`Error`], not a hang;
//! - what a runtime can do is found by asking it (`UnknownCommand`), never from its version string;
//! - a process that cannot be reached says why ([`NotAttachable`]), with the directory that was tried.
//!
//! Source of the format: the diagnostics IPC protocol document of the .NET runtime and the runtime's own server.

#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::arithmetic_side_effects)
)]

mod cursor;
pub mod discover;
mod endpoint;
mod error;
mod ipc;
mod port;
pub mod reply;
mod request;
mod session;
pub mod wire;

pub use discover::{NotAttachable, Seen, find, processes};
pub use endpoint::Endpoint;
pub use error::{Error, Malformed, Phase, Problem, RequestError, RuntimeError};
pub use port::{Advertised, PortError, ReversePort, Startup};
pub use reply::{Cookie, InfoVersion, ProcessInfo};
pub use request::{DEFAULT_RUNDOWN_KEYWORDS, EventFilter, Level, Provider, Rundown, SessionRequest, StackWalk};
pub use session::{CollectCommand, EventFiltering, Granted, GrantedRundown, Session, SessionId};
