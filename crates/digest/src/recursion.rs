//! Functions that call themselves, as one node.

use crate::{CallTree, NodeId, Place};
use rustc_hash::FxHashMap;

/// A tree in which no function calls itself directly.
#[derive(Clone, Debug, Default)]
pub struct Folded {
    /// The tree: what any of the nested calls has or calls, the outermost has or calls.
    pub tree: CallTree,
    /// For each of its nodes, how many nested calls it stands for at most: 1 where there is no recursion.
    pub nested_calls: Vec<u32>,
}

impl CallTree {
    /// Makes one node of each function and its direct calls of itself. Recursion by way of others stays.
    pub fn with_recursion_folded(&self) -> Folded {
        let mut folded = Folded::default();
        let mut known = FxHashMap::default();
        // For each node of ours, the node that stands for it, and how deep in that node's recursion it is.
        let mut stands: Vec<(NodeId, u32)> = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            let parent = node.parent.map(|parent| stands[parent.index()]);
            let own = match parent {
                Some((above, depth))
                    if matches!(node.place, Place::Functions(_))
                        && folded.tree.nodes[above.index()].place == node.place =>
                {
                    (above, depth + 1)
                }
                _ => {
                    let parent = parent.map(|(parent, _)| parent);
                    let id = *known.entry((parent, node.place)).or_insert_with(|| {
                        folded.nested_calls.push(1);
                        folded.tree.add(parent, node.place)
                    });
                    (id, 1)
                }
            };
            stands.push(own);
            let (id, depth) = own;
            folded.tree.nodes[id.index()].own.add(node.own);
            let nested = &mut folded.nested_calls[id.index()];
            *nested = depth.max(*nested);
        }
        folded.tree.leaf_of_sample = self.leaf_of_sample.iter().map(|leaf| stands[leaf.index()].0).collect();
        folded
    }
}

#[cfg(test)]
mod tests {
    use crate::{CallTree, Groups, Place};
    use strata_profile::{CodeKind, StackEnd};
    use strata_testkit::profile::{Sketch, mixed};

    #[test]
    fn what_nested_calls_call_adds_up() {
        let mut sketch = Sketch::new("app");
        let process = sketch.process(1, "app");
        let thread = sketch.thread(process, 1, "app");
        let [main, sort, compare] = ["main", "sort", "compare"].map(|name| sketch.frame(name, None, CodeKind::Native));
        sketch.sample(thread, &[main, sort, compare], StackEnd::Root);
        sketch.sample(thread, &[main, sort, sort, sort, compare], StackEnd::Root);
        sketch.sample(thread, &[main, sort, sort], StackEnd::Root);
        // Not direct: the comparison sorts.
        sketch.sample(thread, &[main, sort, compare, sort], StackEnd::Root);
        let profile = sketch.finish();
        let groups = Groups::single(&profile);
        let folded = CallTree::new(&profile, &groups, |_| None).with_recursion_folded();
        let totals = folded.tree.totals();
        let rows: Vec<_> = (0..folded.tree.nodes.len())
            .map(|index| {
                let node = &folded.tree.nodes[index];
                let Place::Functions(group) = node.place else { panic!("{:?}", node.place) };
                let name = profile.functions[groups.first(group)].name.as_str();
                (name, folded.nested_calls[index], node.own.samples, totals[index].samples)
            })
            .collect();
        assert_eq!(rows, [("main", 1, 0, 4), ("sort", 3, 1, 4), ("compare", 1, 2, 3), ("sort", 1, 1, 1)]);
    }

    #[test]
    fn no_sample_is_lost() {
        let profile = mixed();
        let tree = CallTree::new(&profile, &Groups::over_tiers(&profile), |_| Some(0));
        let folded = tree.with_recursion_folded().tree;
        assert_eq!(folded.totals()[0], tree.totals()[0]);
        assert!(folded.nodes.len() < tree.nodes.len());
        for (before, after) in tree.leaf_of_sample.iter().zip(&folded.leaf_of_sample) {
            assert_eq!(tree.nodes[before.index()].place, folded.nodes[after.index()].place);
        }
    }
}
