//! The message format: header, commands, strings.
//!
//! A message is a 20-byte header (14 bytes `DOTNET_IPC_V1` NUL, `u16` size of the whole message, `u8` command set, `u8`
//! command id, `u16` zero) and a payload, all little-endian and packed. Strings are a `u32` count of UTF-16 code units, the
//! terminator included, and the units; count 0 is an absent string.

use crate::error::RequestError;

/// Size of the header in bytes.
pub const HEADER_BYTES: usize = 20;

/// What every message begins with.
pub const MAGIC: [u8; 14] = *b"DOTNET_IPC_V1\0";

/// The command set of replies.
pub const REPLY_SET: u8 = 0xFF;

/// The commands that this crate sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Command {
    /// End a session; its rundown is made before the reply.
    StopTracing,
    /// Start a session (3.0).
    CollectTracing,
    /// Start a session, with or without rundown (3.0).
    CollectTracing2,
    /// The same, with or without stack walks (9).
    CollectTracing3,
    /// The same, with a chosen rundown keyword (9).
    CollectTracing4,
    /// The same, with an event filter (10).
    CollectTracing5,
    /// Who are you? (5)
    ProcessInfo,
    /// Let a suspended runtime start (5).
    ResumeRuntime,
    /// The same with entry assembly and version (6).
    ProcessInfo2,
    /// The same with a version number and the portable RID (8).
    ProcessInfo3,
}

impl Command {
    /// Command set and command id.
    #[must_use]
    pub fn code(self) -> (u8, u8) {
        match self {
            Self::StopTracing => (0x02, 0x01),
            Self::CollectTracing => (0x02, 0x02),
            Self::CollectTracing2 => (0x02, 0x03),
            Self::CollectTracing3 => (0x02, 0x04),
            Self::CollectTracing4 => (0x02, 0x05),
            Self::CollectTracing5 => (0x02, 0x06),
            Self::ProcessInfo => (0x04, 0x00),
            Self::ResumeRuntime => (0x04, 0x01),
            Self::ProcessInfo2 => (0x04, 0x04),
            Self::ProcessInfo3 => (0x04, 0x08),
        }
    }

    /// The protocol's name for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::StopTracing => "StopTracing",
            Self::CollectTracing => "CollectTracing",
            Self::CollectTracing2 => "CollectTracing2",
            Self::CollectTracing3 => "CollectTracing3",
            Self::CollectTracing4 => "CollectTracing4",
            Self::CollectTracing5 => "CollectTracing5",
            Self::ProcessInfo => "ProcessInfo",
            Self::ResumeRuntime => "ResumeRuntime",
            Self::ProcessInfo2 => "ProcessInfo2",
            Self::ProcessInfo3 => "ProcessInfo3",
        }
    }
}

/// A whole message: header and payload.
///
/// # Errors
/// [`RequestError::TooLarge`] when it would not fit in 65535 bytes.
pub fn message(command: Command, payload: &[u8]) -> Result<Vec<u8>, RequestError> {
    let bytes = HEADER_BYTES.saturating_add(payload.len());
    let size = u16::try_from(bytes).map_err(|_| RequestError::TooLarge { bytes })?;
    let (set, id) = command.code();
    let mut message = Vec::with_capacity(bytes);
    message.extend_from_slice(&MAGIC);
    message.extend_from_slice(&size.to_le_bytes());
    message.extend_from_slice(&[set, id, 0, 0]);
    message.extend_from_slice(payload);
    Ok(message)
}

/// Append a string, or an absent one.
///
/// # Errors
/// [`RequestError::Nul`] when a NUL would end it early, [`RequestError::TooLarge`] when no message could hold it.
pub fn put_string(payload: &mut Vec<u8>, string: Option<&str>) -> Result<(), RequestError> {
    let Some(string) = string else {
        payload.extend_from_slice(&0u32.to_le_bytes());
        return Ok(());
    };
    if string.contains('\0') {
        return Err(RequestError::Nul { name: string.to_owned() });
    }
    let units = string.encode_utf16().count().saturating_add(1);
    let count = u32::try_from(units).map_err(|_| RequestError::TooLarge { bytes: units.saturating_mul(2) })?;
    payload.extend_from_slice(&count.to_le_bytes());
    for unit in string.encode_utf16().chain([0]) {
        payload.extend_from_slice(&unit.to_le_bytes());
    }
    Ok(())
}
