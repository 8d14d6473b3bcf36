//! The runtime's own events, with types.
//!
//! Streams carry neither names nor fields for these events, so what they hold is known here, by provider, event id and
//! version: all of them as described fields ([`crate::Event::fields`], [`described_events`]), and those that name code as the
//! types below. Payloads only ever grow at their end: an event of a version newer than known is read as the newest known one,
//! and what follows is ignored. Source: the runtime's event descriptions from .NET Core 3.0 to .NET 10.

mod il_map;
mod loader;
mod method;
mod naming;
mod process;
mod schema;

use crate::cursor::Cursor;
use crate::event::Event;
use crate::problem::Damage;
use crate::text::Utf16;

pub use il_map::{IlOffset, MethodIlMap};
pub use loader::{AssemblyEvent, AssemblyFlags, DomainModuleEvent, ModuleEvent, ModuleFlags, PdbSignature};
pub use method::{JittingStarted, MethodEvent, MethodFlags, MethodNames, Tier};
pub use naming::names_code;
pub use process::{RuntimeInformation, RuntimeVersion, SampleType, Sku};

pub use schema::described_events;

pub(crate) use schema::Schema;

/// Provider of the runtime's events.
pub const RUNTIME_PROVIDER: &str = "Microsoft-Windows-DotNETRuntime";
/// Provider of the events that list what the runtime already has.
pub const RUNDOWN_PROVIDER: &str = "Microsoft-Windows-DotNETRuntimeRundown";
/// Provider of the runtime's own samples.
pub const SAMPLE_PROVIDER: &str = "Microsoft-DotNETCore-SampleProfiler";

/// Why an event tells of a thing.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Occasion {
    /// It came to be just now.
    Load,
    /// It is about to go.
    Unload,
    /// It was there when a rundown at the start of a session listed it.
    RundownStart,
    /// It was there when a rundown at the end of a session listed it.
    RundownEnd,
}

/// An event of the runtime.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum RuntimeEvent<'a> {
    /// One compiled body of a method.
    Method(Occasion, MethodEvent<'a>),
    /// Which native code of a body comes from which IL. On loading it follows the method's own event; on unloading and in
    /// rundowns it comes before it, from the same thread.
    MethodIlMap(Occasion, MethodIlMap<'a>),
    /// The JIT begins to compile a method.
    JittingStarted(JittingStarted<'a>),
    /// A module.
    Module(Occasion, ModuleEvent<'a>),
    /// A module in its application domain.
    DomainModule(Occasion, DomainModuleEvent<'a>),
    /// An assembly.
    Assembly(Occasion, AssemblyEvent<'a>),
    /// Which runtime this is and how it was started.
    Information(Occasion, RuntimeInformation<'a>),
    /// A rundown begins.
    RundownInit(Occasion),
    /// A rundown listed everything. (Its events can still have been dropped: see [`crate::Loss`].)
    RundownComplete(Occasion),
    /// A sample of one thread by the runtime's sampler; its stack is that of the event.
    Sample(SampleType),
}

/// A payload of a runtime event that is shorter than its version has to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "payload of runtime event {event_id} version {version} at byte {offset} ends inside a field (it has {present} bytes)"
)]
pub struct PayloadError {
    /// Id of the event within its provider.
    pub event_id: u32,
    /// Version it states.
    pub version: u32,
    /// Where the event begins: bytes from the start of the stream.
    pub offset: u64,
    /// Bytes of payload it has.
    pub present: usize,
}

impl<'a> RuntimeEvent<'a> {
    /// Reads the payload of `event` if it is one of the events this module knows, else gives `None`.
    ///
    /// # Errors
    ///
    /// [`PayloadError`] when the payload is too short for its version.
    pub fn decode(event: &Event<'a>) -> Result<Option<Self>, PayloadError> {
        let metadata = event.metadata;
        let Some(known) = metadata.known else { return Ok(None) };
        let version = event.version();
        known.read(&mut Cursor::new(event.payload), version).map(Some).map_err(|_| PayloadError {
            event_id: metadata.event_id,
            version,
            offset: event.offset,
            present: event.payload.len(),
        })
    }
}

/// Which known event a definition stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Known {
    Method(Occasion),
    MethodVerbose(Occasion),
    MethodIlMap(Occasion),
    JittingStarted,
    Module(Occasion),
    DomainModule(Occasion),
    Assembly(Occasion),
    Information(Occasion),
    RundownInit(Occasion),
    RundownComplete(Occasion),
    Sample,
}

impl Known {
    /// The event of this provider and id. Ids mean different things in different providers.
    pub(crate) fn find(provider: &str, event_id: u32) -> Option<Self> {
        use Occasion::{Load, RundownEnd, RundownStart, Unload};
        Some(match (provider, event_id) {
            (RUNTIME_PROVIDER, 141) => Self::Method(Load),
            (RUNTIME_PROVIDER, 142) => Self::Method(Unload),
            (RUNTIME_PROVIDER, 143) => Self::MethodVerbose(Load),
            (RUNTIME_PROVIDER, 144) => Self::MethodVerbose(Unload),
            (RUNTIME_PROVIDER, 145) => Self::JittingStarted,
            (RUNTIME_PROVIDER, 151) => Self::DomainModule(Load),
            (RUNTIME_PROVIDER, 152) => Self::Module(Load),
            (RUNTIME_PROVIDER, 153) => Self::Module(Unload),
            (RUNTIME_PROVIDER, 154) => Self::Assembly(Load),
            (RUNTIME_PROVIDER, 155) => Self::Assembly(Unload),
            (RUNTIME_PROVIDER, 187) => Self::Information(Load),
            // The runtime has one id for it when a body comes and when it goes.
            (RUNTIME_PROVIDER, 190) => Self::MethodIlMap(Load),
            (RUNDOWN_PROVIDER, 141) => Self::Method(RundownStart),
            (RUNDOWN_PROVIDER, 142) => Self::Method(RundownEnd),
            (RUNDOWN_PROVIDER, 143) => Self::MethodVerbose(RundownStart),
            (RUNDOWN_PROVIDER, 144) => Self::MethodVerbose(RundownEnd),
            (RUNDOWN_PROVIDER, 145) => Self::RundownComplete(RundownStart),
            (RUNDOWN_PROVIDER, 146) => Self::RundownComplete(RundownEnd),
            (RUNDOWN_PROVIDER, 147) => Self::RundownInit(RundownStart),
            (RUNDOWN_PROVIDER, 148) => Self::RundownInit(RundownEnd),
            (RUNDOWN_PROVIDER, 149) => Self::MethodIlMap(RundownStart),
            (RUNDOWN_PROVIDER, 150) => Self::MethodIlMap(RundownEnd),
            (RUNDOWN_PROVIDER, 151) => Self::DomainModule(RundownStart),
            (RUNDOWN_PROVIDER, 152) => Self::DomainModule(RundownEnd),
            (RUNDOWN_PROVIDER, 153) => Self::Module(RundownStart),
            (RUNDOWN_PROVIDER, 154) => Self::Module(RundownEnd),
            (RUNDOWN_PROVIDER, 155) => Self::Assembly(RundownStart),
            (RUNDOWN_PROVIDER, 156) => Self::Assembly(RundownEnd),
            // The runtime has one id for it at either end of a session; a rundown at the start exists outside streams only.
            (RUNDOWN_PROVIDER, 187) => Self::Information(RundownEnd),
            (SAMPLE_PROVIDER, 0) => Self::Sample,
            _ => return None,
        })
    }

    fn read<'a>(self, cursor: &mut Cursor<'a>, version: u32) -> Result<RuntimeEvent<'a>, Damage> {
        Ok(match self {
            Self::Method(occasion) => RuntimeEvent::Method(occasion, MethodEvent::read(cursor, version)?),
            Self::MethodVerbose(occasion) => {
                RuntimeEvent::Method(occasion, MethodEvent::read_verbose(cursor, version)?)
            }
            Self::MethodIlMap(occasion) => RuntimeEvent::MethodIlMap(occasion, MethodIlMap::read(cursor, version)?),
            Self::JittingStarted => RuntimeEvent::JittingStarted(JittingStarted::read(cursor)?),
            Self::Module(occasion) => RuntimeEvent::Module(occasion, ModuleEvent::read(cursor, version)?),
            Self::DomainModule(occasion) => RuntimeEvent::DomainModule(occasion, DomainModuleEvent::read(cursor)?),
            Self::Assembly(occasion) => RuntimeEvent::Assembly(occasion, AssemblyEvent::read(cursor)?),
            Self::Information(occasion) => RuntimeEvent::Information(occasion, RuntimeInformation::read(cursor)?),
            Self::RundownInit(occasion) => RuntimeEvent::RundownInit(occasion),
            Self::RundownComplete(occasion) => RuntimeEvent::RundownComplete(occasion),
            Self::Sample => RuntimeEvent::Sample(SampleType::read(cursor)?),
        })
    }
}

/// `ClrInstanceID`, which stands in nearly every event and says nothing on these runtimes.
fn skip_instance(cursor: &mut Cursor<'_>) -> Result<(), Damage> {
    cursor.u16().map(drop)
}

fn text<'a>(cursor: &mut Cursor<'a>) -> Result<Utf16<'a>, Damage> {
    Utf16::read(cursor)
}
