//! A .NET event stream on its own, as `dotnet-trace` writes it: the samples of the runtime's sampler as thread time.
//!
//! The stream is read once, in whatever pieces it comes: samples are kept as addresses, each distinct stack once, because
//! their names come last, in the list of methods that ends the stream. Then every address is named by what the runtime said
//! was there at that time ([`names`]), or by images at hand ([`images`]).

mod contents;
mod evidence;
mod images;
mod names;
mod samples;
mod stacks;
mod weights;

pub use contents::Contents;

use crate::files::Files;
use crate::managed::ManagedReader;
use contents::Counting;
use evidence::Evidence;
use images::FoundImages;
use names::Names;
use samples::{RawSample, RawThread, Samples};
use std::path::PathBuf;
use strata_nettrace::runtime::{Occasion, RuntimeEvent};
use strata_nettrace::{Decoder, Event, Item, Refused, Summary, TraceInfo};
use strata_profile::{
    Gap, Measure, Process, Profile, ProfileBuilder, RecordingInfo, Sample, Thread, ThreadId, Timestamp, quality,
};
use strata_recording::StreamKind;

/// Reads one stream.
pub struct TraceReader {
    decoder: Decoder,
    taken: Taken,
}

/// What a stream gives.
#[derive(Debug)]
pub struct Trace {
    /// The samples of the runtime's sampler as thread time; without samples when the sampler was not asked for.
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
    pub fn new(file: &str) -> Self {
        Self { decoder: Decoder::new(), taken: Taken { file: file.to_owned(), ..Taken::default() } }
    }

    /// Takes the next bytes.
    ///
    /// # Errors
    /// When this is no stream that can be read at all.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<(), Refused> {
        let taken = &mut self.taken;
        self.decoder.feed(bytes, &mut |item| taken.item(&item))
    }

    /// Says that no more bytes come, and names everything. A stream that is cut or damaged gives what is whole of it, and
    /// the profile's loss tells what is missing.
    ///
    /// # Errors
    /// As of [`TraceReader::feed`], when the stream was too short to tell before.
    pub fn finish(self, images: &ImageFiles<'_>) -> Result<Trace, Refused> {
        let Self { decoder, mut taken } = self;
        let summary = decoder.finish(&mut |item| taken.item(&item))?;
        Ok(taken.finish(&summary, images))
    }
}

/// What was taken from the stream so far.
#[derive(Default)]
struct Taken {
    file: String,
    trace: Option<TraceInfo>,
    counting: Counting,
    samples: Samples,
    code: ManagedReader,
    evidence: Evidence,
    about: About,
    first_problem: Option<u64>,
}

/// What the stream says of its process.
#[derive(Default)]
struct About {
    command_line: String,
    system: String,
    architecture: String,
    runtime_version: Option<String>,
}

impl Taken {
    fn item(&mut self, item: &Item<'_>) {
        match item {
            Item::Trace(trace) => {
                self.code.stream_began(Timestamp(trace.nanoseconds(trace.sync_ticks)));
                self.trace = Some(*trace);
            }
            Item::Event(event) => self.event(event),
            Item::SequencePoint(_) => self.samples.stacks_restart(),
            Item::Problem(problem) => self.first_problem = self.first_problem.or(Some(problem.offset)),
            _ => {}
        }
    }

    fn event(&mut self, event: &Event<'_>) {
        self.counting.event(event);
        let time = event.header.time;
        let at = Timestamp(self.trace.map_or(time, |trace| trace.nanoseconds(time)));
        let decoded = match RuntimeEvent::decode(event) {
            Ok(Some(decoded)) => decoded,
            Ok(None) => return,
            Err(_) => return self.code.undecodable(),
        };
        match &decoded {
            RuntimeEvent::Sample(state) => self.samples.take(*state, event, at),
            RuntimeEvent::EntryPoint(entry_point) => self.evidence.entry_point(entry_point),
            RuntimeEvent::Process(process) => {
                let text = |text: Option<strata_nettrace::Utf16<'_>>| text.map(|text| text.to_string());
                self.about.command_line = process.command_line.to_string();
                self.about.system = text(process.system).unwrap_or_default();
                self.about.architecture = text(process.architecture).unwrap_or_default();
            }
            RuntimeEvent::Information(_, information) => {
                self.about.runtime_version = Some(information.version.to_string());
                if self.about.command_line.is_empty() {
                    self.about.command_line = information.command_line.to_string();
                }
            }
            RuntimeEvent::RundownComplete(Occasion::RundownEnd) => self.counting.rundown_is_complete(),
            RuntimeEvent::Method(_, method) => self.evidence.method(method),
            RuntimeEvent::Module(_, module) => self.evidence.module(module),
            _ => {}
        }
        self.code.event(&decoded, event.header.capture_thread, at, StreamKind::Live);
    }

    fn finish(mut self, summary: &Summary, images: &ImageFiles<'_>) -> Trace {
        self.code.stream_ended(&self.file, summary, self.first_problem, StreamKind::Live);
        let contents = self.counting.finish(summary);
        let mut code = self.code.finish();
        let (samples, usual_gap_ns, long_gaps) = weights::weigh(&mut self.samples);
        let mut builder = ProfileBuilder::new(self.about.recording(self.trace, summary, &self.file, usual_gap_ns));
        code.tell_loss(builder.loss_mut());
        let loss = builder.loss_mut();
        loss.long_gaps = long_gaps;
        loss.sampler_errors = samples.iter().filter(|sample| sample.is_error()).count() as u64;
        let found = FoundImages::find(&self.evidence, images);
        let process = builder.process(Process {
            pid: self.trace.map_or(0, |trace| trace.process_id),
            name: self.about.program().to_owned(),
            runtime_version: self.about.runtime_version.clone(),
        });
        let threads: Vec<ThreadId> = self
            .samples
            .threads
            .iter()
            .map(|thread: &RawThread| {
                // More than 32 bits have only ids of no thread that was ever seen.
                let tid = u32::try_from(thread.id).unwrap_or(u32::MAX);
                builder.thread(Thread { process, tid, name: String::new() })
            })
            .collect();
        let mut names = Names::new(code, found, &self.samples.stacks);
        for RawSample { time, thread, stack, state, weight_ns } in samples {
            let Some(&thread) = usize::try_from(thread).ok().and_then(|thread| threads.get(thread)) else { continue };
            let end = self.samples.stacks.end_of(stack);
            let stack = stack.map(|stack| names.stack(&mut builder, stack, time));
            let state = samples::state_of(state);
            builder.sample(Sample { time, thread, stack, weight_ns, state, end });
        }
        let notices = names.take_notices();
        builder.loss_mut().gaps.extend(notices);
        let mut profile = builder.finish();
        let named = quality(&profile).named_frames();
        if named.part < named.whole && !contents.has_rundown {
            profile.loss.gaps.push(Gap::NoRundown);
        }
        Trace { profile, contents }
    }
}

impl About {
    /// File name of the program in the command line.
    fn program(&self) -> &str {
        let line = self.command_line.trim_start();
        let program = match line.strip_prefix('"') {
            Some(quoted) => quoted.split('"').next(),
            None => line.split_whitespace().next(),
        };
        crate::paths::stem_anywhere(program.unwrap_or_default())
    }

    fn recording(
        &self,
        trace: Option<TraceInfo>,
        summary: &Summary,
        file: &str,
        usual_gap_ns: Option<u64>,
    ) -> RecordingInfo {
        let nanoseconds = |ticks| Timestamp(trace.map_or(ticks, |trace| trace.nanoseconds(ticks)));
        let start = trace.map_or(0, |trace| trace.sync_ticks);
        let unix_ms = trace.and_then(|trace| trace.utc.unix_milliseconds());
        RecordingInfo {
            target: if self.command_line.is_empty() { file.to_owned() } else { self.command_line.clone() },
            measure: Measure::ThreadTime { usual_gap_ns },
            start: nanoseconds(start),
            end: nanoseconds(summary.times.map_or(start, |(_, last)| last)),
            start_unix_ns: unix_ms.and_then(|ms| u64::try_from(ms).ok()).map(|ms| ms.saturating_mul(1_000_000)),
            system: self.system.clone(),
            kernel_release: String::new(),
            arch: self.architecture.clone(),
            recorder: String::new(),
        }
    }
}
