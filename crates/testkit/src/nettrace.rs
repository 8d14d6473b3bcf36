//! Nettrace streams (versions 4 and 5), put together from the format's description.
//!
//! [`Stream`] writes the container, [`Blobs`] the content of event and metadata blocks, [`Definition`] the payload of a
//! metadata blob. Everything that can be wrong in a stream can be written wrong: sizes, tags and contents are parameters or
//! can be patched in [`Stream::bytes`].

/// A stream that grows object by object.
#[derive(Clone, Debug, Default)]
pub struct Stream {
    bytes: Vec<u8>,
}

/// The numbers of the trace object.
#[derive(Clone, Copy, Debug)]
pub struct Trace {
    /// Year, month, day of week, day, hour, minute, second, millisecond.
    pub utc: [u16; 8],
    /// Clock at `utc`.
    pub sync_ticks: u64,
    /// Ticks in a second.
    pub frequency: u64,
    /// 4 or 8.
    pub pointer_size: u32,
    /// Process id.
    pub process_id: u32,
    /// Processors.
    pub processors: u32,
    /// Nanoseconds between samples.
    pub sampling_period: u32,
}

impl Default for Trace {
    fn default() -> Self {
        Self {
            utc: [2026, 7, 5, 3, 1, 2, 3, 4],
            sync_ticks: 1_000,
            frequency: 1_000_000_000,
            pointer_size: 8,
            process_id: 4242,
            processors: 2,
            sampling_period: 1_000_000,
        }
    }
}

impl Stream {
    /// A stream with its header and nothing else.
    pub fn new() -> Self {
        let mut bytes = b"Nettrace".to_vec();
        bytes.extend(20u32.to_le_bytes());
        bytes.extend(b"!FastSerialization.1");
        Self { bytes }
    }

    /// A stream that goes on from these bytes.
    pub fn continued(bytes: Vec<u8>) -> Self {
        Self { bytes }
    }

    /// A stream with its header and a trace object of the usual numbers.
    pub fn with_trace() -> Self {
        Self::new().trace(Trace::default())
    }

    /// What was written so far.
    pub fn bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Length of what was written so far: where the next object begins.
    pub fn offset(&self) -> usize {
        self.bytes.len()
    }

    /// Adds bytes as they are.
    pub fn raw(mut self, bytes: &[u8]) -> Self {
        self.bytes.extend(bytes);
        self
    }

    /// Adds the beginning of an object: tags, versions and type name.
    pub fn object_start(mut self, name: &str, version: i32, reader: i32) -> Self {
        self.bytes.extend([5, 5, 1]);
        self.bytes.extend(version.to_le_bytes());
        self.bytes.extend(reader.to_le_bytes());
        self.bytes.extend((name.len() as i32).to_le_bytes());
        self.bytes.extend(name.as_bytes());
        self.bytes.push(6);
        self
    }

    /// Adds the trace object.
    pub fn trace(self, trace: Trace) -> Self {
        let mut stream = self.object_start("Trace", 4, 4);
        for number in trace.utc {
            stream.bytes.extend(number.to_le_bytes());
        }
        stream.bytes.extend(trace.sync_ticks.to_le_bytes());
        stream.bytes.extend(trace.frequency.to_le_bytes());
        for number in [trace.pointer_size, trace.process_id, trace.processors, trace.sampling_period] {
            stream.bytes.extend(number.to_le_bytes());
        }
        stream.raw(&[6])
    }

    /// Adds a block of the type `name` with this content, its size and the padding in front of it.
    pub fn block(self, name: &str, content: &[u8]) -> Self {
        self.block_of_size(name, content.len() as i32, content)
    }

    /// Adds a block that claims another size than its content has.
    pub fn block_of_size(self, name: &str, size: i32, content: &[u8]) -> Self {
        let mut stream = self.object_start(name, 2, 2);
        stream.bytes.extend(size.to_le_bytes());
        while !stream.bytes.len().is_multiple_of(4) {
            stream.bytes.push(0);
        }
        stream.raw(content).raw(&[6])
    }

    /// Adds an event block.
    pub fn events(self, blobs: &Blobs) -> Self {
        self.block("EventBlock", &blobs.content())
    }

    /// Adds a metadata block that defines these events.
    pub fn metadata(self, definitions: &[Definition]) -> Self {
        let mut blobs = Blobs::compressed();
        for definition in definitions {
            blobs = blobs.with(Blob { payload: definition.payload(), ..Blob::default() });
        }
        self.block("MetadataBlock", &blobs.content())
    }

    /// Adds a stack block of 8-byte addresses.
    pub fn stacks(self, first_id: u32, stacks: &[&[u64]]) -> Self {
        let stacks: Vec<Vec<u8>> =
            stacks.iter().map(|stack| stack.iter().flat_map(|address| address.to_le_bytes()).collect()).collect();
        self.stack_bytes(first_id, &stacks)
    }

    /// Adds a stack block of stacks given as bytes.
    pub fn stack_bytes(self, first_id: u32, stacks: &[Vec<u8>]) -> Self {
        let mut content = first_id.to_le_bytes().to_vec();
        content.extend((stacks.len() as u32).to_le_bytes());
        for stack in stacks {
            content.extend((stack.len() as u32).to_le_bytes());
            content.extend(stack);
        }
        self.block("StackBlock", &content)
    }

    /// Adds a sequence point with the last number of each capture thread.
    pub fn sequence_point(self, time: u64, threads: &[(u64, u32)]) -> Self {
        let mut content = time.to_le_bytes().to_vec();
        content.extend((threads.len() as u32).to_le_bytes());
        for (thread, sequence) in threads {
            content.extend(thread.to_le_bytes());
            content.extend(sequence.to_le_bytes());
        }
        self.block("SPBlock", &content)
    }

    /// Adds the end mark and gives the whole stream.
    pub fn end(self) -> Vec<u8> {
        self.raw(&[1]).bytes
    }
}

/// One event as it is meant, whatever way it is written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Blob {
    /// Metadata id.
    pub metadata: u32,
    /// Sequence number.
    pub sequence: u32,
    /// Thread that wrote it.
    pub capture_thread: u64,
    /// Processor.
    pub processor: u32,
    /// Thread it is about.
    pub thread: u64,
    /// Stack id.
    pub stack: u32,
    /// Ticks.
    pub time: u64,
    /// Activity id.
    pub activity: [u8; 16],
    /// Related activity id.
    pub related: [u8; 16],
    /// Whether later events are promised to be later.
    pub sorted: bool,
    /// Payload.
    pub payload: Vec<u8>,
}

/// Content of an event or metadata block.
#[derive(Clone, Debug)]
pub struct Blobs {
    compressed: bool,
    header_size: u16,
    blobs: Vec<u8>,
    last: Blob,
    times: Option<(u64, u64)>,
}

impl Blobs {
    /// A block with compressed headers, as runtimes write it.
    pub fn compressed() -> Self {
        Self { compressed: true, header_size: 20, blobs: Vec::new(), last: Blob::default(), times: None }
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

    /// Adds bytes as they are.
    pub fn raw(mut self, bytes: &[u8]) -> Self {
        self.blobs.extend(bytes);
        self
    }

    /// Adds a blob; a compressed header has only what changed.
    pub fn with(self, blob: Blob) -> Self {
        self.with_fields(blob, 0)
    }

    /// Adds a blob; a compressed header also has the fields of these flags, changed or not.
    pub fn with_fields(mut self, blob: Blob, flags: u8) -> Self {
        let (low, high) = self.times.unwrap_or((blob.time, blob.time));
        self.times = Some((low.min(blob.time), high.max(blob.time)));
        if self.compressed {
            self.write_compressed(&blob, flags);
        } else {
            self.write_uncompressed(&blob);
        }
        self.last = blob;
        self
    }

    fn write_compressed(&mut self, blob: &Blob, mut flags: u8) {
        let last = &self.last;
        let next = last.sequence.wrapping_add(u32::from(blob.metadata != 0));
        let differs = [
            (0x01, blob.metadata != last.metadata),
            (0x02, (blob.sequence, blob.capture_thread, blob.processor) != (next, last.capture_thread, last.processor)),
            (0x04, blob.thread != last.thread),
            (0x08, blob.stack != last.stack),
            (0x10, blob.activity != last.activity),
            (0x20, blob.related != last.related),
            (0x40, blob.sorted),
            (0x80, blob.payload.len() != last.payload.len()),
        ];
        for (flag, differs) in differs {
            flags |= if differs { flag } else { 0 };
        }
        let mut out = vec![flags];
        if flags & 0x01 != 0 {
            out.extend(leb128(blob.metadata.into()));
        }
        if flags & 0x02 != 0 {
            out.extend(leb128(blob.sequence.wrapping_sub(last.sequence).wrapping_sub(1).into()));
            out.extend(leb128(blob.capture_thread));
            out.extend(leb128(blob.processor.into()));
        }
        if flags & 0x04 != 0 {
            out.extend(leb128(blob.thread));
        }
        if flags & 0x08 != 0 {
            out.extend(leb128(blob.stack.into()));
        }
        out.extend(leb128(blob.time.wrapping_sub(last.time)));
        if flags & 0x10 != 0 {
            out.extend(blob.activity);
        }
        if flags & 0x20 != 0 {
            out.extend(blob.related);
        }
        if flags & 0x80 != 0 {
            out.extend(leb128(blob.payload.len() as u64));
        }
        out.extend(&blob.payload);
        self.blobs.extend(out);
    }

    fn write_uncompressed(&mut self, blob: &Blob) {
        let mut out = Vec::new();
        let unsorted = if blob.sorted { 0 } else { 0x8000_0000 };
        out.extend((blob.metadata | unsorted).to_le_bytes());
        out.extend(blob.sequence.to_le_bytes());
        out.extend(blob.thread.to_le_bytes());
        out.extend(blob.capture_thread.to_le_bytes());
        out.extend(blob.processor.to_le_bytes());
        out.extend(blob.stack.to_le_bytes());
        out.extend(blob.time.to_le_bytes());
        out.extend(blob.activity);
        out.extend(blob.related);
        out.extend((blob.payload.len() as u32).to_le_bytes());
        out.extend(&blob.payload);
        self.blobs.extend((out.len() as u32).to_le_bytes());
        self.blobs.extend(out);
        while !self.blobs.len().is_multiple_of(4) {
            self.blobs.push(0);
        }
    }

    /// The content: header, then blobs.
    pub fn content(&self) -> Vec<u8> {
        event_block(self.header_size, self.compressed, self.times.unwrap_or_default(), &self.blobs)
    }
}

/// Content of an event block, which versions 4 to 6 begin with the same header: its size, whether rows are compressed, earliest
/// and latest time.
pub(crate) fn event_block(header_size: u16, compressed: bool, times: (u64, u64), rows: &[u8]) -> Vec<u8> {
    let mut content = header_size.to_le_bytes().to_vec();
    content.extend(u16::from(compressed).to_le_bytes());
    content.extend(times.0.to_le_bytes());
    content.extend(times.1.to_le_bytes());
    content.resize(content.len().max(header_size.into()), 0xee);
    content.extend(rows);
    content
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
    /// Keywords.
    pub keywords: u64,
    /// Version.
    pub version: u32,
    /// Level.
    pub level: u32,
    /// Field count and fields of version 4; nothing stands for no fields.
    pub fields: Vec<u8>,
    /// Tags of version 5: kind and content.
    pub tags: Vec<(u8, Vec<u8>)>,
}

impl Definition {
    /// A definition without a name and fields, as the runtime writes those of its own events.
    pub fn native(id: u32, provider: &str, event_id: u32, version: u32) -> Self {
        Self { id, provider: provider.into(), event_id, version, level: 4, ..Self::default() }
    }

    /// Payload of the metadata blob.
    pub fn payload(&self) -> Vec<u8> {
        let mut payload = self.id.to_le_bytes().to_vec();
        payload.extend(utf16(&self.provider));
        payload.extend(self.event_id.to_le_bytes());
        payload.extend(utf16(&self.name));
        payload.extend(self.keywords.to_le_bytes());
        payload.extend(self.version.to_le_bytes());
        payload.extend(self.level.to_le_bytes());
        if self.fields.is_empty() {
            payload.extend([0; 4]);
        } else {
            payload.extend(&self.fields);
        }
        for (kind, content) in &self.tags {
            payload.extend((content.len() as u32).to_le_bytes());
            payload.push(*kind);
            payload.extend(content);
        }
        payload
    }
}

/// Text as payloads have it: UTF-16 with a terminating zero unit.
pub fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().chain([0]).flat_map(u16::to_le_bytes).collect()
}

/// A number in as few 7-bit groups as it needs.
pub fn leb128(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number >= 0x80 {
        bytes.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}
