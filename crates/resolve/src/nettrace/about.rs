//! What a stream says of its process, its runtime and its machine.

use super::moment;
use crate::paths;
use strata_nettrace::survey::About;
use strata_nettrace::{Summary, TraceInfo};
use strata_profile::{Measure, RecordingInfo};

/// File name of the program in the command line.
pub(super) fn program(about: &About) -> &str {
    let line = about.command_line.as_deref().unwrap_or_default().trim_start();
    let program = match line.strip_prefix('"') {
        Some(quoted) => quoted.split('"').next(),
        None => line.split_whitespace().next(),
    };
    paths::stem_anywhere(program.unwrap_or_default())
}

/// What was recorded, as profiles have it. `file` is how it is called when it does not say itself.
pub(super) fn recording(
    about: &About,
    trace: Option<TraceInfo>,
    summary: &Summary,
    file: &str,
    measure: Measure,
) -> RecordingInfo {
    let start = trace.map_or(0, |trace| trace.sync_ticks);
    let unix_ms = trace.and_then(|trace| trace.utc.unix_milliseconds());
    RecordingInfo {
        target: about.command_line.clone().filter(|line| !line.is_empty()).unwrap_or_else(|| file.to_owned()),
        measure,
        start: moment(trace, start),
        end: moment(trace, summary.times.map_or(start, |(_, last)| last)),
        start_unix_ns: unix_ms.and_then(|ms| u64::try_from(ms).ok()).map(|ms| ms.saturating_mul(1_000_000)),
        system: about.operating_system.clone().unwrap_or_default(),
        kernel_release: String::new(),
        arch: about.architecture.clone().unwrap_or_default(),
        recorder: String::new(),
    }
}
