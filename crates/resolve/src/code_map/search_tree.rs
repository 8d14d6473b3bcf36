//! Numbers in order, searched much faster than by halving where they do not fit into the caches.

/// Keys beside each other: two cache lines.
const WIDTH: usize = 16;

/// Addresses in order, and above them every sixteenth of those below, up to one block of them.
#[derive(Clone, Debug, Default)]
pub(super) struct SearchTree {
    /// The lowest first. What is left of the last block of a level is filled with the highest number.
    levels: Vec<Vec<[u64; WIDTH]>>,
    len: usize,
}

impl SearchTree {
    /// Of keys in rising order.
    pub(super) fn new(keys: impl ExactSizeIterator<Item = u64>) -> Self {
        let len = keys.len();
        let mut levels = vec![in_blocks(keys)];
        while let Some(below) = levels.last().filter(|level| level.len() > 1) {
            let above = in_blocks(below.iter().map(|[first, ..]| *first));
            levels.push(above);
        }
        Self { levels, len }
    }

    /// How many keys there are.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Position of the last key that is not above this number. The highest number of all, which fills blocks, counts as the one
    /// before it.
    pub(super) fn find(&self, number: u64) -> Option<usize> {
        let number = number.min(u64::MAX.saturating_sub(1));
        let mut position = 0_usize;
        for level in self.levels.iter().rev() {
            let block = level.get(position)?;
            let passed = block.iter().filter(|key| **key <= number).count();
            position = position.saturating_mul(WIDTH).saturating_add(passed.checked_sub(1)?);
        }
        (self.len > 0).then_some(position)
    }

    /// How many bytes it holds.
    pub(super) fn memory(&self) -> usize {
        let blocks = self.levels.iter().map(Vec::capacity).fold(0, usize::saturating_add);
        blocks.saturating_mul(size_of::<[u64; WIDTH]>())
    }
}

fn in_blocks(mut keys: impl ExactSizeIterator<Item = u64>) -> Vec<[u64; WIDTH]> {
    let blocks = keys.len().div_ceil(WIDTH);
    (0..blocks).map(|_| std::array::from_fn(|_| keys.next().unwrap_or(u64::MAX))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_finds_what_halving_finds() {
        for len in [0, 1, 15, 16, 17, 255, 256, 257, 5_000] {
            let keys: Vec<u64> = (0..len).map(|key| 10 + 3 * key).collect();
            let tree = SearchTree::new(keys.iter().copied());
            for number in (0..3 * len + 20).chain([u64::MAX]) {
                let expected = keys.partition_point(|key| *key <= number).checked_sub(1);
                assert_eq!(tree.find(number), expected, "{number} among {len}");
            }
            assert_eq!(tree.len() as u64, len);
        }
        assert_eq!(SearchTree::new([5, u64::MAX].into_iter()).find(u64::MAX), Some(0));
        assert_eq!(SearchTree::default().find(5), None);
    }
}
