//! `.gnu_debugdata`: a small ELF file with a symbol table, compressed as `.xz`.
//!
//! The container is walked here and each block's size is added up from its chunk headers before anything is unpacked: the
//! unpacker itself keeps a whole block in memory, however large it grows. Source: the `.xz` file format, version 1.2.0, and
//! the LZMA2 chunk headers as described in its reference documentation.

use std::io;

use super::debug_file::crc32;

/// Largest unpacked size, in bytes.
const LIMIT: usize = 64 << 20;

/// Why compressed debug information cannot be unpacked; offsets are bytes from the start of the section.
#[derive(Debug, thiserror::Error)]
pub(super) enum MiniDebugError {
    #[error("no xz stream")]
    NotXz,
    #[error("cut short at byte {offset}")]
    Truncated { offset: usize },
    #[error("an xz block with other filters than LZMA2 at byte {offset}")]
    Filters { offset: usize },
    #[error("no LZMA2 chunk at byte {offset}")]
    Chunk { offset: usize },
    #[error("more than {LIMIT} bytes unpacked")]
    TooLarge,
    #[error("checksum differs in the xz block at byte {offset}")]
    Checksum { offset: usize },
    #[error("unpacking the xz block at byte {offset}: {reason}")]
    Unpack { offset: usize, reason: String },
}

const MAGIC: &[u8] = b"\xfd7zXZ\0";
const STREAM_HEADER: usize = 12;

/// The content of the first stream in `packed`.
pub(super) fn decompress(packed: &[u8]) -> Result<Vec<u8>, MiniDebugError> {
    if !packed.starts_with(MAGIC) {
        return Err(MiniDebugError::NotXz);
    }
    let mut cursor = Cursor { bytes: packed, offset: MAGIC.len() };
    cursor.take(1)?;
    let check = Check::of(cursor.byte()?);
    cursor.offset = STREAM_HEADER;
    let mut unpacked = Vec::new();
    loop {
        let offset = cursor.offset;
        // A block header's size is never 0; a 0 begins the index that follows the last block.
        let Some(chunks_at) = block_header(&mut cursor)? else { return Ok(unpacked) };
        cursor.offset = chunks_at;
        let size = chunks(&mut cursor)?;
        let chunks = packed.get(chunks_at..cursor.offset).ok_or(MiniDebugError::Truncated { offset })?;
        if unpacked.len().saturating_add(size) > LIMIT {
            return Err(MiniDebugError::TooLarge);
        }
        let before = unpacked.len();
        unpacked.reserve(size);
        let mut sink = Capped { out: &mut unpacked, left: size };
        lzma_rs::lzma2_decompress(&mut io::Cursor::new(chunks), &mut sink)
            .map_err(|error| MiniDebugError::Unpack { offset, reason: format!("{error:?}") })?;
        cursor.align(chunks_at)?;
        let stored = cursor.take(check.size())?;
        if !check.agrees(unpacked.get(before..).unwrap_or_default(), stored) {
            return Err(MiniDebugError::Checksum { offset });
        }
    }
}

/// Where the block's chunks begin; `None` when the index begins here instead.
fn block_header(cursor: &mut Cursor<'_>) -> Result<Option<usize>, MiniDebugError> {
    let begin = cursor.offset;
    let size = match cursor.byte()? {
        0 => return Ok(None),
        size => usize::from(size).saturating_add(1).saturating_mul(4),
    };
    let flags = cursor.byte()?;
    for present in [0x40, 0x80] {
        if flags & present != 0 {
            cursor.number()?;
        }
    }
    // One filter only, LZMA2, with one byte of properties: what xz writes unless it is asked for more.
    if flags & 0x3f != 0 || cursor.take(2)? != [0x21, 1] {
        return Err(MiniDebugError::Filters { offset: begin });
    }
    Ok(Some(begin.saturating_add(size)))
}

/// Walks over a block's chunks to behind its end mark; gives their size unpacked.
fn chunks(cursor: &mut Cursor<'_>) -> Result<usize, MiniDebugError> {
    let mut unpacked = 0_usize;
    loop {
        let offset = cursor.offset;
        let control = cursor.byte()?;
        let (size, packed) = match control {
            0 => return Ok(unpacked),
            1 | 2 => {
                let size = cursor.big_endian_16()?.saturating_add(1);
                (size, size)
            }
            0x80.. => {
                let high = usize::from(control & 0x1f) << 16;
                let size = (high | cursor.big_endian_16()?).saturating_add(1);
                let packed = cursor.big_endian_16()?.saturating_add(1);
                // New properties take one byte more, before the data.
                (size, packed.saturating_add(usize::from(control >= 0xc0)))
            }
            _ => return Err(MiniDebugError::Chunk { offset }),
        };
        cursor.take(packed)?;
        unpacked = unpacked.saturating_add(size);
        if unpacked > LIMIT {
            return Err(MiniDebugError::TooLarge);
        }
    }
}

#[derive(Clone, Copy)]
enum Check {
    Crc32,
    Crc64,
    /// None, or one that is not computed here (SHA-256), of this many bytes.
    Unchecked(usize),
}

impl Check {
    fn of(kind: u8) -> Self {
        match kind & 0x0f {
            1 => Self::Crc32,
            4 => Self::Crc64,
            0 => Self::Unchecked(0),
            2 | 3 => Self::Unchecked(4),
            5 | 6 => Self::Unchecked(8),
            7..=9 => Self::Unchecked(16),
            10..=12 => Self::Unchecked(32),
            _ => Self::Unchecked(64),
        }
    }

    const fn size(self) -> usize {
        match self {
            Self::Crc32 => 4,
            Self::Crc64 => 8,
            Self::Unchecked(size) => size,
        }
    }

    fn agrees(self, bytes: &[u8], stored: &[u8]) -> bool {
        match self {
            Self::Crc32 => crc32(bytes).to_le_bytes() == stored,
            Self::Crc64 => crc64(bytes).to_le_bytes() == stored,
            Self::Unchecked(_) => true,
        }
    }
}

/// CRC-64 with the polynomial of ECMA-182, reflected.
fn crc64(bytes: &[u8]) -> u64 {
    const TABLE: [u64; 256] = crc64_table();
    !bytes.iter().fold(!0_u64, |crc, byte| {
        let index = usize::from(crc.to_le_bytes()[0] ^ byte);
        TABLE.get(index).copied().unwrap_or(0) ^ (crc >> 8)
    })
}

#[expect(clippy::indexing_slicing, clippy::arithmetic_side_effects, reason = "run by the compiler, which checks both")]
const fn crc64_table() -> [u64; 256] {
    let mut table = [0; 256];
    let mut index = 0;
    while index < 256 {
        let mut value = index as u64;
        let mut bit = 0;
        while bit < 8 {
            value = if value & 1 == 0 { value >> 1 } else { (value >> 1) ^ 0xc96c_5795_d787_0f42 };
            bit += 1;
        }
        table[index] = value;
        index += 1;
    }
    table
}

struct Cursor<'a> {
    bytes: &'a [u8],
    offset: usize,
}

impl<'a> Cursor<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], MiniDebugError> {
        let end = self.offset.saturating_add(count);
        let taken = self.bytes.get(self.offset..end).ok_or(MiniDebugError::Truncated { offset: self.offset })?;
        self.offset = end;
        Ok(taken)
    }

    fn byte(&mut self) -> Result<u8, MiniDebugError> {
        self.take(1).map(|bytes| bytes.first().copied().unwrap_or(0))
    }

    fn big_endian_16(&mut self) -> Result<usize, MiniDebugError> {
        Ok((usize::from(self.byte()?) << 8) | usize::from(self.byte()?))
    }

    /// A number of at most nine bytes with seven bits each; its value is not needed here.
    fn number(&mut self) -> Result<(), MiniDebugError> {
        let offset = self.offset;
        for _ in 0..9 {
            if self.byte()? & 0x80 == 0 {
                return Ok(());
            }
        }
        Err(MiniDebugError::Filters { offset })
    }

    /// Skips to a multiple of four bytes after `from`.
    fn align(&mut self, from: usize) -> Result<(), MiniDebugError> {
        let over = self.offset.saturating_sub(from) % 4;
        self.take(4_usize.saturating_sub(over) % 4).map(|_| ())
    }
}

/// Takes no more than was announced, whatever the unpacker makes of the bytes.
struct Capped<'a> {
    out: &'a mut Vec<u8>,
    left: usize,
}

impl io::Write for Capped<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.left = self.left.checked_sub(bytes.len()).ok_or(io::ErrorKind::FileTooLarge)?;
        self.out.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crc64_of_the_usual_check_string() {
        assert_eq!(crc64(b"123456789"), 0x995d_c9bb_df19_39fa);
    }

    /// One chunk may claim 2 MiB for a few bytes; enough of them must be refused before they are unpacked.
    #[test]
    fn a_bomb_is_refused_before_it_is_unpacked() {
        let mut bomb = MAGIC.to_vec();
        bomb.extend([0, 0, 0, 0, 0, 0, 2, 0, 0x21, 1, 0, 0, 0, 0, 0, 0, 0, 0]);
        for _ in 0..40 {
            bomb.extend([0xff, 0xff, 0xff, 0, 0, 0, 0]);
        }
        bomb.push(0);
        assert!(matches!(decompress(&bomb), Err(MiniDebugError::TooLarge)));
    }
}
