//! `threads`: what each thread cost.

use crate::names::{self, Spelling};
use crate::{Cost, Report, Whole, Width, text};
use serde::Serialize;
use std::fmt::Write as _;
use strata_digest::{Weight, identified};
use strata_profile::{Handle, Profile, Quantity, Share, StackEnd, ThreadState, Unit};

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
            Quantity::CpuTime | Quantity::Events => None,
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
        let key = |row: &ThreadRow<'_>| (row.cost.amount, row.cost.samples);
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

    /// The columns of time.
    fn times(&self) -> String {
        match self.cost.quantity.unit() {
            Unit::Nanoseconds => {
                let states = self.states.iter().flat_map(|states| [&states.managed, &states.external]);
                let costs = std::iter::once(&self.cost).chain(states);
                costs.map(|cost| format!("{:>12} ", text::ms(cost.amount))).collect()
            }
            Unit::Events => String::new(),
        }
    }
}

/// The columns before the name take this much, without those of time.
const NUMBERS: usize = 28;

impl Report for Threads<'_> {
    const NAME: &'static str = "threads";

    fn text(&self, width: Width) -> String {
        let mut out = String::new();
        // A single process is named once.
        let same = |other: &ThreadRow<'_>| self.threads.first().is_some_and(|first| first.pid == other.pid);
        let one_process = self.threads.first().filter(|_| self.threads.iter().all(same));
        let label = |row: &ThreadRow<'_>| match one_process {
            Some(_) => identified(row.thread, "tid", row.tid),
            None => row.label(),
        };
        let [_, samples] = self.all.quantity.samples();
        let mut sentence = match self.all.samples {
            0 => format!("No {samples}"),
            _ => text::sum(self.all),
        };
        let (busy, idle): (Vec<_>, Vec<_>) = self.threads.iter().partition(|row| row.cost.samples > 0);
        let threads = if busy.is_empty() { idle.len() } else { busy.len() };
        let _ = write!(sentence, " on {}", text::counted(threads as u64, "thread"));
        if let Some(row) = one_process {
            let _ = write!(sentence, " of {}", identified(row.process, "pid", row.pid));
        }
        text::wrap(&mut out, &format!("{sentence}."), width.of_paragraphs());
        if self.all.samples > 0 {
            let percent = self.all.quantity.percent_heading();
            let times = match self.all.quantity {
                Quantity::CpuTime => format!("{:>12} ", "CPU ms"),
                Quantity::ThreadTime => format!("{:>12} {:>12} {:>12} ", "time ms", "managed ms", "external ms"),
                Quantity::Events => String::new(),
            };
            let _ = writeln!(out, "\n{percent:>6}  {times}{samples:>9}  whole %  thread");
        }
        for row in busy {
            let times = row.times();
            let _ = writeln!(
                out,
                "{} {times}{:>9}  {}  {}",
                text::percent_column(row.cost.percent),
                row.cost.samples,
                text::percent_column(row.whole_stacks.percent()),
                names::name(&label(row), Spelling::Plain, width.beside(NUMBERS + times.len())),
            );
        }
        if !idle.is_empty() {
            out.push('\n');
            let labels: Vec<_> = idle.iter().map(|row| label(row)).collect();
            let sentence = format!("Without {samples}: {}.", labels.join(", "));
            text::wrap(&mut out, &sentence, width.of_paragraphs());
        }
        out
    }
}
