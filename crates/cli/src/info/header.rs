//! What a trace's header says, as far as it can be true: its bytes may be damaged or made up.

use strata_nettrace::survey::Times;
use strata_nettrace::{TraceInfo, UtcTime};

/// Linux ends at 4,194,304; the ids of other systems stay far below this too.
const LARGEST_PROCESS_ID: u32 = i32::MAX as u32;

/// Far more than any machine has.
const MOST_PROCESSORS: u32 = 1 << 20;

/// Clocks tick in milliseconds at the coarsest; the finest, counters of processors, stay below this.
const TICKS_PER_SECOND: std::ops::RangeInclusive<u64> = 1_000..=100_000_000_000;

/// A value of the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Said<T, Raw = T> {
    /// The trace does not tell it.
    Nothing,
    /// It can be true.
    Valid(T),
    /// It cannot be true; as it stands there.
    NotValid(Raw),
}

impl<T: Copy, Raw: Copy> Said<T, Raw> {
    /// For programs, that must not take what cannot be true for a value.
    pub(super) fn valid(&self) -> Option<T> {
        if let Self::Valid(value) = self { Some(*value) } else { None }
    }

    fn not_valid(&self) -> Option<Raw> {
        if let Self::NotValid(value) = self { Some(*value) } else { None }
    }
}

/// The header of a trace.
#[derive(Clone, Copy, Debug)]
pub(super) struct Header {
    pub(super) process_id: Said<u32>,
    pub(super) processors: Said<u32>,
    /// Milliseconds since 1970.
    pub(super) began: Said<i64, UtcTime>,
    pub(super) ticks_per_second: Said<u64>,
}

impl Header {
    pub(super) fn of(trace: &TraceInfo) -> Self {
        // Who writes it and does not know it writes 0.
        let number = |value: Option<u32>, most| match value {
            None | Some(0) => Said::Nothing,
            Some(value) if value > most => Said::NotValid(value),
            Some(value) => Said::Valid(value),
        };
        let ticks = trace.ticks_per_second;
        Self {
            process_id: number(trace.process_id, LARGEST_PROCESS_ID),
            processors: number(trace.processors, MOST_PROCESSORS),
            began: trace.utc.unix_milliseconds().map_or(Said::NotValid(trace.utc), Said::Valid),
            ticks_per_second: if TICKS_PER_SECOND.contains(&ticks) {
                Said::Valid(ticks)
            } else {
                Said::NotValid(ticks)
            },
        }
    }

    /// Name and text of each value that cannot be true.
    pub(super) fn not_valid(&self) -> Vec<(&'static str, String)> {
        let number = |value: &Said<u32>| value.not_valid().map(|value| value.to_string());
        let all = [
            ("process_id", number(&self.process_id)),
            ("processors", number(&self.processors)),
            ("began", self.began.not_valid().map(|time| utc(&time))),
            ("ticks_per_second", self.ticks_per_second.not_valid().map(|value| value.to_string())),
        ];
        all.into_iter().filter_map(|(what, value)| Some((what, value?))).collect()
    }
}

/// How long a trace is, in nanoseconds since its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lasted {
    /// Up to the last event that is not of the rundown; 0 without any.
    pub(super) events: u64,
    /// From the first to the last event of the rundown.
    pub(super) rundown: Option<(u64, u64)>,
}

impl Lasted {
    /// `None` when the header's clock cannot be true, or the header's start is behind all events.
    pub(super) fn of(trace: &TraceInfo, header: &Header, times: Times) -> Option<Self> {
        header.ticks_per_second.valid()?;
        let since = |ticks| u64::try_from(trace.since_start_ns(ticks)).ok();
        Some(Self {
            events: times.events.map_or(Some(0), |(_, last)| since(last))?,
            rundown: match times.rundown {
                Some((first, last)) => Some((since(first)?, since(last)?)),
                None => None,
            },
        })
    }
}

/// A time as the header spells it.
pub(super) fn utc(time: &UtcTime) -> String {
    let UtcTime { year, month, day, hour, minute, second, millisecond } = time;
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}.{millisecond:03} UTC")
}

#[cfg(test)]
mod tests {
    use super::*;
    use strata_nettrace::{FormatVersion, PointerSize};

    fn trace() -> TraceInfo {
        TraceInfo {
            utc: UtcTime { year: 2026, month: 7, day: 3, hour: 1, minute: 2, second: 3, millisecond: 4 },
            sync_ticks: 1000,
            ticks_per_second: 1_000_000_000,
            pointer_size: PointerSize::Eight,
            version: FormatVersion { major: 4, minor: 0 },
            process_id: Some(4242),
            processors: Some(2),
            sampling_period_ns: None,
        }
    }

    #[test]
    fn what_cannot_be_true_is_told_apart() {
        let check = |change: &dyn Fn(&mut TraceInfo), expected: &[(&str, &str)]| {
            let mut trace = trace();
            change(&mut trace);
            let found = Header::of(&trace).not_valid();
            let found: Vec<_> = found.iter().map(|(what, value)| (*what, value.as_str())).collect();
            assert_eq!(found, expected);
        };
        check(&|_| {}, &[]);
        check(&|trace| trace.process_id = Some(0), &[]);
        check(&|trace| trace.process_id = Some(u32::MAX), &[("process_id", "4294967295")]);
        check(&|trace| trace.processors = Some(1 << 30), &[("processors", "1073741824")]);
        check(&|trace| trace.utc.month = 13, &[("began", "2026-13-03 01:02:03.004 UTC")]);
        check(&|trace| trace.utc.year = 0, &[("began", "0000-07-03 01:02:03.004 UTC")]);
        check(&|trace| trace.ticks_per_second = 5, &[("ticks_per_second", "5")]);
        check(&|trace| trace.ticks_per_second = 1 << 62, &[("ticks_per_second", "4611686018427387904")]);
    }

    #[test]
    fn a_rundown_is_no_part_of_what_happened() {
        let check = |trace: TraceInfo, events, rundown, expected: Option<(u64, Option<(u64, u64)>)>| {
            let lasted = Lasted::of(&trace, &Header::of(&trace), Times { events, rundown });
            assert_eq!(lasted, expected.map(|(events, rundown)| Lasted { events, rundown }));
        };
        check(trace(), Some((900, 1500)), Some((2000, 2500)), Some((500, Some((1000, 1500)))));
        check(trace(), Some((900, 1500)), None, Some((500, None)));
        check(trace(), None, None, Some((0, None)));
        check(trace(), Some((500, 900)), None, None);
        check(TraceInfo { ticks_per_second: 1, ..trace() }, Some((900, 1500)), None, None);
    }
}
