//! The value that both tables of entry points give for a method.

use crate::bytes::Cursor;
use crate::{Error, ErrorKind};

/// Index of the method's first RuntimeFunction.
///
/// What must be bound before the method runs (its fixups) follows or lies earlier; it is passed over.
pub(super) fn function_index(mut cursor: Cursor<'_>) -> Result<u32, Error> {
    let value = cursor.native()?;
    match value & 3 {
        1 => Ok(value >> 2),
        3 => {
            let place = cursor;
            let back = cursor.native()?;
            // The fixups are a distance back from here, so they cannot begin before the image.
            if u64::from(back) > u64::try_from(place.offset()).unwrap_or(u64::MAX) {
                return Err(place.error(ErrorKind::Impossible { what: "place of fixups", value: back.into() }));
            }
            Ok(value >> 2)
        }
        _ => Ok(value >> 1),
    }
}
