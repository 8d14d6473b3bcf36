//! Which image it is, in twenty bytes.

use core::fmt;

use crate::metadata::Guid;

/// Tells an image from every other, in the 20 bytes that a build id has room for: the MVID of its metadata (all zero when it
/// has none, as composite images), then the CRC-32 of its PE headers, little-endian.
///
/// The MVID alone is not enough: an assembly keeps it when it is compiled ahead of time, once or again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ImageIdentity([u8; ImageIdentity::SIZE]);

impl ImageIdentity {
    /// Bytes of an identity.
    pub const SIZE: usize = 20;

    /// Of an image with this MVID and these header bytes ([`Pe::headers`](crate::Pe::headers)).
    pub fn new(mvid: Option<Guid>, headers: &[u8]) -> Self {
        let mut bytes = [0; Self::SIZE];
        let (id, checksum) = bytes.split_at_mut(16);
        id.copy_from_slice(&mvid.unwrap_or_default().0);
        checksum.copy_from_slice(&crc32(headers).to_le_bytes());
        Self(bytes)
    }

    /// As it was written; `None` when it has another length.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    /// As it is written.
    pub const fn as_bytes(&self) -> &[u8; Self::SIZE] {
        &self.0
    }

    /// The MVID, zero when there is none.
    pub fn mvid(&self) -> Guid {
        self.0.first_chunk().map_or_else(Guid::default, |id| Guid(*id))
    }
}

/// The MVID as text.
impl fmt::Display for ImageIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.mvid().fmt(f)
    }
}

/// The checksum of zlib (CRC-32/ISO-HDLC).
fn crc32(bytes: &[u8]) -> u32 {
    const POLYNOMIAL: u32 = 0xedb8_8320;
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ (POLYNOMIAL & 0_u32.wrapping_sub(crc & 1));
        }
    }
    !crc
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_and_mvid_make_the_identity() {
        let mvid = Guid([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]);
        let identity = ImageIdentity::new(Some(mvid), b"123456789");
        assert_eq!(identity.as_bytes()[16..], 0xcbf4_3926_u32.to_le_bytes());
        assert_eq!(identity.mvid(), mvid);
        assert_eq!(identity.to_string(), "04030201-0605-0807-090a-0b0c0d0e0f10");
        assert_eq!(ImageIdentity::from_bytes(identity.as_bytes()), Some(identity));
        assert_eq!(ImageIdentity::from_bytes(&[0; 19]), None);
        assert_eq!(ImageIdentity::new(None, b"").as_bytes(), &[0; 20]);
    }
}
