//! `threads`: the samples of each.

use super::{Clock, milliseconds};
use crate::json::Column;
use serde::Serialize;
use strata_digest::CallTree;
use strata_profile::{Profile, Sample, ThreadId, Timestamp};

#[derive(Serialize)]
struct Thread<'p, S> {
    #[serde(flatten)]
    identity: Identity<'p>,
    #[serde(flatten)]
    life: Life,
    samples: S,
    markers: Markers,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Identity<'p> {
    process_type: &'static str,
    process_name: String,
    pid: String,
    tid: u32,
    name: std::borrow::Cow<'p, str>,
    is_main_thread: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Life {
    process_startup_time: f64,
    process_shutdown_time: Option<f64>,
    register_time: f64,
    unregister_time: Option<f64>,
    paused_ranges: [(); 0],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Samples<A, B, C, D> {
    stack: A,
    time: B,
    weight: Option<C>,
    weight_type: &'static str,
    #[serde(rename = "threadCPUDelta")]
    thread_cpu_delta: D,
    length: usize,
}

#[derive(Serialize, Default)]
#[serde(rename_all = "camelCase")]
struct Markers {
    data: [(); 0],
    name: [(); 0],
    start_time: [(); 0],
    end_time: [(); 0],
    phase: [(); 0],
    category: [(); 0],
    length: usize,
}

/// One thread with the samples at these positions.
pub(super) fn thread<'a>(
    profile: &'a Profile,
    tree: &'a CallTree,
    clock: Clock,
    id: ThreadId,
    positions: &'a [u32],
) -> impl Serialize + use<'a> {
    let thread = &profile.threads[id];
    let process = &profile.processes[thread.process];
    let samples = move || positions.iter().map(|&position| -> &'a Sample { &profile.samples[position as usize] });
    let first: Option<Timestamp> = samples().next().map(|sample| sample.time);
    Thread {
        identity: Identity {
            process_type: "default",
            process_name: if process.name.is_empty() { format!("pid {}", process.pid) } else { process.name.clone() },
            pid: process.pid.to_string(),
            tid: thread.tid,
            name: if thread.name.is_empty() { format!("tid {}", thread.tid).into() } else { (&*thread.name).into() },
            is_main_thread: thread.tid == process.pid,
        },
        life: Life {
            process_startup_time: 0.0,
            process_shutdown_time: None,
            register_time: first.map_or(0.0, |time| clock.ms(time)),
            unregister_time: None,
            paused_ranges: [],
        },
        samples: Samples {
            stack: Column(move || positions.iter().map(|&position| tree.leaf_of_sample[position as usize].index())),
            time: Column(move || samples().map(move |sample| clock.ms(sample.time))),
            weight: clock.has_cpu_time.then(|| Column(move || samples().map(|sample| milliseconds(sample.cpu_ns)))),
            weight_type: if clock.has_cpu_time { "tracing-ms" } else { "samples" },
            thread_cpu_delta: Column(move || samples().map(|sample| sample.cpu_ns)),
            length: positions.len(),
        },
        markers: Markers::default(),
    }
}
