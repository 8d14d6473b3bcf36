//! `meta`: what was recorded, how to read the columns, what was lost.

use super::category::{Category, categories};
use super::milliseconds;
use serde::Serialize;
use strata_digest::LossSummary;
use strata_profile::{Measure, Profile, Quantity, Timestamp};

/// The newest version whose tables are all described in the format's type definitions.
const PROCESSED_VERSION: u32 = 60;
/// The version of the browser's own format; the profiler wants one, though nothing here depends on it.
const GECKO_VERSION: u32 = 30;

#[derive(Serialize)]
pub(super) struct Meta<'p> {
    #[serde(flatten)]
    versions: Versions,
    #[serde(flatten)]
    what: What<'p>,
    #[serde(flatten)]
    when: When,
    #[serde(flatten)]
    view: View,
    categories: Vec<Category>,
    extra: Vec<Section>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Versions {
    version: u32,
    preprocessed_profile_version: u32,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct What<'p> {
    product: &'p str,
    imported_from: String,
    oscpu: String,
    platform: &'p str,
    process_type: u32,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct When {
    /// Milliseconds between samples.
    interval: f64,
    /// Milliseconds since the Unix epoch; zero where it is not known.
    start_time: f64,
    start_time_as_clock_monotonic_nanoseconds_since_boot: u64,
    profiling_start_time: f64,
    profiling_end_time: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    sample_units: Option<Units>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Units {
    time: &'static str,
    event_delay: &'static str,
    #[serde(rename = "threadCPUDelta")]
    thread_cpu_delta: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct View {
    stackwalk: u32,
    symbolicated: bool,
    uses_only_one_stack_type: bool,
    source_code_is_not_on_searchfox: bool,
    marker_schema: [(); 0],
}

#[derive(Serialize)]
struct Section {
    label: &'static str,
    entries: Vec<Entry>,
}

#[derive(Serialize)]
struct Entry {
    label: String,
    format: &'static str,
    value: String,
}

fn entry(label: impl Into<String>, value: impl Into<String>) -> Entry {
    Entry { label: label.into(), format: "string", value: value.into() }
}

/// The `meta` object, with time zero at `zero`.
pub(super) fn meta(profile: &Profile, zero: Timestamp) -> Meta<'_> {
    let recording = &profile.recording;
    let last = profile.samples.last().map_or(recording.end, |sample| sample.time.max(recording.end));
    // Time zero may lie before the recording's start, so the wall clock at zero does too.
    let start_unix_ns = recording.start_unix_ns.map_or(0, |unix| unix.saturating_sub(recording.start.since(zero)));
    Meta {
        versions: Versions { version: GECKO_VERSION, preprocessed_profile_version: PROCESSED_VERSION },
        what: What {
            product: &recording.target,
            imported_from: crate::speedscope::exporter(profile),
            oscpu: [&*recording.system, &recording.kernel_release, &recording.arch].join(" ").trim().to_owned(),
            platform: &recording.system,
            process_type: 0,
        },
        when: When {
            interval: milliseconds(recording.measure.interval_ns().unwrap_or(1_000_000)),
            start_time: milliseconds(start_unix_ns),
            start_time_as_clock_monotonic_nanoseconds_since_boot: zero.0,
            profiling_start_time: milliseconds(recording.start.since(zero)),
            profiling_end_time: milliseconds(last.since(zero)),
            sample_units: (recording.measure.quantity() == Quantity::CpuTime).then_some(Units {
                time: "ms",
                event_delay: "ms",
                thread_cpu_delta: "ns",
            }),
        },
        view: View {
            stackwalk: 1,
            symbolicated: true,
            uses_only_one_stack_type: true,
            source_code_is_not_on_searchfox: true,
            marker_schema: [],
        },
        categories: categories(),
        extra: extra(profile),
    }
}

fn measure(measure: &Measure) -> Vec<Entry> {
    let mut entries = vec![entry("measure", measure.quantity().name())];
    match measure {
        Measure::CpuTime { event, frequency_hz } => {
            entries.extend([entry("event", event), entry("frequency", format!("{frequency_hz} Hz"))]);
        }
        Measure::ThreadTime { usual_gap_ns } => entries
            .extend(usual_gap_ns.map(|gap| entry("usual time between samples", format!("{} ms", milliseconds(gap))))),
        Measure::Events { what } => entries.push(entry("events", what)),
    }
    entries
}

fn extra(profile: &Profile) -> Vec<Section> {
    let loss = LossSummary::of(profile);
    let counts = |of: &str, counts: &[strata_digest::Counted]| {
        counts.iter().map(|row| entry(format!("{of}: {}", row.label), row.count.to_string())).collect::<Vec<_>>()
    };
    let mut quality = counts("stacks", &loss.stacks_by_end);
    quality.extend(counts("frames found by", &loss.frames_by_found));
    quality.extend(counts("frames named by", &loss.frames_by_named));
    vec![
        Section { label: "Recording", entries: measure(&profile.recording.measure) },
        Section {
            label: "Loss",
            entries: loss.facts().into_iter().map(|(label, value)| entry(label, value)).collect(),
        },
        Section { label: "Quality", entries: quality },
    ]
}
