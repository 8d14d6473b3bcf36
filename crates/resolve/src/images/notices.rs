//! What is to be told of images.

use rustc_hash::FxHashSet;
use std::cell::RefCell;
use strata_profile::Gap;

/// What a notice is about: of each image, one notice is enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum About {
    /// The image cannot be read.
    Image,
    /// A part of its tables cannot be read.
    Tables,
    /// Methods whose name cannot be made.
    Names,
    /// Debug information that cannot be read.
    Lines,
    /// What is appended to a program.
    Bundle,
}

/// Gathers what is to be told: whoever reads an image finds something, at any time.
#[derive(Debug, Default)]
pub(crate) struct Notices {
    told: RefCell<FxHashSet<(About, Box<str>)>>,
    gaps: RefCell<Vec<Gap>>,
}

impl Notices {
    /// Tells why something of the image at `path` is missing, unless that was told already.
    pub(crate) fn tell(&self, about: About, path: &str, reason: impl ToString) {
        if self.told.borrow_mut().insert((about, path.into())) {
            let (path, reason) = (path.to_owned(), reason.to_string());
            let gap = match about {
                About::Lines => Gap::SourceLines { path, reason },
                _ => Gap::Image { path, reason },
            };
            self.gaps.borrow_mut().push(gap);
        }
    }

    /// All that came since the last time.
    pub(crate) fn take(&self) -> Vec<Gap> {
        self.gaps.take()
    }
}
