//! What is wrong with an image, and where.

/// Why bytes cannot be read as what they should be, with the place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind} at offset {offset:#x}")]
pub struct Error {
    /// What is wrong.
    pub kind: ErrorKind,
    /// Byte offset into the bytes that were handed over.
    pub offset: u64,
}

impl Error {
    /// The same error about bytes that begin `start` bytes into those that were handed over.
    pub(crate) fn moved(self, start: usize) -> Self {
        let start = u64::try_from(start).unwrap_or(u64::MAX);
        Self { offset: self.offset.saturating_add(start), ..self }
    }
}

/// What is wrong with bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The bytes end before a structure does.
    #[error("{what} is cut off")]
    Cut {
        /// The structure.
        what: &'static str,
    },
    /// A structure does not begin as it must.
    #[error("not {what}")]
    Not {
        /// What was expected, with its article, such as `a PE file`.
        what: &'static str,
    },
    /// A value is not possible here.
    #[error("impossible {what}: {value:#x}")]
    Impossible {
        /// What the value is.
        what: &'static str,
        /// The value found.
        value: u64,
    },
    /// A text is longer than any compiler writes.
    #[error("{what} is too long")]
    TooLong {
        /// The text.
        what: &'static str,
    },
    /// Something is nested deeper than any compiler writes.
    #[error("{what} is nested too deep")]
    TooDeep {
        /// What is nested.
        what: &'static str,
    },
}
