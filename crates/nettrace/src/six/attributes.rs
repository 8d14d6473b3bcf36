//! Text of version 6, and pairs of it.

use core::fmt;
use std::borrow::Cow;

use crate::cursor::Cursor;
use crate::problem::Damage;

/// Reads a string: its length as a number of at most 32 bits, then as many bytes of UTF-8.
pub(super) fn read_string<'a>(cursor: &mut Cursor<'a>) -> Result<&'a [u8], Damage> {
    let length = cursor.varu32()?;
    cursor.take(length as usize)
}

/// The string at the cursor; what is not UTF-8 in it becomes U+FFFD.
pub(super) fn read_text<'a>(cursor: &mut Cursor<'a>) -> Result<Cow<'a, str>, Damage> {
    read_string(cursor).map(String::from_utf8_lossy)
}

/// Keys with their values, in the words of whoever wrote the stream and in its order.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Attributes {
    /// The strings as the stream has them, each known to be whole: pairs are made when they are asked for, so that a
    /// stream of many tiny ones costs no more memory than its bytes.
    pairs: Vec<u8>,
}

impl Attributes {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// Each key with its value. What is not UTF-8 in them becomes U+FFFD.
    pub fn iter(&self) -> impl Iterator<Item = (Cow<'_, str>, Cow<'_, str>)> {
        let mut cursor = Cursor::new(&self.pairs);
        core::iter::from_fn(move || Some((read_text(&mut cursor).ok()?, read_text(&mut cursor).ok()?)))
    }

    /// The value of this key; that of the first, should there be more.
    pub fn get(&self, key: &str) -> Option<Cow<'_, str>> {
        self.iter().find(|(found, _)| found == key).map(|(_, value)| value)
    }

    /// Bytes that it keeps.
    pub(super) fn bytes(&self) -> usize {
        self.pairs.len()
    }

    /// Reads one more pair.
    pub(super) fn read_pair(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Damage> {
        let before = cursor.rest();
        let start = cursor.position();
        read_string(cursor)?;
        read_string(cursor)?;
        let length = cursor.position().wrapping_sub(start);
        self.pairs.extend_from_slice(before.get(..length).unwrap_or_default());
        Ok(())
    }
}

impl fmt::Debug for Attributes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}
