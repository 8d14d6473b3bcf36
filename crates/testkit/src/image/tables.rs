//! ECMA-335 metadata as it lies in a file: heaps, tables with columns of two or four bytes, and the root that lists them.

use std::collections::BTreeMap;

use super::encode::compressed;

/// Kind of a column.
#[derive(Clone, Copy)]
enum Column {
    Two,
    Four,
    Strings,
    Guids,
    Blobs,
    Table(u8),
    /// Tag bits, and the tables meant by the tags.
    Coded(u32, &'static [u8]),
}

use Column::{Blobs, Coded, Four, Guids, Strings, Table, Two};

const TYPE_DEF_OR_REF: Column = Coded(2, &[0x02, 0x01, 0x1b]);
const RESOLUTION_SCOPE: Column = Coded(2, &[0x00, 0x1a, 0x23, 0x01]);
const MEMBER_REF_PARENT: Column = Coded(3, &[0x02, 0x01, 0x1a, 0x06, 0x1b]);
const TYPE_OR_METHOD_DEF: Column = Coded(1, &[0x02, 0x06]);
const METHOD_DEF_OR_REF: Column = Coded(1, &[0x06, 0x0a]);
const HAS_CUSTOM_DEBUG_INFORMATION: Column = Coded(
    5,
    &[
        0x06, 0x04, 0x01, 0x02, 0x08, 0x09, 0x0a, 0x00, 0x0e, 0x17, 0x14, 0x11, 0x1a, 0x1b, 0x20, 0x23, 0x26, 0x27,
        0x28, 0x2a, 0x2c, 0x2b, 0x30, 0x32, 0x33, 0x34, 0x35,
    ],
);

/// The tables that can be written, with their columns.
const SCHEMA: &[(u8, &[Column])] = &[
    (0x00, &[Two, Strings, Guids, Guids, Guids]),
    (0x01, &[RESOLUTION_SCOPE, Strings, Strings]),
    (0x02, &[Four, Strings, Strings, TYPE_DEF_OR_REF, Table(0x04), Table(0x06)]),
    (0x04, &[Two, Strings, Blobs]),
    (0x06, &[Four, Two, Two, Strings, Blobs, Table(0x08)]),
    (0x08, &[Two, Two, Strings]),
    (0x0a, &[MEMBER_REF_PARENT, Strings, Blobs]),
    (0x11, &[Blobs]),
    (0x1a, &[Strings]),
    (0x1b, &[Blobs]),
    (0x20, &[Four, Two, Two, Two, Two, Four, Blobs, Strings, Strings]),
    (0x23, &[Two, Two, Two, Two, Four, Blobs, Strings, Strings, Blobs]),
    (0x29, &[Table(0x02), Table(0x02)]),
    (0x2a, &[Two, Two, TYPE_OR_METHOD_DEF, Strings]),
    (0x2b, &[METHOD_DEF_OR_REF, Blobs]),
    (0x30, &[Blobs, Guids, Blobs, Guids]),
    (0x31, &[Table(0x30), Blobs]),
    (0x37, &[HAS_CUSTOM_DEBUG_INFORMATION, Guids, Blobs]),
];

fn columns(table: u8) -> &'static [Column] {
    SCHEMA.iter().find(|(number, _)| *number == table).expect("a table that can be written").1
}

/// Rows and heaps that grow; [`Tables::bytes`] decides the widths.
#[derive(Clone, Debug)]
pub struct Tables {
    /// Rows by table number, each a number per column.
    pub rows: BTreeMap<u8, Vec<Vec<u32>>>,
    /// Heaps whose indices have four bytes though they are small: 1 `#Strings`, 2 `#GUID`, 4 `#Blob`.
    pub wide_heaps: u8,
    /// The `#Pdb` stream of a portable PDB, and the row counts of the tables it refers to.
    pub pdb: Option<(Vec<u8>, BTreeMap<u8, u32>)>,
    strings: Vec<u8>,
    guids: Vec<u8>,
    blobs: Vec<u8>,
}

impl Default for Tables {
    fn default() -> Self {
        let (strings, blobs) = (vec![0], vec![0]);
        Self { rows: BTreeMap::new(), wide_heaps: 0, pdb: None, strings, guids: Vec::new(), blobs }
    }
}

impl Tables {
    /// Index of a text in `#Strings`.
    pub fn string(&mut self, text: &str) -> u32 {
        if text.is_empty() {
            return 0;
        }
        let index = self.strings.len() as u32;
        self.strings.extend(text.as_bytes());
        self.strings.push(0);
        index
    }

    /// Index of a GUID in `#GUID`.
    pub fn guid(&mut self, guid: [u8; 16]) -> u32 {
        self.guids.extend(guid);
        self.guids.len() as u32 / 16
    }

    /// Index of a blob in `#Blob`.
    pub fn blob(&mut self, blob: &[u8]) -> u32 {
        if blob.is_empty() {
            return 0;
        }
        let index = self.blobs.len() as u32;
        self.blobs.extend(compressed(blob.len() as u32));
        self.blobs.extend(blob);
        index
    }

    /// Adds a row and gives its number.
    pub fn row(&mut self, table: u8, columns: &[u32]) -> u32 {
        let rows = self.rows.entry(table).or_default();
        rows.push(columns.to_vec());
        rows.len() as u32
    }

    /// Adds rows of zeros.
    pub fn empty_rows(&mut self, table: u8, count: usize) {
        let row = vec![0; columns(table).len()];
        self.rows.entry(table).or_default().extend(std::iter::repeat_n(row, count));
    }

    /// Rows of a table so far.
    pub fn count(&self, table: u8) -> u32 {
        self.rows.get(&table).map_or(0, |rows| rows.len() as u32)
    }

    fn heap_sizes(&self) -> u8 {
        let heaps = [(1, self.strings.len()), (2, self.guids.len() / 16), (4, self.blobs.len())];
        heaps.iter().fold(self.wide_heaps, |sizes, (bit, length)| sizes | if *length >= 0x1_0000 { *bit } else { 0 })
    }

    fn width(&self, column: Column) -> usize {
        let outside = |table: u8| self.pdb.as_ref().and_then(|(_, counts)| counts.get(&table)).copied().unwrap_or(0);
        let rows = |table: u8| self.count(table).max(outside(table));
        let wide = match column {
            Two => false,
            Four => true,
            Strings => self.heap_sizes() & 1 != 0,
            Guids => self.heap_sizes() & 2 != 0,
            Blobs => self.heap_sizes() & 4 != 0,
            Table(table) => rows(table) >= 0x1_0000,
            Coded(bits, tables) => tables.iter().any(|table| rows(*table) >= 1 << (16 - bits)),
        };
        if wide { 4 } else { 2 }
    }

    fn table_stream(&self) -> Vec<u8> {
        let present = self.rows.iter().filter(|(_, rows)| !rows.is_empty());
        let mut out = vec![0, 0, 0, 0, 2, 0, self.heap_sizes(), 1];
        out.extend(present.clone().fold(0_u64, |valid, (table, _)| valid | 1 << table).to_le_bytes());
        out.extend(0x0000_1600_3301_fa00_u64.to_le_bytes());
        for (_, rows) in present.clone() {
            out.extend((rows.len() as u32).to_le_bytes());
        }
        for (table, rows) in present {
            let widths: Vec<usize> = columns(*table).iter().map(|column| self.width(*column)).collect();
            for row in rows {
                assert_eq!(row.len(), widths.len(), "columns of table {table:#x}");
                for (value, width) in row.iter().zip(&widths) {
                    out.extend(&value.to_le_bytes()[..*width]);
                }
            }
        }
        out
    }

    fn pdb_stream(id_and_entry: &[u8], counts: &BTreeMap<u8, u32>) -> Vec<u8> {
        let mut out = id_and_entry.to_vec();
        out.extend(counts.keys().fold(0_u64, |present, table| present | 1 << table).to_le_bytes());
        for count in counts.values() {
            out.extend(count.to_le_bytes());
        }
        out
    }

    /// The whole metadata blob, from `BSJB` on.
    pub fn bytes(&self) -> Vec<u8> {
        let mut streams = Vec::new();
        if let Some((id_and_entry, counts)) = &self.pdb {
            streams.push(("#Pdb", Self::pdb_stream(id_and_entry, counts)));
        }
        streams.push(("#~", self.table_stream()));
        streams.push(("#Strings", self.strings.clone()));
        streams.push(("#US", vec![0]));
        streams.push(("#GUID", self.guids.clone()));
        streams.push(("#Blob", self.blobs.clone()));
        root(&streams)
    }
}

/// A metadata root with these streams.
pub fn root(streams: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let padded = |length: usize| length.next_multiple_of(4);
    let version = b"v4.0.30319\0\0";
    let mut out = 0x424a_5342_u32.to_le_bytes().to_vec();
    out.extend([1, 0, 1, 0, 0, 0, 0, 0]);
    out.extend((version.len() as u32).to_le_bytes());
    out.extend(version);
    out.extend([0, 0]);
    out.extend((streams.len() as u16).to_le_bytes());
    let names: usize = streams.iter().map(|(name, _)| 8 + padded(name.len() + 1)).sum();
    let mut offset = out.len() + names;
    for (name, content) in streams {
        out.extend((offset as u32).to_le_bytes());
        out.extend((padded(content.len()) as u32).to_le_bytes());
        out.extend(name.as_bytes());
        out.resize(out.len() + padded(name.len() + 1) - name.len(), 0);
        offset += padded(content.len());
    }
    for (_, content) in streams {
        out.extend(content);
        out.resize(padded(out.len()), 0);
    }
    out
}
