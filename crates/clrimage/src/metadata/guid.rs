//! Globally unique identifiers.

use std::fmt;

/// A GUID as its 16 bytes lie in files: the first three numbers little-endian.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Guid(pub [u8; 16]);

impl Guid {
    /// Whether all bytes are zero, which stands for "no identity".
    pub fn is_zero(&self) -> bool {
        self.0 == [0; 16]
    }
}

/// Lower case, in groups, such as `c3aba5b9-2a5c-43a1-a419-3ca08b6eaaff`.
impl fmt::Display for Guid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g, h, i, rest @ ..] = self.0;
        let first = u32::from_le_bytes([a, b, c, d]);
        let (second, third) = (u16::from_le_bytes([e, g]), u16::from_le_bytes([h, i]));
        write!(f, "{first:08x}-{second:04x}-{third:04x}-")?;
        for (index, byte) in rest.iter().enumerate() {
            write!(f, "{}{byte:02x}", if index == 2 { "-" } else { "" })?;
        }
        Ok(())
    }
}
