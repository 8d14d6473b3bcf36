//! The bytes of one image, wherever they are kept.

use crate::files::{FileBytes, FileError};
use std::ops::{Deref, Range};
use strata_profile::Unnamed;

/// The bytes of one image.
pub(crate) enum ImageBytes {
    /// A file, or a part of one.
    File(FileBytes, Range<usize>),
    /// What a part of a file inflates to.
    Inflated(Vec<u8>),
}

impl ImageBytes {
    pub(crate) fn whole(bytes: FileBytes) -> Self {
        let all = 0..bytes.len();
        Self::File(bytes, all)
    }

    pub(super) fn part(bytes: FileBytes, offset: u64, size: u64) -> Self {
        let [start, end] = [offset, offset.saturating_add(size)].map(|at| usize::try_from(at).unwrap_or(usize::MAX));
        Self::File(bytes, start..end)
    }

    pub(crate) const fn inflated(bytes: Vec<u8>) -> Self {
        Self::Inflated(bytes)
    }
}

impl Deref for ImageBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::File(bytes, part) => bytes.get(part.clone()).unwrap_or_default(),
            Self::Inflated(bytes) => bytes,
        }
    }
}

/// Why an image gives no names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(crate) why: Unnamed,
    /// The same in words, with what is known of it.
    pub(crate) reason: String,
}

impl Refused {
    pub(crate) fn damaged(reason: String) -> Self {
        Self { why: Unnamed::Damaged, reason }
    }

    pub(crate) fn replaced() -> Self {
        Self { why: Unnamed::OtherFile, reason: "the file is no longer the one that was recorded".to_owned() }
    }

    pub(super) fn not_a_file() -> Self {
        Self { why: Unnamed::NoFile, reason: "there is no file of it".to_owned() }
    }

    pub(super) fn not_in_bundle() -> Self {
        Self {
            why: Unnamed::NoFile,
            reason: "the program does not hold it; it may have been loaded from memory".to_owned(),
        }
    }

    pub(super) fn because_of(error: &FileError) -> Self {
        let why = match error {
            FileError::Deleted { .. } => Unnamed::OtherFile,
            FileError::TooLarge { .. } => Unnamed::TooLarge,
            _ => Unnamed::NoFile,
        };
        Self { why, reason: error.to_string() }
    }
}
