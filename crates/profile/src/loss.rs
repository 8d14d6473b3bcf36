//! What is known to be missing from a profile.

use serde::Serialize;
use std::fmt;

/// Everything we know we did not see. Cut stacks and unnamed frames are counted by [`crate::quality()`].
#[derive(Clone, Debug, Default, Serialize)]
pub struct Loss {
    /// Records (samples, mappings, ...) that the kernel dropped because a ring was full.
    pub perf_records: u64,
    /// Records that came but could not be read while recording. The rest of a ring behind one that states a size it
    /// cannot have counts as one.
    pub unreadable_records: u64,
    /// Times that the kernel paused sampling because it came too fast; no sample was taken until it went on.
    pub throttled: u64,
    /// Events that a runtime dropped, by its own sequence numbers.
    pub runtime_events: u64,
    /// Events of a runtime that came but whose content is not what such an event holds.
    pub undecodable_events: u64,
    /// Bodies of methods that a runtime told of without a name, and that nothing else named.
    pub nameless_methods: u64,
    /// Lists of which IL a method's code comes from whose code nothing told of: such code has no source lines.
    pub unpaired_maps: u64,
    /// Samples of which the runtime's sampler could not tell what the thread was doing.
    pub sampler_errors: u64,
    /// Times for which a thread has far fewer samples than usual.
    pub long_gaps: Option<LongGaps>,
    /// Things that are missing as a whole.
    pub gaps: Vec<Gap>,
}

/// Times between two samples of a thread that are far longer than usual. Each is in the weight of the sample that ends it,
/// of which nobody knows whether it lasted that long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LongGaps {
    /// How many there are.
    pub count: u64,
    /// How long they are together, nanoseconds.
    pub total_ns: u64,
    /// From which length on they count, nanoseconds.
    pub from_ns: u64,
}

impl fmt::Display for LongGaps {
    #[expect(clippy::cast_precision_loss, reason = "times for reading")]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (noun, them) = if self.count == 1 { ("gap", "it") } else { ("gaps", "them") };
        write!(
            f,
            "{} {noun} of over {:.1} ms between samples of a thread, {:.1} ms in all, charged to the samples that end {them}",
            self.count,
            self.from_ns as f64 / 1e6,
            self.total_ns as f64 / 1e6,
        )
    }
}

/// Something that is missing as a whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub enum Gap {
    /// A file of the recording ends early or is damaged; everything before the offset was used.
    FileCut {
        /// The file's name inside the recording.
        file: String,
        /// Bytes from its start.
        offset: u64,
        /// What was wrong there.
        problem: String,
    },
    /// An event stream stops without its end, as when its writer or reader was killed: what came later is missing.
    StreamCut {
        /// The file's name inside the recording.
        file: String,
        /// Bytes it has; what is whole of them was used.
        bytes: u64,
    },
    /// The stream has no list of the methods that the runtime had (rundown), or not all of it: code from before the stream
    /// began has no names.
    NoRundown,
    /// Images that were at hand were not used for names.
    ImagesRefused {
        /// Their files.
        paths: Vec<String>,
        /// Why.
        reason: String,
    },
    /// A .NET process gave no runtime events (or no longer), so its JIT code may be unnamed.
    NoRuntimeEvents {
        /// Process id in the recorder's pid namespace.
        pid: u32,
        /// Why.
        reason: String,
    },
    /// Events of a trace that the profile does not use.
    NotUsed {
        /// How many.
        events: u64,
        /// What they are, in the plural.
        what: &'static str,
        /// Why.
        reason: &'static str,
    },
    /// A trace does not tell what its collector lost.
    LossUntold,
    /// A trace does not tell how far its samples are apart.
    SamplingPeriod {
        /// What was taken for it, nanoseconds.
        assumed_ns: u64,
    },
    /// Code of an image is unnamed, in whole or in part.
    Image {
        /// The image as it was mapped.
        path: String,
        /// Why.
        reason: String,
    },
    /// Source lines of an image's code are missing.
    SourceLines {
        /// The image, or the debug information that should have them.
        path: String,
        /// Why.
        reason: String,
    },
    /// The kernel's symbols could not be read.
    KernelSymbols {
        /// Why.
        reason: String,
    },
    /// Kernel code was not sampled: the kernel allowed the recording user no more.
    KernelNotSampled,
    /// The recording was not stopped in an orderly way: what came after its last write is unknown.
    NotStopped,
}

impl fmt::Display for Gap {
    #[expect(clippy::cast_precision_loss, reason = "a time for reading")]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Gap::StreamCut { file, bytes } => {
                write!(f, "{file} stops after {bytes} bytes without its end: what the runtime told later is missing")
            }
            Gap::FileCut { file, offset, problem } => write!(f, "{file} is unreadable from byte {offset}: {problem}"),
            Gap::NoRundown => f.write_str(
                "the trace has no whole list of methods (rundown): those from before it began have no names",
            ),
            Gap::ImagesRefused { paths, reason } => {
                const SHOWN: usize = 4;
                let shown = paths.get(..SHOWN).unwrap_or(paths).join(", ");
                let more = paths.len().saturating_sub(SHOWN);
                let more = if more > 0 { format!(" and {more} more") } else { String::new() };
                write!(f, "no names from {shown}{more}: {reason}")
            }
            Gap::NotUsed { events, what, reason } => write!(f, "{events} {what} are not used: {reason}"),
            Gap::LossUntold => f.write_str("whether its collector lost anything is not told by the trace"),
            Gap::SamplingPeriod { assumed_ns } => write!(
                f,
                "the trace does not tell how far its samples are apart: {} ms is taken for it, so times may be wrong, shares are not",
                *assumed_ns as f64 / 1e6
            ),
            Gap::NoRuntimeEvents { pid, reason } => write!(f, "no runtime events from process {pid}: {reason}"),
            Gap::Image { path, reason } => write!(f, "names of code in {path} are missing: {reason}"),
            Gap::SourceLines { path, reason } => write!(f, "source lines from {path} are missing: {reason}"),
            Gap::KernelSymbols { reason } => write!(f, "kernel functions are unnamed: {reason}"),
            Gap::KernelNotSampled => {
                write!(
                    f,
                    "kernel code was not sampled: kernel.perf_event_paranoid did not allow it to the user who recorded"
                )
            }
            Gap::NotStopped => {
                write!(f, "the recording was not stopped in an orderly way; its last moments may be missing")
            }
        }
    }
}
