//! Sparse arrays and hash tables of ReadyToRun's "native format".
//!
//! Elements may refer back to others, and the distances of both depend on where everything ends up: tables are laid out again
//! until nothing moves.

use super::encode::{native, native_signed};

/// Content of one place in a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Element {
    /// Bytes as they are.
    Bytes(Vec<u8>),
    /// Bytes, then the distance from there back to a byte of another element.
    Back {
        /// What comes before the distance.
        head: Vec<u8>,
        /// Which element is meant.
        target: usize,
        /// Offset in that element.
        skip: usize,
    },
}

impl Element {
    fn bytes_at(&self, position: usize, positions: &[usize]) -> Vec<u8> {
        match self {
            Self::Bytes(bytes) => bytes.clone(),
            Self::Back { head, target, skip } => {
                let distance = (position + head.len()).wrapping_sub(positions[*target] + skip);
                [&head[..], &native(distance as u32)].concat()
            }
        }
    }
}

/// Width of a table's offsets: 0, 1 or 2 for one, two or four bytes.
fn put_offset(out: &mut Vec<u8>, width: u8, offset: usize) {
    out.extend(&(offset as u32).to_le_bytes()[..1 << width]);
}

/// Lays out until each element stays where it was.
fn settle(elements: usize, lay_out: impl Fn(&mut Vec<usize>) -> Vec<u8>) -> Vec<u8> {
    let mut positions = vec![0; elements];
    loop {
        let before = positions.clone();
        let bytes = lay_out(&mut positions);
        if positions == before {
            return bytes;
        }
    }
}

/// A sparse array with offsets of width 0, 1 or 2 (one, two, four bytes).
pub fn array(elements: &[Option<Element>], width: u8) -> Vec<u8> {
    settle(elements.len(), |positions| {
        let mut out = native((elements.len() as u32) << 2 | u32::from(width));
        let base = out.len();
        let blocks = elements.len().div_ceil(16);
        out.resize(base + (blocks << width), 0);
        let mut index = Vec::new();
        for (block, content) in elements.chunks(16).enumerate() {
            put_offset(&mut index, width, out.len() - base);
            let node = tree(content, block * 16, 0, 8, out.len(), positions);
            out.extend(node.unwrap_or_else(|| native(16 << 2)));
        }
        out[base..base + index.len()].copy_from_slice(&index);
        out
    })
}

/// The part of a block's tree for the elements from `first` on that differ in `bit` and the bits below it; nothing if there are
/// none.
fn tree(
    block: &[Option<Element>],
    start: usize,
    first: usize,
    bit: usize,
    at: usize,
    positions: &mut [usize],
) -> Option<Vec<u8>> {
    let range = first..(first + (bit * 2).max(1)).min(block.len());
    let present: Vec<usize> = range.filter(|index| block[*index].is_some()).collect();
    let only = *present.first()?;
    if bit == 0 {
        return place(block, start, only, at, positions);
    }
    if present.len() == 1 {
        // One leaf left: its number in the place of the distances.
        let head = native((only as u32) << 2);
        let leaf = place(block, start, only, at + head.len(), positions)?;
        return Some([head, leaf].concat());
    }
    let mut length = 1;
    loop {
        let left = tree(block, start, first, bit / 2, at + length, positions);
        let left_length = left.as_ref().map_or(0, Vec::len);
        let right = tree(block, start, first + bit, bit / 2, at + length + left_length, positions);
        let distance = if right.is_some() { length + left_length } else { 0 };
        let marks = u32::from(left.is_some()) | u32::from(right.is_some()) << 1;
        let head = native((distance as u32) << 2 | marks);
        if head.len() == length {
            return Some([head, left.unwrap_or_default(), right.unwrap_or_default()].concat());
        }
        length += 1;
    }
}

fn place(block: &[Option<Element>], start: usize, index: usize, at: usize, positions: &mut [usize]) -> Option<Vec<u8>> {
    positions[start + index] = at;
    block[index].as_ref().map(|element| element.bytes_at(at, positions))
}

/// A hash table of `1 << buckets` buckets with offsets of width 0, 1 or 2; each entry has its hash.
pub fn hashtable(entries: &[(u32, Element)], buckets: u8, width: u8) -> Vec<u8> {
    let count = 1_usize << buckets;
    settle(entries.len(), |positions| {
        let mut out = vec![buckets << 2 | width];
        let base = out.len();
        out.resize(base + ((count + 1) << width), 0);
        let mut index = Vec::new();
        for bucket in 0..count {
            put_offset(&mut index, width, out.len() - base);
            for (entry, (hash, _)) in entries.iter().enumerate() {
                if *hash as usize >> 8 & (count - 1) == bucket {
                    out.push(*hash as u8);
                    let distance = positions[entry].wrapping_sub(out.len()) as i32;
                    out.extend(native_signed(distance));
                }
            }
        }
        put_offset(&mut index, width, out.len() - base);
        out[base..base + index.len()].copy_from_slice(&index);
        for (entry, (_, element)) in entries.iter().enumerate() {
            positions[entry] = out.len();
            let bytes = element.bytes_at(out.len(), positions);
            out.extend(bytes);
        }
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_tables() {
        let bytes = |byte: u8| Some(Element::Bytes(vec![byte; 2]));
        // Count 2, width 0; offset 1; a node whose right side is 1 + 1 + 1 .. away at each level.
        assert_eq!(array(&[bytes(0xaa)], 0), [4 << 1, 1, 0, 0xaa, 0xaa]);
        assert_eq!(array(&[None, bytes(0xbb)], 0), [8 << 1, 1, 1 << 3, 0xbb, 0xbb]);
        let both = array(&[bytes(0xaa), bytes(0xbb)], 0);
        assert_eq!(both, [16, 1, 2, 2, 2, (3 << 2 | 3) << 1, 0xaa, 0xaa, 0xbb, 0xbb]);
        let entries = [(0x0007, Element::Bytes(vec![1, 2])), (0x0109, Element::Bytes(vec![3]))];
        assert_eq!(hashtable(&entries, 1, 0), [4, 3, 5, 7, 7, 6, 9, 6, 1, 2, 3]);
    }
}
