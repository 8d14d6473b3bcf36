//! What was wrong with the tables of an image that could be read nevertheless.

use crate::Error;
use core::fmt;

/// One kind of damage in the tables of an image. What was damaged was left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Problem {
    /// What was wrong.
    pub kind: ProblemKind,
    /// How often.
    pub count: u32,
    /// Where it was first, as an offset into the image's bytes.
    pub offset: u64,
}

/// What can be wrong with the tables of an image; the compilers' images have none of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum ProblemKind {
    /// A RuntimeFunction begins before the one before it ends, or is empty.
    FunctionOutOfOrder,
    /// A RuntimeFunction is not inside one section of code.
    FunctionOutsideCode,
    /// A RuntimeFunction's end was taken from the beginning of the next.
    UncertainEnd,
    /// The table of RuntimeFunctions does not end as compilers end it.
    NoSentinel,
    /// A table could not be read at all.
    TableUnreadable,
    /// An entry point or its signature could not be read.
    EntryUnreadable,
    /// An entry point names no RuntimeFunction, or a damaged one.
    EntryWithoutCode,
    /// The beginning of a method is not aligned as compilers align it.
    EntryUnaligned,
    /// The first RuntimeFunction belongs to no method.
    FirstFunctionUnowned,
    /// A piece of a method is not the handler of any exception.
    FuncletUnexplained,
    /// A cold part names no method, or no code of its own.
    ColdPartDamaged,
    /// There are more entry points than the bytes of their table can hold.
    TooManyEntries,
}

/// Words that fit after a number, for one or several alike.
impl fmt::Display for ProblemKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::FunctionOutOfOrder => "code ranges out of order",
            Self::FunctionOutsideCode => "code ranges outside of code",
            Self::UncertainEnd => "code ranges without an end",
            Self::NoSentinel => "tables of code ranges without their last mark",
            Self::TableUnreadable => "unreadable tables",
            Self::EntryUnreadable => "unreadable entry points",
            Self::EntryWithoutCode => "entry points without code",
            Self::EntryUnaligned => "unaligned entry points",
            Self::FirstFunctionUnowned => "first code range of no method",
            Self::FuncletUnexplained => "unexplained pieces of methods",
            Self::ColdPartDamaged => "damaged cold parts",
            Self::TooManyEntries => "more entry points than their table can hold",
        })
    }
}

/// Counts of what was wrong.
#[derive(Clone, Debug, Default)]
pub(crate) struct Problems(Vec<Problem>);

impl Problems {
    /// One more of `kind`, at `offset` of the image's bytes.
    pub(crate) fn add(&mut self, kind: ProblemKind, offset: usize) {
        if let Some(known) = self.0.iter_mut().find(|problem| problem.kind == kind) {
            known.count = known.count.saturating_add(1);
            return;
        }
        self.0.push(Problem { kind, count: 1, offset: u64::try_from(offset).unwrap_or(u64::MAX) });
    }

    /// One more of `kind`, where `error` was.
    pub(crate) fn add_error(&mut self, kind: ProblemKind, error: Error) {
        self.add(kind, usize::try_from(error.offset).unwrap_or(usize::MAX));
    }

    pub(super) fn into_sorted(mut self) -> Vec<Problem> {
        self.0.sort_unstable_by_key(|problem| problem.kind);
        self.0
    }
}
