//! Nettrace streams of version 6, put together from the format's description.
//!
//! [`Stream`] writes header and blocks, [`Rows`] the content of event blocks, [`Definition`], [`Thread`] and [`Label`] the rows
//! of the other tables. Everything that can be wrong in a stream can be written wrong: kinds, sizes and contents are
//! parameters, or can be given as bytes.

use crate::nettrace::{event_block, leb128};

/// Kinds of blocks.
pub mod kind {
    /// The end.
    pub const END_OF_STREAM: u8 = 0;
    /// About the whole trace.
    pub const TRACE: u8 = 1;
    /// Events.
    pub const EVENT: u8 = 2;
    /// Definitions of events.
    pub const METADATA: u8 = 3;
    /// Sequence point.
    pub const SEQUENCE_POINT: u8 = 4;
    /// Stacks.
    pub const STACK: u8 = 5;
    /// Threads.
    pub const THREAD: u8 = 6;
    /// Threads that are gone.
    pub const REMOVE_THREAD: u8 = 7;
    /// Label lists.
    pub const LABEL_LIST: u8 = 8;
}

/// A stream that grows block by block.
#[derive(Clone, Debug)]
pub struct Stream {
    bytes: Vec<u8>,
}

/// What the trace block says.
#[derive(Clone, Debug)]
pub struct Trace {
    /// Year, month, day of week, day, hour, minute, second, millisecond.
    pub utc: [u16; 8],
    /// Clock at `utc`.
    pub sync_ticks: u64,
    /// Ticks in a second.
    pub frequency: u64,
    /// 4 or 8.
    pub pointer_size: u32,
    /// Keys and values.
    pub pairs: Vec<(&'static str, &'static str)>,
}

impl Default for Trace {
    fn default() -> Self {
        Self {
            utc: [2026, 7, 5, 3, 1, 2, 3, 4],
            sync_ticks: 1_000,
            frequency: 1_000_000_000,
            pointer_size: 8,
            pairs: vec![("HardwareThreadCount", "2")],
        }
    }
}

impl Trace {
    /// Content of the block.
    pub fn content(&self) -> Vec<u8> {
        let mut content: Vec<u8> = self.utc.iter().flat_map(|number| number.to_le_bytes()).collect();
        content.extend(self.sync_ticks.to_le_bytes());
        content.extend(self.frequency.to_le_bytes());
        content.extend(self.pointer_size.to_le_bytes());
        content.extend((self.pairs.len() as u32).to_le_bytes());
        for (key, value) in &self.pairs {
            content.extend(string(key));
            content.extend(string(value));
        }
        content
    }
}

impl Stream {
    /// A stream with its header and nothing else.
    pub fn new() -> Self {
        Self::of_version(6, 0)
    }

    /// A stream with a header that says this version.
    pub fn of_version(major: u32, minor: u32) -> Self {
        let mut bytes = b"Nettrace".to_vec();
        for number in [0, major, minor] {
            bytes.extend(number.to_le_bytes());
        }
        Self { bytes }
    }

    /// A stream that goes on from these bytes.
    pub fn continued(bytes: Vec<u8>) -> Self {
        Self { bytes }
    }

    /// A stream with its header and a trace block of the usual numbers.
    pub fn with_trace() -> Self {
        Self::new().trace(&Trace::default())
    }

    /// What was written so far.
    pub fn bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Length of what was written so far: where the next block begins.
    pub fn offset(&self) -> usize {
        self.bytes.len()
    }

    /// Adds bytes as they are.
    pub fn raw(mut self, bytes: &[u8]) -> Self {
        self.bytes.extend(bytes);
        self
    }

    /// Adds a block.
    pub fn block(self, kind: u8, content: &[u8]) -> Self {
        self.block_of_size(kind, content.len() as u32, content)
    }

    /// Adds a block that claims another size than its content has; 24 bits of it are written.
    pub fn block_of_size(self, kind: u8, size: u32, content: &[u8]) -> Self {
        let header = (size & 0x00ff_ffff) | u32::from(kind) << 24;
        self.raw(&header.to_le_bytes()).raw(content)
    }

    /// Adds the trace block.
    pub fn trace(self, trace: &Trace) -> Self {
        self.block(kind::TRACE, &trace.content())
    }

    /// Adds an event block.
    pub fn events(self, rows: &Rows) -> Self {
        self.block(kind::EVENT, &rows.content())
    }

    /// Adds a metadata block that defines these events.
    pub fn metadata(self, definitions: &[Definition]) -> Self {
        self.metadata_rows(0, &definitions.iter().map(Definition::row).collect::<Vec<_>>())
    }

    /// Adds a metadata block of rows without their sizes, behind so many bytes of header.
    pub fn metadata_rows(self, header: u16, rows: &[Vec<u8>]) -> Self {
        let mut content = header.to_le_bytes().to_vec();
        content.resize(2 + usize::from(header), 0xee);
        content.extend(rows.iter().flat_map(|row| sized(row)));
        self.block(kind::METADATA, &content)
    }

    /// Adds a stack block of 8-byte addresses.
    pub fn stacks(self, first_id: u32, stacks: &[&[u64]]) -> Self {
        let stacks: Vec<Vec<u8>> =
            stacks.iter().map(|stack| stack.iter().flat_map(|address| address.to_le_bytes()).collect()).collect();
        self.stack_bytes(first_id, &stacks)
    }

    /// Adds a stack block of stacks given as bytes.
    pub fn stack_bytes(self, first_id: u32, stacks: &[Vec<u8>]) -> Self {
        let mut content = numbers(&[first_id, stacks.len() as u32]);
        for stack in stacks {
            content.extend((stack.len() as u32).to_le_bytes());
            content.extend(stack);
        }
        self.block(kind::STACK, &content)
    }

    /// Adds a thread block.
    pub fn threads(self, threads: &[Thread]) -> Self {
        let content: Vec<u8> = threads.iter().flat_map(|thread| sized(&thread.row())).collect();
        self.block(kind::THREAD, &content)
    }

    /// Adds a block of threads that are gone, with the last number of each.
    pub fn remove_threads(self, threads: &[(u64, u32)]) -> Self {
        self.block(kind::REMOVE_THREAD, &thread_numbers(threads))
    }

    /// Adds a block of label lists; an empty list is not something that can be written.
    pub fn labels(self, first_id: u32, lists: &[&[Label]]) -> Self {
        let mut content = numbers(&[first_id, lists.len() as u32]);
        content.extend(lists.iter().flat_map(|list| label_list(list)));
        self.block(kind::LABEL_LIST, &content)
    }

    /// Adds a sequence point with the last number of each thread.
    pub fn sequence_point(self, time: u64, flags: u32, threads: &[(u64, u32)]) -> Self {
        let mut content = time.to_le_bytes().to_vec();
        content.extend(numbers(&[flags, threads.len() as u32]));
        content.extend(thread_numbers(threads));
        self.block(kind::SEQUENCE_POINT, &content)
    }

    /// Adds the end mark and gives the whole stream.
    pub fn end(self) -> Vec<u8> {
        self.block(kind::END_OF_STREAM, &[]).bytes
    }
}

impl Default for Stream {
    fn default() -> Self {
        Self::new()
    }
}

/// One event as it is meant, whatever way it is written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// Metadata id.
    pub metadata: u32,
    /// Sequence number.
    pub sequence: u32,
    /// Index of the thread that wrote it.
    pub capture_thread: u64,
    /// Processor.
    pub processor: u32,
    /// Index of the thread it is about.
    pub thread: u64,
    /// Stack id.
    pub stack: u32,
    /// Ticks.
    pub time: u64,
    /// Label list id.
    pub labels: u32,
    /// Whether later events are promised to be later.
    pub sorted: bool,
    /// Payload.
    pub payload: Vec<u8>,
}

/// Content of an event block.
#[derive(Clone, Debug)]
pub struct Rows {
    compressed: bool,
    header_size: u16,
    /// Bytes behind each uncompressed row, inside its size.
    extra: usize,
    rows: Vec<u8>,
    last: Row,
    times: Option<(u64, u64)>,
}

impl Rows {
    /// A block with compressed headers.
    pub fn compressed() -> Self {
        Self { compressed: true, header_size: 20, extra: 0, rows: Vec::new(), last: Row::default(), times: None }
    }

    /// A block with full headers.
    pub fn uncompressed() -> Self {
        Self { compressed: false, ..Self::compressed() }
    }

    /// Writes this number as the size of the block's header, and as many bytes.
    pub fn header_size(mut self, size: u16) -> Self {
        self.header_size = size;
        self
    }

    /// Ends uncompressed rows with so many bytes of a newer writer.
    pub fn extra(mut self, extra: usize) -> Self {
        self.extra = extra;
        self
    }

    /// Adds bytes as they are.
    pub fn raw(mut self, bytes: &[u8]) -> Self {
        self.rows.extend(bytes);
        self
    }

    /// Adds a row; a compressed header has only what changed.
    pub fn with(self, row: Row) -> Self {
        self.with_fields(row, 0)
    }

    /// Adds a row; a compressed header also has the fields of these flags, changed or not.
    pub fn with_fields(mut self, row: Row, flags: u8) -> Self {
        let (low, high) = self.times.unwrap_or((row.time, row.time));
        self.times = Some((low.min(row.time), high.max(row.time)));
        let bytes = if self.compressed { self.compress(&row, flags) } else { self.write_whole(&row) };
        self.rows.extend(bytes);
        self.last = row;
        self
    }

    fn compress(&self, row: &Row, mut flags: u8) -> Vec<u8> {
        let last = &self.last;
        let next = last.sequence.wrapping_add(1);
        let differs = [
            (0x01, row.metadata != last.metadata),
            (0x02, (row.sequence, row.capture_thread, row.processor) != (next, last.capture_thread, last.processor)),
            (0x04, row.thread != last.thread),
            (0x08, row.stack != last.stack),
            (0x10, row.labels != last.labels),
            (0x40, row.sorted),
            (0x80, row.payload.len() != last.payload.len()),
        ];
        for (flag, differs) in differs {
            flags |= if differs { flag } else { 0 };
        }
        let mut out = vec![flags];
        let mut field = |flag: u8, values: &[u64]| {
            if flag == 0 || flags & flag != 0 {
                out.extend(values.iter().flat_map(|value| leb128(*value)));
            }
        };
        field(0x01, &[row.metadata.into()]);
        field(0x02, &[row.sequence.wrapping_sub(next).into(), row.capture_thread, row.processor.into()]);
        field(0x04, &[row.thread]);
        field(0x08, &[row.stack.into()]);
        field(0, &[row.time.wrapping_sub(last.time)]);
        field(0x10, &[row.labels.into()]);
        field(0x80, &[row.payload.len() as u64]);
        out.extend(&row.payload);
        out
    }

    fn write_whole(&self, row: &Row) -> Vec<u8> {
        let unsorted = if row.sorted { 0 } else { 0x8000_0000 };
        let mut out = numbers(&[row.metadata | unsorted, row.sequence]);
        out.extend(row.thread.to_le_bytes());
        out.extend(row.capture_thread.to_le_bytes());
        out.extend(numbers(&[row.processor, row.stack]));
        out.extend(row.time.to_le_bytes());
        out.extend(numbers(&[row.labels, row.payload.len() as u32]));
        out.extend(&row.payload);
        out.extend(vec![0xee; self.extra]);
        [&(out.len() as u32).to_le_bytes()[..], &out].concat()
    }

    /// The content: header, then rows.
    pub fn content(&self) -> Vec<u8> {
        event_block(self.header_size, self.compressed, self.times.unwrap_or_default(), &self.rows)
    }
}

/// Definition of an event.
#[derive(Clone, Debug, Default)]
pub struct Definition {
    /// Metadata id.
    pub id: u32,
    /// Provider.
    pub provider: String,
    /// Event id.
    pub event_id: u32,
    /// Name of the event.
    pub name: String,
    /// Fields, as [`field`] gives them.
    pub fields: Vec<Vec<u8>>,
    /// Optional entries, each a kind and its content.
    pub optional: Vec<(u8, Vec<u8>)>,
    /// Bytes of a newer writer at the end of the row.
    pub extra: Vec<u8>,
}

impl Definition {
    /// A definition without fields and optional entries.
    pub fn new(id: u32, provider: &str, event_id: u32, name: &str) -> Self {
        Self { id, provider: provider.into(), event_id, name: name.into(), ..Self::default() }
    }

    /// The row without its size.
    pub fn row(&self) -> Vec<u8> {
        let mut row = leb128(self.id.into());
        row.extend(string(&self.provider));
        row.extend(leb128(self.event_id.into()));
        row.extend(string(&self.name));
        row.extend(fields(&self.fields));
        let optional: Vec<u8> = self.optional.iter().flat_map(|(kind, content)| optional(*kind, content)).collect();
        row.extend(sized(&optional));
        row.extend(&self.extra);
        row
    }
}

fn optional(kind: u8, content: &[u8]) -> Vec<u8> {
    [&[kind], content].concat()
}

/// A field of this name and type, with so many bytes of a newer writer behind it.
pub fn field(name: &str, field_type: &[u8], extra: usize) -> Vec<u8> {
    sized(&[&string(name), field_type, &vec![0xee; extra]].concat())
}

/// A list of fields.
pub fn fields(fields: &[Vec<u8>]) -> Vec<u8> {
    [&(fields.len() as u16).to_le_bytes()[..], &fields.concat()].concat()
}

/// A thread.
#[derive(Clone, Debug, Default)]
pub struct Thread {
    /// Index.
    pub index: u64,
    /// Entries about it, each a kind and its content.
    pub entries: Vec<(u8, Vec<u8>)>,
}

impl Thread {
    /// A thread of which nothing is said.
    pub fn new(index: u64) -> Self {
        Self { index, entries: Vec::new() }
    }

    /// Adds its ids in the operating system.
    pub fn of(self, process: u64, thread: u64) -> Self {
        self.entry(2, &leb128(process)).entry(3, &leb128(thread))
    }

    /// Adds its name.
    pub fn named(self, name: &str) -> Self {
        self.entry(1, &string(name))
    }

    /// Adds an entry.
    pub fn entry(mut self, kind: u8, content: &[u8]) -> Self {
        self.entries.push((kind, content.to_vec()));
        self
    }

    /// The row without its size.
    pub fn row(&self) -> Vec<u8> {
        let mut row = leb128(self.index);
        row.extend(self.entries.iter().flat_map(|(kind, content)| optional(*kind, content)));
        row
    }
}

/// A label: its kind and its content.
pub type Label = (u8, Vec<u8>);

fn label_list(labels: &[Label]) -> Vec<u8> {
    let last = labels.len().saturating_sub(1);
    let label = |(index, (kind, content)): (usize, &Label)| {
        let kind = if index == last { *kind | 0x80 } else { *kind };
        optional(kind, content)
    };
    labels.iter().enumerate().flat_map(label).collect()
}

/// Text: its length, then its bytes.
pub fn string(text: &str) -> Vec<u8> {
    string_of(text.as_bytes())
}

/// The same for bytes that need not be text.
pub fn string_of(bytes: &[u8]) -> Vec<u8> {
    [&leb128(bytes.len() as u64), bytes].concat()
}

/// A signed number with its sign in the lowest bit.
pub fn zigzag(number: i64) -> Vec<u8> {
    leb128(((number << 1) ^ (number >> 63)) as u64)
}

/// A row with its size in front.
pub fn sized(row: &[u8]) -> Vec<u8> {
    [&(row.len() as u16).to_le_bytes()[..], row].concat()
}

fn numbers(numbers: &[u32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

fn thread_numbers(threads: &[(u64, u32)]) -> Vec<u8> {
    threads.iter().flat_map(|(thread, number)| [leb128(*thread), leb128((*number).into())].concat()).collect()
}
