//! A cursor over bytes that cannot panic, and the integer encodings of .NET images.

use crate::{Error, ErrorKind};

/// Bytes of a text that ends with a zero. Compilers stop at 1023 characters for names; many things may have the same one.
const LONGEST_TEXT: usize = 4096;

/// A place in bytes; every read moves it forward, and a failed one says where it was.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor<'d> {
    bytes: &'d [u8],
    at: usize,
    what: &'static str,
}

impl<'d> Cursor<'d> {
    /// The beginning of `bytes`; `what` is what errors call the structure that is read.
    pub(crate) const fn new(bytes: &'d [u8], what: &'static str) -> Self {
        Self { bytes, at: 0, what }
    }

    /// The same bytes at another offset, which may lie outside: then the next read fails.
    pub(crate) const fn at(self, offset: usize) -> Self {
        Self { at: offset, ..self }
    }

    /// Offset of the next byte.
    pub(crate) const fn offset(&self) -> usize {
        self.at
    }

    /// Bytes left.
    pub(crate) fn rest(&self) -> &'d [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    /// Whether nothing is left.
    pub(crate) fn is_at_end(&self) -> bool {
        self.at >= self.bytes.len()
    }

    /// An error at the cursor.
    pub(crate) fn error(&self, kind: ErrorKind) -> Error {
        Error { kind, offset: u64::try_from(self.at).unwrap_or(u64::MAX) }
    }

    fn cut(&self) -> Error {
        self.error(ErrorKind::Cut { what: self.what })
    }

    /// The next `length` bytes.
    pub(crate) fn take(&mut self, length: usize) -> Result<&'d [u8], Error> {
        let end = self.at.checked_add(length).ok_or_else(|| self.cut())?;
        let taken = self.bytes.get(self.at..end).ok_or_else(|| self.cut())?;
        self.at = end;
        Ok(taken)
    }

    /// The next `length` bytes as a cursor that ends with them and has the same offsets.
    pub(crate) fn part(&mut self, length: usize) -> Result<Self, Error> {
        let part = *self;
        self.take(length)?;
        Ok(Self { bytes: self.bytes.get(..self.at).unwrap_or_default(), ..part })
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        let error = self.cut();
        self.take(N)?.try_into().map_err(|_| error)
    }

    /// A byte.
    pub(crate) fn u8(&mut self) -> Result<u8, Error> {
        self.array().map(u8::from_le_bytes)
    }

    /// Two bytes, little-endian.
    pub(crate) fn u16(&mut self) -> Result<u16, Error> {
        self.array().map(u16::from_le_bytes)
    }

    /// Four bytes, little-endian.
    pub(crate) fn u32(&mut self) -> Result<u32, Error> {
        self.array().map(u32::from_le_bytes)
    }

    /// Eight bytes, little-endian.
    pub(crate) fn u64(&mut self) -> Result<u64, Error> {
        self.array().map(u64::from_le_bytes)
    }

    /// Bytes up to a zero, which is passed over; at most 4096.
    pub(crate) fn zero_terminated(&mut self) -> Result<&'d [u8], Error> {
        let rest = self.rest();
        let looked_at = rest.get(..=LONGEST_TEXT).unwrap_or(rest);
        let Some(length) = memchr::memchr(0, looked_at) else {
            let is_too_long = rest.len() > LONGEST_TEXT;
            return Err(if is_too_long { self.error(ErrorKind::TooLong { what: self.what }) } else { self.cut() });
        };
        let text = self.take(length)?;
        self.take(1)?;
        Ok(text)
    }

    /// The compressed unsigned integer of ECMA-335 II.23.2: the high bits of the first byte tell the length.
    pub(crate) fn compressed(&mut self) -> Result<u32, Error> {
        let error = *self;
        let first = self.u8()?;
        if first & 0x80 == 0 {
            return Ok(first.into());
        }
        if first & 0xc0 == 0x80 {
            let [second] = self.array()?;
            return Ok(u32::from_be_bytes([0, 0, first & 0x3f, second]));
        }
        if first & 0xe0 == 0xc0 {
            let [second, third, fourth] = self.array()?;
            return Ok(u32::from_be_bytes([first & 0x1f, second, third, fourth]));
        }
        Err(error.error(ErrorKind::Impossible { what: "compressed integer", value: first.into() }))
    }

    /// The unsigned integer of ReadyToRun's "native format": the low bits of the first byte tell the length.
    pub(crate) fn native(&mut self) -> Result<u32, Error> {
        self.native_with_width().map(|(value, _)| value)
    }

    /// The signed integer of ReadyToRun's "native format".
    pub(crate) fn native_signed(&mut self) -> Result<i32, Error> {
        let (value, bits) = self.native_with_width()?;
        let unused = 32_u32.saturating_sub(bits);
        Ok(value.wrapping_shl(unused).cast_signed().wrapping_shr(unused))
    }

    /// The value, and how many bits its form holds.
    fn native_with_width(&mut self) -> Result<(u32, u32), Error> {
        let start = *self;
        let first = self.u8()?;
        let extra = first.trailing_ones();
        let little = |bytes: [u8; 4]| u32::from_le_bytes(bytes);
        match extra {
            0 => Ok((u32::from(first) >> 1, 7)),
            1 => {
                let [b] = self.array()?;
                Ok((little([first, b, 0, 0]) >> 2, 14))
            }
            2 => {
                let [b, c] = self.array()?;
                Ok((little([first, b, c, 0]) >> 3, 21))
            }
            3 => {
                let [b, c, d] = self.array()?;
                Ok((little([first, b, c, d]) >> 4, 28))
            }
            4 => Ok((self.u32()?, 32)),
            _ => Err(start.error(ErrorKind::Impossible { what: "native integer", value: first.into() })),
        }
    }

    /// The 7-bit-encoded unsigned integer of .NET's `BinaryWriter`, low group first, up to 32 bits.
    pub(crate) fn seven_bit(&mut self) -> Result<u32, Error> {
        let start = *self;
        let mut value = 0_u64;
        for shift in (0..35).step_by(7) {
            let byte = self.u8()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return u32::try_from(value)
                    .map_err(|_| start.error(ErrorKind::Impossible { what: "7-bit integer", value }));
            }
        }
        Err(start.error(ErrorKind::Impossible { what: "7-bit integer", value }))
    }
}

/// Numbers of 3 bits and a continuation bit, most significant group first; the low half of a byte comes before the high.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Nibbles<'d> {
    cursor: Cursor<'d>,
    high: Option<u8>,
}

impl<'d> Nibbles<'d> {
    /// Nibbles from the cursor's place on.
    pub(crate) const fn new(cursor: Cursor<'d>) -> Self {
        Self { cursor, high: None }
    }

    fn nibble(&mut self) -> Result<u8, Error> {
        if let Some(high) = self.high.take() {
            return Ok(high);
        }
        let byte = self.cursor.u8()?;
        self.high = Some(byte >> 4);
        Ok(byte & 0xf)
    }

    /// The next number.
    pub(crate) fn number(&mut self) -> Result<u32, Error> {
        let start = self.cursor;
        let mut value = 0_u32;
        // Eleven groups of three bits hold any 32-bit number.
        for _ in 0..11 {
            let nibble = self.nibble()?;
            if value >> 29 != 0 {
                break;
            }
            value = value << 3 | u32::from(nibble & 7);
            if nibble < 8 {
                return Ok(value);
            }
        }
        Err(start.error(ErrorKind::Impossible { what: "nibble number", value: value.into() }))
    }

    /// The byte after the last one that was begun.
    pub(crate) const fn aligned(self) -> Cursor<'d> {
        self.cursor
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts() {
        let check = |bytes: &[u8], expected: Result<usize, ErrorKind>| {
            let mut cursor = Cursor::new(bytes, "test");
            let found = cursor.zero_terminated().map(<[u8]>::len).map_err(|error| error.kind);
            assert_eq!(found, expected);
            assert_eq!(cursor.offset(), expected.map_or(0, |length| length + 1));
        };
        check(b"\0", Ok(0));
        check(b"text\0more", Ok(4));
        check(b"text", Err(ErrorKind::Cut { what: "test" }));
        let with = |length: usize| [vec![b'a'; length], vec![0]].concat();
        check(&with(LONGEST_TEXT), Ok(LONGEST_TEXT));
        check(&with(LONGEST_TEXT + 1), Err(ErrorKind::TooLong { what: "test" }));
        check(&[b'a'; LONGEST_TEXT], Err(ErrorKind::Cut { what: "test" }));
        check(&[b'a'; LONGEST_TEXT + 1], Err(ErrorKind::TooLong { what: "test" }));
    }

    #[test]
    fn compressed_integers() {
        let check = |bytes: &[u8], expected| assert_eq!(Cursor::new(bytes, "test").compressed().ok(), expected);
        check(&[0x7f], Some(0x7f));
        check(&[0xa5, 0x08], Some(0x2508));
        check(&[0xc0, 0, 0x83, 0x73], Some(0x8373));
        check(&[0xdf, 0xff, 0xff, 0xff], Some(0x1fff_ffff));
        check(&[0xff], None);
        check(&[0xa5], None);
        check(&[], None);
    }

    #[test]
    fn native_integers() {
        let check = |bytes: &[u8], unsigned, signed| {
            assert_eq!(Cursor::new(bytes, "test").native().ok(), unsigned, "{bytes:x?}");
            assert_eq!(Cursor::new(bytes, "test").native_signed().ok(), signed, "{bytes:x?}");
        };
        check(&[0xb3, 0x84, 0x10], Some(135_318), Some(135_318));
        check(&[0xbd, 0x62], Some(0x18af), Some(0x18af));
        check(&[0x18], Some(12), Some(12));
        check(&[0xa1, 0x0f], Some(1000), Some(1000));
        check(&[0xfe], Some(127), Some(-1));
        check(&[0x0f, 1, 0, 0, 0x80], Some(0x8000_0001), Some(i32::MIN + 1));
        check(&[0x1f, 0, 0, 0, 0], None, None);
        check(&[0x0f, 1], None, None);
    }

    #[test]
    fn nibble_numbers() {
        let mut nibbles = Nibbles::new(Cursor::new(&[0x95, 0xb8, 0x12, 0x00], "test"));
        let numbers: Vec<u32> = (0..5).map(|_| nibbles.number().unwrap()).collect();
        assert_eq!(numbers, [5, 538, 1, 0, 0]);
        assert_eq!(nibbles.aligned().offset(), 4);
        assert!(nibbles.number().is_err());
        assert!(Nibbles::new(Cursor::new(&[0xff; 16], "test")).number().is_err());
        let largest = [0xfb, 0xff, 0xff, 0xff, 0xff, 0x07];
        assert_eq!(Nibbles::new(Cursor::new(&largest, "test")).number().ok(), Some(u32::MAX));
    }

    #[test]
    fn seven_bit_integers() {
        let check = |bytes: &[u8], expected| assert_eq!(Cursor::new(bytes, "test").seven_bit().ok(), expected);
        check(&[0x7f], Some(0x7f));
        check(&[0x80, 0x01], Some(0x80));
        check(&[0xff, 0xff, 0xff, 0xff, 0x0f], Some(u32::MAX));
        check(&[0xff, 0xff, 0xff, 0xff, 0x1f], None);
        check(&[0x80; 6], None);
    }
}
