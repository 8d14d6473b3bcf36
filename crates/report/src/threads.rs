//! `threads`: time by thread.

use crate::names::{self, Spelling};
use crate::{Cost, Report, Whole, Width, text};
use serde::Serialize;
use std::fmt::Write as _;
use strata_digest::Weight;
use strata_profile::{Handle, Profile, Quantity, Share, StackEnd, ThreadState};

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
    /// Where samples tell what the thread was doing: its time by that.
    #[serde(flatten)]
    pub states: Option<States>,
    /// Samples whose stack reaches the thread's root.
    pub whole_stacks: Share,
}

/// The time of a thread by what it was doing. What is in neither, the sampler could not tell.
#[derive(Clone, Debug, Serialize)]
pub struct States {
    /// In managed code.
    pub managed: Cost,
    /// In native code, or waiting.
    pub external: Cost,
}

/// The report `threads`.
#[derive(Clone, Debug, Serialize)]
pub struct Threads<'p> {
    /// All samples.
    pub all: Cost,
    /// All threads, most time first; those without samples too.
    pub threads: Vec<ThreadRow<'p>>,
}

impl<'p> Threads<'p> {
    /// Adds up time by thread.
    pub fn of(profile: &'p Profile) -> Self {
        let all = Whole::of(profile);
        let mut sums = vec![Sums::default(); profile.threads.len()];
        for sample in &profile.samples {
            let weight = Weight::of_sample(sample);
            let sums = &mut sums[sample.thread.index()];
            sums.all.add(weight);
            sums.whole_stacks += u64::from(sample.end == StackEnd::Root);
            sums.told_stacks += u64::from(sample.end != StackEnd::Untold);
            match sample.state {
                ThreadState::Managed => sums.managed.add(weight),
                ThreadState::External => sums.external.add(weight),
                ThreadState::Running | ThreadState::Unknown => {}
            }
        }
        let states = |sums: &Sums| match all.quantity {
            Quantity::CpuTime => None,
            Quantity::ThreadTime => {
                Some(States { managed: Cost::of(sums.managed, all), external: Cost::of(sums.external, all) })
            }
        };
        let mut threads: Vec<_> = profile
            .threads
            .rows()
            .iter()
            .zip(sums)
            .map(|(thread, sums)| ThreadRow {
                pid: profile.processes[thread.process].pid,
                process: &profile.processes[thread.process].name,
                tid: thread.tid,
                thread: &thread.name,
                cost: Cost::of(sums.all, all),
                states: states(&sums),
                whole_stacks: Share { part: sums.whole_stacks, whole: sums.told_stacks },
            })
            .collect();
        let key = |row: &ThreadRow<'_>| (row.cost.time_ns, row.cost.samples);
        threads.sort_by(|a, b| key(b).cmp(&key(a)).then((a.pid, a.tid).cmp(&(b.pid, b.tid))));
        Self { all: Cost::of(all.weight, all), threads }
    }
}

/// What the samples of one thread weigh.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    all: Weight,
    managed: Weight,
    external: Weight,
    whole_stacks: u64,
    told_stacks: u64,
}

impl ThreadRow<'_> {
    pub(crate) fn label(&self) -> String {
        text::thread((self.process, self.pid), (self.thread, self.tid))
    }
}

/// The columns before the name take this much, without those of states.
const NUMBERS: usize = 41;

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
            let (percent, ms) = (self.all.quantity.percent_heading(), self.all.quantity.ms_heading());
            let states = match self.all.quantity {
                Quantity::CpuTime => String::new(),
                Quantity::ThreadTime => format!("{:>12} {:>12} ", "managed ms", "external ms"),
            };
            let _ = writeln!(out, "\n{percent:>6}  {ms:>12} {states}{:>9}  whole %  thread", "samples");
        }
        let (busy, idle): (Vec<_>, Vec<_>) = self.threads.iter().partition(|row| row.cost.samples > 0);
        for row in busy {
            let states = row.states.as_ref().map_or_else(String::new, |states| {
                format!("{:>12} {:>12} ", text::ms(states.managed.time_ns), text::ms(states.external.time_ns))
            });
            let _ = writeln!(
                out,
                "{} {:>12} {states}{:>9}  {}  {}",
                text::percent_column(row.cost.percent),
                text::ms(row.cost.time_ns),
                row.cost.samples,
                text::percent_column(row.whole_stacks.percent()),
                names::name(&label(row), Spelling::Plain, width.beside(NUMBERS + states.len())),
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
