//! The samples of a collector of whole machines (`dotnet-trace collect-linux`, record-trace) as CPU time.
//!
//! The collector tells of processes, mappings and symbols itself, in whatever order: at their times, or all at the end. So
//! samples are kept as addresses until everything was told, and then each address gets the name of what was there at that time.

mod code;
mod processes;
mod symbol_name;
mod told;

use super::id;
use super::names::Names;
use super::stacks::RawStack;
use crate::symbols::Named;
use code::{Code, CodeReader, ProcessCode};
use processes::{Processes, RawProcess};
use rustc_hash::FxHashMap;
use std::collections::hash_map::Entry;
use strata_address::Avma;
use strata_nettrace::universal::UniversalEvent;
use strata_nettrace::{Event, TraceInfo};
use strata_profile::{
    Gap, Loss, Measure, Process, ProcessId, ProfileBuilder, Sample, StackEnd, Thread, ThreadId, ThreadState, Timestamp,
};

/// Time between samples where the stream does not tell: what collectors do if they are not told otherwise.
pub(super) const USUAL_PERIOD_NS: u64 = 1_000_000;

/// One sample, its stack not named yet.
#[derive(Clone, Copy, Debug)]
struct RawSample {
    time: Timestamp,
    /// Position in [`Processes::threads`].
    thread: u32,
    /// One of its process.
    stack: Option<RawStack>,
    /// How many times the period between samples it stands for.
    weight: u64,
}

/// Takes what a collector of a whole machine wrote.
#[derive(Debug, Default)]
pub(super) struct Machine {
    samples: Vec<RawSample>,
    processes: Processes,
    code: CodeReader,
    context_switches: u64,
    damaged: u64,
}

impl Machine {
    /// Takes one of its events.
    pub(super) fn event(&mut self, decoded: &UniversalEvent<'_>, event: &Event<'_>, at: Timestamp) {
        let can_be = match decoded {
            UniversalEvent::ContextSwitch { .. } => {
                self.context_switches = self.context_switches.saturating_add(1);
                true
            }
            UniversalEvent::Process(beginning, process) => {
                self.processes.began(event, *beginning, process.name.to_string(), at);
                true
            }
            UniversalEvent::ProcessExit => {
                self.processes.ended(event);
                true
            }
            UniversalEvent::Mapping(mapping) => {
                let process = self.processes.of(event);
                process.is_some_and(|process| self.code.mapping(process, mapping, at))
            }
            UniversalEvent::MappingMetadata(metadata) => {
                self.code.metadata(metadata);
                true
            }
            UniversalEvent::Symbol(symbol) => self.code.symbol(symbol, at),
            _ => true,
        };
        if !can_be {
            self.damaged();
        }
    }

    /// Takes a sample that stands for so many, or another event that stands for itself.
    pub(super) fn sample(&mut self, weight: u64, event: &Event<'_>, time: Timestamp) {
        if self.place(weight, event, time).is_none() {
            self.damaged();
        }
    }

    fn place(&mut self, weight: u64, event: &Event<'_>, time: Timestamp) -> Option<()> {
        let process = self.processes.of(event)?;
        let thread = self.processes.thread(process, event)?;
        let stack = match &event.stack {
            Some(stack) => self.processes.stacks(process)?.intern(stack),
            None => None,
        };
        self.samples.push(RawSample { time, thread, stack, weight });
        Some(())
    }

    /// One of its events is not what such an event holds.
    pub(super) fn damaged(&mut self) {
        self.damaged = self.damaged.saturating_add(1);
    }

    /// What was defined as a stack so far is not spoken of any more.
    pub(super) fn stacks_restart(&mut self) {
        self.processes.stacks_restart();
    }

    /// What names the stacks of its events.
    pub(super) fn into_code(self) -> MachineCode {
        let (code, _) = self.code.finish(self.processes.all.len());
        let mut of_pid: FxHashMap<u64, Vec<(Timestamp, u32)>> = FxHashMap::default();
        for (number, process) in (0..).zip(&self.processes.all) {
            of_pid.entry(process.pid).or_default().push((process.since, number));
        }
        MachineCode { code, of_pid }
    }

    /// Whether there is anything to show.
    pub(super) fn has_samples(&self) -> bool {
        !self.samples.is_empty()
    }

    /// Which of its events samples have no place for.
    pub(super) fn tell_unshown(&self, loss: &mut Loss) {
        let reason = "this version does not show time off the processors yet";
        not_used(loss, self.context_switches, "context switches", reason);
    }

    /// Which of its events could not be used at all.
    pub(super) fn tell_damage(&self, loss: &mut Loss) {
        not_used(loss, self.damaged, "events of the collector", "they do not hold what such events hold");
    }

    /// Everything came: names all samples and adds them to the profile, each with so much weight for one.
    pub(super) fn finish(self, builder: &mut ProfileBuilder, of_one: u64) {
        self.tell_damage(builder.loss_mut());
        let Self { mut samples, processes, code, .. } = self;
        let (code, homeless) = code.finish(processes.all.len());
        let reason = "the trace does not tell of the mappings that they are in";
        not_used(builder.loss_mut(), homeless, "symbols", reason);
        samples.sort_by_key(|sample| sample.time);
        let mut rows = Rows { processes: &processes, code: &code, of_process: FxHashMap::default() };
        let threads: Vec<ThreadId> = rows.threads(builder);
        for RawSample { time, thread, stack, weight } in samples {
            let place = thread as usize;
            let (Some(raw), Some(&thread)) = (processes.threads.get(place), threads.get(place)) else { continue };
            let names = rows.of_process.get_mut(&raw.process).and_then(|row| row.names.as_mut());
            let stack = stack.zip(names).map(|(stack, names)| names.stack(builder, stack, time));
            let weight = weight.saturating_mul(of_one);
            builder.sample(Sample { time, thread, stack, weight, state: ThreadState::Running, end: StackEnd::Untold });
        }
    }
}

/// Code of all processes of a machine.
pub(super) struct MachineCode {
    code: Code,
    /// By process id: since when it is which process, in the order of time.
    of_pid: FxHashMap<u64, Vec<(Timestamp, u32)>>,
}

impl MachineCode {
    /// What is at an address of the process of an event.
    pub(super) fn name(&self, event: &Event<'_>, address: Avma, at: Timestamp) -> Option<Named> {
        let processes = self.of_pid.get(&event.process_id().unwrap_or(0))?;
        let (_, process) = processes.iter().rev().find(|(since, _)| *since <= at)?;
        self.code.name(*process, address, at)
    }
}

fn not_used(loss: &mut Loss, events: u64, what: &'static str, reason: &'static str) {
    if events > 0 {
        loss.gaps.push(Gap::NotUsed { events, what, reason });
    }
}

/// What samples of CPU time measure that are so far apart.
pub(super) fn measure(period_ns: Option<u64>) -> Measure {
    let frequency_hz = period_ns.and_then(|period| 1_000_000_000_u64.checked_div(period)).unwrap_or(0);
    Measure::CpuTime { event: "cpu".to_owned(), frequency_hz }
}

/// How far samples are apart, where the stream tells.
pub(super) fn period_ns(trace: Option<TraceInfo>) -> Option<u64> {
    trace.and_then(|trace| trace.sampling_period_ns).map(u64::from).filter(|period| *period > 0)
}

/// Rows of the profile that samples refer to: those of threads that were sampled, and of their processes.
struct Rows<'m> {
    processes: &'m Processes,
    code: &'m Code,
    of_process: FxHashMap<u32, ProcessRow<'m>>,
}

struct ProcessRow<'m> {
    id: ProcessId,
    names: Option<Names<'m, ProcessCode<'m>>>,
}

impl Rows<'_> {
    /// One for each thread that was sampled, in their order.
    fn threads(&mut self, builder: &mut ProfileBuilder) -> Vec<ThreadId> {
        let mut threads = Vec::new();
        for thread in &self.processes.threads {
            // A thread's process is one of them.
            let Some(raw) = self.processes.all.get(thread.process as usize) else { break };
            let process = match self.of_process.entry(thread.process) {
                Entry::Occupied(known) => known.get().id,
                Entry::Vacant(new) => {
                    let id = builder.process(row_of(raw));
                    let names = self.code.of(thread.process).map(|code| Names::new(code, &raw.stacks));
                    new.insert(ProcessRow { id, names }).id
                }
            };
            threads.push(builder.thread(Thread { process, tid: id(thread.tid), name: thread.name.clone() }));
        }
        threads
    }
}

fn row_of(raw: &RawProcess) -> Process {
    Process { pid: id(raw.pid), name: raw.name.clone(), runtime_version: None }
}
