//! Opening a sampling event.

use perf_event_open_sys::{bindings as sys, ioctls, perf_event_open};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use strata_perfdata::record::RecordFormat;

/// Registers copied with each sample, in the kernel's order of their bits: BP, SP, IP.
const USER_REGISTERS: u64 = 1 << sys::PERF_REG_X86_BP | 1 << sys::PERF_REG_X86_SP | 1 << sys::PERF_REG_X86_IP;

/// What each sample in a ring holds.
const RING_SAMPLE_TYPE: u64 = (sys::PERF_SAMPLE_IP
    | sys::PERF_SAMPLE_TID
    | sys::PERF_SAMPLE_TIME
    | sys::PERF_SAMPLE_CPU
    | sys::PERF_SAMPLE_PERIOD
    | sys::PERF_SAMPLE_CALLCHAIN
    | sys::PERF_SAMPLE_REGS_USER
    | sys::PERF_SAMPLE_STACK_USER) as u64;

/// What makes the kernel take a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// The processor's cycle counter.
    Cycles,
    /// A timer that runs while the thread does, where there is no cycle counter.
    CpuClock,
}

impl EventConfig {
    /// How the kernel lays out the records in our rings.
    pub(crate) fn ring_format(&self) -> RecordFormat {
        RecordFormat {
            sample_type: RING_SAMPLE_TYPE,
            sample_regs_user: USER_REGISTERS,
            sample_id_all: true,
            mmap_build_id: self.build_ids,
            ..RecordFormat::default()
        }
    }
}

impl EventKind {
    /// The event as `perf` spells it.
    pub const fn name(self) -> &'static str {
        match self {
            EventKind::Cycles => "cycles",
            EventKind::CpuClock => "cpu-clock",
        }
    }

    /// `perf_event_attr.type` and `.config`.
    pub(crate) const fn type_and_config(self) -> (u32, u64) {
        match self {
            EventKind::Cycles => (sys::PERF_TYPE_HARDWARE, sys::PERF_COUNT_HW_CPU_CYCLES as u64),
            EventKind::CpuClock => (sys::PERF_TYPE_SOFTWARE, sys::PERF_COUNT_SW_CPU_CLOCK as u64),
        }
    }
}

/// When a new event begins to count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Begin {
    /// When [`Event::enable`] is called.
    Enabled,
    /// When the process executes its program.
    OnExec,
}

/// What is sampled and how.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EventConfig {
    pub(crate) kind: EventKind,
    pub(crate) frequency_hz: u64,
    pub(crate) stack_bytes: u32,
    /// Bytes in a ring after which the kernel wakes us.
    pub(crate) wakeup_bytes: u32,
    /// Whether the kernel may be sampled too.
    pub(crate) kernel: KernelSide,
    /// Whether mapping records name files by their build id; kernels before 5.12 cannot.
    pub(crate) build_ids: bool,
}

/// Whether kernel code may be sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelSide {
    /// It is.
    Included,
    /// The kernel does not allow it to this user.
    Excluded,
}

/// One sampling event of one thread (with what it starts) on one processor.
#[derive(Debug)]
pub(crate) struct Event {
    fd: OwnedFd,
}

impl Event {
    /// Opens the event; `tid` and everything it starts later are sampled while on `cpu`.
    pub(crate) fn open(config: &EventConfig, tid: u32, cpu: u32, begin: Begin) -> io::Result<Self> {
        Ok(Self { fd: open(&mut attr(config, begin), tid, cpu)? })
    }

    /// Lets this event write into the ring of `other`.
    pub(crate) fn write_into(&self, other: &Event) -> io::Result<()> {
        // SAFETY: both descriptors are open events owned by us; the call takes no pointer.
        let result = unsafe { ioctls::SET_OUTPUT(self.fd.as_raw_fd(), other.fd.as_raw_fd()) };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Begins to count, for everything inherited too.
    pub(crate) fn enable(&self) -> io::Result<()> {
        // SAFETY: the descriptor is an open event owned by us; the call takes no pointer.
        let result = unsafe { ioctls::ENABLE(self.fd.as_raw_fd(), 0) };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Stops counting, for everything inherited too.
    pub(crate) fn disable(&self) -> io::Result<()> {
        // SAFETY: the descriptor is an open event owned by us; the call takes no pointer.
        let result = unsafe { ioctls::DISABLE(self.fd.as_raw_fd(), 0) };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    pub(crate) fn fd(&self) -> &OwnedFd {
        &self.fd
    }
}

fn attr(config: &EventConfig, begin: Begin) -> sys::perf_event_attr {
    let (type_, event) = config.kind.type_and_config();
    let mut attr = sys::perf_event_attr { type_, config: event, ..Default::default() };
    attr.size = u32::try_from(size_of::<sys::perf_event_attr>()).unwrap_or_default();
    attr.__bindgen_anon_1.sample_freq = config.frequency_hz;
    attr.set_freq(1);
    attr.sample_type = RING_SAMPLE_TYPE;
    attr.sample_regs_user = USER_REGISTERS;
    attr.sample_stack_user = config.stack_bytes;
    attr.set_use_clockid(1);
    attr.clockid = libc::CLOCK_MONOTONIC;
    attr.set_disabled(1);
    attr.set_inherit(1);
    attr.set_mmap(1);
    attr.set_mmap2(1);
    attr.set_build_id(config.build_ids.into());
    attr.set_comm(1);
    attr.set_comm_exec(1);
    attr.set_task(1);
    attr.set_sample_id_all(1);
    attr.set_exclude_hv(1);
    attr.set_exclude_guest(1);
    attr.set_watermark(1);
    attr.__bindgen_anon_2.wakeup_watermark = config.wakeup_bytes;
    if config.kernel == KernelSide::Excluded {
        attr.set_exclude_kernel(1);
        attr.set_exclude_callchain_kernel(1);
    }
    if begin == Begin::OnExec {
        attr.set_enable_on_exec(1);
    }
    attr
}

fn open(attr: &mut sys::perf_event_attr, tid: u32, cpu: u32) -> io::Result<OwnedFd> {
    let number = |value: u32| i32::try_from(value).map_err(|_| io::Error::from_raw_os_error(libc::EINVAL));
    let flags = u64::from(sys::PERF_FLAG_FD_CLOEXEC);
    // SAFETY: `attr` is a valid attribute with its own size in it; the kernel only reads it (and its size field back).
    let fd = unsafe { perf_event_open(attr, number(tid)?, number(cpu)?, -1, flags as _) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel just gave us this descriptor; no one else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// The event this machine offers: cycles where it has a counter, else the timer.
///
/// # Errors
/// What the kernel said when it would not open even the timer on ourselves.
pub(crate) fn choose(mut config: EventConfig) -> io::Result<EventConfig> {
    let ourselves = std::process::id();
    let cpu = first_online_processor();
    let mut refused = None;
    for kernel in [KernelSide::Included, KernelSide::Excluded] {
        for kind in [EventKind::Cycles, EventKind::CpuClock] {
            for build_ids in [true, false] {
                config = EventConfig { kind, kernel, build_ids, ..config };
                match Event::open(&config, ourselves, cpu, Begin::Enabled) {
                    Ok(_) => return Ok(config),
                    Err(error) => refused = Some(error),
                }
            }
        }
    }
    Err(refused.unwrap_or_else(|| io::Error::from_raw_os_error(libc::ENOENT)))
}

fn first_online_processor() -> u32 {
    super::cpus::online().first().copied().unwrap_or(0)
}
