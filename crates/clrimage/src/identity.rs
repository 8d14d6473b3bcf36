//! Which image it is, in twenty bytes.

use core::fmt;

use flate2::Crc;

use crate::metadata::Guid;

/// Tells an image from every other, in the 20 bytes that a build id has room for: the MVID of its metadata (all zero when it
/// has none, as composite images), then the CRC-32 (of zlib) of its PE headers, of which at most [`ImageIdentity::HEADERS`]
/// bytes count, little-endian.
///
/// The MVID alone is not enough: an assembly keeps it when it is compiled ahead of time, once or again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ImageIdentity([u8; ImageIdentity::SIZE]);

impl ImageIdentity {
    /// Bytes of an identity.
    pub const SIZE: usize = 20;

    /// Header bytes that count; real headers have 512 or 1024.
    pub const HEADERS: usize = 4096;

    /// Of an image with this MVID and these header bytes ([`Pe::headers`](crate::Pe::headers)), all of them or the first
    /// [`Self::HEADERS`].
    pub fn new(mvid: Option<Guid>, headers: &[u8]) -> Self {
        let mut bytes = [0; Self::SIZE];
        let (id, checksum) = bytes.split_at_mut(16);
        id.copy_from_slice(&mvid.unwrap_or_default().0);
        let mut crc = Crc::new();
        crc.update(headers.get(..Self::HEADERS).unwrap_or(headers));
        checksum.copy_from_slice(&crc.sum().to_le_bytes());
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
        let long = [7; ImageIdentity::HEADERS + 1];
        assert_eq!(ImageIdentity::new(None, &long), ImageIdentity::new(None, &long[..ImageIdentity::HEADERS]));
    }
}
