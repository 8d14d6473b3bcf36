//! Building a profile: equal rows become one row.

use crate::{
    Frame, FrameId, Function, FunctionId, Handle, Loss, Module, ModuleId, Process, ProcessId, Profile, RecordingInfo,
    Sample, SourceFile, SourceFileId, Stack, StackId, Table, Thread, ThreadId,
};
use rustc_hash::FxHashMap;
use std::hash::Hash;

/// Collects rows in any order and hands out handles; equal modules, source files, functions, frames and stacks become one.
#[derive(Debug, Default)]
pub struct ProfileBuilder {
    profile: Profile,
    modules: FxHashMap<Module, ModuleId>,
    source_files: FxHashMap<SourceFile, SourceFileId>,
    functions: FxHashMap<Function, FunctionId>,
    frames: FxHashMap<Frame, FrameId>,
    stacks: FxHashMap<Stack, StackId>,
}

fn intern<H: Handle, T: Clone + Eq + Hash>(table: &mut Table<H, T>, known: &mut FxHashMap<T, H>, row: T) -> H {
    if let Some(&handle) = known.get(&row) {
        return handle;
    }
    let handle = table.push(row.clone());
    known.insert(row, handle);
    handle
}

impl ProfileBuilder {
    /// An empty profile of this recording.
    pub fn new(recording: RecordingInfo) -> Self {
        Self { profile: Profile { recording, ..Profile::default() }, ..Self::default() }
    }

    /// Adds a process; each call makes a new row.
    pub fn process(&mut self, process: Process) -> ProcessId {
        self.profile.processes.push(process)
    }

    /// The process again, to change what is known of it.
    pub fn process_mut(&mut self, process: ProcessId) -> &mut Process {
        self.profile.processes.get_mut(process)
    }

    /// Adds a thread; each call makes a new row.
    pub fn thread(&mut self, thread: Thread) -> ThreadId {
        self.profile.threads.push(thread)
    }

    /// The thread again, to change what is known of it.
    pub fn thread_mut(&mut self, thread: ThreadId) -> &mut Thread {
        self.profile.threads.get_mut(thread)
    }

    /// The handle of this module.
    pub fn module(&mut self, module: Module) -> ModuleId {
        intern(&mut self.profile.modules, &mut self.modules, module)
    }

    /// The handle of this source file.
    pub fn source_file(&mut self, file: SourceFile) -> SourceFileId {
        intern(&mut self.profile.source_files, &mut self.source_files, file)
    }

    /// The handle of this function.
    pub fn function(&mut self, function: Function) -> FunctionId {
        intern(&mut self.profile.functions, &mut self.functions, function)
    }

    /// The handle of this frame.
    pub fn frame(&mut self, frame: Frame) -> FrameId {
        intern(&mut self.profile.frames, &mut self.frames, frame)
    }

    /// The handle of the stack in which `frame` was called from `parent`.
    pub fn stack(&mut self, parent: Option<StackId>, frame: FrameId) -> StackId {
        intern(&mut self.profile.stacks, &mut self.stacks, Stack { parent, frame })
    }

    /// Makes room for so many more samples.
    pub fn reserve_samples(&mut self, count: usize) {
        self.profile.samples.reserve(count);
    }

    /// Adds a sample.
    pub fn sample(&mut self, sample: Sample) {
        self.profile.samples.push(sample);
    }

    /// What was recorded, to change what is known of it.
    pub fn recording_mut(&mut self) -> &mut RecordingInfo {
        &mut self.profile.recording
    }

    /// What is missing, to add to.
    pub fn loss_mut(&mut self) -> &mut Loss {
        &mut self.profile.loss
    }

    /// The finished profile, its samples in time order (samples of one time keep the order they came in).
    pub fn finish(mut self) -> Profile {
        self.profile.samples.sort_by_key(|sample| sample.time);
        self.profile
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CodeKind, Found, NameSource, StackEnd, ThreadState, Timestamp, Unnamed};
    use strata_address::Avma;

    #[test]
    fn equal_stacks_are_one_and_read_leaf_first() {
        let mut builder = ProfileBuilder::new(RecordingInfo::default());
        let process = builder.process(Process { pid: 1, name: "app".into(), runtime_version: None });
        let thread = builder.thread(Thread { process, tid: 1, name: "main".into() });
        let mut stack_of = |names: [&str; 2], time| {
            let mut parent = None;
            for (index, name) in names.into_iter().enumerate() {
                let function = builder.function(Function { name: name.into(), module: None, kind: CodeKind::Native });
                let frame = builder.frame(Frame {
                    function,
                    address: Avma(index as u64),
                    found: Found::Ip,
                    named: NameSource::None(Unnamed::NoSymbol),
                    line: None,
                });
                parent = Some(builder.stack(parent, frame));
            }
            let (state, end) = (ThreadState::Running, StackEnd::Root);
            builder.sample(Sample { time: Timestamp(time), thread, stack: parent, weight: 1, state, end });
            parent.unwrap()
        };
        let later = stack_of(["main", "work"], 20);
        let earlier = stack_of(["main", "work"], 10);
        assert_eq!(later, earlier);
        let profile = builder.finish();
        assert_eq!(profile.stacks.len(), 2);
        let names: Vec<_> =
            profile.frames_from_leaf(later).map(|frame| profile.function_of(frame).name.as_str()).collect();
        assert_eq!(names, ["work", "main"]);
        assert_eq!(profile.samples.iter().map(|sample| sample.time.0).collect::<Vec<_>>(), [10, 20]);
    }
}
