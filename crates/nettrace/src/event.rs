//! What the decoder hands out.

use core::fmt;

use crate::loss::Gap;
use crate::metadata::Metadata;
use crate::problem::Problem;
use crate::sequence::SequencePoint;
use crate::six::{Label, Labels, ThreadInfo};
use crate::stack::{PointerSize, Stack};
use crate::trace::TraceInfo;

/// One thing found in a stream, in stream order.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Item<'a> {
    /// What the stream says about itself; comes first and once.
    Trace(TraceInfo),
    /// An event.
    Event(Event<'a>),
    /// Events that the runtime dropped, told at the first event or sequence point that shows it.
    Gap(Gap),
    /// Everything before it in the stream happened before everything after it.
    SequencePoint(SequencePoint<'a>),
    /// Something that could not be read. At most a few of each kind come as items; [`crate::Summary`] has all counts.
    Problem(Problem),
}

/// One event.
#[derive(Clone, Copy, Debug)]
pub struct Event<'a> {
    /// Thread, time and numbers.
    pub header: &'a EventHeader<'a>,
    /// Its definition: provider, id, version, name, fields. Labels of the event overrule some of it (version 6): see
    /// [`Event::opcode`], [`Event::keywords`], [`Event::level`] and [`Event::version`].
    pub metadata: &'a Metadata,
    /// The managed frames of `header.thread`, or `None` when the event names no stack or one without frames.
    pub stack: Option<Stack<'a>>,
    /// The payload; see [`Event::fields`], or [`crate::runtime`] for types.
    pub payload: &'a [u8],
    /// Where the event begins: bytes from the start of the stream.
    pub offset: u64,
    pub(crate) pointer_size: PointerSize,
}

impl<'a> Event<'a> {
    /// The opcode that counts, as for [`Metadata::opcode`]: that of the event's labels, else that of its definition.
    pub fn opcode(&self) -> u8 {
        let labelled = self.overruled(|label| if let Label::Opcode(opcode) = label { Some(opcode) } else { None });
        self.metadata.opcode_if_stated(labelled.or(self.metadata.stated_opcode))
    }

    /// Keywords: those of the event's labels, else those of its definition.
    pub fn keywords(&self) -> u64 {
        let labelled =
            self.overruled(|label| if let Label::Keywords(keywords) = label { Some(keywords) } else { None });
        labelled.unwrap_or(self.metadata.keywords)
    }

    /// Level: that of the event's labels, else that of its definition.
    pub fn level(&self) -> u32 {
        let labelled = self.overruled(|label| if let Label::Level(level) = label { Some(level) } else { None });
        labelled.map_or(self.metadata.level, u32::from)
    }

    /// Version of the payload: that of the event's labels, else that of its definition.
    pub fn version(&self) -> u32 {
        let labelled = self.overruled(|label| if let Label::Version(version) = label { Some(version) } else { None });
        labelled.map_or(self.metadata.version, u32::from)
    }

    /// The labels of the event; none before version 6.
    pub fn labels(&self) -> Labels<'a> {
        self.header.labels
    }

    /// What the stream says about the thread the event is about; `None` before version 6.
    pub fn thread_info(&self) -> Option<&'a ThreadInfo> {
        self.header.thread_info
    }

    /// The process of the thread the event is about. `None` before version 6, where all is about the process of
    /// [`TraceInfo::process_id`].
    pub fn process_id(&self) -> Option<u64> {
        self.header.thread_info?.process_id
    }

    /// Name of the thread the event is about; `None` before version 6.
    pub fn thread_name(&self) -> Option<&'a str> {
        self.header.thread_info?.name.as_deref()
    }

    fn overruled<T>(&self, choose: impl FnMut(Label<'a>) -> Option<T>) -> Option<T> {
        self.header.labels.iter().find_map(choose)
    }
}

/// Thread, time and numbers of an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EventHeader<'a> {
    /// The thread the event is about: OS thread id in the traced process' pid namespace. In version 6 the stream's own
    /// index of the thread where it does not say an id.
    pub thread: u64,
    /// The thread that wrote the event; another one than `thread` for the samples of the runtime's sampler.
    pub capture_thread: u64,
    /// Time, in ticks of the stream's clock.
    pub time: u64,
    /// Number of the event among those of its capture thread; wraps at 2^32.
    pub sequence: u32,
    /// Processor number, `u32::MAX` when unknown (which is usual on Linux).
    pub processor: u32,
    /// The stream's own id of the stack, 0 for none. Ids start again after each sequence point.
    pub stack_id: u32,
    /// Whether the stream promises that no later event has an earlier time.
    pub sorted: bool,
    pub(crate) activity: Option<&'a [u8; 16]>,
    pub(crate) related_activity: Option<&'a [u8; 16]>,
    pub(crate) labels: Labels<'a>,
    pub(crate) thread_info: Option<&'a ThreadInfo>,
}

impl EventHeader<'_> {
    /// The activity the event belongs to, or `None` when it belongs to none.
    pub fn activity(&self) -> Option<Guid> {
        Guid::unless_nil(self.activity)
    }

    /// The activity related to it (for the start of an activity: the one that started it), or `None`.
    pub fn related_activity(&self) -> Option<Guid> {
        Guid::unless_nil(self.related_activity)
    }
}

/// A GUID in the byte order of the wire: three little-endian numbers (4, 2 and 2 bytes), then 8 bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Guid(pub [u8; 16]);

impl Guid {
    fn unless_nil(bytes: Option<&[u8; 16]>) -> Option<Self> {
        bytes.filter(|bytes| **bytes != [0; 16]).map(|bytes| Self(*bytes))
    }
}

impl fmt::Display for Guid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a0, a1, a2, a3, b0, b1, c0, c1, d0, d1, e @ ..] = self.0;
        let (a, b, c) =
            (u32::from_le_bytes([a0, a1, a2, a3]), u16::from_le_bytes([b0, b1]), u16::from_le_bytes([c0, c1]));
        write!(f, "{a:08x}-{b:04x}-{c:04x}-{d0:02x}{d1:02x}-")?;
        e.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Guid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
