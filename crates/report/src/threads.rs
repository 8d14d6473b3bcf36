//! `threads`: CPU time by thread.

use crate::names::{self, Spelling};
use crate::{Cost, Report, Width, text};
use serde::Serialize;
use std::fmt::Write as _;
use strata_digest::Weight;
use strata_profile::{Handle, Profile, Share, StackEnd};

/// One thread.
#[derive(Clone, Debug, Serialize)]
pub struct ThreadRow<'p> {
    /// Process id.
    pub pid: u32,
    /// The process's name; may be empty.
    pub process: &'p str,
    /// Thread id.
    pub tid: u32,
    /// The thread's name; may be empty.
    pub thread: &'p str,
    /// What its samples cost.
    pub cost: Cost,
    /// Samples whose stack reaches the thread's root.
    pub whole_stacks: Share,
}

/// The report `threads`.
#[derive(Clone, Debug, Serialize)]
pub struct Threads<'p> {
    /// All samples.
    pub all: Cost,
    /// All threads, most CPU time first; those without samples too.
    pub threads: Vec<ThreadRow<'p>>,
}

impl<'p> Threads<'p> {
    /// Adds up CPU time by thread.
    pub fn of(profile: &'p Profile) -> Self {
        let all = Weight::of(&profile.samples);
        let mut weights = vec![Weight::default(); profile.threads.len()];
        let mut whole = vec![0; profile.threads.len()];
        for sample in &profile.samples {
            weights[sample.thread.index()].add(Weight { samples: 1, cpu_ns: sample.cpu_ns });
            whole[sample.thread.index()] += u64::from(sample.end == StackEnd::Root);
        }
        let mut threads: Vec<_> = profile
            .threads
            .rows()
            .iter()
            .zip(weights.into_iter().zip(whole))
            .map(|(thread, (weight, whole))| ThreadRow {
                pid: profile.processes[thread.process].pid,
                process: &profile.processes[thread.process].name,
                tid: thread.tid,
                thread: &thread.name,
                cost: Cost::of(weight, all),
                whole_stacks: Share { part: whole, whole: weight.samples },
            })
            .collect();
        let key = |row: &ThreadRow<'_>| (row.cost.cpu_ns, row.cost.samples);
        threads.sort_by(|a, b| key(b).cmp(&key(a)).then((a.pid, a.tid).cmp(&(b.pid, b.tid))));
        Self { all: Cost::of(all, all), threads }
    }
}

impl ThreadRow<'_> {
    pub(crate) fn label(&self) -> String {
        text::thread((self.process, self.pid), (self.thread, self.tid))
    }
}

impl Report for Threads<'_> {
    const NAME: &'static str = "threads";

    fn text(&self, width: Width) -> String {
        let mut out = String::new();
        // A single process is named once.
        let same = |other: &ThreadRow<'_>| self.threads.first().is_some_and(|first| first.pid == other.pid);
        let one_process = self.threads.first().filter(|_| self.threads.iter().all(same));
        let label = |row: &ThreadRow<'_>| match one_process {
            Some(_) => text::identified(row.thread, "tid", row.tid),
            None => row.label(),
        };
        let mut sentence = match self.all.samples {
            0 => "No samples".to_owned(),
            _ => text::sum(self.all),
        };
        let _ = write!(sentence, " on {}", text::counted(self.threads.len() as u64, "thread"));
        if let Some(row) = one_process {
            let _ = write!(sentence, " of {}", text::identified(row.process, "pid", row.pid));
        }
        text::wrap(&mut out, &format!("{sentence}."), width.of_paragraphs());
        if self.all.samples > 0 {
            out.push_str("\n CPU %        CPU ms   samples  whole %  thread\n");
        }
        let (busy, idle): (Vec<_>, Vec<_>) = self.threads.iter().partition(|row| row.cost.samples > 0);
        for row in busy {
            let _ = writeln!(
                out,
                "{} {:>12} {:>9}  {}  {}",
                text::percent_column(row.cost.cpu_percent),
                text::ms(row.cost.cpu_ns),
                row.cost.samples,
                text::percent_column(row.whole_stacks.percent()),
                names::name(&label(row), Spelling::Plain, width.beside(41)),
            );
        }
        if !idle.is_empty() {
            out.push('\n');
            let labels: Vec<_> = idle.iter().map(|row| label(row)).collect();
            text::wrap(&mut out, &format!("Without samples: {}.", labels.join(", ")), width.of_paragraphs());
        }
        out
    }
}
