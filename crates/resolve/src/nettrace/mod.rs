//! A .NET event stream on its own, as `dotnet-trace` writes it: the samples of the runtime's sampler as thread time, those
//! of a collector of whole machines as CPU time (module `machine`), or any of its events. Which of the first two it is, what
//! comes decides: a stream with samples of CPU time is one of CPU time.
//!
//! The stream's items are taken as they come: samples are kept as addresses, each distinct stack once, because their names
//! come last, in the list of methods that ends the stream. Then every address is named by what the runtime said was there at
//! that time (`names`), or by images at hand (`images`).

mod about;
mod code;
mod contents;
mod evidence;
mod images;
mod machine;
mod names;
mod runtime_code;
mod samples;
mod stacks;
mod weights;

pub use code::{FrameName, TraceCode, TracedFrame};
pub use contents::Contents;

use crate::files::Files;
use crate::managed::ManagedReader;
use evidence::Evidence;
use images::FoundImages;
use machine::{Machine, USUAL_PERIOD_NS};
use names::Names;
use runtime_code::RuntimeCode;
use samples::{RawSample, RawThread, Samples};
use std::path::PathBuf;
use strata_nettrace::runtime::{Occasion, RuntimeEvent};
use strata_nettrace::survey::{About, Survey};
use strata_nettrace::universal::UniversalEvent;
use strata_nettrace::{Event, Item, Summary, TraceInfo};
use strata_profile::{
    Gap, Loss, Measure, Process, Profile, ProfileBuilder, Sample, StackEnd, Thread, ThreadId, ThreadState, Timestamp,
    quality,
};
use strata_recording::StreamKind;
use weights::{Weights, weigh};

/// The first version of streams in which an event can be of any process.
const FIRST_WITH_PROCESSES: u32 = 6;

/// What a profile shows of a stream.
#[derive(Default)]
pub enum Shown<'s> {
    /// Its samples: those of a machine as CPU time; where there are none, those of the runtime's sampler as thread time.
    #[default]
    Samples,
    /// Events, each of which counts one.
    Events {
        /// Which ones, in words.
        what: String,
        /// Looks at every item of the stream in turn, and says of an event whether it is one of them.
        counts: &'s mut dyn FnMut(&Item<'_>) -> bool,
    },
}

/// Takes the items of one stream.
pub struct TraceReader<'s> {
    file: String,
    shown: Shown<'s>,
    trace: Option<TraceInfo>,
    survey: Survey,
    has_rundown: bool,
    samples: Samples,
    machine: Machine,
    code: ManagedReader,
    evidence: Evidence,
    first_problem: Option<u64>,
}

/// What a stream gives.
#[derive(Debug)]
pub struct Trace {
    /// What was to be shown; without samples where the stream has nothing of it.
    pub profile: Profile,
    /// What else is in the stream.
    pub contents: Contents,
}

/// Images of the traced program that may be at hand.
pub struct ImageFiles<'f> {
    /// Gives their bytes.
    pub files: &'f dyn Files,
    /// Files that may be among them; only those with the name of one of the program's modules are read.
    pub candidates: Vec<PathBuf>,
}

impl<'s> TraceReader<'s> {
    /// A reader at the start of a stream. `file` is how the stream is called where something of it is missing.
    pub fn new(file: &str, shown: Shown<'s>) -> Self {
        Self {
            file: file.to_owned(),
            shown,
            trace: None,
            survey: Survey::default(),
            has_rundown: false,
            samples: Samples::default(),
            machine: Machine::default(),
            code: ManagedReader::default(),
            evidence: Evidence::default(),
            first_problem: None,
        }
    }

    /// Takes the next item of the stream.
    pub fn take(&mut self, item: &Item<'_>) {
        self.survey.take(item);
        let counts = match &mut self.shown {
            Shown::Samples => false,
            Shown::Events { counts, .. } => counts(item),
        };
        match item {
            Item::Trace(trace) => self.trace = Some(*trace),
            Item::Event(event) => {
                let at = moment(self.trace, event.header.time);
                if counts {
                    self.count(event, at);
                }
                self.event(event, at);
            }
            Item::SequencePoint(_) => {
                self.samples.stacks_restart();
                self.machine.stacks_restart();
            }
            Item::Problem(problem) => self.first_problem = self.first_problem.or(Some(problem.offset)),
            _ => {}
        }
    }

    fn count(&mut self, event: &Event<'_>, at: Timestamp) {
        if self.tells_processes() {
            self.machine.sample(1, event, at);
        } else {
            self.samples.take(ThreadState::Running, event, at);
        }
    }

    /// Whether events tell which process they are about, because the stream is not of one.
    fn tells_processes(&self) -> bool {
        self.trace.is_some_and(|trace| trace.process_id.is_none() && trace.version.major >= FIRST_WITH_PROCESSES)
    }

    fn event(&mut self, event: &Event<'_>, at: Timestamp) {
        let shows_samples = matches!(self.shown, Shown::Samples);
        match UniversalEvent::decode(event) {
            Ok(None) => {}
            Ok(Some(UniversalEvent::CpuSample { weight })) if shows_samples => {
                return self.machine.sample(weight, event, at);
            }
            Ok(Some(decoded)) => return self.machine.event(&decoded, event, at),
            Err(_) => return self.machine.damaged(),
        }
        let decoded = match RuntimeEvent::decode(event) {
            Ok(Some(decoded)) => decoded,
            Ok(None) => return,
            Err(_) => return self.code.undecodable(),
        };
        match &decoded {
            RuntimeEvent::Sample(state) if shows_samples => {
                self.samples.take(samples::state_of(*state), event, at);
            }
            RuntimeEvent::EntryPoint(entry_point) => self.evidence.entry_point(entry_point),
            RuntimeEvent::RundownComplete(Occasion::RundownEnd) => self.has_rundown = true,
            RuntimeEvent::Method(_, method) => self.evidence.method(method),
            RuntimeEvent::Module(_, module) => self.evidence.module(module),
            _ => {}
        }
        self.code.event(&decoded, event.header.capture_thread, at, StreamKind::Live);
    }

    /// The stream ended like this: names everything. One that is cut or damaged gives what is whole of it, and the profile's
    /// loss tells what is missing.
    pub fn finish(mut self, summary: &Summary, images: &ImageFiles<'_>) -> Trace {
        self.code.stream_ended(&self.file, summary, self.first_problem, StreamKind::Live);
        let contents = Contents::of(&self.survey, summary, self.has_rundown);
        let is_of_machine = match self.shown {
            Shown::Samples => self.machine.has_samples(),
            Shown::Events { .. } => self.tells_processes(),
        };
        if is_of_machine {
            return Trace { profile: self.of_machine(summary), contents };
        }
        let mut profile = self.of_process(summary, images);
        if !contents.has_rundown {
            let named = quality(&profile).named_frames();
            if named.part < named.whole {
                profile.loss.gaps.push(Gap::NoRundown);
            }
        }
        Trace { profile, contents }
    }

    fn of_machine(self, summary: &Summary) -> Profile {
        // Should a runtime say how it was started: it is one process of many.
        let nothing = About::default();
        let period_ns = machine::period_ns(self.trace);
        let (measure, of_one, samples) = match self.shown {
            Shown::Samples => (machine::measure(period_ns), period_ns.unwrap_or(USUAL_PERIOD_NS), true),
            Shown::Events { what, .. } => (Measure::Events { what }, 1, false),
        };
        let mut builder = ProfileBuilder::new(about::recording(&nothing, self.trace, summary, &self.file, measure));
        let mut missing = Loss::default();
        self.code.finish().tell_loss(&mut missing);
        let loss = builder.loss_mut();
        loss.gaps = missing.gaps;
        // Whoever collects for a whole machine loses what the kernel dropped; runtimes are not asked.
        loss.perf_records = missing.runtime_events;
        if missing.runtime_events == 0 {
            // Those there are number the events of each block anew.
            loss.gaps.push(Gap::LossUntold);
        }
        if samples {
            let events = self.samples.count() as u64;
            if events > 0 {
                let reason = "the trace has CPU time, which is shown";
                loss.gaps.push(Gap::NotUsed { events, what: "samples of thread time", reason });
            }
            self.machine.tell_unshown(loss);
            if period_ns.is_none() {
                loss.gaps.push(Gap::SamplingPeriod { assumed_ns: USUAL_PERIOD_NS });
            }
        }
        self.machine.finish(&mut builder, of_one);
        builder.finish()
    }

    fn of_process(mut self, summary: &Summary, images: &ImageFiles<'_>) -> Profile {
        let mut code = self.code.finish();
        let samples = self.samples.in_order();
        let (weights, measure, long_gaps) = match self.shown {
            Shown::Samples => {
                let Weights { of_samples, usual_gap_ns, long_gaps } = weigh(&samples, self.samples.threads.len());
                (Some(of_samples), Measure::ThreadTime { usual_gap_ns }, long_gaps)
            }
            Shown::Events { what, .. } => (None, Measure::Events { what }, None),
        };
        let mut builder =
            ProfileBuilder::new(about::recording(self.survey.about(), self.trace, summary, &self.file, measure));
        code.tell_loss(builder.loss_mut());
        let loss = builder.loss_mut();
        self.machine.tell_damage(loss);
        if weights.is_some() {
            self.machine.tell_unshown(loss);
        }
        loss.long_gaps = long_gaps;
        loss.sampler_errors = samples.iter().filter(|sample| sample.state == ThreadState::Unknown).count() as u64;
        let found = FoundImages::find(&self.evidence, images);
        let process = builder.process(Process {
            pid: self.trace.and_then(|trace| trace.process_id).unwrap_or(0),
            name: about::program(self.survey.about()).to_owned(),
            runtime_version: self.survey.about().runtime.map(|version| version.to_string()),
        });
        let thread = |thread: &RawThread| Thread { process, tid: id(thread.id), name: thread.name.to_string() };
        let threads: Vec<ThreadId> = self.samples.threads.iter().map(|raw| builder.thread(thread(raw))).collect();
        let code = RuntimeCode { managed: code, images: found };
        let mut names = Names::new(code, &self.samples.stacks);
        builder.reserve_samples(samples.len());
        for (number, RawSample { time, thread, stack, state }) in samples.into_iter().enumerate() {
            let Some(&thread) = usize::try_from(thread).ok().and_then(|thread| threads.get(thread)) else { continue };
            let (weight, end) = match (&weights, stack) {
                (Some(weights), _) => (weights.get(number).copied().unwrap_or(0), self.samples.stacks.end_of(stack)),
                // Not every event has a stack.
                (None, None) => (1, StackEnd::Untold),
                (None, Some(_)) => (1, self.samples.stacks.end_of(stack)),
            };
            let stack = stack.map(|stack| names.stack(&mut builder, stack, time));
            builder.sample(Sample { time, thread, stack, weight, state, end });
        }
        let notices = names.into_code().take_notices();
        builder.loss_mut().gaps.extend(notices);
        builder.finish()
    }
}

/// A time of a stream on the clock of profiles; as it is where the stream has not said what its clock counts.
fn moment(trace: Option<TraceInfo>, ticks: u64) -> Timestamp {
    Timestamp(trace.map_or(ticks, |trace| trace.nanoseconds(ticks)))
}

/// More than 32 bits have only ids of nothing that was ever seen.
fn id(id: u64) -> u32 {
    u32::try_from(id).unwrap_or(u32::MAX)
}
