//! Where in its source a function is.

use crate::{Group, Groups};
use strata_profile::{Handle, Profile, SourceLine};

/// For each group of functions a place in its source, as far as its frames tell one.
#[derive(Clone, Debug)]
pub struct Sources {
    of_group: Vec<Option<SourceLine>>,
}

impl Sources {
    /// The places of these groups: the file of the first frame that has one, and the first of that file's lines that any
    /// frame has. Where the function itself begins is not known.
    pub fn of(profile: &Profile, groups: &Groups) -> Self {
        let mut of_group: Vec<Option<SourceLine>> = vec![None; groups.len()];
        for frame in profile.frames.rows() {
            let Some(line) = frame.line else { continue };
            let known = &mut of_group[groups.of(frame.function).0 as usize];
            *known = Some(match *known {
                Some(known) if known.file != line.file || known.line <= line.line => known,
                _ => line,
            });
        }
        Self { of_group }
    }

    /// The place of a group.
    pub fn of_group(&self, group: Group) -> Option<SourceLine> {
        self.of_group[group.0 as usize]
    }

    /// The places of all groups, in the groups' order.
    pub fn all(&self) -> &[Option<SourceLine>] {
        &self.of_group
    }

    /// The path of the file of a place.
    pub fn path(profile: &Profile, line: SourceLine) -> &str {
        &profile.source_files.rows()[line.file.index()].path
    }
}
