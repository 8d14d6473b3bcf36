//! The clauses of exception handlers, which tell what kind of handler a funclet is.

use crate::bytes::Cursor;
use crate::{Directory, Error, Pe};

/// Bytes of a row of the table.
const ROW: usize = 8;

/// Bytes of a clause.
const CLAUSE: usize = 24;

/// What a piece of a method that handles an exception does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Handler {
    /// Catches an exception.
    Catch,
    /// Decides whether an exception is caught.
    Filter,
    /// Runs however a block is left.
    Finally,
    /// Runs when a block is left by an exception.
    Fault,
}

/// The table from methods to their clauses, which is in the order of methods.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExceptionTable<'d> {
    pe: Pe<'d>,
    rows: &'d [u8],
}

impl<'d> ExceptionTable<'d> {
    pub(crate) fn parse(pe: &Pe<'d>, place: Directory) -> Result<Self, Error> {
        let rows = pe.cursor(place, "exception table")?.rest();
        Ok(Self { pe: *pe, rows })
    }

    /// The clauses of the method at `start`, or `None` when it has none.
    pub(crate) fn clauses(&self, start: u32) -> Option<Clauses<'d>> {
        let count = self.rows.len() / ROW;
        let (mut low, mut high) = (0, count);
        while low < high {
            let middle = low.midpoint(high);
            if self.row(middle)?.0 < start { low = middle.saturating_add(1) } else { high = middle }
        }
        let (found, first) = self.row(low)?;
        // The last row is only there to end the clauses of the one before.
        let (_, end) = self.row(low.saturating_add(1))?;
        let size = end.checked_sub(first).filter(|_| found == start)?;
        self.pe.bytes_at(first, size).ok().map(Clauses)
    }

    fn row(&self, index: usize) -> Option<(u32, u32)> {
        let mut cursor = Cursor::new(self.rows, "exception table").at(index.checked_mul(ROW)?);
        Some((cursor.u32().ok()?, cursor.u32().ok()?))
    }
}

/// The clauses of one method.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clauses<'d>(&'d [u8]);

impl Clauses<'_> {
    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.0.len() / CLAUSE
    }

    /// What begins `offset` bytes into the method, or `None` when no clause says so.
    pub(crate) fn handler_at(&self, offset: u32) -> Option<Handler> {
        self.0.chunks_exact(CLAUSE).find_map(|clause| {
            let field = |index: usize| Cursor::new(clause, "clause").at(index.saturating_mul(4)).u32().ok();
            let flags = field(0)?;
            let is_filter = flags & 1 != 0;
            if field(3)? == offset {
                return Some(match flags & 7 {
                    2 => Handler::Finally,
                    4 => Handler::Fault,
                    _ => Handler::Catch,
                });
            }
            (is_filter && field(5)? == offset).then_some(Handler::Filter)
        })
    }
}
