//! From ring records to the recording's `perf.data`: each sample is unwound at once and its stack bytes are let go.

use crate::perf::event::{EventConfig, KernelSide};
use crate::target::memory::LiveMemory;
use crate::target::proc;
use crate::target::processes::{self, Processes};
use perf_event_open_sys::bindings as sys;
use std::fs::File;
use strata_address::{Avma, AvmaRange};
use strata_perfdata::record::{
    Callchain, ChainContext, ChainEntry, Comm, Misc, Mmap, Record, RecordData, RecordFormat, RegsAbi, Sample, SampleId,
    TaskId, sample_type,
};
use strata_perfdata::{
    AttrFlags, Began, CLOCK_MONOTONIC, Ended, EventAttr, EventDescription, Features, LivingThreads, Sampling,
    WriteError, Writer,
};
use strata_stack::{Cut, Found, StackEnd, note};
use strata_unwind::{FoundFrame, SampledStack, Unwinder};

/// Counts so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SampleCounts {
    /// CPU samples written.
    pub samples: u64,
    /// Samples whose stack reaches the thread's first frame.
    pub whole: u64,
    /// Records that the kernel dropped because a ring was full.
    pub lost: u64,
    /// Times that the kernel paused sampling because it came too fast.
    pub throttled: u64,
    /// Records that could not be read.
    pub unreadable: u64,
}

/// Unwinds and writes.
pub(crate) struct SampleWriter {
    writer: Writer<File>,
    ring_format: RecordFormat,
    processes: Processes,
    living: LivingThreads,
    memory: LiveMemory,
    unwinder: Unwinder,
    frames: Vec<FoundFrame>,
    words: Vec<u64>,
    user_chain: Vec<u64>,
    note: Vec<u8>,
    counts: SampleCounts,
}

impl SampleWriter {
    pub(crate) fn new(file: File, config: &EventConfig) -> Result<Self, WriteError> {
        let writer = Writer::new(file, vec![describe(config)])?;
        Ok(Self {
            writer,
            ring_format: config.ring_format(),
            processes: Processes::default(),
            living: LivingThreads::default(),
            memory: LiveMemory::default(),
            unwinder: Unwinder::new(),
            frames: Vec::new(),
            words: Vec::new(),
            user_chain: Vec::new(),
            note: Vec::new(),
            counts: SampleCounts::default(),
        })
    }

    pub(crate) fn counts(&self) -> SampleCounts {
        self.counts
    }

    /// Bytes of records so far.
    pub(crate) fn bytes(&self) -> u64 {
        self.writer.data_size()
    }

    /// Writes where the kernel's code lies, for readers that name it by themselves.
    pub(crate) fn kernel_code(&mut self, range: AvmaRange, now_ns: u64) -> Result<(), WriteError> {
        let task = TaskId { pid: -1, tid: 0 };
        self.writer.push(&Record {
            misc: Misc::KERNEL,
            id: at(task, now_ns),
            data: RecordData::Mmap(Mmap {
                task,
                start: range.start(),
                length: range.len(),
                file_offset: range.start().0,
                filename: b"[kernel.kallsyms]_text",
                is_data: false,
                more: None,
            }),
        })
    }

    /// Writes what a process already is: names of its threads and its executable mappings.
    pub(crate) fn existing_process(&mut self, pid: u32, now_ns: u64) -> Result<(), WriteError> {
        for tid in proc::threads(pid).unwrap_or_default() {
            self.existing_thread(pid, tid, now_ns)?;
        }
        let writer = &mut self.writer;
        self.processes.found(pid, |record| {
            let id = at(record.task, now_ns);
            writer.push(&Record { misc: Misc::USER, id, data: RecordData::Mmap(*record) })
        })
    }

    /// Writes the name of a thread that is already there.
    pub(crate) fn existing_thread(&mut self, pid: u32, tid: u32, now_ns: u64) -> Result<(), WriteError> {
        let Some(name) = proc::thread_name(pid, tid) else { return Ok(()) };
        let task = task(pid, tid);
        self.living.seen(task);
        self.writer.push(&Record {
            misc: Misc::USER,
            id: at(task, now_ns),
            data: RecordData::Comm(Comm { task, name: &name, exec: false }),
        })
    }

    /// Takes one record of a ring, in time order. `runtime_seen` is told of each process that turns out to run .NET.
    pub(crate) fn take(&mut self, bytes: &[u8], mut runtime_seen: impl FnMut(u32)) -> Result<(), WriteError> {
        let Ok(record) = Record::parse(bytes, &self.ring_format) else {
            self.counts.unreadable += 1;
            return Ok(());
        };
        match &record.data {
            RecordData::Sample(sample) => return self.sample(&record, sample),
            RecordData::Mmap(mapping) => {
                let pid = mapping.task.pid.unsigned_abs();
                if processes::tells_of_runtime(mapping.filename) {
                    runtime_seen(pid);
                }
                if let Some(recognized) = self.processes.mapped(mapping) {
                    let mut completed = *mapping;
                    recognized.complete(&mut completed);
                    return self.writer.push(&Record { data: RecordData::Mmap(completed), ..record });
                }
            }
            RecordData::Comm(comm) if comm.exec => {
                self.living.executed(comm.task);
                self.forget_process(comm.task.pid.unsigned_abs());
            }
            RecordData::Comm(comm) => self.living.seen(comm.task),
            RecordData::Fork(life) => {
                let child = life.task.pid.unsigned_abs();
                if self.living.began(life) == Began::Process {
                    self.forget_process(child);
                }
                self.processes.forked(life.parent.pid.unsigned_abs(), child);
            }
            RecordData::Exit(life) => {
                self.unwinder.forget_thread(life.task.tid.unsigned_abs());
                if self.living.ended(life) == Ended::Process {
                    self.forget_process(life.task.pid.unsigned_abs());
                }
            }
            RecordData::Lost { lost, .. } | RecordData::LostSamples { lost } => self.counts.lost += lost,
            RecordData::Throttle(_) => self.counts.throttled += 1,
            _ => {}
        }
        // The trailers of rings and file are alike, so these records go through as they are.
        self.writer.record(bytes)
    }

    /// What was known of a process holds no longer: it ended, or replaced its program.
    fn forget_process(&mut self, pid: u32) {
        self.processes.forget(pid);
        self.unwinder.forget_process(pid);
    }

    fn sample(&mut self, record: &Record<'_>, sample: &Sample<'_>) -> Result<(), WriteError> {
        let task = record.id.task.unwrap_or_default();
        self.living.seen(task);
        let TaskId { pid, tid } = task;
        let (pid, tid) = (pid.unsigned_abs(), tid.unsigned_abs());
        self.words.clear();
        self.user_chain.clear();
        self.frames.clear();
        split_chain(sample.callchain, &mut self.words, &mut self.user_chain);
        let end = match user_side(pid, tid, sample, &self.user_chain) {
            UserSide::Stack(stack) => {
                let mut memory = self.memory.of(pid, tid);
                self.unwinder.unwind(self.processes.space(pid), &stack, &mut memory, &mut self.frames)
            }
            UserSide::OnlyKernelChain => {
                let mut found = Found::Ip;
                self.frames.extend(self.user_chain.iter().map(|&address| FoundFrame {
                    address: Avma(address),
                    found: std::mem::replace(&mut found, Found::KernelChain),
                }));
                StackEnd::Cut(Cut::NoUnwindData)
            }
            UserSide::Nothing => StackEnd::Root,
        };
        if !self.frames.is_empty() {
            self.words.push(ChainContext::User.marker());
            self.words.extend(self.frames.iter().map(|frame| frame.address.0));
        }
        self.note.clear();
        note::encode(end, self.frames.iter().map(|frame| frame.found), &mut self.note);
        self.counts.samples += 1;
        self.counts.whole += u64::from(end == StackEnd::Root);
        let written = Sample {
            callchain: Callchain::from_words(&self.words),
            raw: Some(&self.note),
            user_regs: None,
            user_stack: None,
            ..*sample
        };
        self.writer.push(&Record { data: RecordData::Sample(written), ..*record })
    }

    /// Ends a batch: what was read of the target's memory is stale from here on, and what was written is on disk.
    pub(crate) fn end_batch(&mut self) -> Result<(), WriteError> {
        self.memory.forget();
        self.writer.flush()
    }

    /// Completes the file.
    pub(crate) fn finish(self, features: &Features) -> Result<SampleCounts, WriteError> {
        self.writer.finish(features)?;
        Ok(self.counts)
    }
}

/// Parts the kernel's chain into its kernel side (with the marker, as it is written again) and its user side.
fn split_chain(chain: Callchain<'_>, kernel: &mut Vec<u64>, user: &mut Vec<u64>) {
    let mut in_kernel = false;
    let mut in_user = false;
    for (word, entry) in chain.words.iter().zip(chain.entries()) {
        match entry {
            ChainEntry::Context(context) => {
                in_kernel = context == ChainContext::Kernel;
                in_user = context == ChainContext::User;
                if in_kernel {
                    kernel.push(word);
                }
            }
            ChainEntry::Address(_) if in_kernel => kernel.push(word),
            ChainEntry::Address(_) if in_user => user.push(word),
            ChainEntry::Address(_) => {}
        }
    }
}

/// What ran on the user side of a sample, or had called the kernel.
enum UserSide<'a> {
    /// None: only the kernel ran, as in its own threads or in a process that is ending.
    Nothing,
    /// 64-bit code.
    Stack(SampledStack<'a>),
    /// Code that is not unwound (32-bit): there is what the kernel walked, by frame pointers.
    OnlyKernelChain,
}

fn user_side<'a>(process: u32, thread: u32, sample: &Sample<'a>, kernel_chain: &'a [u64]) -> UserSide<'a> {
    let Some(regs) = sample.user_regs else { return UserSide::Nothing };
    let register = |number| regs.get(number).filter(|_| regs.abi == RegsAbi::Bits64).map(Avma);
    let registers = (register(sys::PERF_REG_X86_IP), register(sys::PERF_REG_X86_SP), register(sys::PERF_REG_X86_BP));
    let (Some(ip), Some(sp), Some(fp)) = registers else { return UserSide::OnlyKernelChain };
    let copy = sample.user_stack.map_or(&[][..], |stack| stack.copied());
    UserSide::Stack(SampledStack { process, thread, ip, sp, fp, copy, kernel_chain })
}

fn task(pid: u32, tid: u32) -> TaskId {
    TaskId { pid: pid.cast_signed(), tid: tid.cast_signed() }
}

fn at(task: TaskId, time: u64) -> SampleId {
    SampleId { task: Some(task), time: Some(time), cpu: Some(0), ..SampleId::default() }
}

/// What each sample in the recording holds: the chain is ours, the raw bytes are the note on how it was found. Other
/// records are laid out as in the rings.
fn file_format(ring: &RecordFormat) -> RecordFormat {
    let not_kept = sample_type::REGS_USER | sample_type::STACK_USER;
    RecordFormat { sample_type: ring.sample_type & !not_kept | sample_type::RAW, sample_regs_user: 0, ..*ring }
}

fn describe(config: &EventConfig) -> EventDescription {
    let (kind, event) = config.kind.type_and_config();
    let flags = [
        AttrFlags::INHERIT,
        AttrFlags::MMAP,
        AttrFlags::MMAP2,
        AttrFlags::COMM,
        AttrFlags::COMM_EXEC,
        AttrFlags::EXCLUDE_GUEST,
    ]
    .into_iter()
    .fold(AttrFlags::TASK, AttrFlags::union);
    let flags = match config.kernel {
        KernelSide::Included => flags,
        KernelSide::Excluded => flags.union(AttrFlags::EXCLUDE_KERNEL),
    };
    let mut attr = EventAttr::cpu_clock(Sampling::Frequency(config.frequency_hz), file_format(&config.ring_format()));
    attr.kind = kind;
    attr.config = event;
    attr.flags = flags;
    attr.clock = Some(CLOCK_MONOTONIC);
    EventDescription { attr, name: config.kind.name().to_owned(), ids: Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use strata_perfdata::record::{UserRegs, Words};

    fn regs(abi: RegsAbi) -> UserRegs<'static> {
        let mask = 1 << sys::PERF_REG_X86_BP | 1 << sys::PERF_REG_X86_SP | 1 << sys::PERF_REG_X86_IP;
        UserRegs { abi, mask, values: Words::Bytes(&[[0; 8]; 3]) }
    }

    #[test]
    fn only_a_sample_without_registers_has_no_user_side() {
        let side = |user_regs| user_side(1, 1, &Sample { user_regs, ..Sample::default() }, &[]);
        assert!(matches!(side(None), UserSide::Nothing));
        assert!(matches!(side(Some(regs(RegsAbi::Bits64))), UserSide::Stack(_)));
        assert!(matches!(side(Some(regs(RegsAbi::Bits32))), UserSide::OnlyKernelChain));
        let cut = UserRegs { mask: 0, values: Words::Bytes(&[]), ..regs(RegsAbi::Bits64) };
        assert!(matches!(side(Some(cut)), UserSide::OnlyKernelChain));
    }
}
