//! Record types.

/// PERF_RECORD_MMAP.
pub const MMAP: u32 = 1;
/// PERF_RECORD_LOST.
pub const LOST: u32 = 2;
/// PERF_RECORD_COMM.
pub const COMM: u32 = 3;
/// PERF_RECORD_EXIT.
pub const EXIT: u32 = 4;
/// PERF_RECORD_THROTTLE.
pub const THROTTLE: u32 = 5;
/// PERF_RECORD_UNTHROTTLE.
pub const UNTHROTTLE: u32 = 6;
/// PERF_RECORD_FORK.
pub const FORK: u32 = 7;
/// PERF_RECORD_SAMPLE.
pub const SAMPLE: u32 = 9;
/// PERF_RECORD_MMAP2.
pub const MMAP2: u32 = 10;
/// PERF_RECORD_LOST_SAMPLES.
pub const LOST_SAMPLES: u32 = 13;
/// PERF_RECORD_SWITCH.
pub const SWITCH: u32 = 14;
/// PERF_RECORD_SWITCH_CPU_WIDE.
pub const SWITCH_CPU_WIDE: u32 = 15;

/// First of the types that perf itself writes; they have no sample id at their end.
pub const USER_TYPE_START: u32 = 64;
/// PERF_RECORD_AUXTRACE: followed by bytes that its size does not count.
pub const AUXTRACE: u32 = 71;
/// PERF_RECORD_COMPRESSED.
pub const COMPRESSED: u32 = 81;
/// PERF_RECORD_COMPRESSED2.
pub const COMPRESSED2: u32 = 83;
