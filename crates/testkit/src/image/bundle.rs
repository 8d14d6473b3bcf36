//! Single-file bundles: an executable with files behind it and a manifest of them.

use super::debug_directory::deflated;
use super::encode::counted_text;

const MARKER: [u8; 32] = [
    0x8b, 0x12, 0x02, 0xb9, 0x6a, 0x61, 0x20, 0x38, 0x72, 0x7b, 0x93, 0x02, 0x14, 0xd7, 0xa0, 0x32, 0x13, 0xf5, 0xb9,
    0xe6, 0xef, 0xae, 0x33, 0x18, 0xee, 0x3b, 0x2d, 0xce, 0x24, 0xb3, 0x6a, 0xae,
];

/// A bundle.
#[derive(Clone, Debug)]
pub struct Bundle {
    /// Major version: 1, 2 or 6.
    pub version: u32,
    /// Alignment of the files.
    pub alignment: usize,
    /// The files.
    pub entries: Vec<Entry>,
}

/// A file in a bundle.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Path.
    pub path: String,
    /// Type: 1 assembly, 2 native binary, 3 and 4 the two json files, 5 symbols.
    pub kind: u8,
    /// Content.
    pub content: Vec<u8>,
    /// How it is kept.
    pub storage: Storage,
}

/// How a file is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage {
    /// As it is.
    Stored,
    /// As a raw deflate stream, from version 6 on.
    Deflated,
}

/// A bundle that was built.
#[derive(Clone, Debug)]
pub struct Built {
    /// Bytes of the executable.
    pub file: Vec<u8>,
    /// File offset and length of what is kept of each entry.
    pub entries: Vec<(u64, u64)>,
    /// File offset of the header.
    pub header: u64,
}

impl Bundle {
    /// The bytes, and where everything is.
    pub fn build(&self) -> Built {
        let mut file = b"\x7fELF\x02\x01\x01".to_vec();
        file.resize(0x100, 0);
        let pointer = file.len();
        file.extend([0; 8]);
        file.extend(MARKER);
        file.resize(0x180, 0x90);
        let mut kept = Vec::new();
        for entry in &self.entries {
            file.resize(file.len().next_multiple_of(self.alignment), 0);
            let content = match entry.storage {
                Storage::Stored => entry.content.clone(),
                Storage::Deflated => deflated(&entry.content),
            };
            kept.push((file.len() as u64, content.len() as u64));
            file.extend(content);
        }
        let header = file.len() as u64;
        file[pointer..pointer + 8].copy_from_slice(&header.to_le_bytes());
        file.extend(self.manifest(&kept));
        Built { file, entries: kept, header }
    }

    fn manifest(&self, kept: &[(u64, u64)]) -> Vec<u8> {
        let mut out = self.version.to_le_bytes().to_vec();
        out.extend([0; 4]);
        out.extend((self.entries.len() as u32).to_le_bytes());
        out.extend(counted_text("abcdefghijkl"));
        if self.version >= 2 {
            for kind in [3, 4] {
                let found = self.entries.iter().position(|entry| entry.kind == kind);
                let (offset, size) = found.map_or((0, 0), |index| kept[index]);
                out.extend(offset.to_le_bytes());
                out.extend(size.to_le_bytes());
            }
            out.extend([0; 8]);
        }
        for (entry, (offset, length)) in self.entries.iter().zip(kept) {
            out.extend(offset.to_le_bytes());
            out.extend((entry.content.len() as u64).to_le_bytes());
            if self.version >= 6 {
                let compressed = if entry.storage == Storage::Deflated { *length } else { 0 };
                out.extend(compressed.to_le_bytes());
            }
            out.push(entry.kind);
            out.extend(counted_text(&entry.path));
        }
        out
    }
}
