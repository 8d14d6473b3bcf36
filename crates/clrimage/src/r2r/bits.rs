//! Numbers that do not begin or end with a byte.

use crate::Error;
use crate::bytes::Cursor;

/// Numbers of any bits up to 32, lowest bits of the lowest byte first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bits<'d> {
    cursor: Cursor<'d>,
    /// How many bits of the first byte are used up: 0 to 7.
    at: u32,
}

impl<'d> Bits<'d> {
    /// Numbers from the cursor's place on.
    pub(super) const fn new(cursor: Cursor<'d>) -> Self {
        Self { cursor, at: 0 }
    }

    /// The byte that the next number begins in.
    pub(super) const fn cursor(&self) -> Cursor<'d> {
        self.cursor
    }

    /// The next number, of so many bits.
    pub(super) fn take(&mut self, count: u32) -> Result<u32, Error> {
        let used = self.at;
        let end = used.saturating_add(count);
        let bytes = self.cursor.take(usize::try_from(end.div_ceil(8)).unwrap_or(usize::MAX))?;
        let all = bytes.iter().rev().fold(0_u64, |all, byte| all << 8 | u64::from(*byte));
        self.at = end % 8;
        if self.at != 0 {
            // The last byte has bits of the next number.
            self.cursor = self.cursor.at(self.cursor.offset().saturating_sub(1));
        }
        let value = all.wrapping_shr(used) & !u64::MAX.wrapping_shl(count);
        Ok(u32::try_from(value).unwrap_or(u32::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_bits() {
        let check = |bytes: &[u8], counts: &[u32], expected: &[u32]| {
            let mut bits = Bits::new(Cursor::new(bytes, "test"));
            let found: Vec<u32> = counts.iter().map_while(|count| bits.take(*count).ok()).collect();
            assert_eq!(found, expected, "{bytes:x?}");
        };
        check(&[0b1011_0110, 0b1], &[1, 2, 0, 5, 8, 1], &[0, 3, 0, 0b10110, 1]);
        check(&[0xfe, 0xff, 0xff, 0xff, 0x01], &[1, 32, 7], &[0, u32::MAX, 0]);
        check(&[0xff; 4], &[7, 32], &[0x7f]);
    }
}
