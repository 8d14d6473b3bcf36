//! `top`: functions by what they cost.

mod lines;
mod text;

use crate::{Cost, Spelling, ThreadRow, Threads, Whole};
pub use lines::LineRow;
use serde::Serialize;
use std::collections::BTreeMap;
use strata_digest::{CallTree, Groups, NodeId, Place, Weight};
use strata_profile::{Function, Handle, Profile, ThreadState};

/// How a managed function ran.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TierRow {
    /// The tier as the runtime spells it, or `ReadyToRun`.
    pub tier: &'static str,
    /// What the function cost in this tier, with what it called.
    pub total: Cost,
    /// This tier's time in percent of that of all the function's tiers; `None` when that is zero.
    pub share_percent: Option<f64>,
}

/// One function in all its tiers.
#[derive(Clone, Debug, Serialize)]
pub struct FunctionRow<'p> {
    /// Its name; `[no frames]` stands for samples of which not one frame was found, `[external: ...]` for those of threads
    /// that were outside of managed code.
    pub name: &'p str,
    /// Its module's name, where it has one.
    pub module: Option<&'p str>,
    /// The kind of code: `Kernel`, `Native`, `Runtime`, `JIT`, `ReadyToRun`, `Managed`, `Stub`, `External`, `Unknown`; of
    /// several tiers, that of the costliest.
    pub category: &'static str,
    /// Samples that have it as their leaf.
    #[serde(rename = "self")]
    pub own: Cost,
    /// Samples that have it anywhere in their stack; recursion counts once.
    pub total: Cost,
    /// Its tiers, the costliest first; empty for code that has none.
    pub tiers: Vec<TierRow>,
    /// Its own cost by line of source, the costliest first; empty where no line is known.
    pub lines: Vec<LineRow<'p>>,
    /// Which parts its name has.
    #[serde(skip)]
    pub spelling: Spelling,
}

/// Time by the kind of code that was running.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CategoryRow {
    /// The kind of code of the leaf.
    pub category: &'static str,
    /// What it cost.
    pub cost: Cost,
}

/// Time by what threads were doing.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StateRow {
    /// What they were doing.
    pub state: &'static str,
    /// What it cost.
    pub cost: Cost,
}

/// The report `top`.
#[derive(Clone, Debug, Serialize)]
pub struct Top<'p> {
    /// All samples.
    pub all: Cost,
    /// By what threads were doing, where samples tell.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub states: Vec<StateRow>,
    /// By kind of code, most time first.
    pub categories: Vec<CategoryRow>,
    /// All threads with samples, most time first.
    pub threads: Vec<ThreadRow<'p>>,
    /// How many functions there are, shown or not.
    pub functions_in_all: usize,
    /// Functions by what they cost themselves, then in total, then by name.
    pub functions: Vec<FunctionRow<'p>>,
}

impl<'p> Top<'p> {
    /// Adds up functions; `limit` is how many to keep, `None` for all.
    pub fn of(profile: &'p Profile, limit: Option<usize>) -> Self {
        let all = Whole::of(profile);
        let tree = CallTree::new(profile, &Groups::single(profile), |_| None);
        let groups = Groups::over_tiers(profile);
        let sums = Sums::of(profile, &tree, &groups);

        let mut functions = sums.rows(profile, &groups, all);
        functions.sort_by(|a, b| {
            let key = |row: &FunctionRow<'_>| (row.own.amount, row.own.samples, row.total.amount, row.total.samples);
            key(b).cmp(&key(a)).then_with(|| (a.name, a.module, a.category).cmp(&(b.name, b.module, b.category)))
        });
        let functions_in_all = functions.len();
        functions.truncate(limit.unwrap_or(usize::MAX));

        let mut threads = Threads::of(profile).threads;
        threads.retain(|row| row.cost.samples > 0);
        Self {
            all: Cost::of(all.weight, all),
            states: states(profile, all),
            categories: categories(profile, &tree, all),
            threads,
            functions_in_all,
            functions,
        }
    }
}

fn states(profile: &Profile, all: Whole) -> Vec<StateRow> {
    let mut sums: BTreeMap<ThreadState, Weight> = BTreeMap::new();
    for sample in profile.samples.iter().filter(|sample| sample.state != ThreadState::Running) {
        sums.entry(sample.state).or_default().add(Weight::of_sample(sample));
    }
    sums.into_iter().map(|(state, weight)| StateRow { state: state.label(), cost: Cost::of(weight, all) }).collect()
}

fn categories(profile: &Profile, tree: &CallTree, all: Whole) -> Vec<CategoryRow> {
    let mut sums: BTreeMap<&'static str, Weight> = BTreeMap::new();
    for node in tree.nodes.iter().filter(|node| node.own.samples > 0) {
        let kind = match node.place {
            Place::Functions(function) => profile.functions.rows()[function.0 as usize].kind.group(),
            other => other.leaf_kind(),
        };
        sums.entry(kind).or_default().add(node.own);
    }
    let mut rows: Vec<_> =
        sums.into_iter().map(|(category, weight)| CategoryRow { category, cost: Cost::of(weight, all) }).collect();
    rows.sort_by_key(|row| std::cmp::Reverse((row.cost.amount, row.cost.samples)));
    rows
}

/// What each function and each group of them cost.
struct Sums {
    own_of_group: Vec<Weight>,
    total_of_group: Vec<Weight>,
    total_of_function: Vec<Weight>,
    /// What leaves that are no functions cost.
    of_mark: BTreeMap<Place, Weight>,
    lines: lines::OwnByLine,
}

impl Sums {
    /// Walks the tree of single functions once. A node adds to the total of its function (and group) only if it is not
    /// below another node of that function (or group), so recursion counts once.
    fn of(profile: &Profile, tree: &CallTree, groups: &Groups) -> Self {
        let mut sums = Self {
            own_of_group: vec![Weight::default(); groups.len()],
            total_of_group: vec![Weight::default(); groups.len()],
            total_of_function: vec![Weight::default(); profile.functions.len()],
            of_mark: BTreeMap::new(),
            lines: lines::OwnByLine::of(profile, groups),
        };
        let mut function_on_path = vec![0u32; profile.functions.len()];
        let mut group_on_path = vec![0u32; groups.len()];
        let totals = tree.totals();
        let children = tree.children();
        let mut steps: Vec<Step> = children.roots().iter().copied().map(Step::Enter).collect();
        while let Some(step) = steps.pop() {
            let (Step::Enter(id) | Step::Leave(id)) = step;
            let node = &tree.nodes[id.index()];
            let function = match node.place {
                Place::Functions(function) => function.0 as usize,
                mark => {
                    if let Step::Enter(_) = step {
                        sums.of_mark.entry(mark).or_default().add(node.own);
                        steps.extend(children.of(id).iter().copied().map(Step::Enter));
                    }
                    continue;
                }
            };
            let group = groups.of(strata_profile::FunctionId::from_index(function)).0 as usize;
            match step {
                Step::Enter(_) => {
                    sums.own_of_group[group].add(node.own);
                    if function_on_path[function] == 0 {
                        sums.total_of_function[function].add(totals[id.index()]);
                    }
                    if group_on_path[group] == 0 {
                        sums.total_of_group[group].add(totals[id.index()]);
                    }
                    function_on_path[function] += 1;
                    group_on_path[group] += 1;
                    steps.push(Step::Leave(id));
                    steps.extend(children.of(id).iter().copied().map(Step::Enter));
                }
                Step::Leave(_) => {
                    function_on_path[function] -= 1;
                    group_on_path[group] -= 1;
                }
            }
        }
        sums
    }

    /// One row for each group that has a sample.
    fn rows<'p>(&self, profile: &'p Profile, groups: &Groups, all: Whole) -> Vec<FunctionRow<'p>> {
        let mut members = vec![Vec::new(); groups.len()];
        for (id, function) in profile.functions.iter() {
            let total = self.total_of_function[id.index()];
            if total.samples > 0 {
                members[groups.of(id).0 as usize].push((function, total));
            }
        }
        let mut rows = Vec::new();
        for (group, members) in members.into_iter().enumerate() {
            let Some(&(costliest, _)) = members.iter().max_by_key(|(_, total)| (total.amount, total.samples)) else {
                continue;
            };
            rows.push(FunctionRow {
                name: &costliest.name,
                module: costliest.module.map(|module| profile.modules[module].name.as_str()),
                category: costliest.kind.group(),
                own: Cost::of(self.own_of_group[group], all),
                total: Cost::of(self.total_of_group[group], all),
                tiers: tiers(&members, all),
                lines: self.lines.rows(profile, group, all),
                spelling: Spelling::of(costliest.kind),
            });
        }
        for (place, weight) in &self.of_mark {
            let Some(name) = place.leaf_mark() else { continue };
            let cost = Cost::of(*weight, all);
            rows.push(FunctionRow {
                name,
                module: None,
                category: place.leaf_kind(),
                own: cost,
                total: cost,
                tiers: Vec::new(),
                lines: Vec::new(),
                spelling: Spelling::Plain,
            });
        }
        rows
    }
}

#[derive(Clone, Copy)]
enum Step {
    Enter(NodeId),
    Leave(NodeId),
}

fn tiers(members: &[(&Function, Weight)], all: Whole) -> Vec<TierRow> {
    let mut sums: BTreeMap<&'static str, Weight> = BTreeMap::new();
    let mut together = Weight::default();
    for (function, total) in members {
        if let Some(tier) = function.kind.tier_label() {
            sums.entry(tier).or_default().add(*total);
            together.add(*total);
        }
    }
    let mut rows: Vec<_> = sums
        .into_iter()
        .map(|(tier, total)| TierRow {
            tier,
            total: Cost::of(total, all),
            share_percent: Cost::of(total, Whole { weight: together, ..all }).percent,
        })
        .collect();
    rows.sort_by_key(|row| std::cmp::Reverse((row.total.amount, row.total.samples)));
    rows
}
