//! Address spaces as types: an address never loses what it is relative to.
//!
//! Three numbers are called "address" around a profiler and mixing them up gives wrong names that look right:
//! the place in a running process ([`Avma`]), the place the linker wrote into the ELF file ([`Svma`]) and the distance
//! from where an image begins ([`Rva`]). Arithmetic between them exists only where it means something, and never wraps.

#![forbid(unsafe_code)]

mod map;

pub use map::RangeMap;

use core::fmt;

macro_rules! address {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        pub struct $name(pub u64);

        impl $name {
            /// This address plus `bytes`, or `None` past the end of the space.
            pub const fn checked_add(self, bytes: u64) -> Option<Self> {
                match self.0.checked_add(bytes) {
                    Some(sum) => Some(Self(sum)),
                    None => None,
                }
            }

            /// This address minus `bytes`, or `None` below zero.
            pub const fn checked_sub(self, bytes: u64) -> Option<Self> {
                match self.0.checked_sub(bytes) {
                    Some(difference) => Some(Self(difference)),
                    None => None,
                }
            }

            /// This address plus `bytes`, stopping at the end of the space.
            pub const fn saturating_add(self, bytes: u64) -> Self {
                Self(self.0.saturating_add(bytes))
            }

            /// How many bytes lie from `start` to this address, or `None` if it lies before `start`.
            pub const fn offset_from(self, start: Self) -> Option<u64> {
                self.0.checked_sub(start.0)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:#x}", self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({:#x})"), self.0)
            }
        }
    };
}

address! {
    /// Actual virtual memory address: a place in a running process (or in the kernel) at one moment.
    Avma
}

address! {
    /// Stated virtual memory address: what an ELF file says about itself (`p_vaddr`, `st_value`).
    Svma
}

address! {
    /// Relative virtual address: bytes from the image base (the lowest loaded byte of an ELF or PE image).
    Rva
}

impl Avma {
    /// Where an image's relative address lies when the image starts at this address.
    pub const fn at(self, rva: Rva) -> Option<Avma> {
        self.checked_add(rva.0)
    }

    /// How far into the image that starts at `base` this address lies.
    pub const fn relative_to(self, base: Avma) -> Option<Rva> {
        match self.offset_from(base) {
            Some(bytes) => Some(Rva(bytes)),
            None => None,
        }
    }
}

impl Svma {
    /// How far into the image whose lowest stated address is `base` this address lies.
    pub const fn relative_to(self, base: Svma) -> Option<Rva> {
        match self.offset_from(base) {
            Some(bytes) => Some(Rva(bytes)),
            None => None,
        }
    }
}

/// A half-open range of process addresses, `start <= address < end`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct AvmaRange {
    start: Avma,
    end: Avma,
}

impl AvmaRange {
    /// The range from `start` to before `end`, or `None` when it would be empty or backwards.
    pub fn new(start: Avma, end: Avma) -> Option<Self> {
        (start < end).then_some(Self { start, end })
    }

    /// The `bytes` bytes from `start`, or `None` when that is empty or passes the end of the space.
    pub fn sized(start: Avma, bytes: u64) -> Option<Self> {
        Self::new(start, start.checked_add(bytes)?)
    }

    /// First address inside.
    pub const fn start(&self) -> Avma {
        self.start
    }

    /// First address outside.
    pub const fn end(&self) -> Avma {
        self.end
    }

    /// Bytes inside; never zero.
    #[expect(clippy::len_without_is_empty, reason = "a range is never empty, by construction")]
    pub const fn len(&self) -> u64 {
        self.end.0 - self.start.0
    }

    /// Whether `address` lies inside.
    pub fn contains(&self, address: Avma) -> bool {
        self.start <= address && address < self.end
    }

    /// The parts of this range that lie outside `cut`: none, one or two.
    pub fn without(&self, cut: &Self) -> impl Iterator<Item = Self> + use<> {
        let before = Self::new(self.start, self.end.min(cut.start));
        let after = Self::new(self.start.max(cut.end), self.end);
        [before, after].into_iter().flatten()
    }

    /// Whether the two share at least one address.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.start < other.end && other.start < self.end
    }
}

impl fmt::Display for AvmaRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.start, self.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_half_open_and_never_empty() {
        let range = AvmaRange::sized(Avma(0x1000), 0x10).unwrap();
        assert!(range.contains(Avma(0x1000)) && range.contains(Avma(0x100f)));
        assert!(!range.contains(Avma(0x1010)) && !range.contains(Avma(0xfff)));
        assert_eq!(range.len(), 0x10);
        assert_eq!(AvmaRange::new(Avma(5), Avma(5)), None);
        assert_eq!(AvmaRange::sized(Avma(u64::MAX), 2), None);
        let cut = |start, end| range.without(&AvmaRange::new(Avma(start), Avma(end)).unwrap()).count();
        assert_eq!([cut(0, 0x2000), cut(0x1004, 0x2000), cut(0x1004, 0x1008), cut(0x2000, 0x2001)], [0, 1, 2, 1]);
    }

    #[test]
    fn spaces_meet_only_through_a_base() {
        assert_eq!(Avma(0x7f00).relative_to(Avma(0x7000)), Some(Rva(0xf00)));
        assert_eq!(Avma(0x6fff).relative_to(Avma(0x7000)), None);
        assert_eq!(Avma(0x7000).at(Rva(0xf00)), Some(Avma(0x7f00)));
        assert_eq!(Svma(0x401000).relative_to(Svma(0x400000)), Some(Rva(0x1000)));
    }
}
