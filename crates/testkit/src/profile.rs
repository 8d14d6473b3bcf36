//! Profiles made by hand, with every kind of code and the odd cases that outputs must survive.

use std::num::NonZeroU32;
use strata_address::Avma;
use strata_profile::{
    CodeKind, Cut, Found, Frame, FrameId, Function, Gap, LongGaps, Measure, Module, ModuleId, NameSource, Process,
    ProcessId, Profile, ProfileBuilder, RecordingInfo, Sample, SourceFile, SourceLine, StackEnd, StackId, Thread,
    ThreadId, ThreadState, Tier, Timestamp, Unnamed,
};

/// One millisecond in nanoseconds.
const MS: u64 = 1_000_000;

/// Builds profiles in few words: one sample per call, a millisecond apart unless told otherwise.
#[derive(Debug)]
pub struct Sketch {
    builder: ProfileBuilder,
    next_address: u64,
    next_time: u64,
}

impl Sketch {
    /// A recording of `target` at 1000 Hz that starts at one second of the machine's clock.
    pub fn new(target: &str) -> Self {
        let recording = RecordingInfo {
            target: target.to_owned(),
            measure: Measure::CpuTime { event: "cpu-clock".to_owned(), frequency_hz: 1000 },
            start: Timestamp(1000 * MS),
            end: Timestamp(1000 * MS),
            start_unix_ns: Some(1_700_000_000_000_000_000),
            system: "Linux".to_owned(),
            kernel_release: "6.1.0-test".to_owned(),
            arch: "x86_64".to_owned(),
            recorder: "strata test".to_owned(),
        };
        Self { builder: ProfileBuilder::new(recording), next_address: 0x1000, next_time: 1000 * MS }
    }

    /// The same of a trace of thread time.
    pub fn thread_time(target: &str) -> Self {
        let mut sketch = Self::new(target);
        sketch.builder.recording_mut().measure = Measure::ThreadTime { usual_gap_ns: Some(MS) };
        sketch
    }

    /// The same of events of a trace.
    pub fn events(target: &str, what: &str) -> Self {
        let mut sketch = Self::new(target);
        sketch.builder.recording_mut().measure = Measure::Events { what: what.to_owned() };
        sketch
    }

    /// Adds a process.
    pub fn process(&mut self, pid: u32, name: &str) -> ProcessId {
        self.builder.process(Process { pid, name: name.to_owned(), runtime_version: None })
    }

    /// Adds a thread.
    pub fn thread(&mut self, process: ProcessId, tid: u32, name: &str) -> ThreadId {
        self.builder.thread(Thread { process, tid, name: name.to_owned() })
    }

    /// Adds a module whose path is made from its name.
    pub fn module(&mut self, name: &str, build_id: Option<&str>) -> ModuleId {
        let path = if name.starts_with('[') { String::new() } else { format!("/opt/app/{name}") };
        self.builder.module(Module { name: name.to_owned(), path, build_id: build_id.map(str::to_owned) })
    }

    /// A frame of a function, named in the way that is usual for its kind, at an address of its own.
    pub fn frame(&mut self, name: &str, module: Option<ModuleId>, kind: CodeKind) -> FrameId {
        let named = match kind {
            CodeKind::Kernel => NameSource::KernelSymbol,
            CodeKind::Native | CodeKind::Runtime => NameSource::ElfSymbol,
            CodeKind::Jit(Tier::QuickJitted) => NameSource::Snapshot,
            CodeKind::Jit(_) | CodeKind::Stub => NameSource::JitEvent,
            CodeKind::ReadyToRun => NameSource::R2rImage,
            CodeKind::Managed => NameSource::None(Unnamed::NoMethod),
            CodeKind::Unknown => NameSource::None(Unnamed::NoMapping),
        };
        self.frame_named(name, module, kind, named)
    }

    /// A frame with its name's source said.
    pub fn frame_named(&mut self, name: &str, module: Option<ModuleId>, kind: CodeKind, named: NameSource) -> FrameId {
        self.add_frame(Function { name: name.to_owned(), module, kind }, named, None)
    }

    /// A frame of a managed function at a line of a file.
    pub fn frame_at(&mut self, function: (&str, Option<ModuleId>, CodeKind), file: SourceFile, line: u32) -> FrameId {
        let (name, module, kind) = function;
        let file = self.builder.source_file(file);
        let line = NonZeroU32::new(line).map(|line| SourceLine { file, line });
        let named = if kind == CodeKind::ReadyToRun { NameSource::R2rImage } else { NameSource::JitEvent };
        self.add_frame(Function { name: name.to_owned(), module, kind }, named, line)
    }

    fn add_frame(&mut self, function: Function, named: NameSource, line: Option<SourceLine>) -> FrameId {
        let found = if function.kind == CodeKind::Kernel { Found::KernelChain } else { Found::FramePointer };
        let function = self.builder.function(function);
        let address = Avma(self.next_address);
        self.next_address += 0x10;
        self.builder.frame(Frame { function, address, found, named, line })
    }

    /// The stack of these frames, outermost first.
    pub fn stack(&mut self, frames: &[FrameId]) -> Option<StackId> {
        let mut stack = None;
        for &frame in frames {
            stack = Some(self.builder.stack(stack, frame));
        }
        stack
    }

    /// Adds a sample of one millisecond of CPU time.
    pub fn sample(&mut self, thread: ThreadId, frames: &[FrameId], end: StackEnd) {
        self.sample_of(thread, frames, end, MS);
    }

    /// Adds a sample of a running thread that stands for `weight`.
    pub fn sample_of(&mut self, thread: ThreadId, frames: &[FrameId], end: StackEnd, weight: u64) {
        self.sample_in(ThreadState::Running, thread, frames, end, weight);
    }

    /// Adds a sample of a thread in this state.
    pub fn sample_in(&mut self, state: ThreadState, thread: ThreadId, frames: &[FrameId], end: StackEnd, weight: u64) {
        let stack = self.stack(frames);
        self.builder.sample(Sample { time: Timestamp(self.next_time), thread, stack, weight, state, end });
        self.next_time += MS;
    }

    /// What is missing, to add to.
    pub fn builder(&mut self) -> &mut ProfileBuilder {
        &mut self.builder
    }

    /// The profile; the recording ends where the next sample would be.
    pub fn finish(self) -> Profile {
        let mut profile = self.builder.finish();
        profile.recording.end = Timestamp(self.next_time);
        profile
    }
}

/// A recording in which nothing was sampled.
pub fn empty() -> Profile {
    Sketch::new("pid 1").finish()
}

/// Two processes and four threads with kernel, native, runtime, JIT, precompiled and stub code, one method in three
/// tiers, recursion, cut stacks, a sample without frames, names that attack each format, and every kind of loss.
pub fn mixed() -> Profile {
    let mut sketch = Sketch::new("dotnet app.dll");
    let app = sketch.process(4242, "dotnet");
    let other = sketch.process(77, "sh;\n\x1b[31m");
    let main = sketch.thread(app, 4242, "dotnet");
    let worker = sketch.thread(app, 4250, ".NET TP Worker");
    let nameless = sketch.thread(other, 77, "");
    sketch.thread(app, 4251, "idle");

    let kernel = Some(sketch.module("[kernel]", None));
    let libc = Some(sketch.module("libc.so.6", Some("0123456789abcdef0123456789abcdef01234567")));
    let coreclr = Some(sketch.module("libcoreclr.so", Some("aabb")));
    let corelib = Some(sketch.module("System.Private.CoreLib", None));
    let assembly = Some(sketch.module("app", None));

    let start = sketch.frame("_start", libc, CodeKind::Native);
    let run_main = sketch.frame("RunMain(MethodDesc*, short)", coreclr, CodeKind::Runtime);
    let stub = sketch.frame("[prestub]", None, CodeKind::Stub);
    let main_method = sketch.frame("App.Program.Main(string[])", assembly, CodeKind::Jit(Tier::QuickJitted));
    let source = |path: &str, link: Option<&str>| SourceFile { path: path.to_owned(), link: link.map(str::to_owned) };
    let link = "https://raw.githubusercontent.com/dotnet/runtime/0123abcd/src/libraries/System.Linq/Sum.cs";
    let sum = ("System.Linq.Enumerable.Sum(int[])", corelib, CodeKind::ReadyToRun);
    let sum = sketch.frame_at(sum, source("/_/src/libraries/System.Linq/Sum.cs", Some(link)), 27);
    let work = |tier| ("App.Work(int)", assembly, CodeKind::Jit(tier));
    let work0 = sketch.frame_at(work(Tier::QuickJitted), source("/src/App.cs", None), 14);
    let work1 = sketch.frame_at(work(Tier::OptimizedTier1), source("/src/App.cs", None), 12);
    let work1_later = sketch.frame_at(work(Tier::OptimizedTier1), source("/src/App.cs", None), 15);
    let work1_elsewhere = sketch.frame_at(work(Tier::OptimizedTier1), source("/src/\u{1b}[2J;\n.cs", None), 3);
    let work_osr = sketch.frame("App.Work(int)", assembly, CodeKind::Jit(Tier::OptimizedTier1OSR));
    let fib = sketch.frame("App.Fib(int)", assembly, CodeKind::Jit(Tier::OptimizedTier1));
    let memcpy = sketch.frame("memcpy", libc, CodeKind::Native);
    let fault = sketch.frame("asm_exc_page_fault", kernel, CodeKind::Kernel);
    let script = sketch.frame(r#"<script>alert("x")</script>"#, assembly, CodeKind::Jit(Tier::Unknown));
    let escape = sketch.frame("evil;\x1b[2J\nname", libc, CodeKind::Native);
    let long = sketch.frame(&"L".repeat(64 * 1024), libc, CodeKind::Native);
    let unnamed = sketch.frame("0x7f00deadbeef", None, CodeKind::Unknown);
    let no_method = sketch.frame_named(
        "[jit] 0x7f1122334455",
        None,
        CodeKind::Jit(Tier::Unknown),
        NameSource::None(Unnamed::NoMethod),
    );

    let whole = StackEnd::Root;
    for leaf in [work1, work1_later, work1_elsewhere, work1] {
        sketch.sample(main, &[start, run_main, main_method, leaf], whole);
    }
    sketch.sample(main, &[start, run_main, main_method, work0], whole);
    sketch.sample(main, &[start, run_main, main_method, work_osr, memcpy, fault], whole);
    for depth in 1..=3 {
        let mut frames = vec![start, run_main, main_method];
        frames.extend(std::iter::repeat_n(fib, depth));
        sketch.sample(main, &frames, whole);
    }
    sketch.sample(main, &[start, run_main, stub, main_method, sum], whole);
    sketch.sample_of(worker, &[sum, work1], StackEnd::Cut(Cut::MemoryNotRead), 5 * MS / 2);
    sketch.sample(worker, &[work1, memcpy], StackEnd::Cut(Cut::NoUnwindData));
    sketch.sample(worker, &[], StackEnd::Cut(Cut::Unknown));
    sketch.sample(worker, &[start, no_method], whole);
    sketch.sample(nameless, &[start, script, escape], whole);
    sketch.sample(nameless, &[start, long], whole);
    sketch.sample(nameless, &[start, unnamed], StackEnd::Cut(Cut::NotCode));

    let loss = sketch.builder().loss_mut();
    loss.perf_records = 3;
    loss.unreadable_records = 2;
    loss.throttled = 1;
    loss.runtime_events = 1;
    loss.undecodable_events = 6;
    loss.nameless_methods = 1;
    loss.gaps.push(Gap::NoRuntimeEvents { pid: 77, reason: "no diagnostics socket".to_owned() });
    loss.gaps.push(Gap::FileCut { file: "perf.data".to_owned(), offset: 4096, problem: "record of size 0".to_owned() });
    loss.gaps.push(Gap::KernelSymbols { reason: "kptr_restrict is 2".to_owned() });
    loss.gaps.push(Gap::NotStopped);
    sketch.finish()
}

/// A trace of thread time: a thread that works and one that waits, a sample without frames, one in an unknown state, gaps.
pub fn thread_time() -> Profile {
    let mut sketch = Sketch::thread_time("dotnet app.dll");
    let app = sketch.process(4242, "dotnet");
    let main = sketch.thread(app, 4242, "");
    let waiter = sketch.thread(app, 4250, "");
    let assembly = Some(sketch.module("app", None));
    let corelib = Some(sketch.module("System.Private.CoreLib", None));
    let start = sketch.frame("App.Program.Main(string[])", assembly, CodeKind::Jit(Tier::QuickJitted));
    let work = sketch.frame("App.Work(int)", assembly, CodeKind::Jit(Tier::OptimizedTier1));
    let wait = sketch.frame("System.Threading.Thread.Sleep(int)", corelib, CodeKind::ReadyToRun);
    let unnamed = sketch.frame("[.NET code at 0x7f1122334455]", None, CodeKind::Managed);
    let whole = StackEnd::Root;
    sketch.sample_in(ThreadState::Managed, main, &[start, work], whole, 0);
    sketch.sample_in(ThreadState::External, waiter, &[wait], whole, 0);
    for _ in 0..3 {
        sketch.sample_in(ThreadState::Managed, main, &[start, work], whole, 2 * MS);
        sketch.sample_in(ThreadState::External, waiter, &[wait], whole, 2 * MS);
    }
    sketch.sample_in(ThreadState::External, main, &[start, work], whole, 2 * MS);
    sketch.sample_in(ThreadState::External, waiter, &[], StackEnd::Cut(Cut::Unknown), 2 * MS);
    sketch.sample_in(ThreadState::Unknown, main, &[start, unnamed], whole, 2 * MS);
    sketch.sample_in(ThreadState::Managed, waiter, &[unnamed], whole, 50 * MS);
    let loss = sketch.builder().loss_mut();
    loss.sampler_errors = 1;
    loss.long_gaps = Some(LongGaps { count: 1, total_ns: 50 * MS, from_ns: 10 * MS });
    loss.gaps.push(Gap::NoRundown);
    sketch.finish()
}

/// Events of a trace on two threads, one of them without a stack.
pub fn events() -> Profile {
    let mut sketch = Sketch::events("dotnet app.dll", "GCAllocationTick");
    let app = sketch.process(4242, "dotnet");
    let main = sketch.thread(app, 4242, "");
    let worker = sketch.thread(app, 4250, "");
    let assembly = Some(sketch.module("app", None));
    let corelib = Some(sketch.module("System.Private.CoreLib", None));
    let start = sketch.frame("App.Program.Main(string[])", assembly, CodeKind::Jit(Tier::QuickJitted));
    let work = sketch.frame("App.Work(int)", assembly, CodeKind::Jit(Tier::OptimizedTier1));
    let concat = sketch.frame("System.String.Concat(string, string)", corelib, CodeKind::ReadyToRun);
    for _ in 0..7 {
        sketch.sample_of(main, &[start, work, concat], StackEnd::Root, 1);
    }
    sketch.sample_of(worker, &[work], StackEnd::Root, 1);
    sketch.sample_of(worker, &[], StackEnd::Untold, 1);
    sketch.finish()
}
