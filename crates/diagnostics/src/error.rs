//! What can go wrong, as data.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// What was being waited for or done on a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Phase {
    /// Connecting to the socket, or waiting for the runtime to connect to our port.
    Connect,
    /// Sending the request.
    Send,
    /// Reading the reply.
    Reply,
    /// Reading what a runtime says first on a connection to our port.
    Advertise,
}

impl std::fmt::Display for Phase {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Connect => "connecting",
            Self::Send => "sending the request",
            Self::Reply => "waiting for the reply",
            Self::Advertise => "waiting for the runtime to say who it is",
        })
    }
}

/// Why a command had no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No process listens on any of the sockets: it has ended, or the files are left over from one that was killed.
    #[error("no runtime listens on {}", list(.sockets))]
    NotListening {
        /// The sockets that were tried, in that order.
        sockets: Vec<PathBuf>,
    },
    /// The socket's file mode keeps us out: only the target's own user and root may connect.
    #[error("not permitted to connect to {}", .socket.display())]
    NotPermitted {
        /// The socket that was tried.
        socket: PathBuf,
    },
    /// Connecting failed in another way.
    #[error("cannot connect to {}: {source}", .socket.display())]
    Connect {
        /// The socket that was tried.
        socket: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The time-out ran out.
    #[error("nothing within {after:?} while {phase}")]
    TimedOut {
        /// What was being waited for.
        phase: Phase,
        /// The whole time-out that the caller gave.
        after: Duration,
    },
    /// The peer closed the connection before the message was complete.
    #[error("connection closed while {phase} ({received} of {expected} bytes)")]
    ClosedEarly {
        /// What was being done.
        phase: Phase,
        /// Bytes that went through.
        received: usize,
        /// Bytes that had to.
        expected: usize,
    },
    /// Reading or writing failed.
    #[error("connection failed while {phase}: {source}")]
    Io {
        /// What was being done.
        phase: Phase,
        /// The system's reason.
        source: io::Error,
    },
    /// The peer's bytes are not a reply.
    #[error("the reply is malformed: {0}")]
    Malformed(#[from] Malformed),
    /// The runtime refused the command.
    #[error("the runtime refused {command}: {error}")]
    Refused {
        /// The command, as the protocol spells it.
        command: &'static str,
        /// What the runtime said.
        error: RuntimeError,
    },
    /// The runtime has no process query at all: .NET Core 3.x. `/proc` tells what it would have.
    #[error("this runtime answers no process query (.NET Core 3.x)")]
    NoProcessQuery,
    /// The request cannot be said in the protocol.
    #[error("the request is not valid: {0}")]
    Request(#[from] RequestError),
    /// The runtime confirmed the stop of a session that was not the one named.
    #[error("the runtime answered for session {answered:#x} instead of {asked:#x}")]
    OtherSession {
        /// The session that was to stop.
        asked: u64,
        /// The session named in the reply.
        answered: u64,
    },
}

fn list(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
}

/// Bytes that are not what the protocol says, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("at byte {offset}: {problem}")]
pub struct Malformed {
    /// Byte offset from the start of the message, its header included.
    pub offset: usize,
    /// What is wrong there.
    pub problem: Problem,
}

/// What is wrong with a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// The first bytes are not the protocol's.
    #[error("not a diagnostics message")]
    BadMagic,
    /// The stated size does not even cover the header.
    #[error("stated size {size} is smaller than the header")]
    SizeTooSmall {
        /// The stated size of the whole message in bytes.
        size: u16,
    },
    /// The bytes present are not as many as the header states.
    #[error("stated size {stated}, but {present} bytes are present")]
    SizeMismatch {
        /// The stated size of the whole message in bytes.
        stated: u16,
        /// The bytes present.
        present: usize,
    },
    /// A reply is marked neither as a result nor as an error.
    #[error("neither a result nor an error (command set {set:#04x}, id {id:#04x})")]
    NotAReply {
        /// The command set.
        set: u8,
        /// The command id.
        id: u8,
    },
    /// The message ends too soon.
    #[error("{needed} more bytes expected, {available} present")]
    Truncated {
        /// Bytes that the field needs.
        needed: usize,
        /// Bytes that are there.
        available: usize,
    },
    /// A string is stated to be longer than the message.
    #[error("a string of {count} UTF-16 units does not fit in {available} bytes")]
    CountTooLarge {
        /// The stated count of UTF-16 code units.
        count: u32,
        /// Bytes that are there.
        available: usize,
    },
    /// A string does not end in a zero.
    #[error("a string without its terminator")]
    NotTerminated,
}

/// An error reply of the runtime (an HRESULT).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RuntimeError {
    /// The payload could not be read, or held a value out of range.
    BadEncoding,
    /// This runtime does not know the command.
    UnknownCommand,
    /// The message did not begin as it should.
    UnknownMagic,
    /// The feature is compiled out or disabled.
    NotSupported,
    /// The runtime could not do it, such as when 64 sessions are active.
    Failed,
    /// The runtime has not come far enough in starting up.
    NotYetAvailable,
    /// The runtime is not initialised.
    Uninitialized,
    /// An argument is not valid now.
    InvalidArgument,
    /// The runtime's buffer was too small.
    InsufficientBuffer,
    /// There is no such environment variable.
    EnvironmentVariableNotFound,
    /// Any other code.
    Other(u32),
}

const RUNTIME_ERRORS: [(u32, RuntimeError, &str); 10] = [
    (0x8013_1384, RuntimeError::BadEncoding, "it could not read the request"),
    (0x8013_1385, RuntimeError::UnknownCommand, "it does not know this command"),
    (0x8013_1386, RuntimeError::UnknownMagic, "it does not know this protocol version"),
    (0x8013_1515, RuntimeError::NotSupported, "it does not support this"),
    (0x8000_4005, RuntimeError::Failed, "it failed (too many sessions, or out of memory)"),
    (0x8013_135B, RuntimeError::NotYetAvailable, "it is still starting up"),
    (0x8013_1371, RuntimeError::Uninitialized, "it is not initialised"),
    (0x8007_0057, RuntimeError::InvalidArgument, "an argument is not valid now"),
    (0x8007_007A, RuntimeError::InsufficientBuffer, "its buffer is too small"),
    (0x8000_00CB, RuntimeError::EnvironmentVariableNotFound, "no such environment variable"),
];

impl RuntimeError {
    /// The error for an HRESULT.
    #[must_use]
    pub fn from_code(code: u32) -> Self {
        RUNTIME_ERRORS.iter().find(|known| known.0 == code).map_or(Self::Other(code), |known| known.1)
    }

    /// The HRESULT.
    #[must_use]
    pub fn code(self) -> u32 {
        match self {
            Self::Other(code) => code,
            known => RUNTIME_ERRORS.iter().find(|entry| entry.1 == known).map_or(0, |entry| entry.0),
        }
    }
}

impl std::fmt::Display for RuntimeError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let words = RUNTIME_ERRORS.iter().find(|entry| entry.1 == *self).map_or("error", |entry| entry.2);
        write!(formatter, "{words} ({:#010x})", self.code())
    }
}

/// A request that no runtime could accept; found before anything is sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// A session needs at least one provider.
    #[error("a session needs at least one provider")]
    NoProvider,
    /// A session takes at most 1000 providers.
    #[error("{count} providers are more than the 1000 a session takes")]
    TooManyProviders {
        /// How many were given.
        count: usize,
    },
    /// A provider has no name.
    #[error("provider {index} has no name")]
    NamelessProvider {
        /// Its place in the list, from 0.
        index: usize,
    },
    /// The same provider twice: what the runtime then does is undefined. Merge keywords, level and filter first.
    #[error("provider {name} is named twice")]
    RepeatedProvider {
        /// The provider.
        name: String,
    },
    /// A string holds a NUL, which would end it early.
    #[error("{name:?} holds a NUL")]
    Nul {
        /// The string.
        name: String,
    },
    /// The session's buffer must be at least 1 MB.
    #[error("the buffer must be at least 1 MB")]
    NoBuffer,
    /// A message is at most 65535 bytes.
    #[error("the request takes {bytes} bytes; a message has at most 65535")]
    TooLarge {
        /// The size it would have.
        bytes: usize,
    },
}
