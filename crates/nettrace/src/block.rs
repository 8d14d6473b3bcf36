//! Content of blocks, and what they leave behind for the next.

use crate::blob::{BlobState, FourRows};
use crate::cursor::Cursor;
use crate::event::Item;
use crate::events::read_events;
use crate::loss::LossTracker;
use crate::metadata::{Metadata, MetadataTable};
use crate::problem::{BlockKind, Damage, Problem, ProblemCounts, ProblemKind};
use crate::sequence::SequencePoint;
use crate::six::{LabelTable, ThreadTable};
use crate::stack::{PointerSize, StackTable};

/// A block's content and where it came from.
#[derive(Clone, Copy)]
pub(crate) struct Block<'a> {
    pub(crate) kind: BlockKind,
    pub(crate) content: &'a [u8],
    /// Where the content begins: bytes from the start of the stream.
    pub(crate) offset: u64,
    pub(crate) extent: Extent,
}

/// Whether all of a block is there.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    Whole,
    /// The stream ended inside: running out of bytes is no damage.
    Cut,
}

impl Block<'_> {
    pub(crate) fn problem(&self, kind: ProblemKind, at: usize, value: Option<i64>) -> Problem {
        Problem { kind, offset: self.offset.saturating_add(at as u64), block: Some(self.kind), value }
    }

    /// The problem that this damage is, if it is one.
    pub(crate) fn damaged(&self, (damage, at): (Damage, usize)) -> Option<Problem> {
        let told = self.extent == Extent::Whole || damage == Damage::OverlongNumber;
        told.then(|| self.problem(damage.into(), at, None))
    }
}

/// What the blocks read so far have left behind for the next.
#[derive(Default)]
pub(crate) struct Contents {
    pub(crate) definitions: Definitions,
    pub(crate) counts: Counts,
}

/// What later blocks refer to.
#[derive(Default)]
pub(crate) struct Definitions {
    pub(crate) metadata: MetadataTable,
    pub(crate) stacks: StackTable,
    pub(crate) threads: ThreadTable,
    pub(crate) labels: LabelTable,
}

/// What was read, lost, and not to be read.
#[derive(Default)]
pub(crate) struct Counts {
    pub(crate) problems: ProblemCounts,
    pub(crate) tally: Tally,
    pub(crate) losses: LossTracker,
}

/// Counts of events handed out.
#[derive(Default)]
pub(crate) struct Tally {
    pub(crate) events: u64,
    pub(crate) without_stack: u64,
    pub(crate) times: Option<(u64, u64)>,
}

/// Where the rows of an event or metadata block begin, and how their headers are written.
pub(crate) struct RowsAt<'a> {
    pub(crate) cursor: Cursor<'a>,
    pub(crate) compressed: bool,
}

impl Contents {
    /// Counts a problem, and tells of it unless there were many of its kind.
    pub(crate) fn problem(&mut self, problem: Problem, sink: &mut impl FnMut(Item<'_>)) {
        tell(&mut self.counts.problems, problem, sink);
    }

    /// Reads one block of versions 4 and 5, whatever it holds.
    pub(crate) fn read(&mut self, block: Block<'_>, pointer_size: PointerSize, sink: &mut impl FnMut(Item<'_>)) {
        let result = match block.kind {
            BlockKind::Event | BlockKind::Metadata => self.read_blobs(block, pointer_size, sink),
            BlockKind::Stack => self.read_stacks(block, pointer_size, sink),
            BlockKind::SequencePoint => self.read_sequence_point(block, sink),
            _ => Ok(()),
        };
        if let Some(problem) = result.err().and_then(|damage| block.damaged(damage)) {
            self.problem(problem, sink);
        }
    }

    /// Reads the header of an event block, or of a metadata block of versions 4 and 5; `None` when it is not one.
    pub(crate) fn read_header<'a>(
        &mut self,
        block: Block<'a>,
        sink: &mut impl FnMut(Item<'_>),
    ) -> Result<Option<RowsAt<'a>>, (Damage, usize)> {
        const SMALLEST: usize = 20;
        let mut cursor = Cursor::new(block.content);
        let header = |cursor: &mut Cursor<'_>| Ok((cursor.u16()?, cursor.u16()?));
        let (size, flags) = header(&mut cursor).map_err(|damage| (damage, 0))?;
        let size = usize::from(size);
        if size < SMALLEST || (size > block.content.len() && block.extent == Extent::Whole) {
            self.problem(block.problem(ProblemKind::BadBlockHeader, 0, Some(size as i64)), sink);
            return Ok(None);
        }
        // Newer writers may have a longer header; what is behind the known part is skipped.
        cursor.take(size.wrapping_sub(4)).map_err(|damage| (damage, 0))?;
        Ok(Some(RowsAt { cursor, compressed: flags & 1 != 0 }))
    }

    fn read_blobs(
        &mut self,
        block: Block<'_>,
        pointer_size: PointerSize,
        sink: &mut impl FnMut(Item<'_>),
    ) -> Result<(), (Damage, usize)> {
        let Some(RowsAt { cursor, compressed }) = self.read_header(block, sink)? else { return Ok(()) };
        let Self { definitions, counts } = self;
        match (block.kind, compressed) {
            (BlockKind::Metadata, true) => self.read_definitions::<true>(block, cursor, sink),
            (BlockKind::Metadata, false) => self.read_definitions::<false>(block, cursor, sink),
            (_, true) => read_events(block, cursor, FourRows::<true>::new(), pointer_size, definitions, counts, sink),
            (_, false) => read_events(block, cursor, FourRows::<false>::new(), pointer_size, definitions, counts, sink),
        }
    }

    fn read_definitions<'a, const COMPRESSED: bool>(
        &mut self,
        block: Block<'a>,
        mut cursor: Cursor<'a>,
        sink: &mut impl FnMut(Item<'_>),
    ) -> Result<(), (Damage, usize)> {
        let mut state = BlobState::new();
        while !cursor.is_empty() {
            let at = cursor.position();
            let (_, payload) = state.read::<COMPRESSED>(&mut cursor).map_err(|damage| (damage, at))?;
            match Metadata::read(payload) {
                Err(_) => self.problem(block.problem(ProblemKind::BadMetadata, at, None), sink),
                Ok(metadata) => self.define(block, at, metadata, sink),
            }
        }
        Ok(())
    }

    /// Takes in a definition that stands at `at` of its block.
    pub(crate) fn define(&mut self, block: Block<'_>, at: usize, metadata: Metadata, sink: &mut impl FnMut(Item<'_>)) {
        let id = Some(i64::from(metadata.id));
        if metadata.fields == crate::Fields::Opaque {
            self.problem(block.problem(ProblemKind::BadFields, at, id), sink);
        }
        if !self.definitions.metadata.define(metadata) {
            self.problem(block.problem(ProblemKind::DuplicateMetadata, at, id), sink);
        }
    }

    pub(crate) fn read_stacks(
        &mut self,
        block: Block<'_>,
        pointer_size: PointerSize,
        sink: &mut impl FnMut(Item<'_>),
    ) -> Result<(), (Damage, usize)> {
        let Self { definitions, counts } = self;
        definitions.stacks.read_block(block.content, pointer_size, |kind, at, value| {
            tell(&mut counts.problems, block.problem(kind, at, value), sink);
        })
    }

    fn read_sequence_point<'a>(
        &mut self,
        block: Block<'a>,
        sink: &mut impl FnMut(Item<'_>),
    ) -> Result<(), (Damage, usize)> {
        let point = SequencePoint::read(block.content, block.offset);
        // A point that cannot be read still was one.
        self.definitions.stacks.forget();
        let point = point?;
        let losses = &mut self.counts.losses;
        losses.begin_sequence_point();
        for (thread, sequence) in point.threads() {
            if let Some(gap) = losses.sequence_point(thread, sequence, point.time, block.offset) {
                sink(Item::Gap(gap));
            }
        }
        sink(Item::SequencePoint(point));
        Ok(())
    }
}

#[cold]
pub(crate) fn tell(problems: &mut ProblemCounts, problem: Problem, sink: &mut impl FnMut(Item<'_>)) {
    if problems.count(problem.kind) {
        sink(Item::Problem(problem));
    }
}
