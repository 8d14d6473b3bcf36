//! `threads`: the samples of each.

use super::{Clock, milliseconds};
use crate::json::Column;
use serde::Serialize;
use strata_digest::CallTree;
use strata_profile::{Profile, Quantity, Sample, Timestamp};

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
pub(super) struct Identity<'p> {
    process_type: &'static str,
    process_name: String,
    pid: String,
    tid: u32,
    name: std::borrow::Cow<'p, str>,
    is_main_thread: bool,
}

impl<'p> Identity<'p> {
    pub(super) fn of(profile: &'p Profile, thread: &'p strata_profile::Thread) -> Self {
        let process = &profile.processes[thread.process];
        Self {
            process_type: "default",
            process_name: if process.name.is_empty() { format!("pid {}", process.pid) } else { process.name.clone() },
            pid: process.pid.to_string(),
            tid: thread.tid,
            name: if thread.name.is_empty() { format!("tid {}", thread.tid).into() } else { (&*thread.name).into() },
            is_main_thread: thread.tid == process.pid,
        }
    }

    /// The profiler cannot show a profile without threads, so one says that there are none.
    pub(super) fn nobody() -> Self {
        Self {
            process_type: "default",
            process_name: "nothing was recorded".to_owned(),
            pid: "0".to_owned(),
            tid: 0,
            name: "no thread was seen".into(),
            is_main_thread: true,
        }
    }
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
    #[serde(rename = "threadCPUDelta", skip_serializing_if = "Option::is_none")]
    thread_cpu_delta: Option<D>,
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
    identity: Identity<'a>,
    positions: &'a [u32],
) -> impl Serialize + use<'a> {
    let samples = move || positions.iter().map(|&position| -> &'a Sample { &profile.samples[position as usize] });
    let first: Option<Timestamp> = samples().next().map(|sample| sample.time);
    let weight = Column(move || samples().map(|sample| milliseconds(sample.weight)));
    let cpu_delta = Column(move || samples().map(|sample| sample.weight));
    Thread {
        identity,
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
            weight: clock.weighs_time.then_some(weight),
            weight_type: if clock.weighs_time { "tracing-ms" } else { "samples" },
            thread_cpu_delta: (clock.quantity == Quantity::CpuTime).then_some(cpu_delta),
            length: positions.len(),
        },
        markers: Markers::default(),
    }
}
