//! Which processor is whose: the program has one to itself.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::run;

/// The processors of a bench.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Processors {
    pub(crate) program: u32,
    /// Where profilers run, and we.
    pub(crate) others: u32,
}

impl Processors {
    /// The last processor that we may use is the program's: the first one has more of the machine's own work.
    pub(crate) fn choose() -> Result<Processors> {
        let status = fs::read_to_string("/proc/self/status").context("failed to read /proc/self/status")?;
        let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap_or_default().trim();
        match ends(list) {
            Some((first, last)) if first != last => Ok(Processors { program: last, others: first }),
            _ => {
                bail!("two processors are needed, one for the program and one for the profilers; allowed are `{list}`")
            }
        }
    }

    /// Puts this process on the profilers' processor; what it starts from now on inherits that.
    pub(crate) fn leave_one_free(self) -> Result<()> {
        let (others, ourselves) = (self.others.to_string(), std::process::id().to_string());
        run::quietly(Command::new("taskset").args(["--all-tasks", "--cpu-list", "--pid", &others, &ourselves]))?;
        Ok(())
    }
}

/// First and last of a list like `0-3,8`.
fn ends(list: &str) -> Option<(u32, u32)> {
    let mut numbers = list.split([',', '-']).map(|number| number.parse().ok());
    let first = numbers.next()??;
    Some((first, numbers.next_back().unwrap_or(Some(first))?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_of_lists() {
        let check = |list, expected| assert_eq!(ends(list), expected, "{list}");
        check("0-1", Some((0, 1)));
        check("3", Some((3, 3)));
        check("0-3,8", Some((0, 8)));
        check("2,5-7", Some((2, 7)));
        check("", None);
        check("a", None);
    }
}
