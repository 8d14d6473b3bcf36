//! Frames of one line of one function as one.

use rustc_hash::FxHashMap;
use strata_digest::Group;
use strata_profile::{FrameId, FunctionId, Handle, Profile, SourceLine};

/// A function at one of its lines, or at an unknown one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Spot {
    pub(super) function: FunctionId,
    pub(super) line: Option<SourceLine>,
}

/// A partition of a profile's frames by function and line, numbered in the order of their first frame.
pub(super) struct Spots {
    of_frame: Vec<Group>,
    rows: Vec<Spot>,
}

impl Spots {
    pub(super) fn of(profile: &Profile) -> Self {
        let mut known = FxHashMap::default();
        let mut rows = Vec::new();
        let of_frame = profile.frames.rows().iter().map(|frame| {
            let spot = Spot { function: frame.function, line: frame.line };
            *known.entry(spot).or_insert_with(|| {
                rows.push(spot);
                Group(u32::try_from(rows.len() - 1).expect("there are no more spots than frames"))
            })
        });
        Self { of_frame: of_frame.collect(), rows }
    }

    pub(super) fn of_frame(&self, frame: FrameId) -> Group {
        self.of_frame[frame.index()]
    }

    pub(super) fn rows(&self) -> &[Spot] {
        &self.rows
    }
}
