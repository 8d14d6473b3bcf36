//! The debug directory: which PDB and which perf map belong to an image.

use std::io::Write;

use super::pe::Pe;

/// An entry of the directory.
#[derive(Clone, Debug)]
pub enum Entry {
    /// The portable PDB: GUID, timestamp, age, path.
    CodeView([u8; 16], u32, u32, String),
    /// Nothing but a mark.
    Reproducible,
    /// A portable PDB inside the image, deflated.
    EmbeddedPdb(Vec<u8>),
    /// Name of a hash and the hash.
    Checksum(String, Vec<u8>),
    /// Signature and file name of the map of precompiled code.
    PerfMap([u8; 16], String),
    /// Type, version and content as they are.
    Raw(u32, (u16, u16), Vec<u8>),
}

impl Entry {
    /// Type, timestamp, version and content.
    fn parts(&self) -> (u32, u32, (u16, u16), Vec<u8>) {
        match self {
            Self::CodeView(guid, timestamp, age, path) => {
                let content = [b"RSDS", &guid[..], &age.to_le_bytes(), path.as_bytes(), &[0]].concat();
                (2, *timestamp, (0x100, 0x504d), content)
            }
            Self::Reproducible => (16, 0, (0, 0), Vec::new()),
            Self::EmbeddedPdb(pdb) => {
                let content = [b"MPDB", &(pdb.len() as u32).to_le_bytes()[..], &deflated(pdb)].concat();
                (17, 0, (0x100, 0x100), content)
            }
            Self::Checksum(algorithm, hash) => (19, 0, (1, 0), [algorithm.as_bytes(), &[0], hash].concat()),
            Self::PerfMap(signature, name) => {
                let mut content = 0x4d52_3252_u32.to_le_bytes().to_vec();
                content.extend(signature);
                content.extend(1_u32.to_le_bytes());
                content.extend(name.as_bytes());
                content.resize(284, 0);
                (21, 0, (1, 0), content)
            }
            Self::Raw(kind, version, content) => (*kind, 0, *version, content.clone()),
        }
    }
}

/// Bytes as a raw deflate stream.
pub fn deflated(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).and_then(|()| encoder.finish()).expect("memory takes all bytes")
}

/// Puts the directory and the contents, and gives it to the headers.
pub(super) fn put(out: &mut Pe, entries: &[Entry]) {
    if entries.is_empty() {
        return;
    }
    let mut directory = Vec::new();
    for (kind, timestamp, version, content) in entries.iter().map(Entry::parts) {
        out.align(4, 0);
        let address = if content.is_empty() { 0 } else { out.put(&content) };
        let offset = if content.is_empty() { 0 } else { out.file_offset(address) };
        directory.extend([0; 4]);
        directory.extend(timestamp.to_le_bytes());
        directory.extend(version.0.to_le_bytes());
        directory.extend(version.1.to_le_bytes());
        for value in [kind, content.len() as u32, address, offset] {
            directory.extend(value.to_le_bytes());
        }
    }
    out.align(4, 0);
    let address = out.put(&directory);
    out.directories.insert(6, (address, directory.len() as u32));
}
