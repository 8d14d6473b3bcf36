//! What a recording says about itself.

use serde::{Deserialize, Serialize};

/// What was recorded, when and how. Unknown fields of later versions are ignored; missing ones read as empty.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Manifest {
    /// Version of the recording's layout.
    pub format: u32,
    /// The program that recorded, such as `strata 0.1.0`.
    pub recorder: String,
    /// What was recorded, in words: a command line or `pid 4242`.
    pub target: String,
    /// The machine.
    pub host: Host,
    /// How CPU samples were taken.
    pub sampling: Sampling,
    /// When recording began.
    pub started: Moment,
    /// When and why it ended; missing when the recorder did not get to say so.
    pub stopped: Option<Stop>,
    /// The .NET processes that were seen.
    pub runtimes: Vec<RuntimeProcess>,
}

impl Default for Manifest {
    fn default() -> Self {
        Self {
            format: crate::FORMAT,
            recorder: String::new(),
            target: String::new(),
            host: Host::default(),
            sampling: Sampling::default(),
            started: Moment::default(),
            stopped: None,
            runtimes: Vec::new(),
        }
    }
}

/// The recorded machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Host {
    /// Kernel release, such as `6.1.0`.
    pub kernel_release: String,
    /// Architecture as the kernel spells it, such as `x86_64`.
    pub arch: String,
    /// The kernel's random id of this boot: kernel addresses mean something only within it.
    pub boot_id: String,
    /// Processors online.
    pub processors: u32,
}

/// How CPU samples were taken.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Sampling {
    /// The event as the kernel spells it: `cycles` or `cpu-clock`.
    pub event: String,
    /// Samples per second and busy CPU.
    pub frequency_hz: u64,
    /// Bytes of user stack copied with each sample.
    pub stack_bytes: u32,
    /// Whether only user code was sampled, as the kernel allowed this user no more.
    pub user_only: bool,
}

/// A moment on two clocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Moment {
    /// `CLOCK_MONOTONIC`, nanoseconds.
    pub monotonic_ns: u64,
    /// `CLOCK_REALTIME`, nanoseconds since the Unix epoch.
    pub unix_ns: u64,
}

/// When and why recording ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Stop {
    /// When.
    pub at: Moment,
    /// Why, in words.
    pub reason: String,
    /// Records that the kernel dropped because a ring was full.
    pub lost_records: u64,
    /// Times that the kernel paused sampling because it came too fast.
    pub throttled: u64,
    /// Records that could not be read and so are not in the recording.
    pub unreadable_records: u64,
}

/// One .NET process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RuntimeProcess {
    /// Process id in the recorder's pid namespace.
    pub pid: u32,
    /// Runtime version as the runtime says it, where it does.
    pub version: Option<String>,
    /// What is added to the recorder's `CLOCK_MONOTONIC` to get the target's (a time namespace), in nanoseconds.
    pub monotonic_offset_ns: i64,
    /// The event streams that were written.
    pub streams: Vec<Stream>,
    /// What went wrong with this process's runtime events, if anything.
    pub problems: Vec<String>,
}

/// One `.nettrace` file of a recording.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stream {
    /// File name inside the recording.
    pub file: String,
    /// What it is for.
    pub kind: StreamKind,
}

/// What an event stream is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StreamKind {
    /// Events as they happened, ending with the runtime's list of methods when there was an orderly end.
    Live,
    /// The runtime's list of what it had when strata attached.
    Attach,
}

impl Stream {
    /// One stream of a process, with its file name. A process may have several of a kind in its life: `number` counts them
    /// from 1.
    pub fn new(pid: u32, kind: StreamKind, number: u32) -> Self {
        let kind_name = match kind {
            StreamKind::Live => "live",
            StreamKind::Attach => "attach",
        };
        let file = match number {
            ..=1 => format!("dotnet-{pid}-{kind_name}.nettrace"),
            _ => format!("dotnet-{pid}-{kind_name}-{number}.nettrace"),
        };
        Self { file, kind }
    }
}
