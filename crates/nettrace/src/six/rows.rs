//! Rows of event blocks: events name their threads and labels by index.

use super::labels::Labels;
use super::threads::ThreadInfo;
use crate::blob::{BlobState, changes};
use crate::block::Definitions;
use crate::cursor::Cursor;
use crate::events::EventRows;
use crate::problem::{Damage, ProblemKind};

/// The rows of an event block.
pub(super) struct SixRows<'a, const COMPRESSED: bool> {
    state: BlobState<'a>,
    thread: Named<&'a ThreadInfo>,
    capture_thread: Named<&'a ThreadInfo>,
    labels: Named<Labels<'a>>,
    definitions: &'a Definitions,
    /// What counts as changed although the header does not say so: in the first row of a block everything.
    unresolved: u8,
}

/// Something that a row names by a number.
#[derive(Clone, Copy)]
struct Named<T> {
    index: u64,
    found: Option<T>,
}

impl<T> Named<T> {
    const fn new() -> Self {
        Self { index: 0, found: None }
    }

    fn missing(&self, kind: ProblemKind) -> Option<(ProblemKind, u64)> {
        self.found.is_none().then_some((kind, self.index))
    }
}

impl<'a, const COMPRESSED: bool> SixRows<'a, COMPRESSED> {
    pub(super) fn new(definitions: &'a Definitions) -> Self {
        Self {
            state: BlobState::new(),
            thread: Named::new(),
            capture_thread: Named::new(),
            labels: Named::new(),
            definitions,
            unresolved: changes::METADATA | changes::NUMBERED | changes::THREAD | changes::STACK | changes::LABELS,
        }
    }

    #[inline(always)]
    fn read_compressed(&mut self, cursor: &mut Cursor<'a>) -> Result<(u8, &'a [u8]), Damage> {
        let flags = cursor.u8()?;
        let state = &mut self.state;
        let header = &mut state.header;
        let mut sequence = header.sequence;
        if flags & changes::METADATA != 0 {
            state.metadata_id = cursor.varu32()?;
        }
        if flags & changes::NUMBERED != 0 {
            state.before = (header.sequence, header.time);
            sequence = sequence.wrapping_add(cursor.varu32()?);
            self.capture_thread.index = cursor.varu64()?;
            header.processor = cursor.varu32()?;
        }
        if flags & changes::THREAD != 0 {
            self.thread.index = cursor.varu64()?;
        }
        if flags & changes::STACK != 0 {
            header.stack_id = cursor.varu32()?;
        }
        // A smaller time than before is written as a huge difference.
        let time = header.time.wrapping_add(cursor.varu64()?);
        if flags & changes::LABELS != 0 {
            self.labels.index = cursor.varu32()?.into();
        }
        header.sorted = flags & changes::SORTED != 0;
        if flags & changes::PAYLOAD != 0 {
            state.payload_bytes = cursor.varu32()?;
        }
        let payload = cursor.take(state.payload_bytes as usize)?;
        (header.sequence, header.time) = (sequence.wrapping_add(1), time);
        Ok((flags, payload))
    }

    /// Reads a full header, the payload, and what a newer writer may have put behind it.
    fn read_uncompressed(&mut self, cursor: &mut Cursor<'a>) -> Result<(u8, &'a [u8]), Damage> {
        let size = cursor.u32()?;
        let mut row = Cursor::new(cursor.take(size as usize)?);
        let too_small = |_| Damage::BadSize;
        let mut read = || -> Result<&'a [u8], Damage> {
            // Bit 31 set: not sorted, as in versions 4 and 5.
            let metadata = row.u32()?;
            let state = &mut self.state;
            let header = &mut state.header;
            state.metadata_id = metadata & 0x7fff_ffff;
            header.sorted = metadata & 0x8000_0000 == 0;
            let sequence = row.u32()?;
            self.thread.index = row.u64()?;
            self.capture_thread.index = row.u64()?;
            header.processor = row.u32()?;
            header.stack_id = row.u32()?;
            let time = row.u64()?;
            self.labels.index = row.u32()?.into();
            state.payload_bytes = row.u32()?;
            let payload = row.take(state.payload_bytes as usize)?;
            state.before = (header.sequence, header.time);
            (header.sequence, header.time) = (sequence, time);
            Ok(payload)
        };
        Ok((u8::MAX, read().map_err(too_small)?))
    }

    /// Looks up what the header named anew.
    #[inline(always)]
    fn resolve(&mut self, changed: u8) {
        let header = &mut self.state.header;
        let threads = &self.definitions.threads;
        if changed & changes::NUMBERED != 0 {
            self.capture_thread.found = threads.get(self.capture_thread.index);
            header.capture_thread = self.capture_thread.found.map_or(self.capture_thread.index, ThreadInfo::id);
        }
        if changed & changes::THREAD != 0 {
            self.thread.found = threads.get(self.thread.index);
            header.thread = self.thread.found.map_or(self.thread.index, ThreadInfo::id);
            header.thread_info = self.thread.found;
        }
        if changed & changes::LABELS != 0 {
            let id = self.labels.index as u32;
            self.labels.found = if id == 0 { Some(Labels::NONE) } else { self.definitions.labels.get(id) };
            header.labels = self.labels.found.unwrap_or(Labels::NONE);
            header.activity = header.labels.activity();
            header.related_activity = header.labels.related_activity();
        }
    }
}

impl<'a, const COMPRESSED: bool> EventRows<'a> for SixRows<'a, COMPRESSED> {
    #[inline(always)]
    fn read(&mut self, cursor: &mut Cursor<'a>) -> Result<(u8, &'a [u8]), Damage> {
        let (flags, payload) = if COMPRESSED { self.read_compressed(cursor)? } else { self.read_uncompressed(cursor)? };
        let changed = flags | core::mem::take(&mut self.unresolved);
        self.resolve(changed);
        Ok((changed, payload))
    }

    #[inline(always)]
    fn state(&self) -> &BlobState<'a> {
        &self.state
    }

    #[inline(always)]
    fn writer(&self) -> u64 {
        self.capture_thread.index
    }

    #[inline(always)]
    fn missing(&self) -> impl Iterator<Item = (ProblemKind, u64)> {
        let capture_thread = Some(&self.capture_thread).filter(|capture| capture.index != self.thread.index);
        let capture_thread = capture_thread.and_then(|thread| thread.missing(ProblemKind::UnknownThread));
        let thread = self.thread.missing(ProblemKind::UnknownThread);
        let labels = self.labels.missing(ProblemKind::UnknownLabels);
        thread.into_iter().chain(capture_thread).chain(labels)
    }
}
