//! Which fields the records of an event have.

/// Bits of `perf_event_attr.sample_type`.
pub mod sample_type {
    /// Instruction pointer.
    pub const IP: u64 = 1 << 0;
    /// Process and thread.
    pub const TID: u64 = 1 << 1;
    /// Time.
    pub const TIME: u64 = 1 << 2;
    /// Address of the access.
    pub const ADDR: u64 = 1 << 3;
    /// Counter values, laid out by `read_format`.
    pub const READ: u64 = 1 << 4;
    /// Callchain.
    pub const CALLCHAIN: u64 = 1 << 5;
    /// Event id, after the address.
    pub const ID: u64 = 1 << 6;
    /// CPU.
    pub const CPU: u64 = 1 << 7;
    /// Period.
    pub const PERIOD: u64 = 1 << 8;
    /// Stream id.
    pub const STREAM_ID: u64 = 1 << 9;
    /// Bytes of the event's own.
    pub const RAW: u64 = 1 << 10;
    /// Branch records.
    pub const BRANCH_STACK: u64 = 1 << 11;
    /// User registers.
    pub const REGS_USER: u64 = 1 << 12;
    /// Copy of the user stack.
    pub const STACK_USER: u64 = 1 << 13;
    /// Event id at a place that does not depend on the other bits.
    pub const IDENTIFIER: u64 = 1 << 16;

    /// What [`Sample`](crate::record::Sample) and [`SampleId`](crate::record::SampleId) carry.
    pub const CARRIED: u64 =
        IP | TID | TIME | ADDR | CALLCHAIN | ID | CPU | PERIOD | STREAM_ID | RAW | REGS_USER | STACK_USER | IDENTIFIER;

    /// What the trailer of a record that is no sample carries.
    pub(crate) const TRAILER: u64 = TID | TIME | ID | STREAM_ID | CPU | IDENTIFIER;
}

/// Bits of `perf_event_attr.read_format`.
pub(crate) mod read_format {
    pub(crate) const TOTAL_TIME_ENABLED: u64 = 1 << 0;
    pub(crate) const TOTAL_TIME_RUNNING: u64 = 1 << 1;
    pub(crate) const ID: u64 = 1 << 2;
    pub(crate) const GROUP: u64 = 1 << 3;
    pub(crate) const LOST: u64 = 1 << 4;
}

/// Bits of `perf_event_attr.branch_sample_type` that change the layout.
pub(crate) mod branch_sample_type {
    pub(crate) const HW_INDEX: u64 = 1 << 17;
    pub(crate) const COUNTERS: u64 = 1 << 19;
}

/// Which fields the records of an event have: the part of `perf_event_attr` that lays them out.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct RecordFormat {
    /// Fields of a sample: bits of [`sample_type`].
    pub sample_type: u64,
    /// Layout of counter values.
    pub read_format: u64,
    /// Layout of branch records.
    pub branch_sample_type: u64,
    /// Mask of user registers, by their number in `asm/perf_regs.h`.
    pub sample_regs_user: u64,
    /// Whether records that are no samples end with task, time, ids and CPU.
    pub sample_id_all: bool,
    /// Whether the kernel was asked to put build ids into MMAP2 records (`perf_event_attr.build_id`).
    pub mmap_build_id: bool,
}

impl RecordFormat {
    #[inline]
    pub(crate) fn has(&self, bit: u64) -> bool {
        self.sample_type & bit != 0
    }

    /// Bytes of the trailer of a record that is no sample.
    #[inline]
    pub(crate) fn trailer_size(&self) -> usize {
        // Every field of the trailer takes eight bytes.
        let fields = if self.sample_id_all { (self.sample_type & sample_type::TRAILER).count_ones() } else { 0 };
        (fields as usize).saturating_mul(8)
    }

    /// Bytes from the end of a sample's header to its event id.
    pub(crate) fn id_offset_in_sample(&self) -> Option<usize> {
        use sample_type::{ADDR, ID, IDENTIFIER, IP, TID, TIME};
        if self.has(IDENTIFIER) {
            return Some(0);
        }
        let before = (self.sample_type & (IP | TID | TIME | ADDR)).count_ones() as usize;
        self.has(ID).then_some(before.saturating_mul(8))
    }

    /// Bytes from the event id to the end of a record that is no sample.
    pub(crate) fn id_distance_from_end(&self) -> Option<usize> {
        use sample_type::{CPU, ID, IDENTIFIER, STREAM_ID};
        if !self.sample_id_all {
            return None;
        }
        if self.has(IDENTIFIER) {
            return Some(8);
        }
        let from = (self.sample_type & (ID | STREAM_ID | CPU)).count_ones() as usize;
        self.has(ID).then_some(from.saturating_mul(8))
    }
}
