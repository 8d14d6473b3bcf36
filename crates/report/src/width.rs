//! How wide text may be.

/// How many columns a report's text may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// Names are shortened, and straight calls folded, so that lines fit: for reading at a terminal.
    Columns(usize),
    /// Nothing is shortened or folded: for files and other programs.
    Unlimited,
}

/// Paragraphs are broken here when nothing else says where.
const PARAGRAPH: usize = 100;

impl Width {
    /// What is left beside `columns` that are taken.
    pub(crate) fn beside(self, columns: usize) -> Self {
        match self {
            Width::Columns(width) => Width::Columns(width.saturating_sub(columns)),
            Width::Unlimited => Width::Unlimited,
        }
    }

    /// Where lines of running text are broken.
    pub(crate) fn of_paragraphs(self) -> usize {
        match self {
            Width::Columns(width) => width,
            Width::Unlimited => PARAGRAPH,
        }
    }
}
