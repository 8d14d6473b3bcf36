//! Headers of the blobs in event and metadata blocks of versions 4 and 5.

use crate::cursor::Cursor;
use crate::event::EventHeader;
use crate::events::EventRows;
use crate::problem::{Damage, ProblemKind};
use crate::six::Labels;

/// What a compressed header can change against the blob before it. Version 6 has [`changes::LABELS`] in the place of
/// [`changes::ACTIVITY`].
pub(crate) mod changes {
    pub(crate) const METADATA: u8 = 0x01;
    pub(crate) const NUMBERED: u8 = 0x02;
    pub(crate) const THREAD: u8 = 0x04;
    pub(crate) const STACK: u8 = 0x08;
    pub(crate) const ACTIVITY: u8 = 0x10;
    pub(crate) const LABELS: u8 = 0x10;
    pub(crate) const RELATED: u8 = 0x20;
    pub(crate) const SORTED: u8 = 0x40;
    pub(crate) const PAYLOAD: u8 = 0x80;
}

/// Fields of the blob read last; all zero at the start of each block. After a blob that could not be read, number and time
/// are still those of the last whole one; other fields may be of either.
#[derive(Clone, Copy)]
pub(crate) struct BlobState<'a> {
    pub(crate) metadata_id: u32,
    pub(crate) payload_bytes: u32,
    /// Number and time of the blob before the last one that had a number of its own.
    pub(crate) before: (u32, u64),
    pub(crate) header: EventHeader<'a>,
}

impl<'a> BlobState<'a> {
    pub(crate) fn new() -> Self {
        Self {
            metadata_id: 0,
            payload_bytes: 0,
            before: (0, 0),
            header: EventHeader {
                thread: 0,
                capture_thread: 0,
                time: 0,
                sequence: 0,
                processor: 0,
                stack_id: 0,
                sorted: false,
                activity: None,
                related_activity: None,
                labels: Labels::NONE,
                thread_info: None,
            },
        }
    }

    /// Reads a header and the payload; returns what the header changed.
    #[inline(always)]
    pub(crate) fn read<const COMPRESSED: bool>(&mut self, cursor: &mut Cursor<'a>) -> Result<(u8, &'a [u8]), Damage> {
        if COMPRESSED { self.read_compressed(cursor) } else { self.read_uncompressed(cursor) }
    }

    #[inline(always)]
    fn read_compressed(&mut self, cursor: &mut Cursor<'a>) -> Result<(u8, &'a [u8]), Damage> {
        let flags = cursor.u8()?;
        let header = &mut self.header;
        let mut sequence = header.sequence;
        if flags & changes::METADATA != 0 {
            self.metadata_id = cursor.varu32()?;
        }
        if flags & changes::NUMBERED != 0 {
            self.before = (header.sequence, header.time);
            sequence = sequence.wrapping_add(cursor.varu32()?).wrapping_add(1);
            header.capture_thread = cursor.varu64()?;
            header.processor = cursor.varu32()?;
        } else if self.metadata_id != 0 {
            sequence = sequence.wrapping_add(1);
        }
        if flags & changes::THREAD != 0 {
            header.thread = cursor.varu64()?;
        }
        if flags & changes::STACK != 0 {
            header.stack_id = cursor.varu32()?;
        }
        // A smaller time than before is written as a huge difference.
        let time = header.time.wrapping_add(cursor.varu64()?);
        if flags & changes::ACTIVITY != 0 {
            header.activity = Some(cursor.array()?);
        }
        if flags & changes::RELATED != 0 {
            header.related_activity = Some(cursor.array()?);
        }
        header.sorted = flags & changes::SORTED != 0;
        if flags & changes::PAYLOAD != 0 {
            self.payload_bytes = cursor.varu32()?;
        }
        let payload = cursor.take(self.payload_bytes as usize)?;
        (header.sequence, header.time) = (sequence, time);
        Ok((flags, payload))
    }

    /// Reads an uncompressed header, the payload, and the padding behind it. Block contents begin at a multiple of 4 bytes
    /// of the stream, so that the cursor's position has the alignment that the format means.
    fn read_uncompressed(&mut self, cursor: &mut Cursor<'a>) -> Result<(u8, &'a [u8]), Damage> {
        let bytes = cursor.u32()?;
        let start = cursor.position();
        // Bit 31 set: not sorted. (The format's own description has the sense the other way round; runtimes and readers
        // agree on this one.)
        let metadata = cursor.u32()?;
        self.metadata_id = metadata & 0x7fff_ffff;
        let header = EventHeader {
            sequence: cursor.u32()?,
            thread: cursor.u64()?,
            capture_thread: cursor.u64()?,
            processor: cursor.u32()?,
            stack_id: cursor.u32()?,
            time: cursor.u64()?,
            sorted: metadata & 0x8000_0000 == 0,
            activity: Some(cursor.array()?),
            related_activity: Some(cursor.array()?),
            labels: Labels::NONE,
            thread_info: None,
        };
        self.payload_bytes = cursor.u32()?;
        let payload = cursor.take(self.payload_bytes as usize)?;
        // Whether the stated size includes the padding differs between writers; both lead to the same next blob.
        let read = cursor.position().wrapping_sub(start);
        cursor.take((bytes as usize).checked_sub(read).ok_or(Damage::BadSize)?)?;
        let padding = cursor.position().wrapping_neg() & 3;
        cursor.take(padding.min(cursor.remaining()))?;
        self.before = (self.header.sequence, self.header.time);
        self.header = header;
        Ok((changes::METADATA | changes::NUMBERED | changes::STACK, payload))
    }
}

/// The rows of an event block: events name their threads by the ids of the operating system.
pub(crate) struct FourRows<'a, const COMPRESSED: bool>(BlobState<'a>);

impl<const COMPRESSED: bool> FourRows<'_, COMPRESSED> {
    pub(crate) fn new() -> Self {
        Self(BlobState::new())
    }
}

impl<'a, const COMPRESSED: bool> EventRows<'a> for FourRows<'a, COMPRESSED> {
    #[inline(always)]
    fn read(&mut self, cursor: &mut Cursor<'a>) -> Result<(u8, &'a [u8]), Damage> {
        self.0.read::<COMPRESSED>(cursor)
    }

    #[inline(always)]
    fn state(&self) -> &BlobState<'a> {
        &self.0
    }

    #[inline(always)]
    fn writer(&self) -> u64 {
        self.0.header.capture_thread
    }

    #[inline(always)]
    fn missing(&self) -> impl Iterator<Item = (ProblemKind, u64)> {
        core::iter::empty()
    }
}
