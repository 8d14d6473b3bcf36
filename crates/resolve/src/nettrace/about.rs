//! What a stream says of its process, its runtime and its machine.

use crate::paths;
use strata_nettrace::runtime::{ProcessInfo, RuntimeInformation};
use strata_nettrace::{Summary, TraceInfo, Utf16};
use strata_profile::{Measure, RecordingInfo, Timestamp};

/// Gathers it.
#[derive(Default)]
pub(super) struct About {
    command_line: String,
    system: String,
    architecture: String,
    runtime_version: Option<String>,
}

impl About {
    /// The stream's writer said which process it is.
    pub(super) fn process(&mut self, event: &ProcessInfo<'_>) {
        let text = |text: Option<Utf16<'_>>| text.map(|text| text.to_string()).unwrap_or_default();
        self.command_line = event.command_line.to_string();
        self.system = text(event.system);
        self.architecture = text(event.architecture);
    }

    /// The runtime said which one it is.
    pub(super) fn runtime(&mut self, event: &RuntimeInformation<'_>) {
        self.runtime_version = Some(event.version.to_string());
        if self.command_line.is_empty() {
            self.command_line = event.command_line.to_string();
        }
    }

    pub(super) fn runtime_version(&self) -> Option<&str> {
        self.runtime_version.as_deref()
    }

    /// File name of the program in the command line.
    pub(super) fn program(&self) -> &str {
        let line = self.command_line.trim_start();
        let program = match line.strip_prefix('"') {
            Some(quoted) => quoted.split('"').next(),
            None => line.split_whitespace().next(),
        };
        paths::stem_anywhere(program.unwrap_or_default())
    }

    /// What was recorded, as profiles have it. `file` is how it is called when it does not say itself.
    pub(super) fn recording(
        &self,
        trace: Option<TraceInfo>,
        summary: &Summary,
        file: &str,
        measure: Measure,
    ) -> RecordingInfo {
        let nanoseconds = |ticks| Timestamp(trace.map_or(ticks, |trace| trace.nanoseconds(ticks)));
        let start = trace.map_or(0, |trace| trace.sync_ticks);
        let unix_ms = trace.and_then(|trace| trace.utc.unix_milliseconds());
        RecordingInfo {
            target: if self.command_line.is_empty() { file.to_owned() } else { self.command_line.clone() },
            measure,
            start: nanoseconds(start),
            end: nanoseconds(summary.times.map_or(start, |(_, last)| last)),
            start_unix_ns: unix_ms.and_then(|ms| u64::try_from(ms).ok()).map(|ms| ms.saturating_mul(1_000_000)),
            system: self.system.clone(),
            kernel_release: String::new(),
            arch: self.architecture.clone(),
            recorder: String::new(),
        }
    }
}
