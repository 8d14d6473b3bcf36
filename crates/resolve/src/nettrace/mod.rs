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

pub use code::{FrameName, TraceCode};
pub use contents::Contents;

use crate::files::Files;
use crate::managed::ManagedReader;
use evidence::Evidence;
use images::FoundImages;
use machine::{Machine, Period};
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

/// What a profile shows of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Shown {
    /// Its samples: those of a machine as CPU time; where there are none, those of the runtime's sampler as thread time.
    #[default]
    Samples,
    /// Those events that [`TraceReader::count`] is called for.
    Events {
        /// Which ones these are, in words.
        what: String,
    },
}

/// Takes the items of one stream.
#[derive(Default)]
pub struct TraceReader {
    file: String,
    shown: Shown,
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

impl TraceReader {
    /// A reader at the start of a stream. `file` is how the stream is called where something of it is missing.
    pub fn new(file: &str, shown: Shown) -> Self {
        Self { file: file.to_owned(), shown, ..Self::default() }
    }

    /// Takes the next item of the stream.
    pub fn take(&mut self, item: &Item<'_>) {
        self.survey.take(item);
        match item {
            Item::Trace(trace) => {
                self.code.stream_began(Timestamp(trace.nanoseconds(trace.sync_ticks)));
                self.trace = Some(*trace);
            }
            Item::Event(event) => self.event(event),
            Item::SequencePoint(_) => {
                self.samples.stacks_restart();
                self.machine.stacks_restart();
            }
            Item::Problem(problem) => self.first_problem = self.first_problem.or(Some(problem.offset)),
            _ => {}
        }
    }

    /// Shows an event of the stream, beside taking it, where [`Shown::Events`] are shown.
    pub fn count(&mut self, event: &Event<'_>) {
        let at = self.time_of(event);
        // Whoever collects for a whole machine says of each event which process it is about.
        let is_of_machine = self.trace.is_some_and(|trace| trace.process_id.is_none()) && event.process_id().is_some();
        if is_of_machine {
            self.machine.sample(1, event, at);
        } else {
            self.samples.take(ThreadState::Running, event, at);
        }
    }

    fn time_of(&self, event: &Event<'_>) -> Timestamp {
        let time = event.header.time;
        Timestamp(self.trace.map_or(time, |trace| trace.nanoseconds(time)))
    }

    fn event(&mut self, event: &Event<'_>) {
        let at = self.time_of(event);
        let shows_samples = self.shown == Shown::Samples;
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
        let is_of_machine = self.machine.has_samples();
        let mut profile = if is_of_machine { self.of_machine(summary) } else { self.of_process(summary, images) };
        if !is_of_machine && !contents.has_rundown {
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
        let (measure, period) = match self.shown {
            Shown::Samples => (Machine::measure(self.trace), Machine::period(self.trace)),
            Shown::Events { what } => (Measure::Events { what }, Period::Known(1)),
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
        let of_process = self.samples.count() as u64;
        if of_process > 0 {
            loss.gaps.push(Gap::NotUsed {
                events: of_process,
                what: "samples of thread time",
                reason: "the trace has CPU time, which is shown",
            });
        }
        self.machine.finish(&mut builder, period);
        builder.finish()
    }

    fn of_process(mut self, summary: &Summary, images: &ImageFiles<'_>) -> Profile {
        let mut code = self.code.finish();
        let shows_events = self.shown != Shown::Samples;
        let samples = self.samples.in_order();
        let (weights, measure, long_gaps) = match self.shown {
            Shown::Samples => {
                let Weights { of_samples, usual_gap_ns, long_gaps } = weigh(&samples, self.samples.threads.len());
                (of_samples, Measure::ThreadTime { usual_gap_ns }, long_gaps)
            }
            Shown::Events { what } => (vec![1; samples.len()], Measure::Events { what }, None),
        };
        let mut builder =
            ProfileBuilder::new(about::recording(self.survey.about(), self.trace, summary, &self.file, measure));
        code.tell_loss(builder.loss_mut());
        self.machine.tell_loss(builder.loss_mut());
        let loss = builder.loss_mut();
        loss.long_gaps = long_gaps;
        loss.sampler_errors = samples.iter().filter(|sample| sample.state == ThreadState::Unknown).count() as u64;
        let found = FoundImages::find(&self.evidence, images);
        let process = builder.process(Process {
            pid: self.trace.and_then(|trace| trace.process_id).unwrap_or(0),
            name: about::program(self.survey.about()).to_owned(),
            runtime_version: self.survey.about().runtime.map(|version| version.to_string()),
        });
        let threads: Vec<ThreadId> = self
            .samples
            .threads
            .iter()
            .map(|thread: &RawThread| {
                // More than 32 bits have only ids of no thread that was ever seen.
                let tid = u32::try_from(thread.id).unwrap_or(u32::MAX);
                builder.thread(Thread { process, tid, name: thread.name.to_string() })
            })
            .collect();
        let code = RuntimeCode { managed: code, images: found };
        let mut names = Names::new(code, &self.samples.stacks);
        builder.reserve_samples(samples.len());
        for (RawSample { time, thread, stack, state }, weight) in samples.into_iter().zip(weights) {
            let Some(&thread) = usize::try_from(thread).ok().and_then(|thread| threads.get(thread)) else { continue };
            let end = match stack {
                // Not every event has one.
                None if shows_events => StackEnd::Untold,
                stack => self.samples.stacks.end_of(stack),
            };
            let stack = stack.map(|stack| names.stack(&mut builder, stack, time));
            builder.sample(Sample { time, thread, stack, weight, state, end });
        }
        let notices = names.into_code().take_notices();
        builder.loss_mut().gaps.extend(notices);
        builder.finish()
    }
}
