//! What a profile measures, and what that is called.

use serde::Serialize;

/// What the samples of a profile measure, and how they came to be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "measure", rename_all = "kebab-case")]
pub enum Measure {
    /// CPU time: a sample is taken of a thread that runs, after so much time of running.
    CpuTime {
        /// The sampling event as the kernel spells it, such as `cpu-clock` or `cycles`.
        event: String,
        /// Samples per second and busy CPU that were asked for.
        frequency_hz: u64,
    },
    /// Thread time: every thread with managed code is sampled again and again, whether it runs, waits or sleeps. A sample
    /// stands for the time since the thread's sample before it.
    ThreadTime {
        /// Time that usually lies between two samples of a thread (the median), nanoseconds; none where no thread has two.
        usual_gap_ns: Option<u64>,
    },
    /// Events: a sample is one event that the traced program told of, and weighs one.
    Events {
        /// Which ones, in words.
        what: String,
    },
}

impl Default for Measure {
    fn default() -> Self {
        Self::CpuTime { event: String::new(), frequency_hz: 0 }
    }
}

impl Measure {
    /// What is measured, without how.
    pub const fn quantity(&self) -> Quantity {
        match self {
            Self::CpuTime { .. } => Quantity::CpuTime,
            Self::ThreadTime { .. } => Quantity::ThreadTime,
            Self::Events { .. } => Quantity::Events,
        }
    }

    /// What is measured in a title: the quantity, and of events which.
    pub fn title(&self) -> String {
        match self {
            Self::Events { what } => format!("events: {what}"),
            other => other.quantity().name().to_owned(),
        }
    }

    /// Nanoseconds between two samples, where that is known.
    pub fn interval_ns(&self) -> Option<u64> {
        match self {
            Self::CpuTime { frequency_hz, .. } => 1_000_000_000_u64.checked_div(*frequency_hz),
            Self::ThreadTime { usual_gap_ns } => *usual_gap_ns,
            Self::Events { .. } => None,
        }
    }
}

/// What samples weigh, and its words. Every output takes them from here, so that none calls it by another's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Quantity {
    /// Time on a processor.
    CpuTime,
    /// Time that passed for a thread, whatever it did.
    ThreadTime,
    /// How often something happened.
    Events,
}

/// What a number of a [`Quantity`] counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Time.
    Nanoseconds,
    /// Things that happened.
    Events,
}

impl Quantity {
    /// In a sentence.
    pub const fn name(self) -> &'static str {
        match self {
            Self::CpuTime => "CPU time",
            Self::ThreadTime => "thread time",
            Self::Events => "events",
        }
    }

    /// What its numbers count.
    pub const fn unit(self) -> Unit {
        match self {
            Self::CpuTime | Self::ThreadTime => Unit::Nanoseconds,
            Self::Events => Unit::Events,
        }
    }

    /// What one sample of it is called, and what several are.
    pub const fn samples(self) -> [&'static str; 2] {
        match self {
            Self::CpuTime | Self::ThreadTime => ["sample", "samples"],
            Self::Events => ["event", "events"],
        }
    }

    /// All that a report shows of it.
    pub const fn these(self) -> &'static str {
        match self {
            Self::CpuTime => "this CPU time",
            Self::ThreadTime => "this thread time",
            Self::Events => "these events",
        }
    }

    /// Heading of a column of percentages.
    pub const fn percent_heading(self) -> &'static str {
        match self {
            Self::CpuTime => "CPU %",
            Self::ThreadTime => "time %",
            Self::Events => "all %",
        }
    }

    /// Name of a field of its amount, in its unit.
    pub const fn amount_field(self) -> &'static str {
        match self {
            Self::CpuTime => "cpu_ns",
            Self::ThreadTime => "thread_time_ns",
            Self::Events => "events",
        }
    }

    /// Name of a field of percentages.
    pub const fn percent_field(self) -> &'static str {
        match self {
            Self::CpuTime => "cpu_percent",
            Self::ThreadTime => "thread_time_percent",
            Self::Events => "events_percent",
        }
    }
}

/// What a thread was doing when it was sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ThreadState {
    /// It ran on a processor. Samples of CPU time say nothing else.
    Running,
    /// It ran managed code, or was about to.
    Managed,
    /// It was outside of managed code: in native code or in the kernel, at work or waiting. Its stack ends with the managed
    /// code that went there.
    External,
    /// The sampler could not tell.
    Unknown,
}

impl ThreadState {
    /// The state as one would say it in a table.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Managed => "managed",
            Self::External => "external",
            Self::Unknown => "state unknown",
        }
    }
}
