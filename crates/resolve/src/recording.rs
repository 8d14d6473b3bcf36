//! A whole recording to a profile.

use crate::files::Files;
use crate::frames::Namer;
use crate::managed::{ManagedCode, ManagedReader};
use crate::replay::{Replay, Sampling};
use crate::symbols::{KernelIdentity, Symbols};
use rustc_hash::FxHashMap;
use std::path::PathBuf;
use strata_perfdata::record::RecordData;
use strata_perfdata::{FileError, PerfData};
use strata_profile::{Gap, Loss, Measure, Profile, ProfileBuilder, RecordingInfo, Timestamp};
use strata_recording::{Manifest, Recording, RuntimeProcess, Stop};

/// Why a recording gives no profile at all. Lesser damage is in the profile's loss.
#[derive(Debug, thiserror::Error)]
pub enum ResolveError {
    /// Its manifest, its folder or its samples cannot be read.
    #[error(transparent)]
    Recording(#[from] strata_recording::Error),
    /// Its samples are not what they should be.
    #[error("{}: {source}", path.display())]
    PerfData {
        /// Which file.
        path: PathBuf,
        /// What is wrong.
        source: FileError,
    },
}

/// Reads a recording, names everything in it, and builds its profile. `files` is where symbols come from.
///
/// # Errors
/// When there is nothing to build a profile from; what is damaged in part is told by the profile's loss.
pub fn resolve(recording: &Recording, files: &dyn Files) -> Result<Profile, ResolveError> {
    let manifest = recording.manifest()?;
    let path = recording.perf_data();
    let bytes = recording.read("perf.data")?;
    let perf = PerfData::parse(&bytes).map_err(|source| ResolveError::PerfData { path, source })?;

    let mut builder = ProfileBuilder::new(info(&manifest));
    let mut managed = FxHashMap::default();
    for runtime in &manifest.runtimes {
        let code = read_streams(recording, runtime, &mut builder);
        managed.insert(runtime.pid, code);
    }
    let same_boot = boot_id(files).is_some_and(|boot_id| boot_id == manifest.host.boot_id);
    let kernel = if same_boot { KernelIdentity::SameBoot } else { KernelIdentity::Other };
    let namer = Namer::new(managed, Symbols::new(files, kernel));
    let sampling =
        Sampling { frequency_hz: manifest.sampling.frequency_hz, counts_time: manifest.sampling.event == "cpu-clock" };
    let versions = manifest.runtimes.iter().map(|runtime| (runtime.pid, runtime.version.clone())).collect();
    let mut replay = Replay::new(&mut builder, namer, sampling, versions);
    let mut damage = Vec::new();
    let mut throttled = 0_u64;
    for item in perf.records_by_time() {
        match item {
            Ok(at) => {
                throttled = throttled.saturating_add(u64::from(matches!(at.record.data, RecordData::Throttle(_))));
                replay.take(&at.record);
            }
            Err(problem) => damage.push(Gap::FileCut {
                file: "perf.data".to_owned(),
                offset: problem.offset,
                problem: problem.to_string(),
            }),
        }
    }
    let last = replay.last();
    damage.extend(replay.take_notices());
    if let Some(reason) = replay.kernel_problem() {
        damage.push(Gap::KernelSymbols { reason: reason.to_owned() });
    }
    let loss = builder.loss_mut();
    loss.gaps.extend(damage);
    count_what_the_recorder_saw(loss, throttled, manifest.stopped.as_ref());
    if manifest.sampling.user_only {
        loss.gaps.push(Gap::KernelNotSampled);
    }
    if manifest.stopped.is_none() {
        loss.gaps.push(Gap::NotStopped);
    }
    let mut profile = builder.finish();
    if manifest.stopped.is_none() {
        profile.recording.end = last;
    }
    Ok(profile)
}

/// Adds what the recorder counted to what the samples' file tells of loss. Lost and throttled records are in both, as far as
/// the file goes.
fn count_what_the_recorder_saw(loss: &mut Loss, throttled: u64, stop: Option<&Stop>) {
    loss.throttled = throttled;
    if let Some(stop) = stop {
        loss.perf_records = loss.perf_records.max(stop.lost_records);
        loss.throttled = loss.throttled.max(stop.throttled);
        loss.unreadable_records = stop.unreadable_records;
    }
}

fn info(manifest: &Manifest) -> RecordingInfo {
    RecordingInfo {
        target: manifest.target.clone(),
        measure: Measure::CpuTime {
            event: manifest.sampling.event.clone(),
            frequency_hz: manifest.sampling.frequency_hz,
        },
        start: Timestamp(manifest.started.monotonic_ns),
        end: Timestamp(manifest.stopped.as_ref().map_or(0, |stop| stop.at.monotonic_ns)),
        start_unix_ns: Some(manifest.started.unix_ns),
        system: "Linux".to_owned(),
        kernel_release: manifest.host.kernel_release.clone(),
        arch: manifest.host.arch.clone(),
        recorder: manifest.recorder.clone(),
    }
}

/// The managed code of one process; what is missing goes into the profile's loss.
fn read_streams(recording: &Recording, runtime: &RuntimeProcess, builder: &mut ProfileBuilder) -> ManagedCode {
    let mut reader = ManagedReader::default();
    let loss = builder.loss_mut();
    for problem in &runtime.problems {
        loss.gaps.push(Gap::NoRuntimeEvents { pid: runtime.pid, reason: problem.clone() });
    }
    for stream in &runtime.streams {
        match recording.read(&stream.file) {
            Ok(bytes) => reader.read(&stream.file, stream.kind, &bytes, runtime.monotonic_offset_ns),
            Err(error) => {
                loss.gaps.push(Gap::FileCut { file: stream.file.clone(), offset: 0, problem: error.to_string() })
            }
        }
    }
    let mut code = reader.finish();
    code.tell_loss(loss);
    code
}

fn boot_id(files: &dyn Files) -> Option<String> {
    let bytes = files.read(&crate::files::FilePath::on_host("/proc/sys/kernel/random/boot_id")).ok()?;
    Some(String::from_utf8_lossy(&bytes).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_both_counted_is_counted_once() {
        let stop = Stop { lost_records: 5, throttled: 2, unreadable_records: 1, ..Stop::default() };
        for (lost, throttled, stop, expected) in
            [(5, 2, Some(&stop), (5, 2, 1)), (3, 4, Some(&stop), (5, 4, 1)), (3, 4, None, (3, 4, 0))]
        {
            let mut loss = Loss { perf_records: lost, ..Loss::default() };
            count_what_the_recorder_saw(&mut loss, throttled, stop);
            assert_eq!((loss.perf_records, loss.throttled, loss.unreadable_records), expected);
        }
    }
}
