//! The table stream: where each table's rows are, and their columns.

use super::layout::{COLUMNS, Coded, Column, TABLES, Table, Widths};
use crate::bytes::Cursor;
use crate::{Error, ErrorKind};

/// A row of a table: the table and the row's number, which counts from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token {
    /// The table.
    pub table: Table,
    /// The row's number; 0 is no row.
    pub rid: u32,
}

/// The tables of one metadata blob.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tables<'d> {
    /// All rows, table after table.
    rows: &'d [u8],
    /// Where they begin in the metadata.
    offset: u64,
    counts: [u32; TABLES],
    /// Where each table begins in `rows`.
    starts: [u32; TABLES],
    widths: Widths,
    order: Order,
}

/// Whether the tables that are to be sorted are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// Those of the stream `#~`.
    Sorted,
    /// Those of the stream `#-`: they may be.
    Unknown,
}

/// How many rows are looked at where no order helps. Editors write such tables, and they are looked at for every name.
const MOST_SCANNED: u32 = 1024;

impl<'d> Tables<'d> {
    /// Reads the header of a table stream that begins at `offset` of the metadata.
    pub(super) fn parse(stream: &'d [u8], offset: u32, order: Order) -> Result<Self, Error> {
        let moved = |error: Error| Error { offset: error.offset.saturating_add(offset.into()), ..error };
        Self::parse_header(stream, order)
            .map_err(moved)
            .map(|tables| Self { offset: tables.offset.saturating_add(offset.into()), ..tables })
    }

    fn parse_header(stream: &'d [u8], order: Order) -> Result<Self, Error> {
        let mut cursor = Cursor::new(stream, "the metadata tables");
        cursor.take(6)?;
        let heaps = cursor.u8()?;
        cursor.take(1)?;
        let present = cursor.u64()?;
        cursor.take(8)?;
        let mut counts = [0; TABLES];
        for table in 0..64_usize {
            if present >> table & 1 != 0 {
                let count = cursor.u32()?;
                if let Some(slot) = counts.get_mut(table) {
                    *slot = count;
                }
            }
        }
        if heaps & 0x40 != 0 {
            cursor.take(4)?;
        }
        let (rows, offset) = (cursor.rest(), cursor.offset() as u64);
        let widths = Widths::new(heaps, &counts);
        let mut starts = [0; TABLES];
        let mut end = 0_u64;
        for ((start, count), columns) in starts.iter_mut().zip(counts).zip(COLUMNS) {
            // Every earlier end was at most the length of `rows`, which a stream's 32-bit size bounds.
            *start = u32::try_from(end).unwrap_or(u32::MAX);
            end = end.saturating_add(row_size(widths, columns).saturating_mul(count.into()));
            if end > rows.len() as u64 {
                return Err(cursor.error(ErrorKind::Cut { what: "a metadata table" }));
            }
        }
        Ok(Self { rows, offset, counts, starts, widths, order })
    }

    /// How many rows a table has.
    pub(super) fn count(&self, table: Table) -> u32 {
        self.counts.get(table.index()).copied().unwrap_or(0)
    }

    /// The first row of those looked at that is wanted, in a table that was searched by its order in vain.
    pub(super) fn scan(&self, table: Table, is_wanted: impl FnMut(&u32) -> bool) -> Option<u32> {
        if self.order == Order::Sorted { None } else { scan(self.count(table), is_wanted) }
    }

    /// Row `rid` of a table.
    pub(super) fn row(&self, table: Table, rid: u32) -> Result<Row<'d>, Error> {
        let columns = COLUMNS.get(table.index()).copied().unwrap_or_default();
        let size = row_size(self.widths, columns);
        let start = u64::from(self.starts.get(table.index()).copied().unwrap_or(0));
        let missing =
            Error { kind: ErrorKind::Impossible { what: "row number", value: rid.into() }, offset: self.offset };
        let index = rid.checked_sub(1).filter(|_| rid <= self.count(table)).ok_or(missing)?;
        let at = usize::try_from(start.saturating_add(size.saturating_mul(index.into()))).map_err(|_| missing)?;
        let bytes = self.rows.get(at..).ok_or(missing)?;
        Ok(Row { bytes, columns, widths: self.widths, offset: self.offset.saturating_add(at as u64) })
    }

    /// One column of a table, for searches.
    pub(super) fn column(&self, table: Table, index: usize) -> ColumnValues<'d> {
        let columns = COLUMNS.get(table.index()).copied().unwrap_or_default();
        let start = self.starts.get(table.index()).and_then(|start| usize::try_from(*start).ok());
        let before = row_size(self.widths, columns.get(..index).unwrap_or_default());
        let at = start.and_then(|start| start.checked_add(usize::try_from(before).ok()?));
        ColumnValues {
            bytes: at.and_then(|at| self.rows.get(at..)).unwrap_or_default(),
            stride: usize::try_from(row_size(self.widths, columns)).unwrap_or(usize::MAX),
            width: columns.get(index).map_or(0, |column| self.widths.of(*column)),
            count: self.count(table),
        }
    }
}

fn row_size(widths: Widths, columns: &[Column]) -> u64 {
    columns.iter().fold(0, |size: u64, column| size.saturating_add(widths.of(*column).into()))
}

fn number(bytes: &[u8], at: usize, width: u8) -> Option<u32> {
    let bytes = bytes.get(at..)?;
    match width {
        2 => Some(u16::from_le_bytes(*bytes.first_chunk()?).into()),
        4 => Some(u32::from_le_bytes(*bytes.first_chunk()?)),
        _ => None,
    }
}

/// One row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row<'d> {
    bytes: &'d [u8],
    columns: &'static [Column],
    widths: Widths,
    offset: u64,
}

impl Row<'_> {
    /// The number in a column. The table's bytes were checked to be there when the stream was read.
    pub(super) fn value(&self, index: usize) -> u32 {
        let before = row_size(self.widths, self.columns.get(..index).unwrap_or_default());
        let width = self.columns.get(index).map_or(0, |column| self.widths.of(*column));
        usize::try_from(before).ok().and_then(|at| number(self.bytes, at, width)).unwrap_or(0)
    }

    /// The row that a coded index in a column means.
    pub(super) fn token(&self, index: usize, kind: Coded) -> Result<Token, Error> {
        let value = self.value(index);
        decode(kind, value).ok_or(Error {
            kind: ErrorKind::Impossible { what: "coded index", value: value.into() },
            offset: self.offset,
        })
    }
}

/// The row that a coded index means.
pub(super) fn decode(kind: Coded, value: u32) -> Option<Token> {
    let bits = kind.tag_bits();
    let tag = value & !u32::MAX.wrapping_shl(bits);
    let table = *kind.tables().get(usize::try_from(tag).ok()?)?;
    (usize::from(table) < TABLES).then_some(Token { table: Table(table), rid: value.wrapping_shr(bits) })
}

/// The values of one column, by row number.
#[derive(Clone, Copy, Debug)]
pub(super) struct ColumnValues<'d> {
    bytes: &'d [u8],
    stride: usize,
    width: u8,
    count: u32,
}

impl ColumnValues<'_> {
    /// The value in row `rid`.
    pub(super) fn get(&self, rid: u32) -> Option<u32> {
        let index = usize::try_from(rid.checked_sub(1).filter(|_| rid <= self.count)?).ok()?;
        number(self.bytes, index.checked_mul(self.stride)?, self.width)
    }

    /// The number of the first row whose value is at least `value`, or one more than the count; rows must ascend.
    pub(super) fn lower_bound(&self, value: u32) -> u32 {
        let (mut low, mut high) = (1, self.count.saturating_add(1));
        while low < high {
            let middle = low.midpoint(high);
            if self.get(middle).is_some_and(|found| found < value) {
                low = middle.saturating_add(1);
            } else {
                high = middle;
            }
        }
        low
    }

    /// A row with this value, in a column of which no order is known.
    pub(super) fn find(&self, value: u32) -> Option<u32> {
        let is_wanted = |rid: &u32| self.get(*rid) == Some(value);
        Some(self.lower_bound(value)).filter(is_wanted).or_else(|| scan(self.count, is_wanted))
    }
}

/// The first of the first rows that is wanted.
fn scan(count: u32, is_wanted: impl FnMut(&u32) -> bool) -> Option<u32> {
    (1..=count.min(MOST_SCANNED)).find(is_wanted)
}
