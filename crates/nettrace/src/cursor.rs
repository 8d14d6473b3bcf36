//! A byte cursor that cannot panic.

use crate::problem::Damage;

/// Reads little-endian values from the front of a slice; every read says so when the slice is too short.
#[derive(Clone, Copy)]
pub(crate) struct Cursor<'a> {
    rest: &'a [u8],
    whole: usize,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, whole: bytes.len() }
    }

    /// Bytes read so far.
    pub(crate) fn position(&self) -> usize {
        self.whole.wrapping_sub(self.rest.len())
    }

    pub(crate) fn remaining(&self) -> usize {
        self.rest.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    #[inline(always)]
    pub(crate) fn take(&mut self, count: usize) -> Result<&'a [u8], Damage> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(Damage::EndsEarly)?;
        self.rest = rest;
        Ok(taken)
    }

    #[inline(always)]
    pub(crate) fn array<const N: usize>(&mut self) -> Result<&'a [u8; N], Damage> {
        let (taken, rest) = self.rest.split_first_chunk::<N>().ok_or(Damage::EndsEarly)?;
        self.rest = rest;
        Ok(taken)
    }

    #[inline(always)]
    pub(crate) fn u8(&mut self) -> Result<u8, Damage> {
        let (&first, rest) = self.rest.split_first().ok_or(Damage::EndsEarly)?;
        self.rest = rest;
        Ok(first)
    }

    pub(crate) fn u16(&mut self) -> Result<u16, Damage> {
        self.array().map(|bytes| u16::from_le_bytes(*bytes))
    }

    pub(crate) fn u32(&mut self) -> Result<u32, Damage> {
        self.array().map(|bytes| u32::from_le_bytes(*bytes))
    }

    pub(crate) fn u64(&mut self) -> Result<u64, Damage> {
        self.array().map(|bytes| u64::from_le_bytes(*bytes))
    }

    /// A LEB128 number of at most 32 bits (5 bytes).
    #[inline(always)]
    pub(crate) fn varu32(&mut self) -> Result<u32, Damage> {
        if let Some((&first, rest)) = self.rest.split_first()
            && first < 0x80
        {
            self.rest = rest;
            return Ok(u32::from(first));
        }
        let (value, length) = self.long_varint()?;
        if length > 5 {
            return Err(Damage::OverlongNumber);
        }
        u32::try_from(value).map_err(|_| Damage::OverlongNumber)
    }

    /// A LEB128 number of at most 64 bits (10 bytes).
    #[inline(always)]
    pub(crate) fn varu64(&mut self) -> Result<u64, Damage> {
        if let Some((&first, rest)) = self.rest.split_first()
            && first < 0x80
        {
            self.rest = rest;
            return Ok(u64::from(first));
        }
        self.long_varint().map(|(value, _)| value)
    }

    /// A signed LEB128 number of at most 64 bits in zig-zag: 0, -1, 1, -2, ... as 0, 1, 2, 3, ...
    pub(crate) fn vari64(&mut self) -> Result<i64, Damage> {
        let value = self.varu64()?;
        Ok((value >> 1).cast_signed() ^ (value & 1).cast_signed().wrapping_neg())
    }

    /// A number of two to four bytes at once: the position of the first byte without its top bit gives the length, and two
    /// shifts close the gaps between the 7-bit groups. Time differences make this the commonest long read of a stream.
    #[inline(always)]
    fn long_varint(&mut self) -> Result<(u64, usize), Damage> {
        let Some(chunk) = self.rest.first_chunk::<4>() else { return self.careful_varint() };
        let word = u32::from_le_bytes(*chunk);
        let ends = !word & 0x8080_8080;
        if ends == 0 {
            return self.careful_varint();
        }
        let length = (ends.trailing_zeros() >> 3).wrapping_add(1) as usize;
        // All bits up to and including the terminator's top bit.
        let used = word & (ends ^ ends.wrapping_sub(1));
        let pairs = (used & 0x007f_007f) | ((used & 0x7f00_7f00) >> 1);
        let value = (pairs & 0x3fff) | ((pairs >> 2) & 0x0fff_c000);
        self.rest = self.rest.get(length..).unwrap_or_default();
        Ok((u64::from(value), length))
    }

    #[inline(never)]
    fn careful_varint(&mut self) -> Result<(u64, usize), Damage> {
        let mut value = 0u64;
        for length in 1..=10usize {
            let byte = self.u8()?;
            let shift = length.wrapping_sub(1).wrapping_mul(7) as u32;
            if shift == 63 && byte > 1 {
                return Err(Damage::OverlongNumber);
            }
            value |= u64::from(byte & 0x7f).wrapping_shl(shift);
            if byte < 0x80 {
                return Ok((value, length));
            }
        }
        Err(Damage::OverlongNumber)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encode(mut value: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        loop {
            let low = (value & 0x7f) as u8;
            value >>= 7;
            if value == 0 {
                bytes.push(low);
                return bytes;
            }
            bytes.push(low | 0x80);
        }
    }

    #[test]
    fn varints_of_every_length_with_and_without_bytes_behind_them() {
        for bit in 0..64 {
            for value in [1u64 << bit, (1u64 << bit) - 1, u64::MAX >> bit, 0x5555_5555_5555_5555 >> bit] {
                for behind in [0, 1, 7, 8, 20] {
                    let mut bytes = encode(value);
                    let length = bytes.len();
                    bytes.extend(vec![0xff; behind]);
                    let mut cursor = Cursor::new(&bytes);
                    assert_eq!(cursor.varu64(), Ok(value));
                    assert_eq!(cursor.position(), length);
                    let expected = u32::try_from(value).map_err(|_| Damage::OverlongNumber);
                    assert_eq!(Cursor::new(&bytes).varu32(), expected);
                }
            }
        }
    }

    #[test]
    fn signed_numbers_go_back_and_forth() {
        for (zigzag, value) in [(0, 0), (1, -1), (2, 1), (3, -2), (u64::MAX - 1, i64::MAX), (u64::MAX, i64::MIN)] {
            assert_eq!(Cursor::new(&encode(zigzag)).vari64(), Ok(value));
        }
        assert_eq!(Cursor::new(&[0xff; 11]).vari64(), Err(Damage::OverlongNumber));
    }

    #[test]
    fn overlong_and_unfinished_varints_are_told_apart() {
        assert_eq!(Cursor::new(&[0xff; 11]).varu64(), Err(Damage::OverlongNumber));
        assert_eq!(Cursor::new(&[0x80; 20]).varu64(), Err(Damage::OverlongNumber));
        assert_eq!(Cursor::new(&[0xff; 9]).varu64(), Err(Damage::EndsEarly));
        assert_eq!(Cursor::new(&[]).varu64(), Err(Damage::EndsEarly));
        // Ten bytes that would need 65 bits.
        let mut wide = [0xff; 10];
        wide[9] = 0x02;
        assert_eq!(Cursor::new(&wide).varu64(), Err(Damage::OverlongNumber));
        // Six bytes are too many for 32 bits even if the value fits.
        assert_eq!(Cursor::new(&[0x81, 0x80, 0x80, 0x80, 0x80, 0x00, 0, 0]).varu32(), Err(Damage::OverlongNumber));
    }
}
