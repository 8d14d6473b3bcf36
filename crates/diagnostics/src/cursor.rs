//! Reading bytes that someone else wrote.

use crate::error::{Malformed, Problem};

/// A position in a message. `base` is what lies before `bytes` in that message, so that errors give offsets from its start.
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    base: usize,
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(bytes: &'a [u8], base: usize) -> Self {
        Self { bytes, base, at: 0 }
    }

    pub(crate) fn offset(&self) -> usize {
        self.base.saturating_add(self.at)
    }

    pub(crate) fn remaining(&self) -> usize {
        self.bytes.len().saturating_sub(self.at)
    }

    pub(crate) fn error(&self, problem: Problem) -> Malformed {
        Malformed { offset: self.offset(), problem }
    }

    pub(crate) fn take(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        let end = self.at.checked_add(count);
        match end.and_then(|end| self.bytes.get(self.at..end)) {
            Some(taken) => {
                self.at = self.at.saturating_add(count);
                Ok(taken)
            }
            None => Err(self.error(Problem::Truncated { needed: count, available: self.remaining() })),
        }
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    pub(crate) fn u8(&mut self) -> Result<u8, Malformed> {
        Ok(u8::from_le_bytes(self.array()?))
    }

    pub(crate) fn u16(&mut self) -> Result<u16, Malformed> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    pub(crate) fn u32(&mut self) -> Result<u32, Malformed> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    pub(crate) fn u64(&mut self) -> Result<u64, Malformed> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// A string with its count of UTF-16 code units before it, terminator included; a count of 0 is an absent string.
    /// Lone surrogates become U+FFFD: a command line may hold anything.
    pub(crate) fn string(&mut self) -> Result<Option<String>, Malformed> {
        let start = self.offset();
        let count = self.u32()?;
        if count == 0 {
            return Ok(None);
        }
        let available = self.remaining();
        let wanted = usize::try_from(count).ok().and_then(|count| count.checked_mul(2));
        let Some(wanted) = wanted.filter(|&wanted| wanted <= available) else {
            return Err(Malformed { offset: start, problem: Problem::CountTooLarge { count, available } });
        };
        let bytes = self.take(wanted)?;
        let mut units: Vec<u16> = bytes
            .chunks_exact(2)
            .map(|pair| match *pair {
                [low, high] => u16::from_le_bytes([low, high]),
                _ => 0,
            })
            .collect();
        if units.pop() != Some(0) {
            return Err(Malformed { offset: start, problem: Problem::NotTerminated });
        }
        Ok(Some(String::from_utf16_lossy(&units)))
    }
}
