//! The export table (data directory 0).

use super::{Directory, Pe, usize_of};
use crate::Error;

/// Composite images export one name. Libraries of other makers have many, and none of them is looked for.
const MOST_NAMES: usize = 64;

/// Looks through the first names in order.
pub(super) fn find(pe: &Pe<'_>, name: &str) -> Option<u32> {
    let table = Table::parse(pe).ok()??;
    let index = table.names.chunks_exact(4).take(MOST_NAMES).position(|row| is_name(pe, row, name))?;
    let ordinal = table.ordinals.chunks_exact(2).nth(index)?.try_into().ok().map(u16::from_le_bytes)?;
    table.functions.chunks_exact(4).nth(ordinal.into())?.try_into().ok().map(u32::from_le_bytes)
}

fn is_name(pe: &Pe<'_>, row: &[u8], name: &str) -> bool {
    let Some(rva) = row.try_into().ok().map(u32::from_le_bytes) else { return false };
    let bytes = pe.rest_of_section(rva).unwrap_or_default();
    bytes.strip_prefix(name.as_bytes()).is_some_and(|rest| rest.first() == Some(&0))
}

struct Table<'d> {
    functions: &'d [u8],
    names: &'d [u8],
    ordinals: &'d [u8],
}

impl<'d> Table<'d> {
    fn parse(pe: &Pe<'d>) -> Result<Option<Self>, Error> {
        let Some(directory) = pe.directory(0) else { return Ok(None) };
        let start = pe.cursor(directory, "export directory")?;
        let field = |offset: usize| start.at(start.offset().saturating_add(offset)).u32();
        let column = |place: usize, count: u32, width: u32| {
            let size = count.saturating_mul(width);
            pe.cursor(Directory { rva: field(place)?, size }, "export table")?.take(usize_of(size))
        };
        let (functions, names) = (field(20)?, field(24)?);
        Ok(Some(Self {
            functions: column(28, functions, 4)?,
            names: column(32, names, 4)?,
            ordinals: column(36, names, 2)?,
        }))
    }
}
