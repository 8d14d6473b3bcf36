//! The routine that unwind data names, behind which helpers of the runtime lie.

use crate::{Architecture, Directory};

use super::RuntimeFunctions;

impl RuntimeFunctions<'_> {
    /// The address of the routine that is asked for exception handlers, for all code but filters.
    pub(crate) fn personality(&self) -> Option<u32> {
        // The first row is the body of a method, and no filter.
        let record = self.rows().next()?.unwind & !3;
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
