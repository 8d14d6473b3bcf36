//! Borrowed text.

use core::fmt;

use crate::cursor::Cursor;
use crate::problem::Damage;

/// Borrowed UTF-16LE text without its terminator; `to_string()` gives it as UTF-8, lone surrogates as U+FFFD.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Utf16<'a>(&'a [u8]);

impl<'a> Utf16<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// The code units, two bytes each, least significant byte first.
    pub fn as_bytes(&self) -> &'a [u8] {
        self.0
    }

    /// Whether there is no code unit.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The code units.
    pub fn units(&self) -> impl Iterator<Item = u16> + 'a {
        self.0.as_chunks::<2>().0.iter().map(|unit| u16::from_le_bytes(*unit))
    }

    /// Reads up to and including the terminator (one zero code unit).
    pub(crate) fn read(cursor: &mut Cursor<'a>) -> Result<Self, Damage> {
        let (units, _) = cursor.rest().as_chunks::<2>();
        let length = units.iter().position(|unit| *unit == [0, 0]).ok_or(Damage::EndsEarly)?;
        let text = cursor.take(length.saturating_mul(2))?;
        cursor.take(2)?;
        Ok(Self(text))
    }
}

impl PartialEq<str> for Utf16<'_> {
    fn eq(&self, other: &str) -> bool {
        self.units().eq(other.encode_utf16())
    }
}

impl PartialEq<&str> for Utf16<'_> {
    fn eq(&self, other: &&str) -> bool {
        *self == **other
    }
}

impl fmt::Display for Utf16<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use fmt::Write as _;
        // Names are nearly always ASCII: hand those on in runs instead of one character at a time.
        let mut run = [0u8; 64];
        let (mut rest, _) = self.0.as_chunks::<2>();
        while let Some((units, after)) = rest.split_at_checked(rest.len().min(run.len())).filter(|_| !rest.is_empty()) {
            let mut ascii = true;
            for (byte, [low, high]) in run.iter_mut().zip(units) {
                *byte = *low;
                ascii &= *high == 0 && *low < 0x80;
            }
            let text = run.get(..units.len()).and_then(|bytes| core::str::from_utf8(bytes).ok());
            let Some(text) = text.filter(|_| ascii) else { break };
            f.write_str(text)?;
            rest = after;
        }
        char::decode_utf16(rest.iter().map(|unit| u16::from_le_bytes(*unit)))
            .try_for_each(|unit| f.write_char(unit.unwrap_or(char::REPLACEMENT_CHARACTER)))
    }
}

impl fmt::Debug for Utf16<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.to_string(), f)
    }
}

/// Borrowed 8-bit text without its terminator; `to_string()` takes it as UTF-8, with U+FFFD for what is none.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Utf8<'a>(&'a [u8]);

impl<'a> Utf8<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// The bytes as they are.
    pub fn as_bytes(&self) -> &'a [u8] {
        self.0
    }

    /// Reads up to and including the terminator (one zero byte).
    pub(crate) fn read(cursor: &mut Cursor<'a>) -> Result<Self, Damage> {
        let length = cursor.rest().iter().position(|byte| *byte == 0).ok_or(Damage::EndsEarly)?;
        let text = cursor.take(length)?;
        cursor.take(1)?;
        Ok(Self(text))
    }
}

impl fmt::Display for Utf8<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use fmt::Write as _;
        self.0.utf8_chunks().try_for_each(|chunk| {
            f.write_str(chunk.valid())?;
            if chunk.invalid().is_empty() { Ok(()) } else { f.write_char(char::REPLACEMENT_CHARACTER) }
        })
    }
}

impl fmt::Debug for Utf8<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.to_string(), f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_lossy_only_where_it_must_be() {
        let long = "x".repeat(63) + "ä" + &"y".repeat(70) + "😀";
        let cases: [(Vec<u16>, &str); 5] = [
            (vec![], ""),
            ("System.String".encode_utf16().collect(), "System.String"),
            (long.encode_utf16().collect(), &long),
            (vec![0x61, 0xd800, 0x62], "a\u{fffd}b"),
            (vec![0x0a, 0x3c], "\n<"),
        ];
        for (units, expected) in cases {
            let mut bytes: Vec<u8> = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
            bytes.extend([0, 0, 0x41]);
            let mut cursor = Cursor::new(&bytes);
            let text = Utf16::read(&mut cursor).unwrap();
            assert_eq!(text.to_string(), expected);
            assert_eq!(cursor.rest(), [0x41]);
        }
        assert_eq!(Utf16::read(&mut Cursor::new(&[0x61, 0, 0])), Err(Damage::EndsEarly));
    }
}
