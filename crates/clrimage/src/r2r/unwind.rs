//! Where the unwind data lies, for unwinders that are handed copies of it.

use crate::{Architecture, Directory};

use super::RuntimeFunctions;
use super::functions::Row;

/// The bytes that an unwinder of code with Windows-style unwind data needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnwindTables {
    /// The table of RuntimeFunctions.
    pub functions: Directory,
    /// From the lowest unwind record to the end of the highest.
    pub records: Directory,
}

impl RuntimeFunctions<'_> {
    /// The table's place, which is `place`, and that of all records it points to; `None` when there is no record.
    pub(crate) fn unwind_tables(&self, place: Directory) -> Option<UnwindTables> {
        let first = self.rows().map(|row| record_place(&row)).min()?;
        let last = self.rows().map(|row| record_place(&row)).max()?;
        let size = last.checked_sub(first)?.checked_add(self.record_size(last)?)?;
        Some(UnwindTables { functions: place, records: Directory { rva: first, size } })
    }

    /// The address of the routine that is asked for exception handlers, for all code but filters.
    pub(crate) fn personality(&self) -> Option<u32> {
        // The first row is the body of a method, and no filter.
        let record = record_place(&self.rows().next()?);
        let place = record.checked_add(self.record_size(record)?)?.checked_sub(4)?;
        self.pe().cursor(Directory { rva: place, size: 4 }, "unwind data").ok()?.u32().ok()
    }

    /// Bytes of a record, up to and with the address of its routine or the row that it continues.
    fn record_size(&self, record: u32) -> Option<u32> {
        let mut cursor = self.pe().cursor(Directory { rva: record, size: 4 }, "unwind data").ok()?;
        if self.architecture() == Architecture::Amd64 {
            let [first, _, codes, _] = *cursor.take(4).ok()?.first_chunk()?;
            // Codes are pairs of bytes, and an even number of them is kept.
            let codes = u32::from(codes).next_multiple_of(2).saturating_mul(2);
            let is_continuation = first >> 3 & 4 != 0;
            return codes.checked_add(if is_continuation { 16 } else { 8 });
        }
        let word = cursor.u32().ok()?;
        let (mut header, mut epilogs, mut code_words) = (4_u32, word >> 22 & 0x1f, word >> 27);
        if epilogs == 0 && code_words == 0 {
            let place = Directory { rva: record.checked_add(4)?, size: 4 };
            let extension = self.pe().cursor(place, "unwind data").ok()?.u32().ok()?;
            (header, epilogs, code_words) = (8, extension & 0xffff, extension >> 16 & 0xff);
        }
        // With this bit, the number of epilogs is the place of the only one's code.
        if word >> 21 & 1 != 0 {
            epilogs = 0;
        }
        epilogs.checked_add(code_words)?.checked_mul(4)?.checked_add(header)?.checked_add(4)
    }
}

/// The low bits are no part of the place.
fn record_place(row: &Row) -> u32 {
    row.unwind & !3
}
