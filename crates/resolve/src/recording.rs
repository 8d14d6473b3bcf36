//! A whole recording to a profile.

use crate::files::Files;
use crate::frames::Namer;
use crate::managed::{ManagedCode, ManagedReader};
use crate::native::{KernelIdentity, Symbols};
use crate::replay::{Measure, Replay};
use rustc_hash::FxHashMap;
use std::path::PathBuf;
use strata_perfdata::{FileError, PerfData};
use strata_profile::{Gap, Profile, ProfileBuilder, RecordingInfo, Timestamp};
use strata_recording::{Manifest, Recording, RuntimeProcess};

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
    let measure =
        Measure { frequency_hz: manifest.sampling.frequency_hz, counts_time: manifest.sampling.event == "cpu-clock" };
    let versions = manifest.runtimes.iter().map(|runtime| (runtime.pid, runtime.version.clone())).collect();
    let mut replay = Replay::new(&mut builder, namer, measure, versions);
    let mut damage = Vec::new();
    for item in perf.records_by_time() {
        match item {
            Ok(at) => replay.take(&at.record),
            Err(problem) => damage.push(Gap::FileCut {
                file: "perf.data".to_owned(),
                offset: problem.offset,
                problem: problem.to_string(),
            }),
        }
    }
    let last = replay.last();
    if let Some(reason) = replay.kernel_problem() {
        damage.push(Gap::KernelSymbols { reason: reason.to_owned() });
    }
    let loss = builder.loss_mut();
    loss.gaps.extend(damage);
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

fn info(manifest: &Manifest) -> RecordingInfo {
    RecordingInfo {
        target: manifest.target.clone(),
        event: manifest.sampling.event.clone(),
        frequency_hz: manifest.sampling.frequency_hz,
        start: Timestamp(manifest.started.monotonic_ns),
        end: Timestamp(manifest.stopped.as_ref().map_or(0, |stop| stop.at.monotonic_ns)),
        start_unix_ns: Some(manifest.started.unix_ns),
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
    loss.runtime_events = loss.runtime_events.saturating_add(code.events_lost);
    let damage = std::mem::take(&mut code.damage).into_iter();
    loss.gaps.extend(damage.map(|(file, offset, problem)| Gap::FileCut { file, offset, problem }));
    code
}

fn boot_id(files: &dyn Files) -> Option<String> {
    let bytes = files.read(&crate::files::FilePath::on_host("/proc/sys/kernel/random/boot_id")).ok()?;
    Some(String::from_utf8_lossy(&bytes).trim().to_owned())
}
