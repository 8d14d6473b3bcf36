//! speedscope's file format: JSON, one sampled profile per thread.
//!
//! Weights are nanoseconds of CPU time or thread time, or events, in the order of the samples; the file's name says of which. Frames are shared and carry their source file and
//! the first of its lines that was seen, else their module's name as their file; a method in several tiers is one frame. The file's name ends with what was lost. Source of the format:
//! the JSON schema that speedscope publishes at the address in the `$schema` field.

use crate::json::{Column, samples_by_thread};
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};
use std::num::NonZeroU32;
use strata_digest::{CallTree, Groups, LossSummary, NodeId, Place, Sources, identified, visible};
use strata_profile::{Handle, Profile, Unit};

#[derive(Serialize)]
struct SharedFrame<'p> {
    name: &'p str,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'p str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<NonZeroU32>,
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
    let sources = Sources::of(profile, &groups);
    let tree = CallTree::new(profile, &groups, |_| None);
    let marks = tree.marks();
    // Frames are the groups, then the marks.
    let mark_frames: BTreeMap<Place, u32> = (u32::try_from(groups.len()).unwrap_or(u32::MAX)..)
        .zip(&marks)
        .map(|(frame, &(place, _))| (place, frame))
        .collect();
    let frame_of = |place: Place| match place {
        Place::Functions(group) => group.0,
        mark => mark_frames[&mark],
    };
    let steps = Steps(tree.nodes.iter().map(|node| (frame_of(node.place), node.parent)).collect());
    let by_thread = samples_by_thread(profile);
    let unit = match profile.recording.measure.quantity().unit() {
        Unit::Nanoseconds => "nanoseconds",
        Unit::Events => "none",
    };

    let file = File {
        schema: "https://www.speedscope.app/file-format-schema.json",
        exporter: exporter(profile),
        name: format!(
            "{}, {} ({})",
            visible(&profile.recording.target),
            visible(&profile.recording.measure.title()),
            visible(&LossSummary::of(profile).line())
        ),
        shared: Shared {
            frames: Column(|| {
                let functions = groups.firsts().iter().zip(sources.all()).map(|(&function, source)| {
                    let function = &profile.functions[function];
                    let module = function.module.map(|module| profile.modules[module].name.as_str());
                    let file = source.map(|line| Sources::path(profile, line)).or(module);
                    SharedFrame { name: &function.name, file, line: source.map(|source| source.line) }
                });
                functions.chain(marks.iter().map(|(_, name)| SharedFrame { name, file: None, line: None }))
            }),
        },
        profiles: Column(|| {
            profile.threads.iter().map(|(id, thread)| {
                let positions = &by_thread[id.index()];
                let process = &profile.processes[thread.process];
                let weights = || positions.iter().map(|&position| profile.samples[position as usize].weight);
                Sampled {
                    r#type: "sampled",
                    name: format!(
                        "{} / {}",
                        identified(&process.name, "pid", process.pid),
                        identified(&thread.name, "tid", thread.tid)
                    ),
                    unit,
                    start_value: 0,
                    end_value: weights().fold(0, u64::saturating_add),
                    samples: Column(|| {
                        positions.iter().map(|&position| steps.path_to(tree.leaf_of_sample[position as usize]))
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

/// For each node of the tree its frame and its caller: all that is needed to climb, close together.
struct Steps(Vec<(u32, Option<NodeId>)>);

impl Steps {
    /// The frames of the path to `leaf`, outermost first, written without being kept.
    fn path_to(&self, leaf: NodeId) -> PathTo<'_> {
        PathTo { steps: self, leaf }
    }
}

struct PathTo<'s> {
    steps: &'s Steps,
    leaf: NodeId,
}

impl Serialize for PathTo<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut frames = Vec::with_capacity(64);
        let mut at = Some(self.leaf);
        while let Some(node) = at {
            let (frame, caller) = self.steps.0[node.index()];
            frames.push(frame);
            at = caller;
        }
        serializer.collect_seq(frames.iter().rev())
    }
}
