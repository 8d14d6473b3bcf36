//! Kinds of code as the profiler's categories.

use serde::Serialize;
use strata_digest::Place;
use strata_profile::{CodeKind, ThreadState, Tier};

/// One entry of `meta.categories`. The first subcategory always stands for the category itself.
#[derive(Serialize)]
pub(super) struct Category {
    name: &'static str,
    color: &'static str,
    subcategories: Vec<&'static str>,
}

/// All categories. The profiler takes the first grey one as its default.
pub(super) fn categories() -> Vec<Category> {
    let plain = |name, color| Category { name, color, subcategories: vec!["Other"] };
    let mut jit = plain("JIT", "green");
    jit.subcategories.extend(Tier::TOLD.map(Tier::label));
    vec![
        plain("Other", "grey"),
        plain("Kernel", "orange"),
        plain("Native", "blue"),
        plain("Runtime", "purple"),
        jit,
        plain("ReadyToRun", "lightblue"),
        plain("Stub", "brown"),
        plain("Managed", "green"),
        plain("External", "yellow"),
    ]
}

/// Positions of a kind in [`categories`]: the category and its subcategory.
pub(super) fn category_of(kind: CodeKind) -> (usize, usize) {
    match kind {
        CodeKind::Unknown => (0, 0),
        CodeKind::Kernel => (1, 0),
        CodeKind::Native => (2, 0),
        CodeKind::Runtime => (3, 0),
        CodeKind::Jit(tier) => {
            (4, Tier::TOLD.iter().position(|&known| known == tier).map_or(0, |position| position + 1))
        }
        CodeKind::ReadyToRun => (5, 0),
        CodeKind::Stub => (6, 0),
        CodeKind::Managed => (7, 0),
    }
}

/// The same of a leaf that is no function.
pub(super) fn category_of_mark(mark: Place) -> (usize, usize) {
    match mark {
        Place::State(ThreadState::External) => (8, 0),
        _ => category_of(CodeKind::Unknown),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_finds_its_own_category() {
        let all = categories();
        let check = |kind: CodeKind, tier: &str| {
            let (category, subcategory) = category_of(kind);
            let expected = if kind == CodeKind::Unknown { "Other" } else { kind.group() };
            assert_eq!((all[category].name, all[category].subcategories[subcategory]), (expected, tier));
        };
        for kind in [
            CodeKind::Kernel,
            CodeKind::Native,
            CodeKind::Runtime,
            CodeKind::ReadyToRun,
            CodeKind::Managed,
            CodeKind::Stub,
        ] {
            check(kind, "Other");
        }
        let external = Place::State(ThreadState::External);
        assert_eq!(all[category_of_mark(external).0].name, external.leaf_kind());
        check(CodeKind::Unknown, "Other");
        check(CodeKind::Jit(Tier::Unknown), "Other");
        for tier in Tier::TOLD {
            check(CodeKind::Jit(tier), tier.label());
        }
    }
}
