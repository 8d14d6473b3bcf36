//! A perf.data file in file mode, of which every flushed prefix is a readable file.
//!
//! Layout: header, the events' ids, the events, the records, and at the end the feature sections. Until
//! [`Writer::finish`] the header names no features, so that the file may end anywhere after the flushed records.

use std::io::{self, Seek, SeekFrom, Write};

use crate::attr::{ATTR_SIZE, EventDescription};
use crate::encode::{EncodeError, encode};
use crate::feature_bytes::sections;
use crate::features::Features;
use crate::record::{Record, RecordFormat, RecordHeader};

/// Bytes of records that are gathered before they are written.
const BUFFER_SIZE: usize = 1 << 18;

const MAGIC: [u8; 8] = *b"PERFILE2";
const FILE_HEADER_SIZE: u64 = 104;
const SECTION_SIZE: usize = 16;

/// Why something was not written. What was written and flushed before stays readable.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The output refused; a full disk for one.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The record has no bytes.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// Bytes that are not exactly one record.
    #[error("{length} bytes that are no record: their header states {stated:?}")]
    NotARecord {
        /// Bytes given.
        length: usize,
        /// Size that their header states, if they have one.
        stated: Option<u16>,
    },
    /// A file without events cannot be read.
    #[error("no event to record")]
    NoEvents,
}

/// Writes a perf.data file.
///
/// Records are gathered in one buffer of 256 KiB. A record that was refused with an error is not in the file, and may
/// be offered again. Dropping the writer writes nothing: what was not flushed is not in the file.
#[derive(Debug)]
pub struct Writer<W> {
    out: W,
    events: Vec<EventDescription>,
    buffer: Vec<u8>,
    layout: Layout,
    /// Bytes of records that the output has taken.
    written: u64,
    /// Bytes of records that the header in the file tells of.
    told: u64,
    /// Where the output stands, if that is known: not after a write that failed half-way.
    at_end: bool,
}

/// Where the parts before the records lie.
#[derive(Clone, Copy, Debug)]
struct Layout {
    attrs: u64,
    attrs_size: u64,
    data: u64,
}

impl<W: Write + Seek> Writer<W> {
    /// Begins a file of these events by writing all that comes before the records. `out` must be empty.
    ///
    /// With several events their records must all have an id at the same place, best [`IDENTIFIER`], and each event
    /// its ids.
    ///
    /// [`IDENTIFIER`]: crate::record::sample_type::IDENTIFIER
    pub fn new(mut out: W, events: Vec<EventDescription>) -> Result<Self, WriteError> {
        if events.is_empty() {
            return Err(WriteError::NoEvents);
        }
        let mut ids = Vec::new();
        let mut attrs = Vec::new();
        for event in &events {
            attrs.extend(event.attr.to_bytes());
            let size = event.ids.len().saturating_mul(8) as u64;
            push_section(&mut attrs, FILE_HEADER_SIZE.saturating_add(ids.len() as u64), size);
            ids.extend(event.ids.iter().flat_map(|id| id.to_le_bytes()));
        }
        let attrs_at = FILE_HEADER_SIZE.saturating_add(ids.len() as u64);
        let attrs_size = attrs.len() as u64;
        let layout = Layout { attrs: attrs_at, attrs_size, data: attrs_at.saturating_add(attrs_size) };
        let mut head = layout.header(0, &[]);
        head.extend(ids);
        head.extend(attrs);
        out.seek(SeekFrom::Start(0))?;
        out.write_all(&head)?;
        out.flush()?;
        let buffer = Vec::with_capacity(BUFFER_SIZE);
        Ok(Self { out, events, buffer, layout, written: 0, told: 0, at_end: true })
    }

    /// Adds the bytes of one record, as the kernel wrote it.
    pub fn record(&mut self, bytes: &[u8]) -> Result<(), WriteError> {
        let stated = RecordHeader::parse(bytes).ok().map(|header| header.size);
        if stated.map(usize::from) != Some(bytes.len()) || !bytes.len().is_multiple_of(8) {
            return Err(WriteError::NotARecord { length: bytes.len(), stated });
        }
        self.make_room(bytes.len())?;
        self.buffer.extend_from_slice(bytes);
        Ok(())
    }

    /// Adds a record, laid out for the event whose id it carries (the first event if none).
    pub fn push(&mut self, record: &Record<'_>) -> Result<(), WriteError> {
        // As many bytes as a record can have, so that none is encoded twice.
        self.make_room(crate::encode::MAX_SIZE)?;
        let format = self.format_of(record);
        Ok(encode(record, &format, &mut self.buffer)?)
    }

    fn format_of(&self, record: &Record<'_>) -> RecordFormat {
        let event = match (self.events.as_slice(), record.id.id) {
            ([_, _, ..], Some(id)) => self.events.iter().find(|event| event.ids.contains(&id)),
            _ => None,
        };
        event.or(self.events.first()).map(|event| event.attr.format).unwrap_or_default()
    }

    fn make_room(&mut self, size: usize) -> Result<(), WriteError> {
        if self.buffer.len().saturating_add(size) > BUFFER_SIZE {
            self.drain()?;
        }
        Ok(())
    }

    /// Writes the buffer out; the header in the file does not tell of it yet.
    fn drain(&mut self) -> io::Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        if !self.at_end {
            self.out.seek(SeekFrom::Start(self.layout.data.saturating_add(self.written)))?;
        }
        self.at_end = false;
        if let Err(error) = self.out.write_all(&self.buffer) {
            // What was drained before is whole: let the header tell of it. The failure that counts is the first.
            let _ = self.tell(&[]);
            return Err(error);
        }
        self.at_end = true;
        self.written = self.written.saturating_add(self.buffer.len() as u64);
        self.buffer.clear();
        Ok(())
    }

    /// Rewrites the file's header to tell of what was written and of these features.
    fn tell(&mut self, features: &[u32]) -> io::Result<()> {
        self.at_end = false;
        self.out.seek(SeekFrom::Start(0))?;
        self.out.write_all(&self.layout.header(self.written, features))?;
        self.out.flush()?;
        self.told = self.written;
        self.out.seek(SeekFrom::Start(self.layout.data.saturating_add(self.written)))?;
        self.at_end = true;
        Ok(())
    }

    /// Writes out all records so far and the header that tells of them: from here on the file is readable up to this
    /// point, whatever happens.
    pub fn flush(&mut self) -> Result<(), WriteError> {
        self.drain()?;
        self.out.flush()?;
        if self.told != self.written {
            self.tell(&[])?;
        }
        Ok(())
    }

    /// Bytes of records so far, buffered ones counted.
    pub fn data_size(&self) -> u64 {
        self.written.saturating_add(self.buffer.len() as u64)
    }

    /// Flushes, adds the feature sections (these and the events' names), and gives back the output.
    ///
    /// On an error the file is readable without features, up to the last flush that succeeded.
    pub fn finish(mut self, features: &Features) -> Result<W, WriteError> {
        self.flush()?;
        let sections = sections(features, &self.events);
        let table_size = sections.len().saturating_mul(SECTION_SIZE);
        let mut at = self.layout.data.saturating_add(self.written).saturating_add(table_size as u64);
        let mut tail = Vec::new();
        for (_, bytes) in &sections {
            push_section(&mut tail, at, bytes.len() as u64);
            at = at.saturating_add(bytes.len() as u64);
        }
        for (_, bytes) in &sections {
            tail.extend_from_slice(bytes);
        }
        if !self.at_end {
            self.out.seek(SeekFrom::Start(self.layout.data.saturating_add(self.written)))?;
        }
        self.out.write_all(&tail)?;
        self.out.flush()?;
        let bits: Vec<u32> = sections.iter().map(|(bit, _)| *bit).collect();
        self.tell(&bits)?;
        Ok(self.out)
    }
}

impl Layout {
    /// The file's header.
    fn header(&self, data_size: u64, features: &[u32]) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        out.extend(FILE_HEADER_SIZE.to_le_bytes());
        out.extend((ATTR_SIZE.saturating_add(SECTION_SIZE) as u64).to_le_bytes());
        push_section(&mut out, self.attrs, self.attrs_size);
        push_section(&mut out, self.data, data_size);
        // Event types: a table that perf no longer writes.
        push_section(&mut out, 0, 0);
        let flags = features.iter().fold(0_u128, |flags, bit| flags | 1_u128.checked_shl(*bit).unwrap_or_default());
        out.extend(flags.to_le_bytes());
        out.extend([0; 16]);
        out
    }
}

fn push_section(out: &mut Vec<u8>, offset: u64, size: u64) {
    out.extend(offset.to_le_bytes());
    out.extend(size.to_le_bytes());
}
