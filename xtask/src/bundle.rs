//! Takes named files out of a .NET single-file bundle.
//!
//! Layout: a 32-byte marker (SHA-256 of ".net core bundle\n") in the host's data; the eight bytes before it are the file
//! offset of the manifest. The manifest is `u32 major, u32 minor, i32 count, string id`, from major 2 on two
//! `(i64 offset, i64 size)` pairs and `u64 flags`, then per entry `i64 offset, i64 size`, from major 6 on
//! `i64 compressed size`, `u8 type, string path`. Strings are UTF-8 behind a 7-bit-encoded length. Little-endian.

use anyhow::{Context, Result, bail, ensure};

const MARKER: [u8; 32] = [
    0x8b, 0x12, 0x02, 0xb9, 0x6a, 0x61, 0x20, 0x38, 0x72, 0x7b, 0x93, 0x02, 0x14, 0xd7, 0xa0, 0x32, 0x13, 0xf5, 0xb9,
    0xe6, 0xef, 0xae, 0x33, 0x18, 0xee, 0x3b, 0x2d, 0xce, 0x24, 0xb3, 0x6a, 0xae,
];

/// One file inside a bundle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) path: String,
    /// File offset of the content, in bytes.
    offset: u64,
    /// Size of the content as stored, in bytes.
    stored: u64,
    compressed: bool,
}

/// The entries of the bundle whose whole bytes are `file`, in the manifest's order.
pub(crate) fn entries(file: &[u8]) -> Result<Vec<Entry>> {
    let marker = find(file, &MARKER).context("not a single-file bundle: no marker")?;
    let before = marker.checked_sub(8).context("bundle marker at the very start of the file")?;
    let start = Reader { bytes: file, at: before }.u64()?;
    ensure!(start != 0, "not a single-file bundle: the manifest offset is 0");
    let mut reader = Reader { bytes: file, at: usize::try_from(start)? };
    let major = reader.u32()?;
    let _minor = reader.u32()?;
    let count = reader.u32()?;
    ensure!(matches!(major, 1 | 2 | 6), "bundle manifest major version {major} is not known");
    let _id = reader.string()?;
    if major >= 2 {
        reader.take(5 * 8)?;
    }
    let mut entries = Vec::new();
    for _ in 0..count {
        let offset = reader.u64()?;
        let size = reader.u64()?;
        let compressed_size = if major >= 6 { reader.u64()? } else { 0 };
        let _kind = reader.take(1)?;
        let path = reader.string()?;
        let compressed = compressed_size != 0;
        entries.push(Entry { path, offset, stored: if compressed { compressed_size } else { size }, compressed });
    }
    Ok(entries)
}

/// The content of one entry; only stored entries are handled.
pub(crate) fn content<'a>(file: &'a [u8], entry: &Entry) -> Result<&'a [u8]> {
    ensure!(!entry.compressed, "{} is compressed inside the bundle", entry.path);
    let mut reader = Reader { bytes: file, at: usize::try_from(entry.offset)? };
    reader.take(usize::try_from(entry.stored)?).with_context(|| format!("bundle entry {}", entry.path))
}

fn find(haystack: &[u8], needle: &[u8; 32]) -> Option<usize> {
    // The marker is eight-byte aligned in every host seen, but nothing promises it.
    let first = needle[0];
    let mut from = 0;
    while let Some(step) = haystack.get(from..)?.iter().position(|&byte| byte == first) {
        let at = from + step;
        if haystack[at..].starts_with(needle) {
            return Some(at);
        }
        from = at + 1;
    }
    None
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> Result<&'a [u8]> {
        let end = self.at.checked_add(length).filter(|&end| end <= self.bytes.len());
        let Some(end) = end else {
            bail!("{length} bytes at offset {} reach past the file's {} bytes", self.at, self.bytes.len());
        };
        let taken = &self.bytes[self.at..end];
        self.at = end;
        Ok(taken)
    }

    fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.take(4)?.try_into()?))
    }

    fn u64(&mut self) -> Result<u64> {
        Ok(u64::from_le_bytes(self.take(8)?.try_into()?))
    }

    fn string(&mut self) -> Result<String> {
        let mut length = 0_usize;
        for shift in [0, 7, 14] {
            let byte = self.take(1)?[0];
            length |= usize::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(std::str::from_utf8(self.take(length)?)?.to_owned());
            }
        }
        bail!("string length before offset {} has more than three bytes", self.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bundle(content_size: u64, compressed_size: u64) -> Vec<u8> {
        let mut file = vec![0x8b; 24];
        let offset_at = file.len();
        file.extend([0; 8]);
        file.extend(MARKER);
        let content = file.len() as u64;
        file.extend(b"hello");
        let manifest = file.len() as u64;
        file[offset_at..offset_at + 8].copy_from_slice(&manifest.to_le_bytes());
        file.extend(6_u32.to_le_bytes());
        file.extend(0_u32.to_le_bytes());
        file.extend(1_u32.to_le_bytes());
        file.extend(b"\x02id");
        file.extend([0; 40]);
        file.extend(content.to_le_bytes());
        file.extend(content_size.to_le_bytes());
        file.extend(compressed_size.to_le_bytes());
        file.extend(b"\x01\x05a.dll");
        file
    }

    #[test]
    fn a_stored_entry_comes_out_whole() {
        let file = bundle(5, 0);
        let entries = entries(&file).unwrap();
        assert_eq!(entries.iter().map(|entry| entry.path.as_str()).collect::<Vec<_>>(), ["a.dll"]);
        assert_eq!(content(&file, &entries[0]).unwrap(), b"hello");
    }

    #[test]
    fn every_cut_is_an_error_and_never_a_panic() {
        let file = bundle(5, 0);
        for end in 0..file.len() {
            assert!(entries(&file[..end]).is_err(), "cut at {end}");
        }
    }

    #[test]
    fn a_size_past_the_end_and_a_compressed_entry_are_refused() {
        for (size, compressed) in [(u64::MAX, 0), (1 << 40, 0), (5, 3)] {
            let file = bundle(size, compressed);
            let entries = entries(&file).unwrap();
            assert!(content(&file, &entries[0]).is_err(), "{size} {compressed}");
        }
    }
}
