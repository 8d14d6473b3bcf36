//! Ranges that may overlap, put in the order of time: which of them hold an address is found in logarithmic time, and so is
//! the last of these before a moment and the first after it.
//!
//! The edges of all ranges cut the address space into pieces. A segment tree over the pieces has each range in the few nodes
//! that make it up together, so that the nodes above a piece hold the ranges over it: one node where no two ranges overlap, and
//! never more rows for a range than twice the depth of the tree.

use strata_address::{Avma, AvmaRange};

/// Where the rows of a node are, and no row.
const NOWHERE: usize = usize::MAX;

/// Ranges by address; each is a row of the table that its maker keeps in the order of time.
#[derive(Clone, Debug, Default)]
pub(super) struct Layer {
    edges: Edges,
    /// By node of the tree, which has its root at 1 and the pieces behind the inner nodes: where its rows begin.
    first: Vec<u32>,
    /// Rows of all nodes; those of one node in order.
    rows: Vec<u32>,
}

impl Layer {
    /// `ranges` are in the order of their rows.
    pub(super) fn new(ranges: &[(u32, AvmaRange)]) -> Self {
        let edges = Edges::new(ranges.iter().flat_map(|(_, range)| [range.start(), range.end()]).collect());
        // First how many rows a node has, then where they end, then, filled from the last one on, where they begin.
        let mut first = vec![0_u32; edges.len().saturating_mul(2).saturating_add(1)];
        for (_, range) in ranges {
            edges.nodes(*range, |node| {
                if let Some(rows) = first.get_mut(node) {
                    *rows = rows.saturating_add(1);
                }
            });
        }
        let mut end = 0_u32;
        for rows in &mut first {
            end = end.saturating_add(*rows);
            *rows = end;
        }
        let mut rows = vec![0; end as usize];
        for (row, range) in ranges.iter().rev() {
            edges.nodes(*range, |node| {
                let Some(first) = first.get_mut(node) else { return };
                *first = first.saturating_sub(1);
                if let Some(place) = rows.get_mut(*first as usize) {
                    *place = *row;
                }
            });
        }
        Self { edges, first, rows }
    }

    /// Of the rows whose range holds the address the last one that is before the moment, and the first one that is not.
    pub(super) fn around(&self, address: Avma, is_before: impl Fn(u32) -> bool) -> (Option<u32>, Option<u32>) {
        let (mut last, mut next) = (None, None);
        let Some(piece) = self.edges.piece(address) else { return (last, next) };
        let mut node = piece.saturating_add(self.edges.len());
        while node > 0 {
            let rows = self.rows_of(node);
            let passed = rows.partition_point(|row| is_before(*row));
            let (before, after) = rows.split_at_checked(passed).unwrap_or_default();
            last = last.max(before.last().copied());
            next = match (next, after.first().copied()) {
                (Some(one), Some(other)) => Some(u32::min(one, other)),
                (one, other) => one.or(other),
            };
            // Where nothing overlaps, no row is above the pieces.
            node = if self.has_inner_rows() { node / 2 } else { 0 };
        }
        (last, next)
    }

    /// What lies between two edges that follow each other, in the order of addresses.
    pub(super) fn pieces(&self) -> impl Iterator<Item = AvmaRange> {
        let ends = self.edges.sorted.iter().skip(1);
        self.edges.sorted.iter().zip(ends).filter_map(|(start, end)| AvmaRange::new(*start, *end))
    }

    fn has_inner_rows(&self) -> bool {
        self.first.get(self.edges.len()).is_some_and(|rows| *rows > 0)
    }

    fn rows_of(&self, node: usize) -> &[u32] {
        let begin = self.first.get(node).map_or(NOWHERE, |row| *row as usize);
        let end = self.first.get(node.saturating_add(1)).map_or(NOWHERE, |row| *row as usize);
        self.rows.get(begin..end).unwrap_or_default()
    }

    /// How many bytes it holds.
    pub(super) fn memory(&self) -> usize {
        let words = self.first.capacity().saturating_add(self.rows.capacity());
        self.edges.memory().saturating_add(words.saturating_mul(size_of::<u32>()))
    }
}

/// Addresses in order, without repetition; a piece is what lies between one and the next.
#[derive(Clone, Debug, Default)]
struct Edges {
    sorted: Vec<Avma>,
}

impl Edges {
    fn new(mut edges: Vec<Avma>) -> Self {
        edges.sort_unstable();
        edges.dedup();
        edges.shrink_to_fit();
        Self { sorted: edges }
    }

    fn len(&self) -> usize {
        self.sorted.len()
    }

    /// The piece that holds an address; behind the last edge there is an empty one.
    fn piece(&self, address: Avma) -> Option<usize> {
        self.sorted.partition_point(|edge| *edge <= address).checked_sub(1)
    }

    /// The nodes of the tree that make up a range between two edges.
    fn nodes(&self, range: AvmaRange, mut each: impl FnMut(usize)) {
        let (Some(start), Some(end)) = (self.piece(range.start()), self.piece(range.end())) else { return };
        let (mut left, mut right) = (start.saturating_add(self.len()), end.saturating_add(self.len()));
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

    fn memory(&self) -> usize {
        self.sorted.capacity().saturating_mul(size_of::<Avma>())
    }
}
