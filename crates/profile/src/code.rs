//! What kind of code a function is, and how a frame was named.

use serde::Serialize;

/// How the runtime made a method's code, spelled as the runtime spells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum Tier {
    /// The runtime did not say.
    Unknown,
    /// Debuggable code.
    MinOptJitted,
    /// Fully optimised outside tiering.
    Optimized,
    /// Tier 0.
    QuickJitted,
    /// Tier 1.
    OptimizedTier1,
    /// On-stack replacement body.
    OptimizedTier1OSR,
    /// Tier 0 with instrumentation.
    QuickJittedInstrumented,
    /// Instrumented replacement of precompiled code.
    OptimizedTier1Instrumented,
}

impl Tier {
    /// Every tier but [`Tier::Unknown`], in the order of the runtime's numbers.
    pub const TOLD: [Tier; 7] = [
        Tier::MinOptJitted,
        Tier::Optimized,
        Tier::QuickJitted,
        Tier::OptimizedTier1,
        Tier::OptimizedTier1OSR,
        Tier::QuickJittedInstrumented,
        Tier::OptimizedTier1Instrumented,
    ];

    /// The runtime's spelling.
    pub const fn label(self) -> &'static str {
        match self {
            Tier::Unknown => "Unknown",
            Tier::MinOptJitted => "MinOptJitted",
            Tier::Optimized => "Optimized",
            Tier::QuickJitted => "QuickJitted",
            Tier::OptimizedTier1 => "OptimizedTier1",
            Tier::OptimizedTier1OSR => "OptimizedTier1OSR",
            Tier::QuickJittedInstrumented => "QuickJittedInstrumented",
            Tier::OptimizedTier1Instrumented => "OptimizedTier1Instrumented",
        }
    }
}

/// What kind of code a function is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum CodeKind {
    /// The kernel and its modules.
    Kernel,
    /// Native code that is not the .NET runtime.
    Native,
    /// The .NET runtime's own native code: execution engine, JIT, GC.
    Runtime,
    /// Code the JIT wrote, with its tier.
    Jit(Tier),
    /// Precompiled managed code.
    ReadyToRun,
    /// Managed code of which it is not known how it was compiled.
    Managed,
    /// Stubs and thunks the runtime writes: they have no method of their own.
    Stub,
    /// Not known.
    Unknown,
}

impl CodeKind {
    /// The group the kind belongs to: `Kernel`, `Native`, `Runtime`, `JIT`, `ReadyToRun`, `Managed`, `Stub`, `Unknown`.
    pub const fn group(self) -> &'static str {
        match self {
            CodeKind::Kernel => "Kernel",
            CodeKind::Native => "Native",
            CodeKind::Runtime => "Runtime",
            CodeKind::Jit(_) => "JIT",
            CodeKind::ReadyToRun => "ReadyToRun",
            CodeKind::Managed => "Managed",
            CodeKind::Stub => "Stub",
            CodeKind::Unknown => "Unknown",
        }
    }

    /// The tier as the runtime spells it, for managed code; `ReadyToRun` for precompiled code.
    pub const fn tier_label(self) -> Option<&'static str> {
        match self {
            CodeKind::Jit(tier) => Some(tier.label()),
            CodeKind::ReadyToRun => Some("ReadyToRun"),
            _ => None,
        }
    }

    /// Whether this is managed code: JIT, precompiled or either of them.
    pub const fn is_managed(self) -> bool {
        matches!(self, CodeKind::Jit(_) | CodeKind::ReadyToRun | CodeKind::Managed)
    }
}

/// How a frame got its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum NameSource {
    /// A method event the runtime sent while recording.
    JitEvent,
    /// The list of methods the runtime gave when strata attached.
    Snapshot,
    /// The list of methods the runtime gave at the end.
    Rundown,
    /// The method table of a precompiled image.
    R2rImage,
    /// An ELF symbol table.
    ElfSymbol,
    /// The name is made from where an image's unwind data says a function starts.
    UnwindTable,
    /// The kernel's symbol list.
    KernelSymbol,
    /// A symbol that another collector wrote into a trace.
    TraceSymbol,
    /// No name is known, for this reason.
    None(Unnamed),
}

/// Why a frame has no name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum Unnamed {
    /// No mapping covered the address at that time.
    NoMapping,
    /// The image is there but has no symbol at that address.
    NoSymbol,
    /// The image could not be read.
    NoFile,
    /// The image is larger than what is read.
    TooLarge,
    /// The image is no image, or damaged.
    Damaged,
    /// The name is in another assembly, which is not at hand.
    NoAssembly,
    /// The file is no longer the one that was mapped.
    OtherFile,
    /// The kernel hides its symbols from us.
    KernelHidden,
    /// The runtime named no method at that address at that time.
    NoMethod,
}

impl NameSource {
    /// The source as one would say it in a table.
    pub const fn label(self) -> &'static str {
        match self {
            NameSource::JitEvent => "jit event",
            NameSource::Snapshot => "snapshot",
            NameSource::Rundown => "rundown",
            NameSource::R2rImage => "r2r image",
            NameSource::ElfSymbol => "elf symbol",
            NameSource::UnwindTable => "unwind table",
            NameSource::KernelSymbol => "kernel symbol",
            NameSource::TraceSymbol => "trace symbol",
            NameSource::None(Unnamed::NoMapping) => "none: no mapping",
            NameSource::None(Unnamed::NoSymbol) => "none: no symbol",
            NameSource::None(Unnamed::NoFile) => "none: file not readable",
            NameSource::None(Unnamed::TooLarge) => "none: file too large",
            NameSource::None(Unnamed::Damaged) => "none: image damaged",
            NameSource::None(Unnamed::NoAssembly) => "none: other assembly needed",
            NameSource::None(Unnamed::OtherFile) => "none: file replaced",
            NameSource::None(Unnamed::KernelHidden) => "none: kernel symbols hidden",
            NameSource::None(Unnamed::NoMethod) => "none: no method known",
        }
    }

    /// Whether this is a name and not the lack of one.
    pub const fn is_name(self) -> bool {
        !matches!(self, NameSource::None(_))
    }
}
