//! What could not be read, where, and how often.

use core::fmt;

/// Which block of a stream something belongs to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum BlockKind {
    /// The `Trace` object at the start.
    Trace,
    /// Definitions of events.
    Metadata,
    /// Definitions of stacks.
    Stack,
    /// Events.
    Event,
    /// Sequence point.
    SequencePoint,
    /// Definitions of threads (version 6).
    Thread,
    /// Threads that are gone (version 6).
    RemoveThread,
    /// Definitions of label lists (version 6).
    LabelList,
    /// A type this reader does not know.
    Unknown,
}

impl fmt::Display for BlockKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Trace => "trace object",
            Self::Metadata => "metadata block",
            Self::Stack => "stack block",
            Self::Event => "event block",
            Self::SequencePoint => "sequence point",
            Self::Thread => "thread block",
            Self::RemoveThread => "remove-thread block",
            Self::LabelList => "label list block",
            Self::Unknown => "block of unknown type",
        })
    }
}

/// Why reading inside a block stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Damage {
    EndsEarly,
    OverlongNumber,
    BadSize,
}

impl From<Damage> for ProblemKind {
    fn from(damage: Damage) -> Self {
        match damage {
            Damage::EndsEarly => Self::EndsEarly,
            Damage::OverlongNumber => Self::OverlongNumber,
            Damage::BadSize => Self::BadSize,
        }
    }
}

macro_rules! problem_kinds {
    ($($(#[$doc:meta])* $name:ident => $text:literal,)*) => {
        /// What kind of thing could not be read.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[non_exhaustive]
        pub enum ProblemKind {
            $($(#[$doc])* $name,)*
        }

        impl ProblemKind {
            /// Every kind there is.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];
        }

        impl fmt::Display for ProblemKind {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self { $(Self::$name => $text,)* })
            }
        }
    };
}

problem_kinds! {
    /// A tag between objects is not the one the format has there (value: the tag). Reading stops.
    BadFraming => "unexpected tag between objects",
    /// The name of an object's type is negative or over 64 bytes long (value: its length). Reading stops.
    BadTypeName => "length of a type name out of range",
    /// A block's size is negative or above 16 MiB (value: the size). Reading stops.
    BadBlockSize => "block size out of range",
    /// The stream does not begin with a usable trace object. Reading stops.
    BadTrace => "unusable trace object",
    /// A second trace object; ignored.
    DuplicateTrace => "second trace object",
    /// A block of a type this reader does not know (value: its kind in version 6); skipped.
    UnknownBlock => "block type not known",
    /// A block that asks for a newer reader (value: the version asked for); skipped.
    NewerBlock => "block asks for a newer reader",
    /// Bytes after the end of the stream; ignored.
    TrailingBytes => "bytes after the end of the stream",
    /// The stream ends before its end mark (value: bytes missing from the object, where that is known).
    Cut => "stream is cut",
    /// The header of an event or metadata block is shorter than 20 bytes or longer than the block (value: its size). The
    /// block is dropped.
    BadBlockHeader => "block header size out of range",
    /// A value or payload runs past the end of its block. The rest of the block is dropped.
    EndsEarly => "value runs past the end of its block",
    /// A variable-length number has too many bytes. The rest of the block is dropped.
    OverlongNumber => "variable-length number too long",
    /// A size or count contradicts the bytes around it. The rest of the block is dropped.
    BadSize => "size contradicts the bytes around it",
    /// A stack's bytes are not a multiple of the pointer size (value: its bytes); the odd bytes are ignored.
    UnevenStack => "stack size is not a multiple of the pointer size",
    /// A second definition of a stack since the last sequence point (value: the stack id); the newer one counts from there on.
    DuplicateStack => "stack defined twice",
    /// An event's definition could not be read; it is ignored.
    BadMetadata => "unreadable event definition",
    /// A second definition with the same id (value: the id); the first one stays.
    DuplicateMetadata => "event defined twice",
    /// The fields in an event's definition could not be read (value: the id); its payload stays opaque.
    BadFields => "unreadable field list in an event definition",
    /// The optional entries of an event's definition could not be read to their end (value: the id); those before stay.
    BadEntries => "unreadable optional entries in an event definition",
    /// An event whose definition is missing (value: the metadata id); it is skipped.
    UnknownMetadata => "event without a definition",
    /// An event that names a stack never defined (value: the stack id); it comes without a stack.
    UnknownStack => "stack never defined",
    /// An event, sequence point or remove-thread block that names a thread never defined, or removed or forgotten since
    /// (value: its index). The event comes with the index in place of the id of its thread.
    UnknownThread => "thread never defined",
    /// A second definition of a thread that is still there (value: its index); the newer one counts from there on.
    DuplicateThread => "thread defined twice",
    /// A thread's definition could not be read; it is ignored.
    BadThread => "unreadable thread definition",
    /// More threads, or longer texts about them, than this reader keeps (value: the thread's index); the thread is not
    /// defined.
    TooManyThreads => "more threads than are kept",
    /// An event that names a list of labels never defined (value: its id); it comes without labels.
    UnknownLabels => "label list never defined",
    /// A second definition of a list of labels since the last sequence point (value: its id); the newer one counts from there
    /// on.
    DuplicateLabels => "label list defined twice",
    /// A list of labels with the id that stands for none, 0; it is ignored.
    ReservedLabels => "label list with the id of none",
    /// An optional entry of a kind this reader does not know (value: the kind), so that its length is not known either.
    /// The other entries of the same definition are not read; in a block of label lists the rest of the block.
    UnknownEntry => "optional entry not known",
}

/// Something that could not be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Problem {
    /// What it is.
    pub kind: ProblemKind,
    /// Where: bytes from the start of the stream.
    pub offset: u64,
    /// The block it is in, if it is in one.
    pub block: Option<BlockKind>,
    /// The number at fault; what it is depends on the kind.
    pub value: Option<i64>,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}", self.kind, self.offset)?;
        if let Some(block) = self.block {
            write!(f, ", in {block}")?;
        }
        match self.value {
            Some(value) => write!(f, " ({value})"),
            None => Ok(()),
        }
    }
}

/// How often each kind of problem was met.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ProblemCounts([u64; ProblemKind::ALL.len()]);

impl ProblemCounts {
    /// How often `kind` was met.
    pub fn get(&self, kind: ProblemKind) -> u64 {
        self.0.get(kind as usize).copied().unwrap_or(0)
    }

    /// Problems of all kinds.
    pub fn total(&self) -> u64 {
        self.0.iter().fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// The kinds that were met, with their counts.
    pub fn iter(&self) -> impl Iterator<Item = (ProblemKind, u64)> + '_ {
        ProblemKind::ALL.iter().map(|kind| (*kind, self.get(*kind))).filter(|(_, count)| *count > 0)
    }

    /// Counts one more; true while so few of this kind were met that it is worth telling about it by itself.
    pub(crate) fn count(&mut self, kind: ProblemKind) -> bool {
        match self.0.get_mut(kind as usize) {
            Some(count) => {
                *count = count.saturating_add(1);
                *count <= TOLD_PER_KIND
            }
            None => false,
        }
    }
}

/// A hostile stream has as many problems as bytes: this many of each kind become items, the others are only counted.
const TOLD_PER_KIND: u64 = 20;
