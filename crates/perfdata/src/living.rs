//! Which threads live, told by the records so far.
//!
//! The exit of a process's main thread is not the end of the process: the others run on with all its mappings. A process
//! ends with the last of its threads.

use crate::record::{Lifetime, TaskId};
use rustc_hash::{FxHashMap, FxHashSet};

/// The living threads of each process, as far as records told of them.
#[derive(Clone, Debug, Default)]
pub struct LivingThreads {
    of_process: FxHashMap<i32, FxHashSet<i32>>,
}

/// What a FORK record tells of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Began {
    /// A thread of a process that was there.
    Thread,
    /// A new process. Whatever had its number before has ended, even if no record said so.
    Process,
}

/// What an EXIT record tells of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    /// A thread, while others of its process live.
    Thread,
    /// The last thread, and with it the process.
    Process,
}

impl LivingThreads {
    /// A thread lives: it was sampled, or has a name.
    pub fn seen(&mut self, task: TaskId) {
        self.of_process.entry(task.pid).or_default().insert(task.tid);
    }

    /// Takes a FORK record.
    pub fn began(&mut self, life: &Lifetime) -> Began {
        let began = if life.task.pid == life.parent.pid { Began::Thread } else { Began::Process };
        if began == Began::Process {
            self.of_process.remove(&life.task.pid);
        }
        self.seen(life.task);
        began
    }

    /// Takes a COMM record of an `execve(2)`: it leaves only the thread that called it, as the main thread.
    pub fn executed(&mut self, task: TaskId) {
        self.of_process.remove(&task.pid);
        self.seen(task);
    }

    /// Takes an EXIT record.
    pub fn ended(&mut self, life: &Lifetime) -> Ended {
        let Some(threads) = self.of_process.get_mut(&life.task.pid) else { return Ended::Process };
        threads.remove(&life.task.tid);
        if !threads.is_empty() {
            return Ended::Thread;
        }
        self.of_process.remove(&life.task.pid);
        Ended::Process
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(pid: i32, tid: i32) -> TaskId {
        TaskId { pid, tid }
    }

    fn life(parent: i32, pid: i32, tid: i32) -> Lifetime {
        Lifetime { task: task(pid, tid), parent: task(parent, parent), time: 0 }
    }

    #[test]
    fn a_process_ends_with_its_last_thread_not_with_its_main_thread() {
        let mut living = LivingThreads::default();
        living.seen(task(10, 10));
        living.seen(task(10, 11));
        assert_eq!(living.began(&life(10, 10, 12)), Began::Thread);
        assert_eq!(living.ended(&life(10, 10, 10)), Ended::Thread);
        assert_eq!(living.ended(&life(10, 10, 12)), Ended::Thread);
        assert_eq!(living.ended(&life(10, 10, 12)), Ended::Thread, "told twice");
        assert_eq!(living.ended(&life(10, 10, 11)), Ended::Process);
    }

    #[test]
    fn threads_whose_end_was_lost_end_with_the_number_or_the_program() {
        let mut living = LivingThreads::default();
        living.seen(task(10, 10));
        living.seen(task(10, 11));
        assert_eq!(living.began(&life(1, 10, 10)), Began::Process);
        assert_eq!(living.ended(&life(1, 10, 10)), Ended::Process);
        living.seen(task(10, 10));
        living.seen(task(10, 11));
        living.executed(task(10, 10));
        assert_eq!(living.ended(&life(1, 10, 10)), Ended::Process);
        assert_eq!(living.ended(&life(1, 99, 99)), Ended::Process, "never seen");
    }
}
