//! The records of a recording in time order, turned into a profile.

use crate::frames::Namer;
use rustc_hash::FxHashMap;
use strata_address::Avma;
use strata_perfdata::record::{ChainContext, ChainEntry, Comm, Record, RecordData, Sample as SampleRecord, TaskId};
use strata_perfdata::{Began, Ended, LivingThreads};
use strata_profile::{
    Cut, Found, Gap, Process, ProcessId, ProfileBuilder, Sample, StackEnd, StackId, Thread, ThreadId, ThreadState,
    Timestamp,
};
use strata_stack::note::{self, StackNote};

/// Builds a profile record by record.
pub(crate) struct Replay<'f, 'b> {
    builder: &'b mut ProfileBuilder,
    namer: Namer<'f>,
    /// What a sample stands for when the event does not count time, nanoseconds.
    period_ns: u64,
    /// Whether the event's period is time.
    counts_time: bool,
    processes: FxHashMap<u32, ProcessId>,
    threads: FxHashMap<(u32, u32), ThreadId>,
    living: LivingThreads,
    runtime_versions: FxHashMap<u32, Option<String>>,
    last: Timestamp,
}

/// How the samples of a recording were taken.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sampling {
    /// Samples per second and busy processor.
    pub(crate) frequency_hz: u64,
    /// Whether a sample's period is nanoseconds of CPU time.
    pub(crate) counts_time: bool,
}

impl<'f, 'b> Replay<'f, 'b> {
    pub(crate) fn new(
        builder: &'b mut ProfileBuilder,
        namer: Namer<'f>,
        sampling: Sampling,
        runtime_versions: FxHashMap<u32, Option<String>>,
    ) -> Self {
        Self {
            builder,
            namer,
            period_ns: 1_000_000_000_u64.checked_div(sampling.frequency_hz).unwrap_or(0),
            counts_time: sampling.counts_time,
            processes: FxHashMap::default(),
            threads: FxHashMap::default(),
            living: LivingThreads::default(),
            runtime_versions,
            last: Timestamp::default(),
        }
    }

    /// Time of the last record.
    pub(crate) fn last(&self) -> Timestamp {
        self.last
    }

    /// Why kernel code has no names, if it has none.
    pub(crate) fn kernel_problem(&self) -> Option<&str> {
        self.namer.kernel_problem()
    }

    /// What is to be told of images that could not be read, or only in part.
    pub(crate) fn take_notices(&mut self) -> Vec<Gap> {
        self.namer.take_notices()
    }

    /// Takes the next record.
    pub(crate) fn take(&mut self, record: &Record<'_>) {
        if let Some(time) = record.time() {
            self.last = self.last.max(Timestamp(time));
        }
        match &record.data {
            RecordData::Sample(sample) => self.sample(record, sample),
            // The kernel's own code is named by its symbol list.
            RecordData::Mmap(mapping) if mapping.task.pid < 0 => {}
            RecordData::Mmap(mapping) => {
                let pid = mapping.task.pid.unsigned_abs();
                self.namer.mappings.mapped(pid, mapping);
                self.namer.changed(pid);
            }
            RecordData::Comm(comm) => self.comm(comm),
            RecordData::Fork(life) => {
                let (parent, child) = (life.parent.pid.unsigned_abs(), life.task.pid.unsigned_abs());
                if self.living.began(life) == Began::Process {
                    self.forget_process(child);
                }
                self.namer.mappings.forked(parent, child);
                self.inherit_names(life.parent, life.task);
            }
            RecordData::Exit(life) => {
                let (pid, tid) = ids(life.task);
                self.threads.remove(&(pid, tid));
                if self.living.ended(life) == Ended::Process {
                    self.forget_process(pid);
                }
            }
            RecordData::Lost { lost, .. } | RecordData::LostSamples { lost } => {
                let loss = self.builder.loss_mut();
                loss.perf_records = loss.perf_records.saturating_add(*lost);
            }
            _ => {}
        }
    }

    /// A process ended; its number may come again.
    fn forget_process(&mut self, pid: u32) {
        self.processes.remove(&pid);
        self.threads.retain(|(process, _), _| *process != pid);
        self.namer.gone(pid, self.last);
    }

    fn comm(&mut self, comm: &Comm<'_>) {
        let (pid, tid) = ids(comm.task);
        let name = String::from_utf8_lossy(comm.name).into_owned();
        self.living.seen(comm.task);
        if comm.exec {
            self.living.executed(comm.task);
            self.namer.gone(pid, self.last);
        }
        let thread = self.thread(pid, tid);
        self.builder.thread_mut(thread).name.clone_from(&name);
        if pid == tid {
            let process = self.process(pid);
            self.builder.process_mut(process).name = name;
        }
    }

    /// A new thread or process has its parent's name until it says another.
    fn inherit_names(&mut self, parent: TaskId, child: TaskId) {
        let Some(parent) = self.threads.get(&ids(parent)).copied() else { return };
        let name = self.builder.thread_mut(parent).name.clone();
        let (pid, tid) = ids(child);
        let thread = self.thread(pid, tid);
        self.builder.thread_mut(thread).name.clone_from(&name);
        if pid == tid {
            let process = self.process(pid);
            self.builder.process_mut(process).name = name;
        }
    }

    fn process(&mut self, pid: u32) -> ProcessId {
        *self.processes.entry(pid).or_insert_with(|| {
            let runtime_version = self.runtime_versions.get(&pid).cloned().flatten();
            self.builder.process(Process { pid, name: String::new(), runtime_version })
        })
    }

    fn thread(&mut self, pid: u32, tid: u32) -> ThreadId {
        let process = self.process(pid);
        *self
            .threads
            .entry((pid, tid))
            .or_insert_with(|| self.builder.thread(Thread { process, tid, name: String::new() }))
    }

    fn sample(&mut self, record: &Record<'_>, sample: &SampleRecord<'_>) {
        let task = record.id.task.unwrap_or_default();
        self.living.seen(task);
        let (pid, tid) = ids(task);
        let time = Timestamp(record.time().unwrap_or(self.last.0));
        let thread = self.thread(pid, tid);
        let note = sample.raw.and_then(note::decode);
        let stack = self.stack((pid, time), sample, note);
        // Another recorder's chain says nothing of how it ends.
        let end = note.map_or(StackEnd::Cut(Cut::Unknown), |note| note.end);
        let weight = if self.counts_time { sample.period.unwrap_or(self.period_ns) } else { self.period_ns };
        self.builder.sample(Sample { time, thread, stack, weight, state: ThreadState::Running, end });
    }

    fn stack(
        &mut self,
        process_then: (u32, Timestamp),
        sample: &SampleRecord<'_>,
        note: Option<StackNote<'_>>,
    ) -> Option<StackId> {
        let mut found = note.iter().flat_map(StackNote::found);
        let mut frames = Vec::with_capacity(sample.callchain.len());
        let mut context = ChainContext::User;
        let mut first_of_context = true;
        let mut kernel_hidden = self.namer.kernel_problem().is_some().then_some(());
        for entry in sample.callchain.entries() {
            match entry {
                ChainEntry::Context(next) => {
                    context = next;
                    first_of_context = true;
                }
                ChainEntry::Address(address) if context == ChainContext::Kernel => {
                    // Without names one frame says all there is to say.
                    if self.namer.kernel_problem().is_none() || kernel_hidden.take().is_some() {
                        frames.push(self.kernel_frame(address, first_of_context));
                    }
                    first_of_context = false;
                }
                ChainEntry::Address(address) => {
                    let by_default = if first_of_context { Found::Ip } else { Found::KernelChain };
                    let found = found.next().unwrap_or(by_default);
                    frames.push(self.namer.user(self.builder, process_then, address, found));
                    first_of_context = false;
                }
            }
        }
        let mut stack = None;
        for frame in frames.into_iter().rev() {
            stack = Some(self.builder.stack(stack, frame));
        }
        stack
    }

    fn kernel_frame(&mut self, address: Avma, is_leaf: bool) -> strata_profile::FrameId {
        self.namer.kernel(self.builder, address, is_leaf)
    }
}

fn ids(task: TaskId) -> (u32, u32) {
    (task.pid.unsigned_abs(), task.tid.unsigned_abs())
}
