//! What differs between the versions of the format: how blocks are framed, what the trace object says, what blocks hold.

use crate::block::{Block, Contents};
use crate::event::Item;
use crate::framing::{self, Object, Step};
use crate::header::Refused;
use crate::problem::Damage;
use crate::six::{self, Attributes};
use crate::stack::PointerSize;
use crate::trace::{FormatVersion, TraceInfo};

/// A version of the format, as far as it matters to a reader.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Dialect {
    /// Versions 4 and 5.
    Four,
    /// Version 6.
    Six { minor: u32 },
}

/// What a trace object said.
pub(crate) struct Opening {
    pub(crate) info: TraceInfo,
    pub(crate) attributes: Attributes,
    /// What of the attributes could not be read, and where in the content.
    pub(crate) damage: Option<(Damage, usize)>,
}

/// Why a trace object is of no use.
pub(crate) enum NoTrace {
    Refused(Refused),
    Unusable,
}

/// Newest block version that is read; also the reader version that blocks may ask for.
const BLOCK_VERSION: i32 = 2;
/// Newest reader version that a trace object may ask for.
const TRACE_VERSION: i32 = 4;

impl Dialect {
    /// Finds the object at the front of `bytes`, which begin at `offset` of the stream.
    pub(crate) fn read_object(self, bytes: &[u8], offset: u64) -> Step<'_> {
        match self {
            Self::Four => framing::read_object(bytes, offset),
            Self::Six { .. } => six::read_object(bytes),
        }
    }

    /// Reads the content of the trace object.
    pub(crate) fn read_trace(self, object: &Object<'_>) -> Result<Opening, NoTrace> {
        match self {
            Self::Four if object.reader > TRACE_VERSION => {
                Err(NoTrace::Refused(Refused::NewerTrace { version: object.version, reader: object.reader }))
            }
            Self::Four if object.version < TRACE_VERSION => {
                Err(NoTrace::Refused(Refused::NetPerf { version: Some(object.version) }))
            }
            Self::Four => {
                let info = object.content.first_chunk().and_then(|bytes| TraceInfo::read(bytes).ok());
                let info = info.ok_or(NoTrace::Unusable)?;
                Ok(Opening { info, attributes: Attributes::default(), damage: None })
            }
            Self::Six { minor } => six::read_trace(object.content, FormatVersion { major: 6, minor }),
        }
    }

    /// The reader version that an object asks for, if that is a newer one than this.
    pub(crate) fn newer_reader(self, object: &Object<'_>) -> Option<i32> {
        (self == Self::Four && object.reader > BLOCK_VERSION).then_some(object.reader)
    }

    /// Reads one block, whatever it holds.
    pub(crate) fn read_block(
        self,
        contents: &mut Contents,
        block: Block<'_>,
        pointer_size: PointerSize,
        sink: &mut impl FnMut(Item<'_>),
    ) {
        match self {
            Self::Four => contents.read(block, pointer_size, sink),
            Self::Six { .. } => contents.read_six(block, pointer_size, sink),
        }
    }
}
