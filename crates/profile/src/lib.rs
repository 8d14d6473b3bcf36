//! The profile model: processes, threads, samples, stacks, frames, functions and what was lost.
//!
//! This is the waist of strata: nothing before it knows an output format, nothing after it knows an input format. A
//! [`Profile`] is plain data in tables; other rows are named by typed handles ([`FrameId`], [`StackId`], ...) that are
//! only handed out for rows that exist, so a finished profile has no dangling reference. Times are nanoseconds of
//! `CLOCK_MONOTONIC` of the recorded machine, or of what its system has for that.

#![forbid(unsafe_code)]

mod builder;
mod code;
mod loss;
mod measure;
mod part;
mod quality;
mod source;
mod table;

pub use builder::ProfileBuilder;
pub use code::{CodeKind, NameSource, Tier, Unnamed};
pub use loss::{Gap, LongGaps, Loss};
pub use measure::{Measure, Quantity, ThreadState, Unit};
pub use part::Part;
pub use quality::{Quality, Share, quality};
pub use source::{SourceFile, SourceLine};
pub use strata_stack::{Cut, Found, StackEnd};
pub use table::{Handle, Table};

use serde::Serialize;
use strata_address::Avma;

/// Nanoseconds of `CLOCK_MONOTONIC` on the recorded machine, or of what its system has for that.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize)]
pub struct Timestamp(pub u64);

impl Timestamp {
    /// Nanoseconds from `earlier` to this moment; zero when `earlier` is later.
    pub fn since(self, earlier: Timestamp) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

table::handles! {
    /// Names one [`Process`] of a profile.
    ProcessId,
    /// Names one [`Thread`] of a profile.
    ThreadId,
    /// Names one [`Module`] of a profile.
    ModuleId,
    /// Names one [`SourceFile`] of a profile.
    SourceFileId,
    /// Names one [`Function`] of a profile.
    FunctionId,
    /// Names one [`Frame`] of a profile.
    FrameId,
    /// Names one [`Stack`] of a profile.
    StackId,
}

/// Everything one recording shows, independent of where it came from and where it goes.
#[derive(Debug, Default)]
pub struct Profile {
    /// What was recorded, when, and how.
    pub recording: RecordingInfo,
    /// Processes, in the order they were first seen.
    pub processes: Table<ProcessId, Process>,
    /// Threads, in the order they were first seen.
    pub threads: Table<ThreadId, Thread>,
    /// Files and pseudo-files that code came from.
    pub modules: Table<ModuleId, Module>,
    /// Source files that frames have lines in.
    pub source_files: Table<SourceFileId, SourceFile>,
    /// Distinct functions, each once.
    pub functions: Table<FunctionId, Function>,
    /// Distinct frames, each once.
    pub frames: Table<FrameId, Frame>,
    /// Distinct stacks as a tree that shares its root side.
    pub stacks: Table<StackId, Stack>,
    /// Samples in time order.
    pub samples: Vec<Sample>,
    /// What is known to be missing.
    pub loss: Loss,
}

impl Profile {
    /// The frames of a stack, leaf first.
    pub fn frames_from_leaf(&self, stack: StackId) -> impl Iterator<Item = FrameId> + '_ {
        std::iter::successors(Some(stack), |&at| self.stacks[at].parent).map(|at| self.stacks[at].frame)
    }

    /// The function of a frame.
    pub fn function_of(&self, frame: FrameId) -> &Function {
        &self.functions[self.frames[frame].function]
    }

    /// Nanoseconds from the recording's first moment to its last.
    pub fn duration_ns(&self) -> u64 {
        self.recording.end.since(self.recording.start)
    }
}

/// What was recorded, when, and how.
#[derive(Clone, Debug, Default, Serialize)]
pub struct RecordingInfo {
    /// What was recorded, in words: a command line or `pid 4242`.
    pub target: String,
    /// What its samples measure.
    pub measure: Measure,
    /// First moment.
    pub start: Timestamp,
    /// Last moment.
    pub end: Timestamp,
    /// Wall-clock time of `start`, nanoseconds since the Unix epoch, where known.
    pub start_unix_ns: Option<u64>,
    /// Operating system of the recorded machine, such as `Linux`, where known.
    pub system: String,
    /// Release of its kernel, where known.
    pub kernel_release: String,
    /// Architecture of the recorded machine as the kernel spells it, such as `x86_64`, where known.
    pub arch: String,
    /// The program that recorded, such as `strata 0.1.0`.
    pub recorder: String,
}

/// One operating system process.
#[derive(Clone, Debug, Serialize)]
pub struct Process {
    /// Process id in the recorder's pid namespace.
    pub pid: u32,
    /// Its name as the kernel has it (`comm`), the last one seen.
    pub name: String,
    /// Its .NET runtime version as the runtime says it, such as `8.0.4`, if it has one.
    pub runtime_version: Option<String>,
}

/// One operating system thread.
#[derive(Clone, Debug, Serialize)]
pub struct Thread {
    /// The process it belongs to.
    pub process: ProcessId,
    /// Thread id in the recorder's pid namespace.
    pub tid: u32,
    /// Its name as the kernel has it (`comm`), the last one seen; may be empty.
    pub name: String,
}

/// A file or pseudo-file that code came from: an ELF or PE image, `[kernel]`, `[vdso]`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Module {
    /// Short name, such as `libcoreclr.so` or `System.Private.CoreLib`.
    pub name: String,
    /// Full path where it has one, else empty.
    pub path: String,
    /// ELF build id in lower-case hex, where known.
    pub build_id: Option<String>,
}

/// A named piece of code.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Function {
    /// Display name, such as `System.Linq.Enumerable.Sum(int[])`; never empty.
    pub name: String,
    /// The module it belongs to, where it has one.
    pub module: Option<ModuleId>,
    /// What kind of code it is, for JIT code with its tier.
    pub kind: CodeKind,
}

/// One place in one function, with how it was found and how it was named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Frame {
    /// The function at that place at that time.
    pub function: FunctionId,
    /// The address: the sampled instruction for a leaf, else the return address.
    pub address: Avma,
    /// How the unwinder found it.
    pub found: Found,
    /// How it got its name.
    pub named: NameSource,
    /// The line of source that was running or, for a caller, called; where known.
    pub line: Option<SourceLine>,
}

/// One stack: a frame called from another stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stack {
    /// The caller's stack; `None` for the outermost frame that was found.
    pub parent: Option<StackId>,
    /// The innermost frame.
    pub frame: FrameId,
}

/// One sample: a thread was in this stack at this moment.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// When.
    pub time: Timestamp,
    /// On which thread.
    pub thread: ThreadId,
    /// Where it was; `None` when not even one frame was found.
    pub stack: Option<StackId>,
    /// What it stands for of that which the profile measures, in that quantity's unit.
    pub weight: u64,
    /// What the thread was doing.
    pub state: ThreadState,
    /// Whether the stack is whole.
    pub end: StackEnd,
}
