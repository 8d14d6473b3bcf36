//! Content of blocks.

use crate::blob::{BlobState, changes};
use crate::cursor::Cursor;
use crate::event::{Event, Item};
use crate::loss::{Loss, LossTracker};
use crate::metadata::{Metadata, MetadataTable};
use crate::problem::{BlockKind, Damage, Problem, ProblemCounts, ProblemKind};
use crate::sequence::SequencePoint;
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

/// What the blocks read so far have left behind for the next.
#[derive(Default)]
pub(crate) struct Contents {
    pub(crate) metadata: MetadataTable,
    pub(crate) stacks: StackTable,
    pub(crate) problems: ProblemCounts,
    pub(crate) tally: Tally,
    losses: LossTracker,
}

/// Counts of events handed out.
#[derive(Default)]
pub(crate) struct Tally {
    pub(crate) events: u64,
    pub(crate) without_stack: u64,
    pub(crate) times: Option<(u64, u64)>,
}

impl Contents {
    pub(crate) fn loss(&self) -> Loss {
        self.losses.loss()
    }

    /// Counts a problem, and tells of it unless there were many of its kind.
    pub(crate) fn problem(&mut self, problem: Problem, sink: &mut impl FnMut(Item<'_>)) {
        tell(&mut self.problems, problem, sink);
    }

    /// Reads one block, whatever it holds.
    pub(crate) fn read(&mut self, block: Block<'_>, pointer_size: PointerSize, sink: &mut impl FnMut(Item<'_>)) {
        let result = match block.kind {
            BlockKind::Event | BlockKind::Metadata => self.read_blobs(block, pointer_size, sink),
            BlockKind::Stack => {
                let problems = &mut self.problems;
                self.stacks.read_block(block.content, pointer_size, |kind, at, value| {
                    tell(problems, block.problem(kind, at, value), sink);
                })
            }
            BlockKind::SequencePoint => self.read_sequence_point(block, sink),
            BlockKind::Trace | BlockKind::Unknown => Ok(()),
        };
        if let Err((damage, at)) = result
            && (block.extent == Extent::Whole || damage == Damage::OverlongNumber)
        {
            tell(&mut self.problems, block.problem(damage.into(), at, None), sink);
        }
    }

    fn read_blobs(
        &mut self,
        block: Block<'_>,
        pointer_size: PointerSize,
        sink: &mut impl FnMut(Item<'_>),
    ) -> Result<(), (Damage, usize)> {
        const SMALLEST: usize = 20;
        let mut cursor = Cursor::new(block.content);
        let header = |cursor: &mut Cursor<'_>| Ok((cursor.u16()?, cursor.u16()?));
        let (size, flags) = header(&mut cursor).map_err(|damage| (damage, 0))?;
        let size = usize::from(size);
        if size < SMALLEST || (size > block.content.len() && block.extent == Extent::Whole) {
            tell(&mut self.problems, block.problem(ProblemKind::BadBlockHeader, 0, Some(size as i64)), sink);
            return Ok(());
        }
        // Newer writers may have a longer header; what is behind the known part is skipped.
        cursor.take(size.wrapping_sub(4)).map_err(|damage| (damage, 0))?;
        match (block.kind, flags & 1 != 0) {
            (BlockKind::Metadata, true) => self.read_definitions::<true>(block, cursor, sink),
            (BlockKind::Metadata, false) => self.read_definitions::<false>(block, cursor, sink),
            (_, true) => self.read_events::<true>(block, cursor, pointer_size, sink),
            (_, false) => self.read_events::<false>(block, cursor, pointer_size, sink),
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
            let (_, payload) = read_blob::<COMPRESSED>(&mut state, &mut cursor).map_err(|damage| (damage, at))?;
            let problem = match Metadata::read(payload) {
                Err(_) => Some((ProblemKind::BadMetadata, None)),
                Ok(metadata) => {
                    let id = Some(i64::from(metadata.id));
                    if metadata.fields == crate::Fields::Opaque {
                        tell(&mut self.problems, block.problem(ProblemKind::BadFields, at, id), sink);
                    }
                    (!self.metadata.define(metadata)).then_some((ProblemKind::DuplicateMetadata, id))
                }
            };
            if let Some((kind, value)) = problem {
                tell(&mut self.problems, block.problem(kind, at, value), sink);
            }
        }
        Ok(())
    }

    /// The loop all speed depends on: what a header did not change is not looked up again.
    fn read_events<'a, const COMPRESSED: bool>(
        &mut self,
        block: Block<'a>,
        mut cursor: Cursor<'a>,
        pointer_size: PointerSize,
        sink: &mut impl FnMut(Item<'_>),
    ) -> Result<(), (Damage, usize)> {
        let Self { metadata: definitions, stacks, problems, tally, losses } = self;
        let mut state = BlobState::new();
        let (mut metadata, mut stack, mut unknown_stack) = (None, None, false);
        // Whether `losses` follows a thread of this block.
        let mut following = false;
        let (mut earliest, mut latest) = tally.times.unwrap_or((u64::MAX, 0));
        let (mut events, mut without_stack) = (0u64, 0u64);
        let mut near = 0;
        let result = loop {
            if cursor.is_empty() {
                break Ok(());
            }
            let at = cursor.position();
            if at >= near {
                near = bring_near(block.content, near);
            }
            let (flags, payload) = match read_blob::<COMPRESSED>(&mut state, &mut cursor) {
                Ok(read) => read,
                Err(damage) => break Err((damage, at)),
            };
            let offset = block.offset.wrapping_add(at as u64);
            if flags & changes::METADATA != 0 {
                metadata = definitions.get(state.metadata_id);
            }
            if flags & changes::STACK != 0 {
                stack = stacks.get(state.header.stack_id, pointer_size);
                unknown_stack = stack.is_none() && state.header.stack_id != 0;
                // Runtimes intern the empty stack and name it where they did not walk: no stack either.
                stack = stack.filter(|stack| state.header.stack_id != 0 && !stack.is_empty());
            }
            if flags & changes::NUMBERED != 0 || (!following && state.metadata_id != 0) {
                if following {
                    losses.settle(state.before);
                }
                following = true;
                let header = &state.header;
                let gap = losses.event(header.capture_thread, header.sequence, header.time, offset);
                if let Some(gap) = gap {
                    sink(Item::Gap(gap));
                }
            }
            let Some(metadata) = metadata else {
                let id = Some(i64::from(state.metadata_id));
                tell(problems, block.problem(ProblemKind::UnknownMetadata, at, id), sink);
                continue;
            };
            if stack.is_none() {
                without_stack = without_stack.wrapping_add(1);
                if unknown_stack {
                    let id = Some(i64::from(state.header.stack_id));
                    tell(problems, block.problem(ProblemKind::UnknownStack, at, id), sink);
                }
            }
            events = events.wrapping_add(1);
            earliest = earliest.min(state.header.time);
            latest = latest.max(state.header.time);
            sink(Item::Event(Event { header: &state.header, metadata, stack, payload, offset, pointer_size }));
        };
        if following {
            losses.settle((state.header.sequence, state.header.time));
        }
        tally.events = tally.events.saturating_add(events);
        tally.without_stack = tally.without_stack.saturating_add(without_stack);
        tally.times = (earliest <= latest).then_some((earliest, latest));
        result
    }

    fn read_sequence_point<'a>(
        &mut self,
        block: Block<'a>,
        sink: &mut impl FnMut(Item<'_>),
    ) -> Result<(), (Damage, usize)> {
        let point = SequencePoint::read(block.content, block.offset);
        // A point that cannot be read still was one.
        self.stacks.forget();
        let point = point?;
        self.losses.begin_sequence_point();
        for (thread, sequence) in point.threads() {
            if let Some(gap) = self.losses.sequence_point(thread, sequence, point.time, block.offset) {
                sink(Item::Gap(gap));
            }
        }
        sink(Item::SequencePoint(point));
        Ok(())
    }
}

impl Block<'_> {
    fn problem(&self, kind: ProblemKind, at: usize, value: Option<i64>) -> Problem {
        Problem { kind, offset: self.offset.saturating_add(at as u64), block: Some(self.kind), value }
    }
}

#[inline(always)]
fn read_blob<'a, const COMPRESSED: bool>(
    state: &mut BlobState<'a>,
    cursor: &mut Cursor<'a>,
) -> Result<(u8, &'a [u8]), Damage> {
    if COMPRESSED { state.read_compressed(cursor) } else { state.read_uncompressed(cursor) }
}

/// Loads the next stretch of a block into the cache, and says where it ends.
///
/// Where an event begins is known only when the one before it was read, so each would wait for its own cache miss in turn.
/// These loads do not depend on each other and wait together.
fn bring_near(content: &[u8], from: usize) -> usize {
    const STRETCH: usize = 16 << 10;
    const CACHE_LINE: usize = 64;
    let stretch = content.get(from..).unwrap_or_default();
    let lines = stretch.iter().take(STRETCH).step_by(CACHE_LINE);
    core::hint::black_box(lines.fold(0, |sum, byte| sum ^ byte));
    from.saturating_add(STRETCH)
}

#[cold]
fn tell(problems: &mut ProblemCounts, problem: Problem, sink: &mut impl FnMut(Item<'_>)) {
    if problems.count(problem.kind) {
        sink(Item::Problem(problem));
    }
}
