//! From an address in compiled code to IL, and from there to a line of source.
//!
//! The same for all code: what was compiled ahead of time has its map in the image
//! ([`DebugInfo`](crate::DebugInfo)), of what was compiled at run time the runtime tells it by an event.

use crate::Error;
use crate::pdb::{Pdb, SourceLine};

/// What the code from some native offset on was made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum IlOffset {
    /// The IL at this offset, in bytes from the beginning of the method's IL.
    Offset(u32),
    /// The beginning of every method: making room on the stack, saving registers.
    Prolog,
    /// The end of every method.
    Epilog,
    /// Nothing in particular.
    NoMapping,
}

/// One row of a method's map: up to the next row, code was made from the same IL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NativeMapping {
    /// Where the code begins, in bytes from the method's start.
    pub native_offset: u32,
    /// What it was made from.
    pub il_offset: IlOffset,
}

/// What the code at a native offset was made from, by a map that is sorted by native offset; `None` in front of the
/// first row.
///
/// Of several rows for one offset the last one counts. For a return address ask for the offset before it, which is still
/// in the call.
#[must_use]
pub fn il_offset(map: &[NativeMapping], native_offset: u32) -> Option<IlOffset> {
    rows_until(map, native_offset).last().map(|row| row.il_offset)
}

/// The source line of the code at a native offset of a method.
///
/// `method` is the row of the method's definition in MethodDef, `map` its native map sorted by native offset, and the
/// offset counts from the method's start, of which see [`il_offset`]. The prolog counts to the method's first line and an
/// epilog to its last; code that was made from nothing in particular counts to what is in front of it. `None` if there is
/// no IL or no source for the place.
///
/// # Errors
/// The PDB's lines of the method are damaged.
pub fn source_line(
    pdb: &Pdb<'_>,
    method: u32,
    map: &[NativeMapping],
    native_offset: u32,
) -> Result<Option<SourceLine>, Error> {
    let mapped = rows_until(map, native_offset).iter().rev().find(|row| row.il_offset != IlOffset::NoMapping);
    let il_offset = match mapped.map(|row| row.il_offset) {
        Some(IlOffset::Offset(offset)) => offset,
        Some(IlOffset::Prolog) => 0,
        Some(IlOffset::Epilog) => u32::MAX,
        Some(IlOffset::NoMapping) | None => return Ok(None),
    };
    pdb.line(method, il_offset)
}

fn rows_until(map: &[NativeMapping], native_offset: u32) -> &[NativeMapping] {
    let end = map.partition_point(|row| row.native_offset <= native_offset);
    map.get(..end).unwrap_or_default()
}
