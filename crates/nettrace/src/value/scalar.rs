//! Scalars that Rust has no type for.

use core::fmt;

use crate::cursor::Cursor;
use crate::problem::Damage;

/// A point in time, UTC: 100 ns steps since 1601-01-01T00:00:00. `Display` gives it as ISO 8601.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct DateTime {
    /// The steps.
    pub ticks: u64,
}

impl fmt::Display for DateTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const PER_SECOND: u64 = 10_000_000;
        let (seconds, fraction) = (self.ticks / PER_SECOND, self.ticks % PER_SECOND);
        let (days, second) = (seconds / 86_400, seconds % 86_400);
        let (year, month, day) = date(days);
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{fraction:07}Z")
    }
}

/// Year, month and day so many days after 1601-01-01.
fn date(days: u64) -> (u64, u64, u64) {
    // 1601 begins a cycle of 400 years, so that leap days need no case of their own: count from March 1600 on, where the
    // leap day is the last day of its year.
    let days = days.saturating_add(306);
    let (cycle, day) = (days / 146_097, days % 146_097);
    let leap_days = (day / 1460).saturating_add(day / 146_096).saturating_sub(day / 36_524);
    let year = day.saturating_sub(leap_days) / 365;
    let before = year.saturating_mul(365).saturating_add(year / 4).saturating_sub(year / 100);
    let day = day.saturating_sub(before);
    let month = day.saturating_mul(5).saturating_add(2) / 153;
    let day = day.saturating_sub(month.saturating_mul(153).saturating_add(2) / 5).saturating_add(1);
    let year = cycle.saturating_mul(400).saturating_add(1600).saturating_add(year);
    if month < 10 {
        (year, month.saturating_add(3), day)
    } else {
        (year.saturating_add(1), month.saturating_sub(9), day)
    }
}

/// A decimal number of the .NET runtime: up to 96 bits with a decimal point somewhere. `Display` gives it exactly.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Decimal {
    /// Whether it is below zero.
    pub negative: bool,
    /// Its digits as a whole number.
    pub digits: u128,
    /// How many of the digits are behind the decimal point; the runtime makes at most 28.
    pub scale: u8,
}

impl Decimal {
    /// Reads flags (sign and scale), high 32 bits, low 64 bits: the runtime's own layout.
    pub(super) fn read(cursor: &mut Cursor<'_>) -> Result<Self, Damage> {
        let (flags, high, low) = (cursor.u32()?, cursor.u32()?, cursor.u64()?);
        let digits = (u128::from(high) << 64) | u128::from(low);
        Ok(Self { negative: flags >> 31 != 0, digits, scale: (flags >> 16) as u8 })
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.negative { "-" } else { "" };
        let scale = usize::from(self.scale);
        let digits = format!("{:0width$}", self.digits, width = scale.saturating_add(1));
        match digits.split_at_checked(digits.len().saturating_sub(scale)) {
            Some((whole, fraction)) if scale > 0 => write!(f, "{sign}{whole}.{fraction}"),
            _ => write!(f, "{sign}{digits}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_since_1601() {
        let cases = [
            (0, "1601-01-01T00:00:00.0000000Z"),
            (116_444_736_000_000_000, "1970-01-01T00:00:00.0000000Z"),
            (125_963_043_991_234_567, "2000-02-29T13:26:39.1234567Z"),
            (864_000_000_000 * 58, "1601-02-28T00:00:00.0000000Z"),
            (864_000_000_000 * 59, "1601-03-01T00:00:00.0000000Z"),
            (864_000_000_000 * (146_097 - 1), "2000-12-31T00:00:00.0000000Z"),
            (864_000_000_000 * 146_097, "2001-01-01T00:00:00.0000000Z"),
            (u64::MAX, "60056-05-28T05:36:10.9551615Z"),
        ];
        for (ticks, expected) in cases {
            assert_eq!(DateTime { ticks }.to_string(), expected);
        }
    }

    #[test]
    fn decimals() {
        let cases = [
            (false, 0, 0, "0"),
            (false, 12345, 2, "123.45"),
            (true, 5, 3, "-0.005"),
            (true, u128::from(u64::MAX), 0, "-18446744073709551615"),
            (false, (1 << 96) - 1, 28, "7.9228162514264337593543950335"),
            (false, 1, 255, &format!("0.{}1", "0".repeat(254))),
        ];
        for (negative, digits, scale, expected) in cases {
            assert_eq!(Decimal { negative, digits, scale }.to_string(), expected);
            let flags = (u32::from(negative) << 31) | (u32::from(scale) << 16);
            let mut bytes = flags.to_le_bytes().to_vec();
            bytes.extend(((digits >> 64) as u32).to_le_bytes());
            bytes.extend((digits as u64).to_le_bytes());
            assert_eq!(Decimal::read(&mut Cursor::new(&bytes)), Ok(Decimal { negative, digits, scale }));
        }
    }
}
