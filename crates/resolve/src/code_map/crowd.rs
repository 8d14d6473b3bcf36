//! Many ranges that overlap, in the order of time: which of them hold an address is found in logarithmic time, and so is the
//! last of these before a moment and the first after it.
//!
//! The edges of all ranges cut the address space into pieces. A segment tree over the pieces has each range in the few nodes
//! that make it up together, so that the nodes above a piece have the ranges over it, and no range is in more nodes than twice
//! the depth of the tree.

use super::search_tree::SearchTree;
use strata_address::{Avma, AvmaRange};

/// A crowd of bodies, each a row of a table that its maker keeps in the order of time.
#[derive(Clone, Debug, Default)]
pub(super) struct Crowd {
    /// Those that were there when they were told of.
    there: Layer,
    /// Those that were told of when they went.
    parting: Layer,
}

impl Crowd {
    /// Of these ranges in the order of their rows; beside each, whether its body was told of when it went.
    pub(super) fn new(bodies: impl Iterator<Item = (AvmaRange, bool)> + Clone) -> Self {
        let layer = |parting| {
            let rows = (0..).zip(bodies.clone()).filter(|(_, (_, is_parting))| *is_parting == parting);
            Layer::new(&rows.map(|(row, (range, _))| (row, range)).collect::<Vec<_>>())
        };
        Self { there: layer(false), parting: layer(true) }
    }

    /// Of the rows over an address the last one before this row that was there when it was told of, and the first one of all
    /// from this row on.
    pub(super) fn around(&self, address: Avma, row: u32) -> (Option<u32>, Option<u32>) {
        let (last, next) = self.there.around(address, row);
        let (_, next_parting) = self.parting.around(address, row);
        (last, first(next, next_parting))
    }

    /// How many bytes it holds.
    pub(super) fn memory(&self) -> usize {
        self.there.memory().saturating_add(self.parting.memory())
    }
}

fn first(one: Option<u32>, other: Option<u32>) -> Option<u32> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

/// Ranges by address.
#[derive(Clone, Debug, Default)]
struct Layer {
    /// In order, without repetition; a piece is what lies between one and the next.
    edges: SearchTree,
    /// By node of the tree, which has its root at 1 and the pieces behind the inner nodes: where its rows begin.
    begins: Vec<u32>,
    /// Rows of all nodes; those of one node in order.
    rows: Vec<u32>,
}

impl Layer {
    /// `ranges` are in the order of their rows.
    fn new(ranges: &[(u32, AvmaRange)]) -> Self {
        let mut edges: Vec<u64> = ranges.iter().flat_map(|(_, range)| [range.start().0, range.end().0]).collect();
        edges.sort_unstable();
        edges.dedup();
        let edges = SearchTree::new(edges.into_iter());
        // First how many rows a node has, then where they end, then, filled from the last one on, where they begin.
        let mut begins = vec![0_u32; edges.len().saturating_mul(2).saturating_add(1)];
        for (_, range) in ranges {
            nodes(&edges, *range, |node| {
                if let Some(rows) = begins.get_mut(node) {
                    *rows = rows.saturating_add(1);
                }
            });
        }
        let mut end = 0_u32;
        for rows in &mut begins {
            end = end.saturating_add(*rows);
            *rows = end;
        }
        let mut rows = vec![0; end as usize];
        for (row, range) in ranges.iter().rev() {
            nodes(&edges, *range, |node| {
                let Some(begin) = begins.get_mut(node) else { return };
                *begin = begin.saturating_sub(1);
                if let Some(place) = rows.get_mut(*begin as usize) {
                    *place = *row;
                }
            });
        }
        Self { edges, begins, rows }
    }

    /// The last row over an address before this one, and the first one from this one on.
    fn around(&self, address: Avma, row: u32) -> (Option<u32>, Option<u32>) {
        let (mut last, mut next) = (None, None);
        let Some(piece) = self.edges.find(address.0) else { return (last, next) };
        let mut node = piece.saturating_add(self.edges.len());
        while node > 0 {
            let rows = self.rows_of(node);
            let passed = rows.partition_point(|other| *other < row);
            let (before, after) = rows.split_at_checked(passed).unwrap_or_default();
            last = last.max(before.last().copied());
            next = first(next, after.first().copied());
            node /= 2;
        }
        (last, next)
    }

    fn rows_of(&self, node: usize) -> &[u32] {
        let begin = |node| self.begins.get(node).map(|begin| *begin as usize);
        let range = begin(node).zip(begin(node.saturating_add(1)));
        range.and_then(|(begin, end)| self.rows.get(begin..end)).unwrap_or_default()
    }

    fn memory(&self) -> usize {
        let words = self.begins.capacity().saturating_add(self.rows.capacity());
        self.edges.memory().saturating_add(words.saturating_mul(size_of::<u32>()))
    }
}

/// The nodes of the tree over these edges that make up a range between two of them.
fn nodes(edges: &SearchTree, range: AvmaRange, mut each: impl FnMut(usize)) {
    // Both ends are edges: the last piece is the one that has the last address.
    let (first, last) = (edges.find(range.start().0), edges.find(range.end().0.saturating_sub(1)));
    let (Some(first), Some(last)) = (first, last) else { return };
    let node = |piece: usize| piece.saturating_add(edges.len());
    let (mut left, mut right) = (node(first), node(last).saturating_add(1));
    while left < right {
        if !left.is_multiple_of(2) {
            each(left);
            left = left.saturating_add(1);
        }
        if !right.is_multiple_of(2) {
            right = right.saturating_sub(1);
            each(right);
        }
        (left, right) = (left / 2, right / 2);
    }
}
