//! The build id of an ELF image, as perf stores it.

use core::fmt;

/// More bytes than perf's formats have room for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("a build id of {length} bytes: at most {} fit", BuildId::CAPACITY)]
pub struct BuildIdTooLong {
    /// Bytes offered.
    pub length: usize,
}

/// The build id of an ELF image: 0 to 20 bytes, held inline.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct BuildId {
    bytes: [u8; BuildId::CAPACITY],
    length: u8,
}

impl BuildId {
    /// Most bytes that a record or the build id table can carry.
    pub const CAPACITY: usize = 20;

    /// The build id of `bytes`.
    pub fn new(bytes: &[u8]) -> Result<Self, BuildIdTooLong> {
        let mut id = Self::default();
        let room = id.bytes.get_mut(..bytes.len()).ok_or(BuildIdTooLong { length: bytes.len() })?;
        room.copy_from_slice(bytes);
        id.length = u8::try_from(bytes.len()).map_err(|_| BuildIdTooLong { length: bytes.len() })?;
        Ok(id)
    }

    /// Its bytes.
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.length)).unwrap_or_default()
    }

    /// Its bytes in the fixed room that perf's structures give it, zero-padded.
    pub(crate) fn padded(&self) -> [u8; Self::CAPACITY] {
        self.bytes
    }
}

impl fmt::Display for BuildId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_bytes().iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for BuildId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BuildId({self})")
    }
}
