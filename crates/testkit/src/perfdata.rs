//! perf.data bytes, put together from the format's description (`linux/perf_event.h`, perf's `perf.data-file-format`)
//! by offset and number, so that a mistake in the parser's layout is not made here too.

use std::collections::BTreeMap;

/// Little-endian bytes, field after field.
#[derive(Clone, Debug, Default)]
pub struct Fields(Vec<u8>);

impl Fields {
    /// No bytes yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// One byte.
    #[must_use]
    pub fn u8(self, value: u8) -> Self {
        self.bytes(&[value])
    }

    /// Two bytes.
    #[must_use]
    pub fn u16(self, value: u16) -> Self {
        self.bytes(&value.to_le_bytes())
    }

    /// Four bytes.
    #[must_use]
    pub fn u32(self, value: u32) -> Self {
        self.bytes(&value.to_le_bytes())
    }

    /// Eight bytes.
    #[must_use]
    pub fn u64(self, value: u64) -> Self {
        self.bytes(&value.to_le_bytes())
    }

    /// Eight bytes each.
    #[must_use]
    pub fn u64s(self, values: &[u64]) -> Self {
        values.iter().fold(self, |fields, value| fields.u64(*value))
    }

    /// These bytes.
    #[must_use]
    pub fn bytes(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self
    }

    /// A string with its NUL, padded with NUL to a multiple of `align` bytes.
    #[must_use]
    pub fn text(mut self, text: &str, align: usize) -> Self {
        self.0.extend_from_slice(text.as_bytes());
        self.0.extend(vec![0; align - text.len() % align]);
        self
    }

    /// The bytes.
    pub fn done(self) -> Vec<u8> {
        self.0
    }
}

/// A record of that type and `misc`, with these bytes after its header.
pub fn record(kind: u32, misc: u16, body: Fields) -> Vec<u8> {
    let body = body.done();
    let size = u16::try_from(body.len() + 8).expect("a record has fewer than 65536 bytes");
    Fields::new().u32(kind).u16(misc).u16(size).bytes(&body).done()
}

/// The 128 bytes of a `perf_event_attr`.
#[derive(Clone, Debug)]
pub struct Attr(Vec<u8>);

impl Attr {
    /// The kernel's timer, 1000 per second.
    pub fn cpu_clock() -> Self {
        const FREQ: u64 = 1 << 10;
        Self(vec![0; 128]).put(0, &1_u32.to_le_bytes()).put(4, &128_u32.to_le_bytes()).word(16, 1000).word(40, FREQ)
    }

    /// Sets the eight bytes at `offset`.
    #[must_use]
    pub fn word(self, offset: usize, value: u64) -> Self {
        self.put(offset, &value.to_le_bytes())
    }

    fn put(mut self, offset: usize, bytes: &[u8]) -> Self {
        self.0[offset..offset + bytes.len()].copy_from_slice(bytes);
        self
    }

    /// Which fields samples have.
    #[must_use]
    pub fn sample_type(self, bits: u64) -> Self {
        self.word(24, bits)
    }

    /// Sets these one-bit fields beside those already set.
    #[must_use]
    pub fn flags(self, bits: u64) -> Self {
        let old = u64::from_le_bytes(self.0[40..48].try_into().expect("eight bytes"));
        self.word(40, old | bits)
    }
}

/// A file in file mode.
#[derive(Clone, Debug, Default)]
pub struct File {
    attrs: Vec<(Attr, Vec<u64>)>,
    records: Vec<u8>,
    features: BTreeMap<u32, Vec<u8>>,
    data_size: Option<u64>,
}

impl File {
    /// A file with nothing in it.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an event and its ids.
    #[must_use]
    pub fn event(mut self, attr: Attr, ids: &[u64]) -> Self {
        self.attrs.push((attr, ids.to_vec()));
        self
    }

    /// Adds bytes of records.
    #[must_use]
    pub fn records(mut self, bytes: &[u8]) -> Self {
        self.records.extend_from_slice(bytes);
        self
    }

    /// Adds the feature section of that bit.
    #[must_use]
    pub fn feature(mut self, bit: u32, content: Fields) -> Self {
        self.features.insert(bit, content.done());
        self
    }

    /// Lets the header state another size of the records than theirs.
    #[must_use]
    pub fn stating_data_size(mut self, size: u64) -> Self {
        self.data_size = Some(size);
        self
    }

    /// The file's bytes: header, events, ids, records, features.
    pub fn done(self) -> Vec<u8> {
        let attrs_at = 104;
        let attrs_size = self.attrs.len() * 144;
        let mut ids = Vec::new();
        let mut attrs = Vec::new();
        for (attr, attr_ids) in &self.attrs {
            attrs.extend_from_slice(&attr.0);
            attrs.extend(section(attrs_at + attrs_size + ids.len(), attr_ids.len() * 8));
            ids.extend(attr_ids.iter().flat_map(|id| id.to_le_bytes()));
        }
        let data_at = attrs_at + attrs_size + ids.len();
        let mut flags = [0_u8; 32];
        for bit in self.features.keys() {
            flags[*bit as usize / 8] |= 1 << (bit % 8);
        }
        let stated = self.data_size.unwrap_or(self.records.len() as u64);
        let mut out = Fields::new()
            .bytes(b"PERFILE2")
            .u64s(&[104, 144])
            .bytes(&section(attrs_at, attrs_size))
            .u64s(&[data_at as u64, stated])
            .bytes(&section(0, 0))
            .bytes(&flags)
            .done();
        out.extend(attrs);
        out.extend(ids);
        out.extend(&self.records);
        let mut at = out.len() + self.features.len() * 16;
        for content in self.features.values() {
            out.extend(section(at, content.len()));
            at += content.len();
        }
        out.extend(self.features.into_values().flatten());
        out
    }
}

fn section(offset: usize, size: usize) -> Vec<u8> {
    Fields::new().u64s(&[offset as u64, size as u64]).done()
}
