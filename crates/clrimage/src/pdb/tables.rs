//! The tables of a Portable PDB: where their rows are.
//!
//! A PDB has only the tables that its format adds to ECMA-335, but they point into those of the image, whose row counts
//! are told by the stream `#Pdb` because they decide how wide such a column is.

use crate::bytes::Cursor;
use crate::{Error, ErrorKind};

/// The number of the first table that PDBs add.
const FIRST: usize = 0x30;
/// How many they add.
const ADDED: usize = 8;

/// A table of a PDB that is read here; its number counts from the first one that PDBs add.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Table {
    /// Source files.
    Document = 0,
    /// What is known of each method of the image, in the same order.
    Method = 1,
    /// Whatever compilers want to tell.
    Custom = 7,
}

/// What a column holds, which decides its width.
#[derive(Clone, Copy, Debug)]
enum Column {
    Fixed(usize),
    String,
    Guid,
    Blob,
    /// A row of a table.
    Row(usize),
    /// A row of almost any table, which the five low bits pick.
    Parent,
}

const METHOD_DEF: usize = 0x06;

/// The columns of each table.
const COLUMNS: [&[Column]; ADDED] = {
    use Column::{Blob, Fixed, Guid, Parent, Row, String};
    [
        /* 30 Document */ &[Blob, Guid, Blob, Guid],
        /* 31 MethodDebugInformation */ &[Row(0x30), Blob],
        /* 32 LocalScope */ &[Row(METHOD_DEF), Row(0x35), Row(0x33), Row(0x34), Fixed(4), Fixed(4)],
        /* 33 LocalVariable */ &[Fixed(2), Fixed(2), String],
        /* 34 LocalConstant */ &[String, Blob],
        /* 35 ImportScope */ &[Row(0x35), Blob],
        /* 36 StateMachineMethod */ &[Row(METHOD_DEF), Row(METHOD_DEF)],
        /* 37 CustomDebugInformation */ &[Parent, Guid, Blob],
    ]
};

/// The tables that custom debug information can be about.
const PARENTS: [usize; 27] = [
    0x06, 0x04, 0x01, 0x02, 0x08, 0x09, 0x0a, 0x00, 0x0e, 0x11, 0x14, 0x17, 0x1a, 0x1b, 0x20, 0x23, 0x26, 0x27, 0x28,
    0x2a, 0x2c, 0x2b, 0x30, 0x32, 0x33, 0x34, 0x35,
];

/// How many rows each of the 64 possible tables has.
pub(super) type Counts = [u32; 64];

/// The rows of a PDB's tables.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tables<'d> {
    /// All rows, table after table.
    rows: &'d [u8],
    counts: Counts,
    heaps: u8,
}

/// Reads a bit for each table, what `between` skips, and the row counts of the tables whose bit is set.
pub(super) fn counts(cursor: &mut Cursor<'_>, between: usize) -> Result<Counts, Error> {
    let present = cursor.u64()?;
    cursor.take(between)?;
    let mut counts = [0; 64];
    for (table, count) in counts.iter_mut().enumerate() {
        if present >> table & 1 != 0 {
            *count = cursor.u32()?;
        }
    }
    Ok(counts)
}

impl<'d> Tables<'d> {
    /// Reads the stream `#~` at the cursor; `image` are the row counts of the image's tables.
    pub(super) fn parse(mut cursor: Cursor<'d>, image: &Counts) -> Result<Self, Error> {
        cursor.take(6)?;
        let heaps = cursor.u8()?;
        cursor.take(1)?;
        let start = cursor;
        let mut counts = counts(&mut cursor, 8)?;
        let (of_image, of_pdb) = counts.split_at_mut(FIRST);
        if of_image.iter().any(|count| *count != 0) {
            return Err(start.error(ErrorKind::Not { what: "a PDB of its own" }));
        }
        of_image.copy_from_slice(image.get(..FIRST).unwrap_or_default());
        if of_pdb.iter().skip(ADDED).any(|count| *count != 0) {
            return Err(start.error(ErrorKind::Not { what: "a PDB with only known tables" }));
        }
        if heaps & 0x40 != 0 {
            cursor.take(4)?;
        }
        let tables = Self { rows: cursor.rest(), counts, heaps };
        if tables.start(ADDED) > tables.rows.len() {
            return Err(cursor.error(ErrorKind::Cut { what: "PDB table" }));
        }
        Ok(tables)
    }

    /// How many rows a table has.
    pub(super) fn count(&self, table: Table) -> u32 {
        self.counts.get(FIRST.saturating_add(table as usize)).copied().unwrap_or(0)
    }

    /// The numbers in a row, as many as are asked for; rows count from 1.
    pub(super) fn row<const N: usize>(&self, table: Table, row: u32) -> Option<[u32; N]> {
        let index = row.checked_sub(1).filter(|_| row <= self.count(table))?;
        let before = usize::try_from(index).ok()?.checked_mul(self.row_size(table as usize))?;
        let at = self.start(table as usize).checked_add(before)?;
        let mut cursor = Cursor::new(self.rows, "PDB row").at(at);
        let mut values = [0; N];
        for (value, column) in values.iter_mut().zip(COLUMNS.get(table as usize).copied()?) {
            *value = if self.width(*column) == 2 { cursor.u16().ok()?.into() } else { cursor.u32().ok()? };
        }
        Some(values)
    }

    /// Where a table begins; too large a number is one that does not fit the address space.
    fn start(&self, table: usize) -> usize {
        let counts = self.counts.get(FIRST..).unwrap_or_default();
        counts.iter().take(table).enumerate().fold(0, |start: usize, (earlier, count)| {
            let count = usize::try_from(*count).unwrap_or(usize::MAX);
            start.saturating_add(self.row_size(earlier).saturating_mul(count))
        })
    }

    fn row_size(&self, table: usize) -> usize {
        let columns = COLUMNS.get(table).copied().unwrap_or_default();
        columns.iter().fold(0, |size: usize, column| size.saturating_add(self.width(*column)))
    }

    fn width(&self, column: Column) -> usize {
        let count = |table: usize| self.counts.get(table).copied().unwrap_or(0);
        let is_wide = match column {
            Column::Fixed(width) => return width,
            Column::String => self.heaps & 1 != 0,
            Column::Guid => self.heaps & 2 != 0,
            Column::Blob => self.heaps & 4 != 0,
            Column::Row(table) => count(table) > 0xffff,
            Column::Parent => PARENTS.iter().any(|table| count(*table) > 0x07ff),
        };
        if is_wide { 4 } else { 2 }
    }
}
