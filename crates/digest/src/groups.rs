//! Which functions count as one.

use rustc_hash::FxHashMap;
use std::hash::Hash;
use strata_profile::{CodeKind, Function, FunctionId, Handle, Profile};

/// Names one group of a [`Groups`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Group(pub u32);

/// A partition of a profile's functions; groups are numbered from zero in the order of their first function.
#[derive(Clone, Debug)]
pub struct Groups {
    group_of: Vec<Group>,
    first: Vec<FunctionId>,
}

impl Groups {
    /// Each function is a group of its own; group `i` is function `i`.
    pub fn single(profile: &Profile) -> Self {
        let group_of = (0u32..).zip(profile.functions.rows()).map(|(index, _)| Group(index)).collect();
        Self { group_of, first: profile.functions.iter().map(|(function, _)| function).collect() }
    }

    /// One managed method is one group whatever its tiers: functions of one name, module name and kind, where all managed
    /// kinds are one.
    pub fn over_tiers(profile: &Profile) -> Self {
        Self::by(profile, |function| {
            let kind = if function.kind.is_managed() { CodeKind::ReadyToRun } else { function.kind };
            // By the module's name: precompiled and jitted code of one assembly may come from differently known files.
            (function.name.as_str(), function.module.map(|module| profile.modules[module].name.as_str()), kind)
        })
    }

    /// Functions of one name are one group.
    pub fn by_name(profile: &Profile) -> Self {
        Self::by(profile, |function| function.name.as_str())
    }

    fn by<'p, K: Eq + Hash>(profile: &'p Profile, key: impl Fn(&'p Function) -> K) -> Self {
        let mut known = FxHashMap::default();
        let mut groups = Self { group_of: Vec::with_capacity(profile.functions.len()), first: Vec::new() };
        for (id, function) in profile.functions.iter() {
            let group = *known.entry(key(function)).or_insert_with(|| {
                groups.first.push(id);
                Group(u32::try_from(groups.first.len() - 1).expect("there are no more groups than functions"))
            });
            groups.group_of.push(group);
        }
        groups
    }

    /// The group of a function.
    pub fn of(&self, function: FunctionId) -> Group {
        self.group_of[function.index()]
    }

    /// The first function of a group: all of them share what made them one.
    pub fn first(&self, group: Group) -> FunctionId {
        self.first[group.0 as usize]
    }

    /// The first function of each group, in the order of the groups.
    pub fn firsts(&self) -> &[FunctionId] {
        &self.first
    }

    /// Number of groups.
    pub fn len(&self) -> usize {
        self.first.len()
    }

    /// Whether the profile has no function.
    pub fn is_empty(&self) -> bool {
        self.first.is_empty()
    }
}
