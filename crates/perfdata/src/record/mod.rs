//! One perf_event record's bytes as a borrowed value.
//!
//! Layouts: `linux/perf_event.h`, `enum perf_event_type`. Types from 64 up are perf's own (`perf.data-file-format`).

mod error;
mod format;
pub mod kind;
mod mapped_as;
mod parse;
mod sample;
mod side;

pub use error::RecordError;
pub use format::{RecordFormat, sample_type};
pub(crate) use format::{branch_sample_type, read_format};
pub use mapped_as::{MappedAs, ProgramImage};
pub use sample::{Callchain, ChainContext, ChainEntry, RegsAbi, Sample, UserRegs, UserStack, Words};
pub use side::{Comm, Lifetime, Mmap, Mmap2Fields, MmapIdentity, Other, Throttle};

/// Bytes of a record's header.
pub const HEADER_SIZE: usize = 8;

/// The first eight bytes of every record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RecordHeader {
    /// Type: see [`kind`].
    pub kind: u32,
    /// Bits whose meaning depends on the type.
    pub misc: Misc,
    /// Bytes of the whole record, this header included.
    pub size: u16,
}

/// The `misc` bits of a record's header.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Misc(pub u16);

impl Misc {
    /// Made in kernel mode.
    pub const KERNEL: Misc = Misc(1);
    /// Made in user mode.
    pub const USER: Misc = Misc(2);

    pub(crate) const MMAP_DATA: u16 = 1 << 13;
    pub(crate) const COMM_EXEC: u16 = 1 << 13;
    pub(crate) const MMAP_BUILD_ID: u16 = 1 << 14;
    pub(crate) const BUILD_ID_SIZE: u16 = 1 << 15;

    /// The mode of the CPU that the record tells of.
    pub fn cpu_mode(self) -> CpuMode {
        match self.0 & 7 {
            1 => CpuMode::Kernel,
            2 => CpuMode::User,
            3 => CpuMode::Hypervisor,
            4 => CpuMode::GuestKernel,
            5 => CpuMode::GuestUser,
            _ => CpuMode::Unknown,
        }
    }

    pub(crate) fn has(self, bit: u16) -> bool {
        self.0 & bit != 0
    }

    pub(crate) fn with(self, bit: u16, set: bool) -> Misc {
        Misc(if set { self.0 | bit } else { self.0 & !bit })
    }
}

/// What the CPU was doing.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CpuMode {
    /// Not told.
    Unknown,
    /// Running the kernel.
    Kernel,
    /// Running a process.
    User,
    /// Running the hypervisor.
    Hypervisor,
    /// Running a guest's kernel.
    GuestKernel,
    /// Running a guest's process.
    GuestUser,
}

/// A thread of a process. The kernel writes -1 for "none of this namespace".
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct TaskId {
    /// Process.
    pub pid: i32,
    /// Thread.
    pub tid: i32,
}

/// Where and when a record was made: in a sample among its fields, in any other record at its end. `None` where the
/// event did not ask for it (and, for other records, when it has no `sample_id_all`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct SampleId {
    /// The thread that ran.
    pub task: Option<TaskId>,
    /// Nanoseconds of the event's clock.
    pub time: Option<u64>,
    /// Event id: tells events of one file apart.
    pub id: Option<u64>,
    /// Stream id.
    pub stream_id: Option<u64>,
    /// CPU number.
    pub cpu: Option<u32>,
}

/// One record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Record<'a> {
    /// Bits of its header. [`encode`](crate::encode()) sets those that `data` says too.
    pub misc: Misc,
    /// Where and when it was made.
    pub id: SampleId,
    /// What it says.
    pub data: RecordData<'a>,
}

/// What a record says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RecordData<'a> {
    /// A sample.
    Sample(Sample<'a>),
    /// A new mapping, of either record type (MMAP or MMAP2).
    Mmap(Mmap<'a>),
    /// A thread got a name.
    Comm(Comm<'a>),
    /// A thread or process began.
    Fork(Lifetime),
    /// A thread or process ended.
    Exit(Lifetime),
    /// The ring had no room for records of any type.
    Lost {
        /// Event id.
        id: u64,
        /// How many.
        lost: u64,
    },
    /// Samples that the hardware dropped.
    LostSamples {
        /// How many.
        lost: u64,
    },
    /// Sampling was paused because it came too fast.
    Throttle(Throttle),
    /// Sampling went on.
    Unthrottle(Throttle),
    /// Any other type, undecoded.
    Other(Other<'a>),
}

impl<'a> Record<'a> {
    /// When the record was made, ns: from [`SampleId::time`], or where it carries a time of its own from that.
    pub fn time(&self) -> Option<u64> {
        self.id.time.or(match self.data {
            RecordData::Fork(lifetime) | RecordData::Exit(lifetime) => Some(lifetime.time),
            RecordData::Throttle(throttle) | RecordData::Unthrottle(throttle) => Some(throttle.time),
            _ => None,
        })
    }

    /// The mode of the CPU that the record tells of.
    pub fn cpu_mode(&self) -> CpuMode {
        self.misc.cpu_mode()
    }
}
