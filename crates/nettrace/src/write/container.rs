//! The container: header, objects, end mark.

use crate::trace::{TraceInfo, UtcTime};

const TAG_NULL: u8 = 1;
const TAG_BEGIN: u8 = 5;
const TAG_END: u8 = 6;

/// Bytes of a stream that nobody has taken yet.
pub(super) struct Container {
    bytes: Vec<u8>,
    /// Bytes of the stream before these.
    before: u64,
}

impl Container {
    pub(super) fn new() -> Self {
        Self { bytes: b"Nettrace\x14\0\0\0!FastSerialization.1".to_vec(), before: 0 }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(super) fn clear(&mut self) {
        self.before = self.offset();
        self.bytes.clear();
    }

    /// Bytes of the stream so far.
    pub(super) fn offset(&self) -> u64 {
        self.before.saturating_add(self.bytes.len() as u64)
    }

    fn begin(&mut self, name: &str, version: u32) {
        self.bytes.extend([TAG_BEGIN, TAG_BEGIN, TAG_NULL]);
        for number in [version, version, name.len() as u32] {
            self.bytes.extend(number.to_le_bytes());
        }
        self.bytes.extend(name.as_bytes());
        self.bytes.push(TAG_END);
    }

    pub(super) fn block(&mut self, name: &str, content: &[u8]) {
        self.begin(name, 2);
        // The callers keep contents below the limit of readers.
        self.bytes.extend((content.len() as u32).to_le_bytes());
        let padding = (self.offset().wrapping_neg() & 3) as usize;
        self.bytes.extend([0; 3].into_iter().take(padding));
        self.bytes.extend(content);
        self.bytes.push(TAG_END);
    }

    pub(super) fn trace(&mut self, trace: &TraceInfo) {
        self.begin("Trace", 4);
        let UtcTime { year, month, day, hour, minute, second, millisecond } = trace.utc;
        for number in [year, month, day_of_week(&trace.utc), day, hour, minute, second, millisecond] {
            self.bytes.extend(number.to_le_bytes());
        }
        self.bytes.extend(trace.sync_ticks.to_le_bytes());
        self.bytes.extend(trace.ticks_per_second.to_le_bytes());
        let pointer_size = trace.pointer_size.bytes() as u32;
        for number in [Some(pointer_size), trace.process_id, trace.processors, trace.sampling_period_ns] {
            self.bytes.extend(number.unwrap_or(0).to_le_bytes());
        }
        self.bytes.push(TAG_END);
    }

    pub(super) fn end(&mut self) {
        self.bytes.push(TAG_NULL);
    }
}

/// Day of the week, from 0 for Sunday; 0 also for a date that is none.
fn day_of_week(time: &UtcTime) -> u16 {
    const DAY: i64 = 86_400_000;
    // 1970 began on a Thursday.
    let days = time.unix_milliseconds().map(|milliseconds| milliseconds.div_euclid(DAY).saturating_add(4));
    days.and_then(|days| u16::try_from(days.rem_euclid(7)).ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_of_the_week() {
        let check = |(year, month, day), expected| {
            let time = UtcTime { year, month, day, hour: 23, minute: 59, second: 59, millisecond: 999 };
            assert_eq!(day_of_week(&time), expected, "{time:?}");
        };
        check((1970, 1, 1), 4);
        check((1969, 12, 31), 3);
        check((2000, 2, 29), 2);
        check((2026, 7, 3), 5);
        check((2026, 7, 5), 0);
        check((2026, 0, 5), 0);
    }
}
