//! The manifest of a bundle.
//!
//! Layout, little-endian: `u32 major, u32 minor, i32 count, string id`; from major 2 on the places of two JSON files as
//! `(i64 offset, i64 size)` and `u64 flags`; then per file `i64 offset, i64 size`, from major 6 on `i64 compressed size`
//! (zero when stored), `u8 kind, string path`. Strings are UTF-8 behind a 7-bit-encoded length.

use super::{Entry, EntryKind, Version};
use crate::bytes::Cursor;
use crate::{Error, ErrorKind};

/// What a manifest says, before it is held against the executable.
pub(super) struct Manifest {
    pub(super) version: Version,
    pub(super) is_extracted: bool,
    /// The files whose path is text.
    pub(super) entries: Vec<Entry>,
    /// How many files there are.
    pub(super) count: usize,
}

impl Manifest {
    /// The manifest at an offset of the executable.
    pub(super) fn read(executable: &[u8], offset: usize) -> Result<Self, Error> {
        let mut cursor = Cursor::new(executable, "bundle manifest").at(offset);
        let start = cursor;
        let version = Version { major: cursor.u32()?, minor: cursor.u32()? };
        if !matches!(version.major, 1 | 2 | 6) {
            let value = version.major.into();
            return Err(start.error(ErrorKind::Impossible { what: "bundle manifest major version", value }));
        }
        let count = usize::try_from(cursor.u32()?).unwrap_or(usize::MAX);
        string(&mut cursor)?;
        let mut is_extracted = version.major == 1;
        if version.major >= 2 {
            // The places of the two JSON files, which are among the files as well.
            cursor.take(4 * 8)?;
            is_extracted |= cursor.u64()? & 1 != 0;
        }
        // Not sized by the count: only an entry that was read takes room.
        let mut entries = Vec::new();
        for _ in 0..count {
            let offset = cursor.u64()?;
            let size = cursor.u64()?;
            let compressed_size = if version.major >= 6 { cursor.u64()? } else { 0 };
            let kind = EntryKind::from_number(cursor.u8()?);
            let path = string(&mut cursor)?;
            if let Ok(path) = str::from_utf8(path) {
                let compressed_size = Some(compressed_size).filter(|size| *size != 0);
                entries.push(Entry { path: path.into(), kind, offset, size, compressed_size });
            }
        }
        Ok(Self { version, is_extracted, entries, count })
    }
}

fn string<'d>(cursor: &mut Cursor<'d>) -> Result<&'d [u8], Error> {
    let length = cursor.seven_bit()?;
    cursor.take(usize::try_from(length).unwrap_or(usize::MAX))
}

impl EntryKind {
    fn from_number(number: u8) -> Self {
        match number {
            0 => Self::Unknown,
            1 => Self::Assembly,
            2 => Self::NativeBinary,
            3 => Self::Dependencies,
            4 => Self::RuntimeConfiguration,
            5 => Self::Symbols,
            other => Self::Other(other),
        }
    }
}
