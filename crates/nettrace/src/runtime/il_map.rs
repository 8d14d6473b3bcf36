//! Which native code comes from which IL.

use super::skip_instance;
use crate::cursor::Cursor;
use crate::problem::Damage;

/// The map from native code to IL of one body (`MethodILToNativeMap`, `MethodDCEndILToNativeMap`).
///
/// It says nothing of where the body is: the event of the body itself has the same `method_id` and `code_version`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MethodIlMap<'a> {
    /// The runtime's id of the method.
    pub method_id: u64,
    /// Which version of the method's code this is, as in the body's own event. Before version 1 always 0 in rundowns.
    pub code_version: u64,
    il_offsets: &'a [u8],
    native_offsets: &'a [u8],
}

/// Where in the IL of a method.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum IlOffset {
    /// At this byte of the IL.
    At(u32),
    /// No IL corresponds to it.
    None,
    /// Before the first IL.
    Prolog,
    /// Behind the last IL.
    Epilog,
}

impl IlOffset {
    fn of(raw: u32) -> Self {
        match raw {
            u32::MAX => Self::None,
            0xffff_fffe => Self::Prolog,
            0xffff_fffd => Self::Epilog,
            at => Self::At(at),
        }
    }
}

impl<'a> MethodIlMap<'a> {
    /// Number of entries.
    pub fn len(&self) -> usize {
        self.native_offsets.len() / 4
    }

    /// Whether it has no entry.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Its entries as the runtime gives them, in no certain order: bytes from the body's start, and the IL from there on.
    pub fn entries(&self) -> impl ExactSizeIterator<Item = (u32, IlOffset)> + use<'a> {
        let numbers = |bytes: &'a [u8]| bytes.as_chunks::<4>().0.iter().map(|bytes| u32::from_le_bytes(*bytes));
        numbers(self.native_offsets).zip(numbers(self.il_offsets).map(IlOffset::of))
    }

    pub(super) fn read(cursor: &mut Cursor<'a>, version: u32) -> Result<Self, Damage> {
        let method_id = cursor.u64()?;
        // The runtime calls this ReJITID, and puts the version of the native code there.
        let code_version = cursor.u64()?;
        let _extent = cursor.u8()?;
        let bytes = usize::from(cursor.u16()?).saturating_mul(4);
        let map =
            Self { method_id, code_version, il_offsets: cursor.take(bytes)?, native_offsets: cursor.take(bytes)? };
        skip_instance(cursor)?;
        if version >= 1 {
            let _il_version = cursor.u64()?;
        }
        Ok(map)
    }
}
