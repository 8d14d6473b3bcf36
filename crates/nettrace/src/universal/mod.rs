//! Events by which collectors of whole machines tell of samples, processes and code.
//!
//! `dotnet-trace collect-linux` and record-trace write them, in streams of version 6. Which process and thread an event is
//! about is in the stream's table of threads ([`Event::process_id`], [`crate::EventHeader::thread`]); what is here is the
//! payload. Events are known by provider and name: only names are promised to stay.
//!
//! Definitions in these streams describe text as one or many UTF-8 units, and leave out what stands at the end of mappings.
//! What writers write, and the TraceEvent library reads, is this: numbers are LEB128 without a sign, text is its length in
//! bytes (2 bytes) and then UTF-8. So that is how payloads are read here and in [`Event::fields`]. Ends of ranges are the last
//! address that belongs to them; but record-trace writes the address behind it for mappings of processes and for code that
//! the runtime's perf map names, so that a range may end where the next one starts. It tells of the exit of a process when any
//! of its threads ends. Source: the description of the universal providers beside the TraceEvent library, and what
//! record-trace wrote.

mod schema;

use strata_address::Avma;

use crate::cursor::Cursor;
use crate::event::Event;
use crate::problem::Damage;
use crate::text::Utf8;

/// Provider of what tells of processes and code.
pub const SYSTEM_PROVIDER: &str = "Universal.System";
/// Provider of events that have a number and a stack: samples and others.
pub const EVENTS_PROVIDER: &str = "Universal.Events";

/// An event by these conventions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum UniversalEvent<'a> {
    /// The thread of the event was on a processor (`cpu`). Its stack is that of the event, kernel and user, leaf first.
    CpuSample {
        /// How many samples it stands for: they are [`crate::TraceInfo::sampling_period_ns`] apart.
        weight: u64,
    },
    /// The thread of the event got a processor again (`cswitch`). The stack of the event is where it had lost it.
    ContextSwitch {
        /// How long it had none, in ticks of the stream's clock.
        waited: u64,
    },
    /// There is a process: that of the event.
    Process(Beginning, ProcessEvent<'a>),
    /// The process of the event is gone, or one of its threads.
    ProcessExit,
    /// The process of the event has something in its memory.
    Mapping(MappingEvent<'a>),
    /// What mappings of one file have in common.
    MappingMetadata(MappingMetadataEvent<'a>),
    /// A range of a mapping has a name.
    Symbol(SymbolEvent<'a>),
}

/// Since when there is a process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Beginning {
    /// Since before the trace began (`ExistingProcess`).
    Before,
    /// Since the event (`ProcessCreate`).
    Now,
}

/// A process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ProcessEvent<'a> {
    /// Its id in its own pid namespace; 0 where that is not known.
    pub namespace_pid: u64,
    /// Its name (`comm`).
    pub name: Utf8<'a>,
    /// Name of its namespace.
    pub namespace: Utf8<'a>,
}

/// Something in the memory of a process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MappingEvent<'a> {
    /// Its id in the trace. Processes that got it from one parent may share it.
    pub id: u64,
    /// Its first address.
    pub start: Avma,
    /// Its last address.
    pub last: Avma,
    /// The place in the file that is at `start`; 0 for PE images, which are laid out as a whole.
    pub file_offset: u64,
    /// The file, or what stands for it (`vmlinux` for the kernel); empty for memory.
    pub file: Utf8<'a>,
    /// The metadata that belongs to it; 0 for none.
    pub metadata_id: u64,
    /// What newer writers add: symbol metadata as [`MappingMetadataEvent::symbol`] has it.
    pub symbol: Option<Utf8<'a>>,
    /// What newer writers add: version metadata as [`MappingMetadataEvent::version`] has it.
    pub version: Option<Utf8<'a>>,
}

/// What mappings of one file have in common.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MappingMetadataEvent<'a> {
    /// The id by which mappings name it.
    pub id: u64,
    /// How its symbols can be found: a JSON object with `type` (`ELF`, `PE`) and such as `build_id`; may be empty.
    pub symbol: Utf8<'a>,
    /// Which version it is: a JSON object; may be empty.
    pub version: Utf8<'a>,
}

/// A named range of a mapping.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SymbolEvent<'a> {
    /// Its id in the trace.
    pub id: u64,
    /// The mapping it is in.
    pub mapping_id: u64,
    /// Its first address in the process.
    pub start: Avma,
    /// Its last address.
    pub last: Avma,
    /// Its name.
    pub name: Utf8<'a>,
}

/// A payload that is no such event as its name says.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("payload of the event {event} at byte {offset} is damaged (it has {present} bytes)")]
pub struct PayloadError {
    /// Name of the event.
    pub event: &'static str,
    /// Where the event begins: bytes from the start of the stream.
    pub offset: u64,
    /// Bytes of payload it has.
    pub present: usize,
}

impl<'a> UniversalEvent<'a> {
    /// Reads an event; `None` of one that these conventions do not have. What is behind the last known field is ignored.
    pub fn decode(event: &Event<'a>) -> Result<Option<Self>, PayloadError> {
        let Some(kind) = event.metadata.universal else { return Ok(None) };
        kind.read(&mut Cursor::new(event.payload)).map(Some).map_err(|_| PayloadError {
            event: kind.name(),
            offset: event.offset,
            present: event.payload.len(),
        })
    }
}

/// Which event of the conventions a definition stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Cpu,
    ContextSwitch,
    ExistingProcess,
    ProcessCreate,
    ProcessExit,
    Mapping,
    MappingMetadata,
    Symbol,
}

impl Kind {
    const ALL: [Self; 8] = [
        Self::Cpu,
        Self::ContextSwitch,
        Self::ExistingProcess,
        Self::ProcessCreate,
        Self::ProcessExit,
        Self::Mapping,
        Self::MappingMetadata,
        Self::Symbol,
    ];

    pub(crate) fn find(provider: &str, name: &str) -> Option<Self> {
        // Nearly all definitions are of other providers.
        let known = provider == SYSTEM_PROVIDER || provider == EVENTS_PROVIDER;
        known.then(|| Self::ALL.into_iter().find(|kind| kind.provider() == provider && kind.name() == name))?
    }

    const fn provider(self) -> &'static str {
        match self {
            Self::Cpu | Self::ContextSwitch => EVENTS_PROVIDER,
            _ => SYSTEM_PROVIDER,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::ContextSwitch => "cswitch",
            Self::ExistingProcess => "ExistingProcess",
            Self::ProcessCreate => "ProcessCreate",
            Self::ProcessExit => "ProcessExit",
            Self::Mapping => "ProcessMapping",
            Self::MappingMetadata => "ProcessMappingMetadata",
            Self::Symbol => "ProcessSymbol",
        }
    }

    fn read<'a>(self, cursor: &mut Cursor<'a>) -> Result<UniversalEvent<'a>, Damage> {
        Ok(match self {
            Self::Cpu => UniversalEvent::CpuSample { weight: cursor.varu64()? },
            Self::ContextSwitch => UniversalEvent::ContextSwitch { waited: cursor.varu64()? },
            Self::ExistingProcess => UniversalEvent::Process(Beginning::Before, ProcessEvent::read(cursor)?),
            Self::ProcessCreate => UniversalEvent::Process(Beginning::Now, ProcessEvent::read(cursor)?),
            Self::ProcessExit => UniversalEvent::ProcessExit,
            Self::Mapping => UniversalEvent::Mapping(MappingEvent::read(cursor)?),
            Self::MappingMetadata => UniversalEvent::MappingMetadata(MappingMetadataEvent::read(cursor)?),
            Self::Symbol => UniversalEvent::Symbol(SymbolEvent::read(cursor)?),
        })
    }
}

impl<'a> ProcessEvent<'a> {
    fn read(cursor: &mut Cursor<'a>) -> Result<Self, Damage> {
        Ok(Self { namespace_pid: cursor.varu64()?, name: text(cursor)?, namespace: text(cursor)? })
    }
}

impl<'a> MappingEvent<'a> {
    fn read(cursor: &mut Cursor<'a>) -> Result<Self, Damage> {
        let mut event = Self {
            id: cursor.varu64()?,
            start: Avma(cursor.varu64()?),
            last: Avma(cursor.varu64()?),
            file_offset: cursor.varu64()?,
            file: text(cursor)?,
            metadata_id: cursor.varu64()?,
            symbol: None,
            version: None,
        };
        if !cursor.is_empty() {
            event.symbol = text(cursor).ok();
            event.version = text(cursor).ok();
        }
        Ok(event)
    }
}

impl<'a> MappingMetadataEvent<'a> {
    fn read(cursor: &mut Cursor<'a>) -> Result<Self, Damage> {
        Ok(Self { id: cursor.varu64()?, symbol: text(cursor)?, version: text(cursor)? })
    }
}

impl<'a> SymbolEvent<'a> {
    fn read(cursor: &mut Cursor<'a>) -> Result<Self, Damage> {
        Ok(Self {
            id: cursor.varu64()?,
            mapping_id: cursor.varu64()?,
            start: Avma(cursor.varu64()?),
            last: Avma(cursor.varu64()?),
            name: text(cursor)?,
        })
    }
}

fn text<'a>(cursor: &mut Cursor<'a>) -> Result<Utf8<'a>, Damage> {
    let bytes = cursor.u16()?;
    cursor.take(bytes.into()).map(Utf8::new)
}
