//! What a process has used, from `/proc`.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};

/// Ticks per second of the times in `/proc/PID/stat`: the same on every architecture that we run on.
const TICKS_PER_SECOND: u64 = 100;

/// CPU time of each thread of a process at one moment, to the nanosecond.
pub(crate) struct ThreadTimes(BTreeMap<OsString, Duration>);

impl ThreadTimes {
    pub(crate) fn of(pid: u32) -> Result<ThreadTimes> {
        let folder = format!("/proc/{pid}/task");
        let mut times = BTreeMap::new();
        for thread in fs::read_dir(&folder).with_context(|| format!("failed to list {folder}"))? {
            let thread = thread?;
            // A thread may have ended since it was listed.
            if let Ok(text) = fs::read_to_string(thread.path().join("schedstat")) {
                let nanoseconds = first_number(&text).with_context(|| format!("{folder}/*/schedstat has no number"))?;
                times.insert(thread.file_name(), Duration::from_nanos(nanoseconds));
            }
        }
        Ok(ThreadTimes(times))
    }

    /// CPU time that was used since `earlier`, but for that of threads which have ended: theirs is not to be had.
    pub(crate) fn since(&self, earlier: &ThreadTimes) -> Duration {
        let grown = |(thread, now): (&OsString, &Duration)| {
            now.saturating_sub(earlier.0.get(thread).copied().unwrap_or_default())
        };
        self.0.iter().map(grown).sum()
    }
}

/// State letter, and the CPU time of the whole process with threads that have ended, to the tick of 10 ms. A process that
/// has ended can be asked until it is waited for.
pub(crate) fn state_and_cpu(pid: u32) -> Result<(char, Duration)> {
    let path = format!("/proc/{pid}/stat");
    let text = fs::read_to_string(&path).with_context(|| format!("failed to read {path}"))?;
    parse_stat(&text).with_context(|| format!("{path} is not as expected: {text}"))
}

fn parse_stat(text: &str) -> Option<(char, Duration)> {
    // The name, in parentheses, may hold anything.
    let (_, after_name) = text.rsplit_once(')')?;
    let fields: Vec<&str> = after_name.split_whitespace().collect();
    let state = fields.first()?.chars().next()?;
    let ticks = fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?;
    Some((state, Duration::from_millis(ticks * 1000 / TICKS_PER_SECOND)))
}

/// Most bytes of memory that were resident at once; `None` when the process has ended.
pub(crate) fn peak_memory(pid: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    first_number(line).map(|kibibytes| kibibytes * 1024)
}

/// Bytes in a file, or in all files below a folder; 0 when there is nothing yet.
pub(crate) fn bytes_in(path: &Path) -> u64 {
    let Ok(metadata) = fs::symlink_metadata(path) else { return 0 };
    if !metadata.is_dir() {
        return metadata.len();
    }
    fs::read_dir(path).into_iter().flatten().flatten().map(|entry| bytes_in(&entry.path())).sum()
}

fn first_number(text: &str) -> Option<u64> {
    text.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stat_is_read_whatever_the_name() {
        let line = "17 (a) b) S 1 2 3 4 5 6 7 8 9 10 150 7 0 0 20 0 1 0 900";
        assert_eq!(parse_stat(line), Some(('S', Duration::from_millis(1570))));
        assert_eq!(parse_stat("17 (a) S 1 2"), None);
        assert_eq!(parse_stat(""), None);
    }

    #[test]
    fn a_thread_that_ends_takes_nothing_from_the_others() {
        let times = |list: &[(&str, u64)]| {
            ThreadTimes(list.iter().map(|(name, time)| (OsString::from(name), Duration::from_nanos(*time))).collect())
        };
        let earlier = times(&[("1", 100), ("2", 9000)]);
        assert_eq!(times(&[("1", 150), ("3", 7)]).since(&earlier), Duration::from_nanos(57));
    }

    #[test]
    fn we_ourselves_use_something() {
        let pid = std::process::id();
        assert!(ThreadTimes::of(pid).unwrap().since(&ThreadTimes(BTreeMap::new())) > Duration::ZERO);
        assert!(peak_memory(pid).unwrap() > 4096);
        assert!("RS".contains(state_and_cpu(pid).unwrap().0));
    }
}
