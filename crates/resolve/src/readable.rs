//! Which of several names for one address a person would rather read.

use std::cmp::Ordering;

/// How far a symbol is seen outside its object file; the wider comes first among otherwise equal names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Binding {
    /// Seen by all, the one definition.
    Global,
    /// Seen by all, gives way to another definition.
    Weak,
    /// Seen in its own object file only.
    Local,
}

/// Orders names of one address from the most readable to the least: fewest leading underscores, then the widest binding,
/// then the shortest, then by bytes so that the choice never depends on the order in the file.
pub(crate) fn compare(left: (&[u8], Binding), right: (&[u8], Binding)) -> Ordering {
    underscores(left.0)
        .cmp(&underscores(right.0))
        .then(left.1.cmp(&right.1))
        .then(left.0.len().cmp(&right.0.len()))
        .then_with(|| left.0.cmp(right.0))
}

/// Leading underscores that belong to the name itself: those of a mangling prefix (`_ZN`, `_R`) count for nothing.
fn underscores(name: &[u8]) -> usize {
    if name.starts_with(b"_Z") || name.starts_with(b"_R") {
        return 0;
    }
    name.iter().take_while(|byte| **byte == b'_').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(mut names: Vec<(&str, Binding)>, wanted: &str) {
        for _ in 0..names.len() {
            names.rotate_left(1);
            let best = names.iter().min_by(|a, b| compare((a.0.as_bytes(), a.1), (b.0.as_bytes(), b.1))).unwrap();
            assert_eq!(best.0, wanted, "of {names:?}");
        }
    }

    #[test]
    fn the_most_readable_alias_wins() {
        use Binding::{Global, Local, Weak};
        check(vec![("__write", Global), ("write", Weak), ("__libc_write", Global), ("__GI___write", Local)], "write");
        check(vec![("read", Local), ("pread", Global)], "pread");
        check(vec![("memmove", Weak), ("memcpy", Global)], "memcpy");
        check(vec![("pthread_create", Global), ("thrd", Global)], "thrd");
        check(vec![("beta", Global), ("alfa", Global)], "alfa");
        check(vec![("_ZN3foo3barEv", Global), ("_foo", Global)], "_ZN3foo3barEv");
    }
}
