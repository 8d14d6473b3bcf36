//! The loop over the rows of an event block, which all speed depends on.

use crate::blob::{BlobState, changes};
use crate::block::{Block, Counts, Definitions, tell};
use crate::cursor::Cursor;
use crate::event::{Event, Item};
use crate::problem::{Damage, ProblemKind};
use crate::stack::PointerSize;

/// The rows of an event block, the way one version of the format writes them.
pub(crate) trait EventRows<'a> {
    /// Reads the next row; returns which fields its header changed, as [`changes`] has them, and the payload.
    fn read(&mut self, cursor: &mut Cursor<'a>) -> Result<(u8, &'a [u8]), Damage>;

    /// The fields of the row read last; when it could not be read, number and time are those of the last whole one.
    fn state(&self) -> &BlobState<'a>;

    /// What the numbers of its capture thread are counted under.
    fn writer(&self) -> u64;

    /// What it refers to that the stream never defined, apart from its definition and its stack.
    fn missing(&self) -> impl Iterator<Item = (ProblemKind, u64)>;
}

/// Reads the rows of an event block. What a header did not change is not looked up again.
#[inline]
pub(crate) fn read_events<'a, R: EventRows<'a>>(
    block: Block<'a>,
    mut cursor: Cursor<'a>,
    mut rows: R,
    pointer_size: PointerSize,
    definitions: &'a Definitions,
    counts: &mut Counts,
    sink: &mut impl FnMut(Item<'_>),
) -> Result<(), (Damage, usize)> {
    let Counts { problems, tally, losses } = counts;
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
        let (flags, payload) = match rows.read(&mut cursor) {
            Ok(read) => read,
            Err(damage) => break Err((damage, at)),
        };
        let state = rows.state();
        let header = &state.header;
        let offset = block.offset.wrapping_add(at as u64);
        if flags & changes::METADATA != 0 {
            metadata = definitions.metadata.get(state.metadata_id);
        }
        if flags & changes::STACK != 0 {
            stack = definitions.stacks.get(header.stack_id, pointer_size);
            unknown_stack = stack.is_none() && header.stack_id != 0;
            // Runtimes intern the empty stack and name it where they did not walk: no stack either.
            stack = stack.filter(|stack| header.stack_id != 0 && !stack.is_empty());
        }
        if flags & changes::NUMBERED != 0 || (!following && state.metadata_id != 0) {
            if following {
                losses.settle(state.before);
            }
            following = true;
            let gap = losses.event(rows.writer(), header.sequence, header.time, offset);
            if let Some(gap) = gap {
                sink(Item::Gap(gap));
            }
        }
        let Some(metadata) = metadata else {
            let id = Some(i64::from(state.metadata_id));
            tell(problems, block.problem(ProblemKind::UnknownMetadata, at, id), sink);
            continue;
        };
        for (kind, id) in rows.missing() {
            tell(problems, block.problem(kind, at, Some(id.cast_signed())), sink);
        }
        if stack.is_none() {
            without_stack = without_stack.wrapping_add(1);
            if unknown_stack {
                let id = Some(i64::from(header.stack_id));
                tell(problems, block.problem(ProblemKind::UnknownStack, at, id), sink);
            }
        }
        events = events.wrapping_add(1);
        earliest = earliest.min(header.time);
        latest = latest.max(header.time);
        sink(Item::Event(Event { header, metadata, stack, payload, offset, pointer_size }));
    };
    let header = &rows.state().header;
    if following {
        losses.settle((header.sequence, header.time));
    }
    tally.events = tally.events.saturating_add(events);
    tally.without_stack = tally.without_stack.saturating_add(without_stack);
    tally.times = (earliest <= latest).then_some((earliest, latest));
    result
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
