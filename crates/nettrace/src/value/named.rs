//! Numbers whose values or bits have names.

use core::fmt;

/// A number together with the names for its values or bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NamedNumber {
    number: u64,
    names: &'static Names,
}

/// Names for the values of a number, or for its bits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Names {
    pub(crate) style: NamesStyle,
    /// Mask, value under the mask, name.
    pub(crate) entries: Vec<(u64, u64, &'static str)>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NamesStyle {
    /// At most one name holds.
    Values,
    /// Any number of names hold.
    Bits,
}

impl NamedNumber {
    pub(super) fn new(number: u64, names: &'static Names) -> Self {
        Self { number, names }
    }

    /// The number in the payload.
    pub fn number(self) -> u64 {
        self.number
    }

    /// The names that hold: at most one where values have names, any number where bits have.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        self.entries().map(|(_, _, name)| *name)
    }

    /// The bits that no name accounts for.
    fn nameless(self) -> u64 {
        self.entries().fold(self.number, |rest, (mask, _, _)| rest & !mask)
    }

    fn entries(self) -> impl Iterator<Item = &'static (u64, u64, &'static str)> {
        let number = self.number;
        self.names.entries.iter().filter(move |(mask, value, _)| number & mask == *value)
    }
}

/// The name, or the names with `|` between them; a number without a name stays a number.
impl fmt::Display for NamedNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for name in self.names() {
            write!(f, "{separator}{name}")?;
            separator = " | ";
        }
        match (self.names.style, self.nameless()) {
            (_, 0) if !separator.is_empty() => Ok(()),
            (NamesStyle::Values, _) => write!(f, "{}", self.number),
            (NamesStyle::Bits, 0) => f.write_str("0"),
            (NamesStyle::Bits, rest) => write!(f, "{separator}{rest:#x}"),
        }
    }
}
