//! What was asked of the kernel: the parts of `struct perf_event_attr` that a reader needs.

use crate::cursor::{u32_or_zero, u64_or_zero};
use crate::record::RecordFormat;

/// `CLOCK_MONOTONIC` of `clock_gettime(2)`.
pub const CLOCK_MONOTONIC: i32 = 1;

/// Bytes of the first version of `perf_event_attr`.
pub(crate) const ATTR_SIZE_MIN: usize = 64;
/// Bytes of the version that is written: the fifth, which has all fields used here and is read by perf since 4.8.
pub(crate) const ATTR_SIZE: usize = 112;

const FREQ: u64 = 1 << 10;
const SAMPLE_ID_ALL: u64 = 1 << 18;
const USE_CLOCKID: u64 = 1 << 25;
const BUILD_ID: u64 = 1 << 34;
/// Flags that other fields of [`EventAttr`] tell.
const TOLD_ELSEWHERE: u64 = FREQ | SAMPLE_ID_ALL | USE_CLOCKID | BUILD_ID;

/// How often samples were asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sampling {
    /// One per this many events (for clocks, ns).
    Period(u64),
    /// About this many per second.
    Frequency(u64),
}

/// The one-bit fields of `perf_event_attr` except `freq`, `sample_id_all`, `use_clockid` and `build_id`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct AttrFlags(pub u64);

impl AttrFlags {
    /// Off until enabled.
    pub const DISABLED: AttrFlags = AttrFlags(1 << 0);
    /// Children are counted too.
    pub const INHERIT: AttrFlags = AttrFlags(1 << 1);
    /// User mode is not counted.
    pub const EXCLUDE_USER: AttrFlags = AttrFlags(1 << 4);
    /// Kernel mode is not counted.
    pub const EXCLUDE_KERNEL: AttrFlags = AttrFlags(1 << 5);
    /// The hypervisor is not counted.
    pub const EXCLUDE_HV: AttrFlags = AttrFlags(1 << 6);
    /// The idle task is not counted.
    pub const EXCLUDE_IDLE: AttrFlags = AttrFlags(1 << 7);
    /// Code mappings are recorded.
    pub const MMAP: AttrFlags = AttrFlags(1 << 8);
    /// Names of threads are recorded.
    pub const COMM: AttrFlags = AttrFlags(1 << 9);
    /// On from the next exec.
    pub const ENABLE_ON_EXEC: AttrFlags = AttrFlags(1 << 12);
    /// Forks and exits are recorded.
    pub const TASK: AttrFlags = AttrFlags(1 << 13);
    /// Data mappings are recorded.
    pub const MMAP_DATA: AttrFlags = AttrFlags(1 << 17);
    /// Guests are not counted.
    pub const EXCLUDE_GUEST: AttrFlags = AttrFlags(1 << 20);
    /// The kernel's part of callchains is left out.
    pub const EXCLUDE_CALLCHAIN_KERNEL: AttrFlags = AttrFlags(1 << 21);
    /// The user's part of callchains is left out.
    pub const EXCLUDE_CALLCHAIN_USER: AttrFlags = AttrFlags(1 << 22);
    /// Mappings are recorded with their inode.
    pub const MMAP2: AttrFlags = AttrFlags(1 << 23);
    /// Names that come from an exec are marked.
    pub const COMM_EXEC: AttrFlags = AttrFlags(1 << 24);
    /// Context switches are recorded.
    pub const CONTEXT_SWITCH: AttrFlags = AttrFlags(1 << 26);

    /// All flags of both.
    pub const fn union(self, other: AttrFlags) -> AttrFlags {
        AttrFlags(self.0 | other.0)
    }

    /// Whether all flags of `other` are in this.
    pub const fn contains(self, other: AttrFlags) -> bool {
        self.0 & other.0 == other.0
    }
}

/// What was asked of the kernel for one event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EventAttr {
    /// Kind of event (`perf_type_id`): 0 hardware, 1 software, 2 tracepoint, ...
    pub kind: u32,
    /// Which event of that kind.
    pub config: u64,
    /// `config1` and `config2`.
    pub config_more: [u64; 2],
    /// How often.
    pub sampling: Sampling,
    /// Fields of its records.
    pub format: RecordFormat,
    /// One-bit fields.
    pub flags: AttrFlags,
    /// The clock of its times, as of `clock_gettime(2)`; `None`: perf's own clock.
    pub clock: Option<i32>,
    /// Bytes of user stack that each sample copies.
    pub user_stack_bytes: u32,
    /// Most frames of a callchain; 0: the machine's setting.
    pub max_stack: u16,
}

impl EventAttr {
    /// The kernel's timer (`PERF_COUNT_SW_CPU_CLOCK`), which every machine has.
    pub fn cpu_clock(sampling: Sampling, format: RecordFormat) -> Self {
        Self::new(1, 0, sampling, format)
    }

    /// CPU cycles (`PERF_COUNT_HW_CPU_CYCLES`), where the machine can count them.
    pub fn cycles(sampling: Sampling, format: RecordFormat) -> Self {
        Self::new(0, 0, sampling, format)
    }

    fn new(kind: u32, config: u64, sampling: Sampling, format: RecordFormat) -> Self {
        Self {
            kind,
            config,
            config_more: [0; 2],
            sampling,
            format,
            flags: AttrFlags::default(),
            clock: None,
            user_stack_bytes: 0,
            max_stack: 0,
        }
    }

    /// How perf names it when nothing else does.
    pub(crate) fn usual_name(&self) -> String {
        match (self.kind, self.config) {
            (0, 0) => "cycles".to_owned(),
            (1, 0) => "cpu-clock".to_owned(),
            (1, 1) => "task-clock".to_owned(),
            (kind, config) => format!("event {kind}:{config:#x}"),
        }
    }

    /// Its bytes, [`ATTR_SIZE`] of them.
    pub(crate) fn to_bytes(self) -> Vec<u8> {
        let mut out = Vec::with_capacity(ATTR_SIZE);
        let mut flags = self.flags.0 & !TOLD_ELSEWHERE;
        let (Sampling::Period(rate) | Sampling::Frequency(rate)) = self.sampling;
        for (bit, set) in [
            (FREQ, matches!(self.sampling, Sampling::Frequency(_))),
            (SAMPLE_ID_ALL, self.format.sample_id_all),
            (USE_CLOCKID, self.clock.is_some()),
            (BUILD_ID, self.format.mmap_build_id),
        ] {
            flags |= if set { bit } else { 0 };
        }
        out.extend_from_slice(&self.kind.to_le_bytes());
        out.extend_from_slice(&(ATTR_SIZE as u32).to_le_bytes());
        let [config1, config2] = self.config_more;
        // Between: wakeup and breakpoint fields, which a reader has no use for.
        let words = [self.config, rate, self.format.sample_type, self.format.read_format, flags, 0, config1, config2];
        for word in words.into_iter().chain([self.format.branch_sample_type, self.format.sample_regs_user]) {
            out.extend_from_slice(&word.to_le_bytes());
        }
        out.extend_from_slice(&self.user_stack_bytes.to_le_bytes());
        out.extend_from_slice(&self.clock.unwrap_or_default().to_le_bytes());
        // sample_regs_intr and aux_watermark.
        out.extend_from_slice(&[0; 12]);
        out.extend_from_slice(&self.max_stack.to_le_bytes());
        out.resize(ATTR_SIZE, 0);
        out
    }

    /// The event that these bytes describe; fields past their end are zero, fields not known here are ignored.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Self {
        let flags = u64_or_zero(bytes, 40);
        let rate = u64_or_zero(bytes, 16);
        let format = RecordFormat {
            sample_type: u64_or_zero(bytes, 24),
            read_format: u64_or_zero(bytes, 32),
            branch_sample_type: u64_or_zero(bytes, 72),
            sample_regs_user: u64_or_zero(bytes, 80),
            sample_id_all: flags & SAMPLE_ID_ALL != 0,
            mmap_build_id: flags & BUILD_ID != 0,
        };
        let clock = u32_or_zero(bytes, 92).cast_signed();
        let [low, high, ..] = u32_or_zero(bytes, 108).to_le_bytes();
        Self {
            kind: u32_or_zero(bytes, 0),
            config: u64_or_zero(bytes, 8),
            config_more: [u64_or_zero(bytes, 56), u64_or_zero(bytes, 64)],
            sampling: if flags & FREQ != 0 { Sampling::Frequency(rate) } else { Sampling::Period(rate) },
            format,
            flags: AttrFlags(flags & !TOLD_ELSEWHERE),
            clock: (flags & USE_CLOCKID != 0).then_some(clock),
            user_stack_bytes: u32_or_zero(bytes, 88),
            max_stack: u16::from_le_bytes([low, high]),
        }
    }
}

/// An event of a file: what was asked, its name, and the ids its records carry.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EventDescription {
    /// What was asked.
    pub attr: EventAttr,
    /// Its name as perf prints it, `cpu-clock` for one.
    pub name: String,
    /// Ids that the kernel gave it (one per CPU or thread); may be empty in a file with one event.
    pub ids: Vec<u64>,
}
