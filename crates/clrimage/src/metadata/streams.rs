//! The root of metadata: its list of streams.

use crate::bytes::Cursor;
use crate::{Error, ErrorKind};

/// More streams than any metadata has: five, and one of portable PDBs.
const MAX_STREAMS: u16 = 64;

/// A part of metadata.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stream<'d> {
    /// Its name, such as `#Strings`.
    pub(crate) name: &'d [u8],
    /// Where it begins in the metadata.
    pub(crate) offset: u32,
    /// All of it.
    pub(crate) bytes: &'d [u8],
}

/// The streams of metadata, or of a portable PDB, that begins with `BSJB`.
///
/// # Errors
/// The bytes do not begin so, or end before the list does. Items are errors where a stream lies outside the bytes.
pub(crate) fn streams(metadata: &[u8]) -> Result<impl Iterator<Item = Result<Stream<'_>, Error>>, Error> {
    let mut cursor = Cursor::new(metadata, "metadata");
    if cursor.u32()? != u32::from_le_bytes(*b"BSJB") {
        return Err(cursor.at(0).error(ErrorKind::Not { what: "metadata" }));
    }
    cursor.take(8)?;
    let version = cursor.u32()?;
    cursor.take(usize::try_from(version).unwrap_or(usize::MAX))?;
    cursor.take(2)?;
    let count = cursor.u16()?;
    if count > MAX_STREAMS {
        return Err(cursor.error(ErrorKind::Impossible { what: "number of streams", value: count.into() }));
    }
    Ok((0..count).map(move |_| next(metadata, &mut cursor)))
}

fn next<'d>(metadata: &'d [u8], cursor: &mut Cursor<'d>) -> Result<Stream<'d>, Error> {
    let start = *cursor;
    let (offset, size) = (cursor.u32()?, cursor.u32()?);
    let name = cursor.zero_terminated()?;
    // The zero is padded until the next multiple of four.
    *cursor = cursor.at(cursor.offset().checked_next_multiple_of(4).unwrap_or(usize::MAX));
    let cut = start.error(ErrorKind::Cut { what: "a metadata stream" });
    let [from, length] = [offset, size].map(|value| usize::try_from(value).unwrap_or(usize::MAX));
    let bytes = from.checked_add(length).and_then(|end| metadata.get(from..end)).ok_or(cut)?;
    Ok(Stream { name, offset, bytes })
}
