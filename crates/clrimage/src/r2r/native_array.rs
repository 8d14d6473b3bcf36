//! The sparse array of ReadyToRun images: elements of any length by a dense index.

use core::ops::ControlFlow;

use super::entry_point;
use crate::bytes::Cursor;
use crate::pe::usize_of;
use crate::{Directory, Error, ErrorKind, Pe};

/// Elements in one block, which is a binary tree over the four low bits of the index.
const BLOCK: u32 = 16;

/// A sparse array that maps an index to the place of an element.
///
/// Kept are only the header's values: an element is found by walking one block's tree in the image's bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NativeArray<'d> {
    /// The first byte after the header, which offsets are relative to.
    base: Cursor<'d>,
    length: u32,
    /// Bytes of an entry of the block index: 1, 2 or 4.
    width: usize,
}

impl<'d> NativeArray<'d> {
    /// Reads the header at `place`.
    ///
    /// # Errors
    /// When the header or the block index is cut off.
    pub(crate) fn parse(pe: &Pe<'d>, place: Directory, what: &'static str) -> Result<Self, Error> {
        let mut base = pe.cursor(place, what)?;
        let start = base;
        let header = base.native()?;
        let width = match header & 3 {
            0 => 1,
            1 => 2,
            2 => 4,
            _ => {
                return Err(start.error(ErrorKind::Impossible { what: "width of a block index", value: header.into() }));
            }
        };
        let array = Self { base, length: header >> 2, width };
        // The index must be there in full: with that, going through all blocks is bounded by the bytes present.
        let mut index = base;
        index.take(usize_of(array.length.div_ceil(BLOCK)).saturating_mul(width))?;
        Ok(array)
    }

    /// The place of element `index`, or `None` when the array has none.
    ///
    /// # Errors
    /// When the tree on the way to it is damaged.
    pub(crate) fn get(&self, index: u32) -> Result<Option<Cursor<'d>>, Error> {
        if index >= self.length {
            return Ok(None);
        }
        let mut node = self.block(index / BLOCK)?;
        for bit in [8, 4, 2, 1] {
            let start = node;
            let value = node.native()?;
            if index & bit != 0 && value & 2 != 0 {
                node = forward(start, value >> 2);
            } else if index & bit != 0 || value & 1 == 0 {
                // A tree with a single element below here ends early and says which one it is.
                return Ok((value & 3 == 0 && value >> 2 == index % BLOCK).then_some(node));
            }
        }
        Ok(Some(node))
    }

    /// Calls `visit` with index and place of every element in rising order, and with an error for every damaged block.
    pub(crate) fn for_each<V>(&self, mut visit: V)
    where
        V: FnMut(Result<(u32, Cursor<'d>), Error>) -> ControlFlow<()>,
    {
        for block in 0..self.length.div_ceil(BLOCK) {
            let first = block.saturating_mul(BLOCK);
            let walked = self.block(block).and_then(|root| self.walk(root, BLOCK / 2, first, &mut visit));
            if walked.unwrap_or_else(|error| visit(Err(error))).is_break() {
                return;
            }
        }
    }

    /// Everything below a node, of which `bit` is the index bit it decides and `index` the bits decided so far.
    fn walk<V>(&self, node: Cursor<'d>, bit: u32, index: u32, visit: &mut V) -> Result<ControlFlow<()>, Error>
    where
        V: FnMut(Result<(u32, Cursor<'d>), Error>) -> ControlFlow<()>,
    {
        let mut element = |index: u32, place| match index < self.length {
            true => visit(Ok((index, place))),
            false => ControlFlow::Continue(()),
        };
        if bit == 0 {
            return Ok(element(index, node));
        }
        let mut next = node;
        let value = next.native()?;
        if value & 3 == 0 {
            let (decided, low) = (BLOCK.wrapping_sub(bit << 1), value >> 2);
            let is_below = low < BLOCK && low & decided == index & decided;
            return Ok(if is_below { element(index | low, next) } else { ControlFlow::Continue(()) });
        }
        if value & 1 != 0 && self.walk(next, bit / 2, index, visit)?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
        if value & 2 != 0 {
            return self.walk(forward(node, value >> 2), bit / 2, index | bit, visit);
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Calls `visit` with every entry point, this being a table of them.
    pub(crate) fn entry_points<V>(&self, mut visit: V)
    where
        V: FnMut(Result<EntryPoint, Error>) -> ControlFlow<()>,
    {
        self.for_each(|element| {
            visit(element.and_then(|(index, place)| {
                let function = entry_point::function_index(place)?;
                Ok(EntryPoint { rid: index.saturating_add(1), function, offset: place.offset() })
            }))
        });
    }

    fn block(&self, block: u32) -> Result<Cursor<'d>, Error> {
        let entry = usize_of(block).saturating_mul(self.width);
        let mut entry = self.base.at(self.base.offset().saturating_add(entry));
        let offset = match self.width {
            1 => entry.u8()?.into(),
            2 => entry.u16()?.into(),
            _ => entry.u32()?,
        };
        Ok(forward(self.base, offset))
    }
}

fn forward(cursor: Cursor<'_>, bytes: u32) -> Cursor<'_> {
    cursor.at(cursor.offset().saturating_add(usize_of(bytes)))
}

/// Where a method of an assembly begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EntryPoint {
    /// Row of the method in the assembly's metadata, from 1.
    pub(crate) rid: u32,
    /// Index of its first RuntimeFunction.
    pub(crate) function: u32,
    /// Where the image's bytes say so.
    pub(crate) offset: usize,
}
