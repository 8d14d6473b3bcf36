//! The trace object: whose stream this is, and how its clock relates to UTC.

use crate::cursor::Cursor;
use crate::problem::Damage;
use crate::stack::PointerSize;

/// Bytes of the trace object's payload in versions 4 and 5.
pub(crate) const TRACE_BYTES: usize = 48;

/// What the stream says about itself and the traced process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TraceInfo {
    /// Version of the format; streams of version 5 say 4.
    pub version: FormatVersion,
    /// Wall clock time at `sync_ticks`.
    pub utc: UtcTime,
    /// The stream's clock at `utc`, ticks.
    pub sync_ticks: u64,
    /// Ticks in a second. On Linux 1,000,000,000: ticks are `CLOCK_MONOTONIC` nanoseconds.
    pub ticks_per_second: u64,
    /// Size of a pointer in the traced process.
    pub pointer_size: PointerSize,
    /// Process id in the traced process' own pid namespace. `None` when the stream does not say it, as one of a whole
    /// machine does not (version 6).
    pub process_id: Option<u32>,
    /// Processors the traced process saw, if the stream says it.
    pub processors: Option<u32>,
    /// Intended time between samples, ns, if the stream says it; informative and not reliable.
    pub sampling_period_ns: Option<u32>,
}

impl TraceInfo {
    /// Reads the trace object of versions 4 and 5.
    pub(crate) fn read(bytes: &[u8; TRACE_BYTES]) -> Result<Self, Damage> {
        let mut cursor = Cursor::new(bytes);
        let info = Self::read_clock(&mut cursor, FormatVersion { major: 4, minor: 0 })?;
        Ok(Self {
            process_id: Some(cursor.u32()?),
            processors: Some(cursor.u32()?),
            sampling_period_ns: Some(cursor.u32()?),
            ..info
        })
    }

    /// Reads what the versions have in common: clock and pointer size.
    pub(crate) fn read_clock(cursor: &mut Cursor<'_>, version: FormatVersion) -> Result<Self, Damage> {
        let (year, month, _day_of_week, day) = (cursor.u16()?, cursor.u16()?, cursor.u16()?, cursor.u16()?);
        let utc = UtcTime {
            year,
            month,
            day,
            hour: cursor.u16()?,
            minute: cursor.u16()?,
            second: cursor.u16()?,
            millisecond: cursor.u16()?,
        };
        let info = Self {
            version,
            utc,
            sync_ticks: cursor.u64()?,
            ticks_per_second: cursor.u64()?,
            pointer_size: PointerSize::from_bytes(cursor.u32()?).ok_or(Damage::BadSize)?,
            process_id: None,
            processors: None,
            sampling_period_ns: None,
        };
        // A clock that stands still or runs backwards makes every time meaningless.
        if info.ticks_per_second == 0 || i64::try_from(info.ticks_per_second).is_err() {
            return Err(Damage::BadSize);
        }
        Ok(info)
    }

    /// Nanoseconds from the start of the trace ([`TraceInfo::sync_ticks`]) to a time of this stream; below zero for an earlier
    /// one.
    pub fn since_start_ns(&self, ticks: u64) -> i128 {
        let distance = i128::from(ticks).saturating_sub(i128::from(self.sync_ticks));
        let scaled = distance.saturating_mul(1_000_000_000);
        scaled.checked_div(i128::from(self.ticks_per_second)).unwrap_or(0)
    }

    /// A time of this stream as nanoseconds of its own clock (on Linux: of `CLOCK_MONOTONIC`), saturating. From that of the
    /// trace's start it is as far as [`TraceInfo::since_start_ns`] says, whatever the clock counts.
    pub fn nanoseconds(&self, ticks: u64) -> u64 {
        if self.ticks_per_second == 1_000_000_000 {
            return ticks;
        }
        let start = i128::from(self.sync_ticks).saturating_mul(1_000_000_000);
        let start = start.checked_div(i128::from(self.ticks_per_second)).unwrap_or(i128::MAX);
        let nanoseconds = start.saturating_add(self.since_start_ns(ticks));
        u64::try_from(nanoseconds).unwrap_or(if nanoseconds < 0 { 0 } else { u64::MAX })
    }
}

/// Version of the format that a stream is written in.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FormatVersion {
    /// Readers of an older major version cannot read it.
    pub major: u32,
    /// Readers of an older minor version can read it.
    pub minor: u32,
}

impl core::fmt::Display for FormatVersion {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// A wall clock time in UTC with the stream's precision of a millisecond, as the stream spells it (not checked).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct UtcTime {
    /// Year of the common era.
    pub year: u16,
    /// Month, from 1.
    pub month: u16,
    /// Day of the month, from 1.
    pub day: u16,
    /// Hour, from 0.
    pub hour: u16,
    /// Minute, from 0.
    pub minute: u16,
    /// Second, from 0.
    pub second: u16,
    /// Millisecond, from 0.
    pub millisecond: u16,
}

impl UtcTime {
    /// Milliseconds since 1970-01-01T00:00:00Z, or `None` when there is no such time (30 February, 24 o'clock) or the year is
    /// none that Windows' `SYSTEMTIME`, whose form it has, can mean (1601 to 30827).
    pub fn unix_milliseconds(&self) -> Option<i64> {
        let is_time = self.hour < 24 && self.minute < 60 && self.second < 60 && self.millisecond < 1000;
        if !(1601..=30827).contains(&self.year) || !(1..=self.days_of_month()).contains(&self.day) || !is_time {
            return None;
        }
        // Years counted from March, so that the leap day is the last day of its year.
        let (year, month) = (i64::from(self.year), i64::from(self.month));
        let early = i64::from(self.month <= 2);
        let year = year.checked_sub(early)?;
        let month = month.checked_add(early.checked_mul(12)?)?.checked_sub(3)?;
        let day_of_year = month.checked_mul(153)?.checked_add(2)?.checked_div(5)?.checked_add(i64::from(self.day))?;
        let leap_days = year.div_euclid(4).checked_sub(year.div_euclid(100))?.checked_add(year.div_euclid(400))?;
        let days = year.checked_mul(365)?.checked_add(leap_days)?.checked_add(day_of_year)?.checked_sub(719_469)?;
        let hours = days.checked_mul(24)?.checked_add(i64::from(self.hour))?;
        let minutes = hours.checked_mul(60)?.checked_add(i64::from(self.minute))?;
        let seconds = minutes.checked_mul(60)?.checked_add(i64::from(self.second))?;
        seconds.checked_mul(1000)?.checked_add(i64::from(self.millisecond))
    }

    /// 0 for what is no month.
    fn days_of_month(&self) -> u16 {
        let is_leap = self.year.is_multiple_of(4) && (!self.year.is_multiple_of(100) || self.year.is_multiple_of(400));
        match self.month {
            1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
            4 | 6 | 9 | 11 => 30,
            2 if is_leap => 29,
            2 => 28,
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wall_clock_times() {
        let time = |year, month, day, hour, minute, second, millisecond| UtcTime {
            year,
            month,
            day,
            hour,
            minute,
            second,
            millisecond,
        };
        let cases = [
            (time(1970, 1, 1, 0, 0, 0, 0), Some(0)),
            (time(2000, 2, 29, 12, 0, 0, 1), Some(951_825_600_001)),
            (time(2026, 7, 3, 1, 2, 3, 4), Some(1_783_040_523_004)),
            (time(1969, 12, 31, 23, 59, 59, 999), Some(-1)),
            (time(2026, 0, 3, 1, 2, 3, 4), None),
            (time(2026, 13, 3, 1, 2, 3, 4), None),
            (time(1601, 1, 1, 0, 0, 0, 0), Some(-11_644_473_600_000)),
            (time(0, 1, 1, 0, 0, 0, 0), None),
            (time(30_828, 1, 1, 0, 0, 0, 0), None),
            (time(2024, 2, 29, 0, 0, 0, 0), Some(1_709_164_800_000)),
            (time(2026, 2, 29, 0, 0, 0, 0), None),
            (time(2100, 2, 29, 0, 0, 0, 0), None),
            (time(2026, 4, 31, 0, 0, 0, 0), None),
            (time(2026, 7, 0, 0, 0, 0, 0), None),
            (time(2026, 7, 3, 24, 0, 0, 0), None),
            (time(2026, 7, 3, 0, 60, 0, 0), None),
            (time(2026, 7, 3, 0, 0, 60, 0), None),
            (time(2026, 7, 3, 0, 0, 0, 1000), None),
        ];
        for (time, expected) in cases {
            assert_eq!(time.unix_milliseconds(), expected, "{time:?}");
        }
    }
}
