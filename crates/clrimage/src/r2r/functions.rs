//! The table of RuntimeFunctions: one range of code and its unwind data in each row.

use crate::bytes::Cursor;
use crate::methods::{ProblemKind, Problems};
use crate::pe::usize_of;
use crate::{Architecture, Directory, Error, ErrorKind, Pe, Section};

use super::Handler;

/// A contiguous piece of code: the body of a method, a funclet, or a cold part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Function {
    /// RVA of the first byte.
    pub(crate) start: u32,
    /// RVA behind the last byte; the start for a row that was damaged.
    pub(crate) end: u32,
    /// What it handles, for a funclet of which that is known.
    pub(crate) handler: Option<Handler>,
}

impl Function {
    pub(crate) const fn is_empty(&self) -> bool {
        self.start == self.end
    }
}

/// The rows of the table, in the order of their code.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RuntimeFunctions<'d> {
    pe: Pe<'d>,
    rows: Cursor<'d>,
    architecture: Architecture,
}

/// A row as it is in the file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    pub(super) begin: u32,
    /// Only amd64 has it.
    pub(super) end: Option<u32>,
    pub(super) unwind: u32,
}

impl<'d> RuntimeFunctions<'d> {
    /// The table at `place`; rows are read when they are wanted.
    ///
    /// # Errors
    /// When the table is not there in full, or for a machine that is not known.
    pub(crate) fn parse(pe: &Pe<'d>, place: Directory) -> Result<Self, Error> {
        let rows = pe.cursor(place, "RuntimeFunctions")?;
        let unknown = ErrorKind::Not { what: "an image for a known machine" };
        let architecture = pe.machine().ok_or_else(|| rows.error(unknown))?.architecture;
        Ok(Self { pe: *pe, rows, architecture })
    }

    pub(crate) fn pe(&self) -> &Pe<'d> {
        &self.pe
    }

    pub(crate) const fn architecture(&self) -> Architecture {
        self.architecture
    }

    /// Bytes of a row.
    pub(super) const fn row_size(&self) -> usize {
        if matches!(self.architecture, Architecture::Amd64) { 12 } else { 8 }
    }

    /// Where the image's bytes have row `index`.
    pub(crate) fn row_place(&self, index: u32) -> usize {
        self.rows.offset().saturating_add(usize_of(index).saturating_mul(self.row_size()))
    }

    /// How many rows there are.
    pub(crate) fn len(&self) -> u32 {
        let count = self.rows.rest().len().checked_div(self.row_size()).unwrap_or_default();
        u32::try_from(count).unwrap_or(u32::MAX)
    }

    /// The rows in the order of the table.
    pub(super) fn rows(&self) -> impl Iterator<Item = Row> + Clone + use<'d> {
        let is_thumb = self.architecture == Architecture::Arm;
        self.rows.rest().chunks_exact(self.row_size()).map(move |row| {
            let mut numbers = row.chunks_exact(4).map(|number| number.try_into().map_or(0, u32::from_le_bytes));
            let begin = numbers.next().unwrap_or_default();
            let second = numbers.next().unwrap_or_default();
            let third = numbers.next();
            let begin = if is_thumb { begin & !1 } else { begin };
            Row { begin, end: third.is_some().then_some(second), unwind: third.unwrap_or(second) }
        })
    }

    /// The range of every row. A row that cannot be right becomes an empty range at the end of the one before, so that
    /// the result is always sorted and indexed like the table.
    pub(crate) fn ranges(&self, problems: &mut Problems) -> Vec<Function> {
        let mut code = Code { pe: self.pe, section: None };
        let mut previous_end = 0_u32;
        let mut rows = self.rows().peekable();
        let mut functions = Vec::with_capacity(usize_of(self.len()));
        while let Some(row) = rows.next() {
            let next = rows.peek().map(|next| next.begin);
            let place = self.rows.offset().saturating_add(functions.len().saturating_mul(self.row_size()));
            let end = match row.end.map_or_else(|| self.end_from_unwind_data(&row), Some) {
                // Code never overlaps; a range that says so must not hide the next one.
                Some(end) => next.filter(|next| row.begin < *next && *next < end).map_or(Ok(end), Err),
                None => Err(next.or_else(|| code.end_of_section(row.begin)).unwrap_or(row.begin)),
            };
            let end = end.unwrap_or_else(|bound| {
                problems.add(ProblemKind::UncertainEnd, place);
                bound
            });
            let problem = if row.begin < previous_end || end <= row.begin {
                Some(ProblemKind::FunctionOutOfOrder)
            } else {
                (!code.holds(row.begin, end)).then_some(ProblemKind::FunctionOutsideCode)
            };
            let (start, end) = if problem.is_some() { (previous_end, previous_end) } else { (row.begin, end) };
            if let Some(problem) = problem {
                problems.add(problem, place);
            }
            functions.push(Function { start, end, handler: None });
            previous_end = end;
        }
        self.check_sentinel(problems);
        functions
    }

    /// The end that unwind data of the ARM kind gives.
    fn end_from_unwind_data(&self, row: &Row) -> Option<u32> {
        let unit = match self.architecture {
            Architecture::Arm64 => 4,
            Architecture::Arm => 2,
            _ => return None,
        };
        let place = Directory { rva: row.unwind & !3, size: 4 };
        let word = self.pe.cursor(place, "unwind data").ok()?.u32().ok()?;
        row.begin.checked_add((word & 0x3_ffff).saturating_mul(unit))
    }

    /// A number that is no address ends the table, outside its stated size.
    fn check_sentinel(&self, problems: &mut Problems) {
        let end = self.rows.offset().saturating_add(self.rows.rest().len());
        let sentinel = self.pe.bytes().get(end..).and_then(|rest| rest.first_chunk::<4>());
        if sentinel != Some(&[0xff; 4]) {
            problems.add(ProblemKind::NoSentinel, end);
        }
    }
}

/// Finds the section of code, which is the same one for nearly every row.
struct Code<'d> {
    pe: Pe<'d>,
    section: Option<Section>,
}

impl Code<'_> {
    fn section_of(&mut self, rva: u32) -> Option<Section> {
        if !self.section.is_some_and(|section| section.contains(rva)) {
            self.section = self.pe.section_of(rva);
        }
        self.section
    }

    fn end_of_section(&mut self, rva: u32) -> Option<u32> {
        self.section_of(rva).map(|section| section.end())
    }

    /// Whether a range lies in one section of code.
    fn holds(&mut self, start: u32, end: u32) -> bool {
        self.section_of(start).is_some_and(|section| section.is_executable && end <= section.end())
    }
}
