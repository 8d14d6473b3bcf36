//! `tree`: who called whom, from the top.

mod text;

use crate::{Cost, Spelling, Whole};
use serde::Serialize;
use std::cmp::Reverse;
use std::num::NonZeroU32;
use strata_digest::{CallTree, Folded, Groups, NodeId, Place, Sources, Weight};
use strata_profile::{Handle, Profile};

/// What the tree's roots are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Calls {
    /// One root for each thread.
    ByThread,
    /// The calls of all threads together, without a root for them.
    Merged,
}

/// What a row of the tree stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RowKind {
    /// A thread.
    Thread,
    /// The unknown callers of cut stacks.
    Cut,
    /// A function in all its tiers, with its direct calls of itself.
    Function,
    /// Samples of which not one frame was found.
    NoFrames,
    /// Samples of a thread that was not in the code of its innermost frame.
    State,
    /// Calls that are not shown because each has less than the least share.
    Pruned,
}

/// One row: a place called from another.
#[derive(Clone, Debug, Serialize)]
pub struct CallRow<'p> {
    /// The caller's position in the list of rows; `None` for a root.
    pub parent: Option<usize>,
    /// How many callers it has.
    pub depth: usize,
    /// What it stands for.
    pub kind: RowKind,
    /// The thread's, function's or mark's text.
    pub name: std::borrow::Cow<'p, str>,
    /// Its module's name, where it has one.
    pub module: Option<&'p str>,
    /// Path of its source file, where that is known.
    pub file: Option<&'p str>,
    /// The first line of that file that any of its frames has, counted from 1.
    pub line: Option<NonZeroU32>,
    /// How many calls of itself it stands for at most, each called by the one before; 1 where there is no recursion.
    pub nested_calls: u32,
    /// Which parts its name has.
    #[serde(skip)]
    pub spelling: Spelling,
    /// Samples that end here.
    #[serde(rename = "self")]
    pub own: Cost,
    /// Samples that end here or below.
    pub total: Cost,
}

/// The report `tree`: rows are in the order in which one would read them, callers before what they call.
#[derive(Clone, Debug, Serialize)]
pub struct Tree<'p> {
    /// All samples.
    pub all: Cost,
    /// What the roots are.
    pub roots: Calls,
    /// Rows with a smaller share of the whole, in percent, are pruned.
    pub least_percent: f64,
    /// The rows.
    pub rows: Vec<CallRow<'p>>,
}

impl<'p> Tree<'p> {
    /// Builds the tree; rows with less than `least_percent` of the whole become one `pruned` row for each caller.
    pub fn of(profile: &'p Profile, roots: Calls, least_percent: f64) -> Self {
        let groups = Groups::over_tiers(profile);
        let calls = CallTree::new(profile, &groups, |thread| match roots {
            Calls::ByThread => u32::try_from(thread.index()).ok(),
            Calls::Merged => None,
        });
        let Folded { tree: calls, nested_calls } = calls.with_recursion_folded();
        let all = Whole::of(profile);
        let mut walk = Walk {
            profile,
            groups: &groups,
            sources: Sources::of(profile, &groups),
            totals: calls.totals(),
            calls: &calls,
            nested_calls: &nested_calls,
            all,
            least_percent,
            rows: Vec::new(),
            waiting: Vec::new(),
        };
        walk.run();
        Self { all: Cost::of(all.weight, all), roots, least_percent, rows: walk.rows }
    }
}

struct Walk<'p, 't> {
    profile: &'p Profile,
    groups: &'t Groups,
    sources: Sources,
    calls: &'t CallTree,
    nested_calls: &'t [u32],
    totals: Vec<Weight>,
    all: Whole,
    least_percent: f64,
    rows: Vec<CallRow<'p>>,
    waiting: Vec<Waiting>,
}

struct Waiting {
    parent: Option<usize>,
    what: What,
}

#[derive(Clone, Copy)]
enum What {
    Node(NodeId),
    Pruned { calls: usize, weight: Weight },
}

impl<'p> Walk<'p, '_> {
    fn run(&mut self) {
        let children = self.calls.children();
        self.wait_for(None, children.roots());
        while let Some(Waiting { parent, what }) = self.waiting.pop() {
            let depth = parent.map_or(0, |parent| self.rows[parent].depth + 1);
            let here = self.rows.len();
            match what {
                What::Pruned { calls, weight } => {
                    let name = format!("{} under {} %", crate::text::counted(calls as u64, "call"), self.least_percent);
                    let total = Cost::of(weight, self.all);
                    let row = CallRow {
                        parent,
                        depth,
                        kind: RowKind::Pruned,
                        name: name.into(),
                        module: None,
                        file: None,
                        line: None,
                        nested_calls: 1,
                        spelling: Spelling::Plain,
                        own: Cost::of(Weight::default(), self.all),
                        total,
                    };
                    self.rows.push(row);
                }
                What::Node(id) => {
                    let row = self.row(id, parent, depth);
                    self.rows.push(row);
                    self.wait_for(Some(here), children.of(id));
                }
            }
        }
    }

    /// Puts what `parent` calls on the list, the costliest to be taken first, the pruned ones last.
    fn wait_for(&mut self, parent: Option<usize>, nodes: &[NodeId]) {
        let mut nodes = nodes.to_vec();
        let mut pruned = (0, Weight::default());
        nodes.retain(|node| {
            let total = self.totals[node.index()];
            let keep = Cost::of(total, self.all).percent.is_none_or(|percent| percent >= self.least_percent);
            if !keep {
                pruned.0 += 1;
                pruned.1.add(total);
            }
            keep
        });
        if let (calls @ 1.., weight) = pruned {
            self.waiting.push(Waiting { parent, what: What::Pruned { calls, weight } });
        }
        nodes.sort_by_key(|&node| {
            let total = self.totals[node.index()];
            Reverse((Reverse(total.amount), Reverse(total.samples), self.label(self.calls.nodes[node.index()].place)))
        });
        self.waiting.extend(nodes.into_iter().map(|node| Waiting { parent, what: What::Node(node) }));
    }

    /// For the order of rows that cost the same.
    fn label(&self, place: Place) -> (&'p str, Place) {
        match place {
            Place::Functions(group) => (&self.profile.functions[self.groups.first(group)].name, place),
            Place::Root(_) | Place::Cut(_) | Place::NoFrames | Place::State(_) => ("", place),
        }
    }

    fn row(&self, id: NodeId, parent: Option<usize>, depth: usize) -> CallRow<'p> {
        let node = &self.calls.nodes[id.index()];
        let mut module = None;
        let mut source = None;
        let mut spelling = Spelling::Plain;
        let (kind, name) = match node.place {
            Place::Root(thread) => (RowKind::Thread, self.thread(thread).into()),
            Place::Cut(_) => (RowKind::Cut, node.place.mark().unwrap_or_default()),
            Place::NoFrames => (RowKind::NoFrames, node.place.mark().unwrap_or_default()),
            Place::State(_) => (RowKind::State, node.place.mark().unwrap_or_default()),
            Place::Functions(group) => {
                let function = &self.profile.functions[self.groups.first(group)];
                module = function.module.map(|module| self.profile.modules[module].name.as_str());
                spelling = Spelling::of(function.kind);
                source = self.sources.of_group(group);
                (RowKind::Function, function.name.as_str().into())
            }
        };
        let (own, total) = (Cost::of(node.own, self.all), Cost::of(self.totals[id.index()], self.all));
        let nested_calls = self.nested_calls[id.index()];
        let file = source.map(|line| Sources::path(self.profile, line));
        let line = source.map(|source| source.line);
        CallRow { parent, depth, kind, name, module, file, line, nested_calls, spelling, own, total }
    }

    fn thread(&self, thread: u32) -> String {
        let thread = &self.profile.threads.rows()[thread as usize];
        let process = &self.profile.processes[thread.process];
        crate::text::thread((&process.name, process.pid), (&thread.name, thread.tid))
    }
}
