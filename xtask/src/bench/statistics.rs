//! Middle and spread of repeated measurements.

/// The three quartiles.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Quartiles {
    pub(crate) lower: f64,
    pub(crate) median: f64,
    pub(crate) upper: f64,
}

impl Quartiles {
    /// Of any numbers, in any order; `None` of no numbers.
    pub(crate) fn of(values: impl IntoIterator<Item = f64>) -> Option<Quartiles> {
        let mut sorted: Vec<f64> = values.into_iter().collect();
        sorted.sort_by(f64::total_cmp);
        let at = |share| quantile(&sorted, share);
        Some(Quartiles { lower: at(0.25)?, median: at(0.5)?, upper: at(0.75)? })
    }
}

/// Between two measured values, the straight line between them.
#[expect(clippy::cast_precision_loss, reason = "there are few measurements")]
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a place in the list, rounded down")]
fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let place = (sorted.len().checked_sub(1)?) as f64 * share;
    let below = *sorted.get(place.floor() as usize)?;
    let above = *sorted.get(place.ceil() as usize)?;
    Some(below + (above - below) * place.fract())
}

pub(crate) fn median(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    Quartiles::of(values).map(|quartiles| quartiles.median)
}

/// By how much `value` is above the mean of its two neighbours, in percent.
pub(crate) fn percent_above(value: f64, neighbours: [f64; 2]) -> f64 {
    let [left, right] = neighbours;
    (value * 2.0 / (left + right) - 1.0) * 100.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_of_few_and_of_many() {
        let check = |values: &[f64], expected: Option<[f64; 3]>| {
            let found = Quartiles::of(values.iter().copied()).map(|found| [found.lower, found.median, found.upper]);
            assert_eq!(found, expected, "{values:?}");
        };
        check(&[], None);
        check(&[7.0], Some([7.0, 7.0, 7.0]));
        check(&[3.0, 1.0], Some([1.5, 2.0, 2.5]));
        check(&[5.0, 1.0, 4.0, 2.0, 3.0], Some([2.0, 3.0, 4.0]));
        check(&[4.0, 3.0, 2.0, 1.0], Some([1.75, 2.5, 3.25]));
    }

    #[test]
    fn a_window_is_compared_with_those_beside_it() {
        assert_eq!(percent_above(103.0, [99.0, 101.0]).round(), 3.0);
        assert_eq!(percent_above(100.0, [100.0, 100.0]), 0.0);
    }
}
