//! What the `Shares` workload says about where its CPU time went.

/// CPU time of the three kernels, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct KernelTimes {
    /// `Shares.KernelA`: arithmetic in managed code, half of the time.
    pub a: u64,
    /// `Shares.KernelB`: virtual and interface calls, three tenths.
    pub b: u64,
    /// `Shares.KernelC`: the C library's `qsort` with a managed comparison, two tenths.
    pub c: u64,
}

impl KernelTimes {
    /// The three together, in nanoseconds.
    pub fn total(&self) -> u64 {
        self.a.saturating_add(self.b).saturating_add(self.c)
    }

    /// The part of each kernel in the whole, from 0 to 1; all 0 when nothing ran.
    pub fn shares(&self) -> [f64; 3] {
        let total = self.total().max(1) as f64;
        [self.a, self.b, self.c].map(|time| time as f64 / total)
    }

    /// The time since an `earlier` reading.
    pub fn since(&self, earlier: &KernelTimes) -> KernelTimes {
        KernelTimes {
            a: self.a.saturating_sub(earlier.a),
            b: self.b.saturating_sub(earlier.b),
            c: self.c.saturating_sub(earlier.c),
        }
    }
}

/// A reading of the kernels' times, cumulative since the workload's `ready`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Truth {
    /// `CLOCK_MONOTONIC` in nanoseconds; `None` for the last reading, which is taken at the end.
    pub at: Option<u64>,
    /// The times up to then.
    pub times: KernelTimes,
}

/// The readings among the workload's lines of output, in their order.
pub fn truths<S: AsRef<str>>(lines: &[S]) -> Vec<Truth> {
    lines.iter().filter_map(|line| truth(line.as_ref())).collect()
}

fn truth(line: &str) -> Option<Truth> {
    let mut words = line.split_whitespace();
    let at = match words.next()? {
        "at" => Some(words.next()?.parse().ok()?),
        "truth" => None,
        _ => return None,
    };
    let mut time = |name: &str| words.next()?.strip_prefix(name)?.parse().ok();
    Some(Truth { at, times: KernelTimes { a: time("A=")?, b: time("B=")?, c: time("C=")? } })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readings_are_found_among_other_lines() {
        let lines = ["ready 12", "at 77 A=5 B=3 C=2", "at", "at x A=1 B=1 C=1", "truth A=50 B=30 C=20 ns"];
        let found = truths(&lines);
        assert_eq!(
            found,
            [
                Truth { at: Some(77), times: KernelTimes { a: 5, b: 3, c: 2 } },
                Truth { at: None, times: KernelTimes { a: 50, b: 30, c: 20 } },
            ]
        );
        assert_eq!(found[1].times.since(&found[0].times), KernelTimes { a: 45, b: 27, c: 18 });
        assert_eq!(found[1].times.shares(), [0.5, 0.3, 0.2]);
    }
}
