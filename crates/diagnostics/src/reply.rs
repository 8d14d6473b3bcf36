//! Reading replies: pure functions on bytes.

use std::fmt;

use crate::cursor::Cursor;
use crate::error::{Malformed, Problem, RuntimeError};
use crate::wire::{HEADER_BYTES, MAGIC, REPLY_SET};

/// Size in bytes of what a runtime says first on a connection to a reverse port.
pub const ADVERTISE_BYTES: usize = 34;

const ADVERTISE_MAGIC: [u8; 8] = *b"ADVR_V1\0";

/// A number that the runtime draws at random once per process.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Cookie(pub [u8; 16]);

impl fmt::Debug for Cookie {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

/// A reply's header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Whether the payload is a result or an error.
    pub kind: Kind,
    /// Size of the payload in bytes.
    pub payload_bytes: usize,
}

/// What a reply says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The command was carried out.
    Result,
    /// It was not.
    Error,
}

/// Read a reply's header.
///
/// # Errors
/// With the offset from the message's start: other magic, a size smaller than the header, or not a reply.
pub fn header(bytes: &[u8; HEADER_BYTES]) -> Result<Header, Malformed> {
    let mut cursor = Cursor::new(bytes, 0);
    if cursor.array::<14>()? != MAGIC {
        return Err(Malformed { offset: 0, problem: Problem::BadMagic });
    }
    let size = cursor.u16()?;
    let Some(payload_bytes) = usize::from(size).checked_sub(HEADER_BYTES) else {
        return Err(Malformed { offset: 14, problem: Problem::SizeTooSmall { size } });
    };
    let (set, id) = (cursor.u8()?, cursor.u8()?);
    let kind = match (set, id) {
        (REPLY_SET, 0x00) => Kind::Result,
        (REPLY_SET, 0xFF) => Kind::Error,
        _ => return Err(Malformed { offset: 16, problem: Problem::NotAReply { set, id } }),
    };
    Ok(Header { kind, payload_bytes })
}

/// Split a whole reply into its header and its payload.
///
/// # Errors
/// As [`header`], and when the bytes present are not as many as the header states.
pub fn split(bytes: &[u8]) -> Result<(Header, &[u8]), Malformed> {
    let mut cursor = Cursor::new(bytes, 0);
    let header = header(&cursor.array()?)?;
    let present = cursor.remaining();
    if present != header.payload_bytes {
        let stated = u16::try_from(header.payload_bytes.saturating_add(HEADER_BYTES)).unwrap_or(u16::MAX);
        let present = present.saturating_add(HEADER_BYTES);
        return Err(Malformed { offset: 14, problem: Problem::SizeMismatch { stated, present } });
    }
    Ok((header, cursor.take(present)?))
}

/// Read the payload of an error reply.
///
/// # Errors
/// When it is shorter than an HRESULT. Some commands add a text, which is not read.
pub fn error(payload: &[u8]) -> Result<RuntimeError, Malformed> {
    Cursor::new(payload, HEADER_BYTES).u32().map(RuntimeError::from_code)
}

/// Read the payload that every tracing command answers with: the session's id.
///
/// # Errors
/// When it is shorter than 8 bytes.
pub fn session_id(payload: &[u8]) -> Result<u64, Malformed> {
    Cursor::new(payload, HEADER_BYTES).u64()
}

/// Which of the three process queries was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum InfoVersion {
    /// `ProcessInfo` (5).
    One,
    /// `ProcessInfo2` (6): adds entry assembly and runtime version.
    Two,
    /// `ProcessInfo3` (8): adds the portable RID.
    Three,
}

/// What a runtime says about its process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessInfo {
    /// Which query it answered, and so which fields can be there.
    pub answered: InfoVersion,
    /// The process id in the target's own pid namespace.
    pub namespace_pid: u64,
    /// Random per process.
    pub cookie: Cookie,
    /// The command line as one string. `/proc/PID/cmdline` is the better source for display.
    pub command_line: String,
    /// The operating system as the runtime spells it, such as `Linux`.
    pub os: String,
    /// The architecture as the runtime spells it, such as `x64` or `arm64`.
    pub arch: String,
    /// The entry assembly's name; absent or empty while startup is suspended.
    pub entry_assembly: Option<String>,
    /// The runtime's version, such as `8.0.11+commit`.
    pub runtime_version: Option<String>,
    /// The portable runtime identifier, such as `linux-x64`.
    pub portable_rid: Option<String>,
}

/// Read the payload of a reply to one of the process queries. Bytes after the known fields are left unread: newer runtimes
/// may add some.
///
/// # Errors
/// With the offset from the message's start: truncated, a string longer than the message, or not terminated.
pub fn process_info(version: InfoVersion, payload: &[u8]) -> Result<ProcessInfo, Malformed> {
    let mut cursor = Cursor::new(payload, HEADER_BYTES);
    let layout = if version == InfoVersion::Three { cursor.u32()? } else { 0 };
    let mut info = ProcessInfo {
        answered: version,
        namespace_pid: cursor.u64()?,
        cookie: Cookie(cursor.array()?),
        command_line: cursor.string()?.unwrap_or_default(),
        os: cursor.string()?.unwrap_or_default(),
        arch: cursor.string()?.unwrap_or_default(),
        entry_assembly: None,
        runtime_version: None,
        portable_rid: None,
    };
    if version >= InfoVersion::Two {
        info.entry_assembly = cursor.string()?;
        info.runtime_version = cursor.string()?;
    }
    if layout >= 1 {
        info.portable_rid = cursor.string()?;
    }
    Ok(info)
}

/// What a runtime says first on a connection to a reverse port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Advertise {
    /// Random per process; the same on each of its connections.
    pub cookie: Cookie,
    /// The process id in the target's own pid namespace.
    pub namespace_pid: u64,
}

/// Read an advertise record.
///
/// # Errors
/// When it does not begin with `ADVR_V1`, or is shorter than [`ADVERTISE_BYTES`].
pub fn advertise(bytes: &[u8]) -> Result<Advertise, Malformed> {
    let mut cursor = Cursor::new(bytes, 0);
    if cursor.array::<8>()? != ADVERTISE_MAGIC {
        return Err(Malformed { offset: 0, problem: Problem::BadMagic });
    }
    let advertise = Advertise { cookie: Cookie(cursor.array()?), namespace_pid: cursor.u64()? };
    cursor.u16()?;
    Ok(advertise)
}
