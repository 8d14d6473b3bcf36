//! Percentages for reading.

/// A percentage with one decimal, or `-` of no whole.
///
/// What is not all never reads as 100, nor what is not nothing as 0: below 0.1 it is `<0.1`; above 99 there are two
/// decimals, rounded down.
pub fn percent(percent: Option<f64>) -> String {
    match percent {
        None => "-".to_owned(),
        Some(percent) if percent > 0.0 && percent < 0.1 => "<0.1".to_owned(),
        Some(percent) if percent > 99.0 && percent < 100.0 => format!("{:.2}", (percent * 100.0).floor() / 100.0),
        Some(percent) => format!("{percent:.1}"),
    }
}

#[cfg(test)]
mod tests {
    use strata_profile::Share;

    #[test]
    fn neither_all_nor_nothing_is_claimed_falsely() {
        let check = |part, whole, expected| assert_eq!(super::percent(Share { part, whole }.percent()), expected);
        check(0, 0, "-");
        check(0, 7, "0.0");
        check(1, 1_000_000, "<0.1");
        check(999, 1_000_000, "<0.1");
        check(1_000, 1_000_000, "0.1");
        check(13, 17, "76.5");
        check(99, 100, "99.0");
        check(9_904, 10_000, "99.04");
        check(32_108, 32_109, "99.99");
        check(u64::from(u32::MAX) - 1, u64::from(u32::MAX), "99.99");
        check(7, 7, "100.0");
    }
}
