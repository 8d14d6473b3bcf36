//! Samples as one tree of calls.

use crate::{Group, Groups};
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::collections::BTreeSet;
use strata_profile::{CodeKind, Cut, FrameId, Handle, Profile, Sample, StackEnd, StackId, ThreadId, ThreadState};

/// Names one [`Node`] of a [`CallTree`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(u32);

impl NodeId {
    /// The row number in [`CallTree::nodes`].
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// What a node of the tree stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// A root that the caller of [`CallTree::new`] made, by its number.
    Root(u32),
    /// Where the unknown callers of cut stacks would be.
    Cut(Cut),
    /// A group of functions, or of frames where the tree is built over those.
    Functions(Group),
    /// The leaf of a sample of which not one frame was found.
    NoFrames,
    /// The leaf of a sample of a thread that was not in the code of its innermost frame: what it was in has no frame.
    State(ThreadState),
}

impl Place {
    /// Whether [`Place::mark`] has a text.
    const fn is_mark(self) -> bool {
        matches!(self, Place::Cut(_) | Place::NoFrames | Place::State(_))
    }

    /// The text for a node that is not a function and not a caller's root: `[cut: ...]`, `[no frames]`,
    /// `[external: native code or waiting]`.
    pub fn mark(self) -> Option<Cow<'static, str>> {
        match self {
            Place::Cut(cut) => Some(format!("[{}]", StackEnd::Cut(cut).label()).into()),
            other => other.leaf_mark().map(Cow::Borrowed),
        }
    }

    /// The text for a node that stands for what a sample's leaf was, where that is no function.
    pub const fn leaf_mark(self) -> Option<&'static str> {
        match self {
            Place::NoFrames => Some("[no frames]"),
            Place::State(ThreadState::External) => Some("[external: native code or waiting]"),
            Place::State(ThreadState::Running | ThreadState::Managed | ThreadState::Unknown) => {
                Some("[what the thread did is unknown]")
            }
            Place::Root(_) | Place::Cut(_) | Place::Functions(_) => None,
        }
    }

    /// The kind of code of a sample's leaf, by its group, where the leaf is no function.
    pub const fn leaf_kind(self) -> &'static str {
        match self {
            Place::State(ThreadState::External) => "External",
            _ => CodeKind::Unknown.group(),
        }
    }
}

/// Samples, and what they stand for of the quantity that their profile measures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Weight {
    /// Number of samples.
    pub samples: u64,
    /// In the unit of the quantity.
    pub amount: u64,
}

impl Weight {
    /// What one sample weighs.
    pub const fn of_sample(sample: &Sample) -> Self {
        Self { samples: 1, amount: sample.weight }
    }

    /// Adds another weight; the amount stops at the largest number instead of wrapping.
    pub fn add(&mut self, other: Weight) {
        self.samples += other.samples;
        self.amount = self.amount.saturating_add(other.amount);
    }

    /// What these samples weigh together.
    pub fn of<'s>(samples: impl IntoIterator<Item = &'s Sample>) -> Self {
        let mut sum = Weight::default();
        for sample in samples {
            sum.add(Weight::of_sample(sample));
        }
        sum
    }
}

/// One place called from another.
#[derive(Clone, Copy, Debug)]
pub struct Node {
    /// The caller's node, always before this one in the table.
    pub parent: Option<NodeId>,
    /// What it stands for.
    pub place: Place,
    /// Samples that have this node as their leaf.
    pub own: Weight,
}

/// The calls of all samples as one tree, each node once; callers come before what they call.
///
/// A sample's path is: the caller's root if it has one, then `Cut` if its stack is cut, then its frames outermost first
/// (or `NoFrames`), then `State` if the thread was not in the code of its innermost frame. So each sample has a leaf, and
/// nothing is dropped.
#[derive(Clone, Debug, Default)]
pub struct CallTree {
    /// All nodes.
    pub nodes: Vec<Node>,
    /// For each sample of the profile, in order, its leaf.
    pub leaf_of_sample: Vec<NodeId>,
}

impl CallTree {
    /// Builds the tree with frames of one group as one; `root_of` says under which root a thread's samples hang.
    pub fn new(profile: &Profile, groups: &Groups, root_of: impl Fn(ThreadId) -> Option<u32>) -> Self {
        Self::over_frames(profile, |frame| groups.of(profile.frames[frame].function), root_of)
    }

    /// Builds the tree with frames of one group as one, where the caller says which group a frame is in.
    pub fn over_frames(
        profile: &Profile,
        group_of: impl Fn(FrameId) -> Group,
        root_of: impl Fn(ThreadId) -> Option<u32>,
    ) -> Self {
        let mut building = Building::default();
        building.known.reserve(profile.stacks.len());
        building.rootless.resize(profile.stacks.len(), None);
        building.tree.leaf_of_sample.reserve(profile.samples.len());
        // By thread, once it has a sample.
        let mut roots: Vec<Option<Option<NodeId>>> = vec![None; profile.threads.len()];
        for sample in &profile.samples {
            let root = &mut roots[sample.thread.index()];
            let mut base =
                *root.get_or_insert_with(|| root_of(sample.thread).map(|root| building.node(None, Place::Root(root))));
            if let StackEnd::Cut(cut) = sample.end {
                base = Some(building.node(base, Place::Cut(cut)));
            }
            let innermost = sample.stack.map(|stack| building.leaf(profile, &group_of, base, stack));
            let leaf = match (sample.state, innermost) {
                (ThreadState::Running | ThreadState::Managed, Some(leaf)) => leaf,
                (ThreadState::Running | ThreadState::Managed, None) => building.node(base, Place::NoFrames),
                (state, innermost) => building.node(innermost.or(base), Place::State(state)),
            };
            building.tree.nodes[leaf.index()].own.add(Weight::of_sample(sample));
            building.tree.leaf_of_sample.push(leaf);
        }
        building.tree
    }

    /// Adds a node that has no samples yet.
    pub(crate) fn add(&mut self, parent: Option<NodeId>, place: Place) -> NodeId {
        self.nodes.push(Node { parent, place, own: Weight::default() });
        NodeId(u32::try_from(self.nodes.len() - 1).expect("a call tree has fewer than 2^32 nodes"))
    }

    /// The places in this tree that are neither functions nor roots, with their texts, in order.
    pub fn marks(&self) -> Vec<(Place, Cow<'static, str>)> {
        let places: BTreeSet<Place> =
            self.nodes.iter().map(|node| node.place).filter(|place| place.is_mark()).collect();
        places.into_iter().filter_map(|place| Some((place, place.mark()?))).collect()
    }

    /// What each node and everything below it weighs, in the order of the nodes.
    pub fn totals(&self) -> Vec<Weight> {
        let mut totals: Vec<Weight> = self.nodes.iter().map(|node| node.own).collect();
        for (index, node) in self.nodes.iter().enumerate().rev() {
            if let Some(parent) = node.parent {
                let below = totals[index];
                totals[parent.index()].add(below);
            }
        }
        totals
    }

    /// What each node calls.
    pub fn children(&self) -> Children {
        // Counting sort by parent; position 0 is for the roots.
        let slot = |node: &Node| node.parent.map_or(0, |parent| parent.index() + 1);
        let mut starts = vec![0u32; self.nodes.len() + 2];
        for node in &self.nodes {
            starts[slot(node) + 1] += 1;
        }
        for position in 1..starts.len() {
            starts[position] += starts[position - 1];
        }
        let mut next = starts.clone();
        let mut list = vec![NodeId(0); self.nodes.len()];
        for (index, node) in (0u32..).zip(&self.nodes) {
            let at = &mut next[slot(node)];
            list[*at as usize] = NodeId(index);
            *at += 1;
        }
        Children { starts, list }
    }
}

/// What each node of a tree calls, in the order of the nodes.
#[derive(Clone, Debug)]
pub struct Children {
    starts: Vec<u32>,
    list: Vec<NodeId>,
}

impl Children {
    /// The nodes without a caller.
    pub fn roots(&self) -> &[NodeId] {
        self.at(0)
    }

    /// What one node calls.
    pub fn of(&self, node: NodeId) -> &[NodeId] {
        self.at(node.index() + 1)
    }

    fn at(&self, slot: usize) -> &[NodeId] {
        &self.list[self.starts[slot] as usize..self.starts[slot + 1] as usize]
    }
}

#[derive(Default)]
struct Building {
    tree: CallTree,
    known: FxHashMap<(Option<NodeId>, Place), NodeId>,
    /// The nodes of stacks that hang under nothing, which is most of them or all: by stack, without hashing.
    rootless: Vec<Option<NodeId>>,
    /// The nodes of stacks that hang under a node of ours.
    rooted: FxHashMap<(NodeId, StackId), NodeId>,
    pending: Vec<StackId>,
}

impl Building {
    fn node(&mut self, parent: Option<NodeId>, place: Place) -> NodeId {
        let tree = &mut self.tree;
        *self.known.entry((parent, place)).or_insert_with(|| tree.add(parent, place))
    }

    /// The node of `stack` under `base`: climbs to the nearest stack that is known under this base, then comes back.
    fn leaf(
        &mut self,
        profile: &Profile,
        group_of: &impl Fn(FrameId) -> Group,
        base: Option<NodeId>,
        stack: StackId,
    ) -> NodeId {
        self.pending.clear();
        let mut at = base;
        let mut climb = Some(stack);
        while let Some(stack) = climb {
            let known = match base {
                None => self.rootless[stack.index()],
                Some(base) => self.rooted.get(&(base, stack)).copied(),
            };
            if known.is_some() {
                at = known;
                break;
            }
            self.pending.push(stack);
            climb = profile.stacks[stack].parent;
        }
        while let Some(stack) = self.pending.pop() {
            let node = self.node(at, Place::Functions(group_of(profile.stacks[stack].frame)));
            match base {
                None => self.rootless[stack.index()] = Some(node),
                Some(base) => {
                    self.rooted.insert((base, stack), node);
                }
            }
            at = Some(node);
        }
        at.expect("a stack has at least its own frame")
    }
}
