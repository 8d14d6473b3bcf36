//! Lines of source code.

use crate::SourceFileId;
use serde::Serialize;
use std::num::NonZeroU32;

/// A file of source code, as the one who compiled it had it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct SourceFile {
    /// Its path on the machine that compiled it.
    pub path: String,
    /// Where its content can be had, where the compiler wrote that down: a URL.
    pub link: Option<String>,
}

/// One line of a source file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceLine {
    /// The file.
    pub file: SourceFileId,
    /// The line, counted from 1.
    pub line: NonZeroU32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_makes_no_frame_large() {
        assert_eq!(size_of::<Option<SourceLine>>(), 8);
        assert_eq!(size_of::<crate::Frame>(), 24);
    }
}
