//! How long: `30s`, `1m30s`, `1.5s`, `00:00:00:30`.

use std::time::Duration;

/// Reads a time as users of such tools write it: numbers with `h`, `m`, `s`, `ms` or `us`, or dd:hh:mm:ss; a bare number is
/// seconds.
pub(crate) fn parse(text: &str) -> Result<Duration, String> {
    parse_moment(text).and_then(|duration| if duration.is_zero() { Err(wanted()) } else { Ok(duration) })
}

/// Reads how long after some beginning a moment is: the same, and 0 too.
pub(crate) fn parse_moment(text: &str) -> Result<Duration, String> {
    if text.contains(':') { by_colons(text) } else { by_units(text) }.ok_or_else(wanted)
}

fn wanted() -> String {
    "a time such as 30s, 1m30s, 1.5s or 00:00:00:30 is wanted".to_owned()
}

fn by_colons(text: &str) -> Option<Duration> {
    let fields: Vec<u64> = text.split(':').map(|field| field.parse().ok()).collect::<Option<_>>()?;
    let [days, hours, minutes, seconds] = *fields.as_slice() else { return None };
    let total = days.checked_mul(24)?.checked_add(hours)?.checked_mul(60)?.checked_add(minutes)?;
    Some(Duration::from_secs(total.checked_mul(60)?.checked_add(seconds)?))
}

fn by_units(text: &str) -> Option<Duration> {
    if text.is_empty() {
        return None;
    }
    let mut total = Duration::ZERO;
    let mut rest = text;
    while !rest.is_empty() {
        let is_digit = |letter: char| letter.is_ascii_digit() || letter == '.';
        let digits = rest.find(|letter| !is_digit(letter)).unwrap_or(rest.len());
        let after = rest.get(digits..)?;
        let letters = after.find(is_digit).unwrap_or(after.len());
        let nanoseconds = match after.get(..letters)? {
            "h" => 3_600_000_000_000,
            "m" => 60_000_000_000,
            "s" => 1_000_000_000,
            "ms" => 1_000_000,
            "us" => 1000,
            "" if digits == text.len() => 1_000_000_000,
            _ => return None,
        };
        total = total.checked_add(times(rest.get(..digits)?, nanoseconds)?)?;
        rest = after.get(letters..)?;
    }
    Some(total)
}

/// A number, perhaps with a fraction, of units of so many nanoseconds.
fn times(number: &str, nanoseconds: u64) -> Option<Duration> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    // More digits than a nanosecond has say nothing here.
    let fraction = fraction.get(..fraction.len().min(9))?;
    let parts = 10_u64.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    let of_fraction = u128::from(fraction.parse::<u64>().ok()?) * u128::from(nanoseconds) / u128::from(parts);
    let of_whole = whole.parse::<u64>().ok()?.checked_mul(nanoseconds)?;
    Some(Duration::from_nanos(of_whole.checked_add(u64::try_from(of_fraction).ok()?)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_people_write_them() {
        let check = |text, seconds: Option<f64>| {
            assert_eq!(parse(text).ok(), seconds.map(Duration::from_secs_f64), "{text:?}");
        };
        check("30s", Some(30.0));
        check("30", Some(30.0));
        check("1m30s", Some(90.0));
        check("2h", Some(7200.0));
        check("500ms", Some(0.5));
        check("1.5s", Some(1.5));
        check("0.25", Some(0.25));
        check("1.5m", Some(90.0));
        check("1m0.5s", Some(60.5));
        check("2.125ms", Some(0.002_125));
        check("7us", Some(0.000_007));
        check("0.1234567891234s", Some(0.123_456_789));
        check("00:00:00:30", Some(30.0));
        check("1:02:03:04", Some(93_784.0));
        for wrong in [
            "",
            "s",
            "30x",
            "1m30",
            "0s",
            "-5s",
            ".s",
            "1.s",
            ".5s",
            "1.2.3s",
            "1:2",
            "1:2:3:x",
            "99999999999999999999s",
            "9999999999999999h",
        ] {
            check(wrong, None);
        }
        assert_eq!(parse_moment("0"), Ok(Duration::ZERO));
        assert_eq!(parse_moment("0ms"), Ok(Duration::ZERO));
        assert!(parse_moment("").is_err());
    }
}
