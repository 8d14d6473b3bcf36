//! What a whole stream held.

use crate::loss::Loss;
use crate::problem::{BlockKind, ProblemCounts};
use crate::six::Attributes;
use crate::trace::TraceInfo;

/// What a stream held, and what of it could not be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Summary {
    /// What the stream said about itself; `None` when it ended before that.
    pub trace: Option<TraceInfo>,
    /// What else it said about itself (version 6), in its own words.
    pub attributes: Attributes,
    /// How it ended.
    pub end: StreamEnd,
    /// Bytes fed.
    pub bytes: u64,
    /// Events handed out.
    pub events: u64,
    /// Events among these without a stack.
    pub events_without_stack: u64,
    /// Earliest and latest time of an event handed out, ticks.
    pub times: Option<(u64, u64)>,
    /// Kinds of events defined.
    pub metadata: u64,
    /// Stacks defined. A stack can be defined again after each sequence point.
    pub stacks: u64,
    /// Blocks of each kind.
    pub blocks: BlockCounts,
    /// What the runtime dropped.
    pub loss: Loss,
    /// What could not be read.
    pub problems: ProblemCounts,
}

/// How a stream ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StreamEnd {
    /// With its end mark: the runtime closed it.
    Complete,
    /// Before its end mark: nothing at the end of the session (the rundown) can be relied on.
    Cut {
        /// Length of the stream, bytes.
        offset: u64,
        /// The block it was cut in, or `None` between blocks.
        block: Option<CutBlock>,
    },
    /// What follows is not readable as a stream: reading stopped.
    Damaged {
        /// Where, bytes from the start of the stream.
        offset: u64,
    },
}

/// The block in which a stream was cut. What was whole of it has been read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CutBlock {
    /// Its kind.
    pub kind: BlockKind,
    /// Where its content begins: bytes from the start of the stream.
    pub offset: u64,
    /// Bytes of content it should have.
    pub declared: u64,
    /// Bytes of content that were there.
    pub present: u64,
}

/// Blocks of each kind, a cut one included.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct BlockCounts {
    /// Definitions of events.
    pub metadata: u64,
    /// Definitions of stacks.
    pub stack: u64,
    /// Events.
    pub event: u64,
    /// Sequence points.
    pub sequence_point: u64,
    /// Definitions of threads.
    pub thread: u64,
    /// Threads that are gone.
    pub remove_thread: u64,
    /// Definitions of label lists.
    pub label_list: u64,
    /// Types that were skipped.
    pub unknown: u64,
}

impl BlockCounts {
    pub(crate) fn count(&mut self, kind: BlockKind) {
        let counter = match kind {
            BlockKind::Trace => return,
            BlockKind::Metadata => &mut self.metadata,
            BlockKind::Stack => &mut self.stack,
            BlockKind::Event => &mut self.event,
            BlockKind::SequencePoint => &mut self.sequence_point,
            BlockKind::Thread => &mut self.thread,
            BlockKind::RemoveThread => &mut self.remove_thread,
            BlockKind::LabelList => &mut self.label_list,
            BlockKind::Unknown => &mut self.unknown,
        };
        *counter = counter.saturating_add(1);
    }
}
