//! Content of blocks of version 6.

use super::metadata::Row;
use super::rows::SixRows;
use super::threads::{Defined, ThreadInfo};
use crate::block::{Block, Contents, Extent, RowsAt, tell};
use crate::cursor::Cursor;
use crate::event::Item;
use crate::events::read_events;
use crate::problem::{BlockKind, Damage, ProblemKind};
use crate::sequence::SequencePoint;
use crate::stack::PointerSize;

/// Flags of a sequence point.
const FORGET_THREADS: u32 = 1;
const FORGET_METADATA: u32 = 2;

impl Contents {
    /// Reads one block of version 6, whatever it holds.
    pub(crate) fn read_six(&mut self, block: Block<'_>, pointer_size: PointerSize, sink: &mut impl FnMut(Item<'_>)) {
        let result = match block.kind {
            BlockKind::Event => self.read_rows(block, pointer_size, sink),
            BlockKind::Metadata => self.read_metadata_rows(block, sink),
            BlockKind::Stack => self.read_stacks(block, pointer_size, sink),
            BlockKind::SequencePoint => self.read_counted_sequence_point(block, sink),
            BlockKind::Thread => self.read_threads(block, sink),
            BlockKind::RemoveThread => self.remove_threads(block, sink),
            BlockKind::LabelList => {
                let problems = &mut self.counts.problems;
                self.definitions.labels.read_block(block.content, |kind, at, value| {
                    tell(problems, block.problem(kind, at, Some(value)), sink);
                })
            }
            BlockKind::Trace | BlockKind::Unknown => Ok(()),
        };
        if let Some(problem) = result.err().and_then(|damage| block.damaged(damage)) {
            self.problem(problem, sink);
        }
    }

    fn read_rows(
        &mut self,
        block: Block<'_>,
        pointer_size: PointerSize,
        sink: &mut impl FnMut(Item<'_>),
    ) -> Result<(), (Damage, usize)> {
        let Some(RowsAt { cursor, compressed }) = self.read_header(block, sink)? else { return Ok(()) };
        let Self { definitions, counts } = self;
        if compressed {
            let rows = SixRows::<true>::new(definitions);
            read_events(block, cursor, rows, pointer_size, definitions, counts, sink)
        } else {
            let rows = SixRows::<false>::new(definitions);
            read_events(block, cursor, rows, pointer_size, definitions, counts, sink)
        }
    }

    fn read_metadata_rows(&mut self, block: Block<'_>, sink: &mut impl FnMut(Item<'_>)) -> Result<(), (Damage, usize)> {
        let mut cursor = Cursor::new(block.content);
        let size = cursor.u16().map_err(|damage| (damage, 0))?;
        if usize::from(size) > cursor.remaining() && block.extent == Extent::Whole {
            self.problem(block.problem(ProblemKind::BadBlockHeader, 0, Some(size.into())), sink);
            return Ok(());
        }
        cursor.take(size.into()).map_err(|damage| (damage, 0))?;
        for_each_row(&mut cursor, |at, row| {
            let Ok(read) = Row::read(row) else {
                self.problem(block.problem(ProblemKind::BadMetadata, at, None), sink);
                return;
            };
            if let Some(kind) = read.unknown_entry {
                self.problem(block.problem(ProblemKind::UnknownEntry, at, Some(kind.into())), sink);
            }
            if read.bad_entries {
                let id = Some(i64::from(read.metadata.id));
                self.problem(block.problem(ProblemKind::BadEntries, at, id), sink);
            }
            self.define(block, at, read.metadata, sink);
        })
    }

    fn read_threads(&mut self, block: Block<'_>, sink: &mut impl FnMut(Item<'_>)) -> Result<(), (Damage, usize)> {
        for_each_row(&mut Cursor::new(block.content), |at, row| {
            let Ok((info, unknown)) = ThreadInfo::read(row) else {
                self.problem(block.problem(ProblemKind::BadThread, at, None), sink);
                return;
            };
            if let Some(kind) = unknown {
                self.problem(block.problem(ProblemKind::UnknownEntry, at, Some(kind.into())), sink);
            }
            let (index, id) = (info.index, info.id());
            let problem = match self.definitions.threads.define(info) {
                Defined::New => None,
                Defined::Again => Some(ProblemKind::DuplicateThread),
                Defined::Not => Some(ProblemKind::TooManyThreads),
            };
            if problem != Some(ProblemKind::TooManyThreads) {
                self.counts.losses.introduce(index, id);
            }
            if let Some(kind) = problem {
                self.problem(block.problem(kind, at, Some(index.cast_signed())), sink);
            }
        })
    }

    fn remove_threads(&mut self, block: Block<'_>, sink: &mut impl FnMut(Item<'_>)) -> Result<(), (Damage, usize)> {
        let time = self.counts.tally.times.map_or(0, |(_, latest)| latest);
        let mut cursor = Cursor::new(block.content);
        while !cursor.is_empty() {
            let at = cursor.position();
            let (index, sequence) = read_thread_number(&mut cursor).map_err(|damage| (damage, at))?;
            if !self.definitions.threads.remove(index) {
                let value = Some(index.cast_signed());
                self.problem(block.problem(ProblemKind::UnknownThread, at, value), sink);
                continue;
            }
            let offset = block.offset.saturating_add(at as u64);
            if let Some(gap) = self.counts.losses.remove(index, sequence, time, offset) {
                sink(Item::Gap(gap));
            }
        }
        Ok(())
    }

    /// A sequence point forgets stacks and labels even if it cannot be read.
    fn read_counted_sequence_point(
        &mut self,
        block: Block<'_>,
        sink: &mut impl FnMut(Item<'_>),
    ) -> Result<(), (Damage, usize)> {
        self.definitions.stacks.forget();
        self.definitions.labels.forget();
        let mut cursor = Cursor::new(block.content);
        let header = |cursor: &mut Cursor<'_>| Ok((cursor.u64()?, cursor.u32()?, cursor.u32()?));
        let (time, flags, count) = header(&mut cursor).map_err(|damage| (damage, 0))?;
        let threads = self.check_threads(block, &mut cursor, (time, count), sink);
        // Numbers are checked first.
        if flags & FORGET_THREADS != 0 {
            self.definitions.threads.forget();
            self.counts.losses.remove_all();
        }
        if flags & FORGET_METADATA != 0 {
            self.definitions.metadata.forget();
        }
        sink(Item::SequencePoint(SequencePoint::resolved(time, block.offset, &threads?)));
        Ok(())
    }

    /// Checks what a sequence point says of each thread; returns their ids and numbers.
    fn check_threads(
        &mut self,
        block: Block<'_>,
        cursor: &mut Cursor<'_>,
        (time, count): (u64, u32),
        sink: &mut impl FnMut(Item<'_>),
    ) -> Result<Vec<(u64, u32)>, (Damage, usize)> {
        // A thread takes two bytes at least.
        if u64::from(count).saturating_mul(2) > cursor.remaining() as u64 {
            return Err((Damage::BadSize, cursor.position().saturating_sub(4)));
        }
        self.counts.losses.begin_sequence_point();
        let mut threads = Vec::new();
        for _ in 0..count {
            let at = cursor.position();
            let (index, sequence) = read_thread_number(cursor).map_err(|damage| (damage, at))?;
            let Some(info) = self.definitions.threads.get(index) else {
                let value = Some(index.cast_signed());
                self.problem(block.problem(ProblemKind::UnknownThread, at, value), sink);
                continue;
            };
            // A point names each thread once: with this, none can make the list larger than the table is.
            if threads.len() < self.definitions.threads.len() {
                threads.push((info.id(), sequence));
            }
            if let Some(gap) = self.counts.losses.sequence_point(index, sequence, time, block.offset) {
                sink(Item::Gap(gap));
            }
        }
        Ok(threads)
    }
}

fn read_thread_number(cursor: &mut Cursor<'_>) -> Result<(u64, u32), Damage> {
    Ok((cursor.varu64()?, cursor.varu32()?))
}

/// Hands on rows that have their size in front, each with the position of that.
fn for_each_row(cursor: &mut Cursor<'_>, mut take: impl FnMut(usize, &mut Cursor<'_>)) -> Result<(), (Damage, usize)> {
    while !cursor.is_empty() {
        let at = cursor.position();
        let row = cursor.u16().and_then(|size| cursor.take(size.into())).map_err(|damage| (damage, at))?;
        take(at, &mut Cursor::new(row));
    }
    Ok(())
}
