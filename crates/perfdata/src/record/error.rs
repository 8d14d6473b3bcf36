//! What can be wrong with one record.

/// What can be wrong with one record; offsets count from its first byte.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RecordError {
    /// A field needs more bytes than are left.
    #[error("{field} at byte {offset} of the record needs {needed} bytes, {present} are left")]
    Cut {
        /// Where the field begins.
        offset: usize,
        /// Its name in the format's description.
        field: &'static str,
        /// Bytes it needs.
        needed: u64,
        /// Bytes left.
        present: u64,
    },
    /// The header's size is less than the header.
    #[error("record states a size of {stated} bytes, less than its header")]
    Size {
        /// The size it states.
        stated: u16,
    },
    /// A build id longer than its room.
    #[error("build id at byte {offset} of the record states {stated} bytes, more than its room")]
    BuildIdLength {
        /// Where its length lies.
        offset: usize,
        /// The length it states.
        stated: u8,
    },
}
