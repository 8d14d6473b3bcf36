//! How a frame was found and where a stack ends, and how a recording keeps both.
//!
//! A chain of addresses alone cannot say which of them are sure. The recorder knows, so it writes a [`note`] into each
//! sample, and everything up to the last report can tell.

#![forbid(unsafe_code)]

pub mod note;

use serde::Serialize;

/// How the unwinder found a frame, from the surest to the least sure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum Found {
    /// The sampled instruction pointer itself.
    Ip,
    /// By the image's unwind data (ELF call frame information, PE unwind data) over the stack copy.
    Cfi,
    /// By following the frame pointer over the stack copy.
    FramePointer,
    /// By what the code around the sampled instruction does to the stack: in prologues, epilogues and leaf stubs.
    Instructions,
    /// In the chain that the kernel walked at the moment of the sample.
    KernelChain,
    /// In stack memory read from the target shortly after the sample, checked against it.
    LiveMemory,
    /// Beyond the last frame that the kernel's chain had, as in earlier whole stacks of the same thread.
    KnownRoot,
    /// By the .NET runtime, which walks managed frames only.
    RuntimeStack,
    /// In the stack that another collector wrote into a trace, which does not say how it was walked.
    TraceStack,
}

impl Found {
    /// The way as one would say it in a table.
    pub const fn label(self) -> &'static str {
        match self {
            Found::Ip => "ip",
            Found::Cfi => "cfi",
            Found::FramePointer => "frame pointer",
            Found::Instructions => "instructions",
            Found::KernelChain => "kernel chain",
            Found::LiveMemory => "live memory",
            Found::KnownRoot => "known root",
            Found::RuntimeStack => "runtime stack",
            Found::TraceStack => "trace stack",
        }
    }
}

/// Where a stack ends on its outer side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum StackEnd {
    /// At the thread's first frame: the stack is whole.
    Root,
    /// Before it: the callers further out are unknown, for this reason.
    Cut(Cut),
    /// It is not known whether the stack is whole: whoever walked it did not say.
    Untold,
}

/// Why a stack was cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum Cut {
    /// The next frame's memory was neither in the stack copy nor readable in the target.
    MemoryNotRead,
    /// Memory read after the sample no longer agreed with it.
    MemoryChanged,
    /// A return address led to no executable mapping.
    NotCode,
    /// The image's unwind data has nothing usable for an address.
    NoUnwindData,
    /// A frame pointer did not lead outwards.
    BadFramePointer,
    /// There were more frames than the unwinder follows.
    TooDeep,
    /// The recording gives no reason (it came from another tool).
    Unknown,
}

impl StackEnd {
    /// The end as one would say it in a sentence.
    pub const fn label(self) -> &'static str {
        match self {
            StackEnd::Root => "whole",
            StackEnd::Cut(Cut::MemoryNotRead) => "cut: stack memory not read",
            StackEnd::Cut(Cut::MemoryChanged) => "cut: stack memory changed",
            StackEnd::Cut(Cut::NotCode) => "cut: return address is not code",
            StackEnd::Cut(Cut::NoUnwindData) => "cut: no unwind data",
            StackEnd::Cut(Cut::BadFramePointer) => "cut: bad frame pointer",
            StackEnd::Cut(Cut::TooDeep) => "cut: too deep",
            StackEnd::Cut(Cut::Unknown) => "cut: reason unknown",
            StackEnd::Untold => "end not told",
        }
    }
}
