//! The runtime itself, and its samples.

use core::fmt;

use super::{skip_instance, text};
use crate::cursor::Cursor;
use crate::event::Guid;
use crate::problem::Damage;
use crate::text::Utf16;

/// Which runtime this is and how it was started (`RuntimeInformationStart`, `RuntimeInformationDCStart`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RuntimeInformation<'a> {
    /// Which kind of runtime.
    pub sku: Sku,
    /// Version of the base class library.
    pub library_version: RuntimeVersion,
    /// Version of the runtime.
    pub version: RuntimeVersion,
    /// Start-up flags as the runtime's bits: 1 concurrent GC, 0x1000 server GC.
    pub startup_flags: u32,
    /// How it was started, as the runtime's bits: 1 a managed program, 2 hosted.
    pub startup_mode: u8,
    /// Command line of the process.
    pub command_line: Utf16<'a>,
    /// Object the runtime was activated for; all zero nearly always.
    pub com_object: Guid,
    /// File of the runtime.
    pub runtime_path: Utf16<'a>,
}

impl<'a> RuntimeInformation<'a> {
    pub(super) fn read(cursor: &mut Cursor<'a>) -> Result<Self, Damage> {
        skip_instance(cursor)?;
        Ok(Self {
            sku: Sku(cursor.u16()?),
            library_version: RuntimeVersion::read(cursor)?,
            version: RuntimeVersion::read(cursor)?,
            startup_flags: cursor.u32()?,
            startup_mode: cursor.u8()?,
            command_line: text(cursor)?,
            com_object: Guid(*cursor.array()?),
            runtime_path: text(cursor)?,
        })
    }
}

/// Which process the stream is of, on what machine (`ProcessInfo` of the stream's own provider).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ProcessInfo<'a> {
    /// Command line of the process.
    pub command_line: Utf16<'a>,
    /// Operating system, such as `Linux`, `Windows` or `macOS`; from .NET 5.
    pub system: Option<Utf16<'a>>,
    /// Architecture, such as `x64` or `arm64`; from .NET 5.
    pub architecture: Option<Utf16<'a>>,
}

impl<'a> ProcessInfo<'a> {
    pub(super) fn read(cursor: &mut Cursor<'a>) -> Result<Self, Damage> {
        // All its forms have one version: the later fields are there or they are not.
        Ok(Self { command_line: text(cursor)?, system: text(cursor).ok(), architecture: text(cursor).ok() })
    }
}

/// Kind of runtime, as the runtime's number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Sku(pub u16);

impl Sku {
    /// CoreCLR.
    pub const CORE_CLR: Self = Self(2);
    /// Mono.
    pub const MONO: Self = Self(4);
}

/// A version of four numbers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RuntimeVersion {
    /// First number.
    pub major: u16,
    /// Second number.
    pub minor: u16,
    /// Third number.
    pub build: u16,
    /// Fourth number.
    pub revision: u16,
}

impl RuntimeVersion {
    fn read(cursor: &mut Cursor<'_>) -> Result<Self, Damage> {
        Ok(Self { major: cursor.u16()?, minor: cursor.u16()?, build: cursor.u16()?, revision: cursor.u16()? })
    }
}

impl fmt::Display for RuntimeVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}.{}", self.major, self.minor, self.build, self.revision)
    }
}

/// What a sampled thread was doing. This is thread time, not CPU time: sleeping threads are sampled too.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum SampleType {
    /// The sampler could not tell.
    Error,
    /// Native code, or blocked.
    External,
    /// Managed code.
    Managed,
    /// A number this module does not know.
    Other(u32),
}

impl SampleType {
    pub(super) fn read(cursor: &mut Cursor<'_>) -> Result<Self, Damage> {
        Ok(match cursor.u32()? {
            0 => Self::Error,
            1 => Self::External,
            2 => Self::Managed,
            other => Self::Other(other),
        })
    }
}
