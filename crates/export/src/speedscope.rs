//! speedscope's file format: JSON, one sampled profile per thread.
//!
//! Weights are nanoseconds of CPU time, in the order of the samples. Frames are shared and carry their module's name as
//! their file; a method in several tiers is one frame. The file's name ends with what was lost. Source of the format:
//! the JSON schema that speedscope publishes at the address in the `$schema` field.

use crate::json::{Column, samples_by_thread};
use serde::{Serialize, Serializer};
use std::io::{self, BufWriter, Write};
use strata_digest::{CallTree, Groups, LossSummary, NodeId, Place, visible};
use strata_profile::{Handle, Profile};

#[derive(Serialize)]
struct SharedFrame<'p> {
    name: &'p str,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'p str>,
}

#[derive(Serialize)]
struct Sampled<S, W> {
    r#type: &'static str,
    name: String,
    unit: &'static str,
    #[serde(rename = "startValue")]
    start_value: u64,
    #[serde(rename = "endValue")]
    end_value: u64,
    samples: S,
    weights: W,
}

#[derive(Serialize)]
struct Shared<F> {
    frames: F,
}

#[derive(Serialize)]
struct File<F, P> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    exporter: String,
    name: String,
    shared: Shared<F>,
    profiles: P,
}

/// Writes the profile for speedscope.
///
/// # Errors
/// Those of `out`.
pub fn write(profile: &Profile, out: &mut dyn Write) -> io::Result<()> {
    let groups = Groups::over_tiers(profile);
    let tree = CallTree::new(profile, &groups, |_| None);
    let marks = tree.marks();
    // Frames are the groups, then the marks.
    let frame_of = |place: Place| match place {
        Place::Functions(group) => group.0 as usize,
        mark => groups.len() + marks.binary_search_by_key(&mark, |&(place, _)| place).unwrap_or_default(),
    };
    let by_thread = samples_by_thread(profile);

    let file = File {
        schema: "https://www.speedscope.app/file-format-schema.json",
        exporter: exporter(profile),
        name: format!("{} ({})", visible(&profile.recording.target), visible(&LossSummary::of(profile).line())),
        shared: Shared {
            frames: Column(|| {
                let functions = groups.firsts().iter().map(|&function| {
                    let function = &profile.functions[function];
                    let file = function.module.map(|module| profile.modules[module].name.as_str());
                    SharedFrame { name: &function.name, file }
                });
                functions.chain(marks.iter().map(|(_, name)| SharedFrame { name, file: None }))
            }),
        },
        profiles: Column(|| {
            profile.threads.iter().map(|(id, thread)| {
                let positions = &by_thread[id.index()];
                let process = &profile.processes[thread.process];
                let weights = || positions.iter().map(|&position| profile.samples[position as usize].cpu_ns);
                Sampled {
                    r#type: "sampled",
                    name: format!("{} (pid {}) / {} (tid {})", process.name, process.pid, thread.name, thread.tid),
                    unit: "nanoseconds",
                    start_value: 0,
                    end_value: weights().fold(0, u64::saturating_add),
                    samples: Column(|| {
                        positions.iter().map(|&position| {
                            let leaf = tree.leaf_of_sample[position as usize];
                            PathTo { tree: &tree, leaf, frame_of: &frame_of }
                        })
                    }),
                    weights: Column(weights),
                }
            })
        }),
    };
    let mut out = BufWriter::with_capacity(1 << 16, out);
    serde_json::to_writer(&mut out, &file)?;
    out.flush()
}

pub(crate) fn exporter(profile: &Profile) -> String {
    let recorder = &profile.recording.recorder;
    if recorder.is_empty() { format!("strata {}", env!("CARGO_PKG_VERSION")) } else { recorder.clone() }
}

/// The frames of a path, outermost first, written without being kept.
struct PathTo<'t, F> {
    tree: &'t CallTree,
    leaf: NodeId,
    frame_of: &'t F,
}

impl<F: Fn(Place) -> usize> Serialize for PathTo<'_, F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let node = |id: NodeId| &self.tree.nodes[id.index()];
        let climb = std::iter::successors(Some(self.leaf), |&id| node(id).parent);
        let frames: Vec<usize> = climb.map(|id| (self.frame_of)(node(id).place)).collect();
        serializer.collect_seq(frames.iter().rev())
    }
}
