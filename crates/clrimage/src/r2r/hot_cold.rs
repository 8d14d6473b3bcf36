//! Which RuntimeFunctions hold the rarely run part of which method.

use crate::bytes::Cursor;
use crate::{Directory, Error, Pe};

/// The map of an image that was compiled with hot and cold code apart.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HotColdMap<'d> {
    rows: Cursor<'d>,
}

/// A run of RuntimeFunctions that is the cold part of a method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ColdRows {
    /// Index of the first RuntimeFunction of the part.
    pub(crate) first: u32,
    /// Index of the first RuntimeFunction behind the part.
    pub(crate) end: u32,
    /// Index of the first RuntimeFunction of the method.
    pub(crate) entry: u32,
}

impl<'d> HotColdMap<'d> {
    pub(crate) fn parse(pe: &Pe<'d>, place: Directory) -> Result<Self, Error> {
        pe.cursor(place, "hot-cold map").map(|rows| Self { rows })
    }

    /// Index of the first RuntimeFunction that is part of no method's beginning.
    pub(crate) fn first_cold(&self) -> Option<u32> {
        let mut rows = self.rows;
        rows.u32().ok()
    }

    /// The parts in the order of the map, of `functions` RuntimeFunctions in all.
    pub(crate) fn parts(self, functions: u32) -> impl Iterator<Item = ColdRows> + use<'d> {
        let mut rows = self.rows;
        core::iter::from_fn(move || {
            let (first, entry) = (rows.u32().ok()?, rows.u32().ok()?);
            let mut next = rows;
            let end = next.u32().unwrap_or(functions);
            Some(ColdRows { first, end, entry })
        })
    }
}
