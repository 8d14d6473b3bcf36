//! Processes and threads of a machine, by what the stream says of them.

use super::super::stacks::Stacks;
use rustc_hash::FxHashMap;
use strata_nettrace::Event;
use strata_nettrace::universal::Beginning;
use strata_profile::Timestamp;

/// A process: one that has the id of another that ended before it began is not the same.
#[derive(Debug, Default)]
pub(super) struct RawProcess {
    pub(super) pid: u64,
    /// From when on it has its id.
    pub(super) since: Timestamp,
    /// Empty until the stream says it.
    pub(super) name: String,
    /// Those of its samples: an address is something else in every process.
    pub(super) stacks: Stacks,
    /// Whether it was said to have ended and had no sample since: collectors say so whenever one of its threads ends.
    seems_ended: bool,
    /// Whether it had a stack since they restarted.
    has_new_stacks: bool,
}

/// A thread that was sampled.
#[derive(Debug)]
pub(super) struct RawThread {
    /// Position in [`Processes::all`].
    pub(super) process: u32,
    pub(super) tid: u64,
    /// Empty where the stream has none; else the last one.
    pub(super) name: String,
}

/// All processes and threads, in the order in which the stream first spoke of them.
#[derive(Debug, Default)]
pub(super) struct Processes {
    pub(super) all: Vec<RawProcess>,
    pub(super) threads: Vec<RawThread>,
    /// The one that has the id now.
    of_pid: FxHashMap<u64, u32>,
    of_tid: FxHashMap<(u32, u64), u32>,
    with_new_stacks: Vec<u32>,
}

impl Processes {
    /// The process that an event is about; `None` when there are more than can be numbered.
    pub(super) fn of(&mut self, event: &Event<'_>) -> Option<u32> {
        // Where not even the stream knows, 0 is the process of all that is of none.
        let pid = event.process_id().unwrap_or(0);
        match self.of_pid.get(&pid) {
            Some(known) => Some(*known),
            None => self.add(pid, Timestamp(0)),
        }
    }

    fn add(&mut self, pid: u64, since: Timestamp) -> Option<u32> {
        let new = u32::try_from(self.all.len()).ok()?;
        self.all.push(RawProcess { pid, since, ..RawProcess::default() });
        self.of_pid.insert(pid, new);
        Some(new)
    }

    /// There is a process.
    pub(super) fn began(&mut self, event: &Event<'_>, beginning: Beginning, name: String, at: Timestamp) {
        let Some(known) = self.of(event) else { return };
        let seems_ended = self.all.get(known as usize).is_some_and(|process| process.seems_ended);
        let process = match beginning {
            Beginning::Now if seems_ended => self.add(event.process_id().unwrap_or(0), at),
            _ => Some(known),
        };
        if let Some(process) = process.and_then(|process| self.all.get_mut(process as usize)) {
            process.name = name;
        }
    }

    /// The process of the event, or a thread of it, ended. What still comes of its id is its own, until another begins.
    pub(super) fn ended(&mut self, event: &Event<'_>) {
        let process = self.of(event);
        if let Some(process) = process.and_then(|process| self.all.get_mut(process as usize)) {
            process.seems_ended = true;
        }
    }

    /// The thread that an event is about.
    pub(super) fn thread(&mut self, process: u32, event: &Event<'_>) -> Option<u32> {
        let tid = event.header.thread;
        let known = match self.of_tid.get(&(process, tid)) {
            Some(known) => *known,
            None => {
                let new = u32::try_from(self.threads.len()).ok()?;
                self.threads.push(RawThread { process, tid, name: String::new() });
                self.of_tid.insert((process, tid), new);
                new
            }
        };
        if let (Some(name), Some(thread)) = (event.thread_name(), self.threads.get_mut(known as usize))
            && thread.name != name
        {
            name.clone_into(&mut thread.name);
        }
        Some(known)
    }

    /// The stacks of a process, to add to.
    pub(super) fn stacks(&mut self, process: u32) -> Option<&mut Stacks> {
        let raw = self.all.get_mut(process as usize)?;
        raw.seems_ended = false;
        if !raw.has_new_stacks {
            raw.has_new_stacks = true;
            self.with_new_stacks.push(process);
        }
        Some(&mut raw.stacks)
    }

    /// What was defined as a stack so far is not spoken of any more.
    pub(super) fn stacks_restart(&mut self) {
        for process in self.with_new_stacks.drain(..) {
            if let Some(process) = self.all.get_mut(process as usize) {
                process.stacks.restart();
                process.has_new_stacks = false;
            }
        }
    }
}
