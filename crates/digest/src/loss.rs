//! What is missing, in numbers and in words.

use crate::percent;
use serde::Serialize;
use std::fmt::Write as _;
use strata_profile::{Gap, LongGaps, Profile, Quantity, Share, quality};

/// How often something with a name was seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Counted {
    /// What was counted, as one would say it in a table.
    pub label: &'static str,
    /// How often.
    pub count: u64,
}

/// Everything known to be missing from a profile, and how good the rest is.
#[derive(Clone, Debug, Serialize)]
pub struct LossSummary {
    /// Records that the kernel dropped because a ring was full.
    pub perf_records_lost: u64,
    /// Records that came but could not be read while recording.
    pub unreadable_records: u64,
    /// Times that the kernel paused sampling because it came too fast.
    pub sampling_pauses: u64,
    /// Events that a runtime dropped, by its own sequence numbers.
    pub runtime_events_dropped: u64,
    /// Events of a runtime whose content is not what such an event holds.
    pub undecodable_runtime_events: u64,
    /// Bodies of methods that a runtime told of without a name, and that nothing else named.
    pub nameless_methods: u64,
    /// Lists of which IL a method's code comes from whose code nothing told of.
    pub unpaired_maps: u64,
    /// Samples without a single frame.
    pub samples_without_frames: u64,
    /// Samples of which the runtime's sampler could not tell what the thread was doing.
    pub sampler_errors: u64,
    /// Times for which a thread has far fewer samples than usual.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub long_gaps: Option<LongGaps>,
    /// What is measured says what is worth telling.
    #[serde(skip)]
    quantity: Quantity,
    /// Whether what is lost was looked for, so that none is worth telling.
    #[serde(skip)]
    looked_for: Told,
    /// Things missing as a whole, each a sentence without its full stop.
    pub gaps: Vec<String>,
    /// Samples whose stack reaches the thread's root, of those of which that is known.
    pub whole_stacks: Share,
    /// Samples by how their stack ended, most first.
    pub stacks_by_end: Vec<Counted>,
    /// Frames with a name; a frame counts once for each sample whose stack it is in.
    pub named_frames: Share,
    /// Managed frames with a name.
    pub named_managed_frames: Share,
    /// Frames by how the unwinder found them, most first.
    pub frames_by_found: Vec<Counted>,
    /// Frames by how they were named, most first.
    pub frames_by_named: Vec<Counted>,
}

/// One number of what was dropped, and its words.
struct Dropped {
    count: u64,
    /// In a table.
    label: &'static str,
    one: &'static str,
    many: &'static str,
    told: Told,
}

/// When a number is worth its words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    /// Even when nothing was dropped: one wants to know.
    Always,
    /// Only when there is something to tell.
    IfAny,
}

impl Dropped {
    fn is_told(&self) -> bool {
        self.count > 0 || self.told == Told::Always
    }
}

fn counted(counts: impl Iterator<Item = (&'static str, u64)>) -> Vec<Counted> {
    let mut counts: Vec<_> = counts.map(|(label, count)| Counted { label, count }).collect();
    counts.sort_by(|a, b| b.count.cmp(&a.count).then(a.label.cmp(b.label)));
    counts
}

/// `part of whole (97.5 %)`, or `none` of nothing.
fn share(share: Share) -> String {
    match share.percent() {
        None => "none".to_owned(),
        some => format!("{} of {} ({} %)", share.part, share.whole, percent(some)),
    }
}

fn count(number: u64, one: &str, many: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{number} {many}") }
}

impl LossSummary {
    /// Counts what is missing.
    pub fn of(profile: &Profile) -> Self {
        let quality = quality(profile);
        Self {
            perf_records_lost: profile.loss.perf_records,
            unreadable_records: profile.loss.unreadable_records,
            sampling_pauses: profile.loss.throttled,
            runtime_events_dropped: profile.loss.runtime_events,
            undecodable_runtime_events: profile.loss.undecodable_events,
            nameless_methods: profile.loss.nameless_methods,
            unpaired_maps: profile.loss.unpaired_maps,
            samples_without_frames: profile.samples.iter().filter(|sample| sample.stack.is_none()).count() as u64,
            sampler_errors: profile.loss.sampler_errors,
            long_gaps: profile.loss.long_gaps,
            quantity: profile.recording.measure.quantity(),
            looked_for: if profile.loss.gaps.contains(&Gap::LossUntold) { Told::IfAny } else { Told::Always },
            gaps: {
                let long = profile.loss.long_gaps.iter().map(LongGaps::to_string);
                long.chain(profile.loss.gaps.iter().map(Gap::to_string)).collect()
            },
            whole_stacks: quality.whole_stacks(),
            stacks_by_end: counted(quality.stacks.iter().map(|(end, &count)| (end.label(), count))),
            named_frames: quality.named_frames(),
            named_managed_frames: quality.named_managed_frames(),
            frames_by_found: counted(quality.found.iter().map(|(found, &count)| (found.label(), count))),
            frames_by_named: counted(quality.named.iter().map(|(named, &count)| (named.label(), count))),
        }
    }

    /// Whether something was dropped or is missing as a whole; cut stacks and unnamed frames are not meant.
    pub fn something_dropped(&self) -> bool {
        self.dropped().any(|dropped| dropped.count > 0) || !self.gaps.is_empty()
    }

    /// What is counted, how it is said in a table, of one and of many. Everything that can be dropped is here.
    fn dropped(&self) -> impl Iterator<Item = Dropped> {
        // Only samples of CPU time come by way of perf.
        let of_perf = if self.quantity == Quantity::CpuTime { self.looked_for } else { Told::IfAny };
        let (without_frame, [one_without, many_without]) = match self.quantity {
            Quantity::CpuTime | Quantity::ThreadTime => {
                ("samples without a frame", ["sample without a frame", "samples without a frame"])
            }
            Quantity::Events => ("events without a stack", ["event without a stack", "events without a stack"]),
        };
        [
            (self.perf_records_lost, "perf records lost", ["perf record lost", "perf records lost"], of_perf),
            (
                self.unreadable_records,
                "perf records unreadable",
                ["perf record unreadable", "perf records unreadable"],
                Told::IfAny,
            ),
            (
                self.sampling_pauses,
                "pauses of sampling by the kernel",
                ["pause of sampling by the kernel", "pauses of sampling by the kernel"],
                Told::IfAny,
            ),
            (
                self.runtime_events_dropped,
                "runtime events dropped",
                ["runtime event dropped", "runtime events dropped"],
                self.looked_for,
            ),
            (
                self.undecodable_runtime_events,
                "runtime events undecodable",
                ["runtime event undecodable", "runtime events undecodable"],
                Told::IfAny,
            ),
            (
                self.nameless_methods,
                "methods without a name",
                ["method without a name", "methods without a name"],
                Told::IfAny,
            ),
            (
                self.unpaired_maps,
                "line maps without a method",
                ["line map without a method", "line maps without a method"],
                Told::IfAny,
            ),
            (self.samples_without_frames, without_frame, [one_without, many_without], Told::IfAny),
            (
                self.sampler_errors,
                "samples in an unknown state",
                ["sample in an unknown state", "samples in an unknown state"],
                Told::IfAny,
            ),
        ]
        .into_iter()
        .map(|(count, label, [one, many], told)| Dropped { count, label, one, many, told })
    }

    /// What was dropped, as label and number: what was looked for in every recording, and what else there was.
    pub fn counts(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.dropped().filter(Dropped::is_told).map(|dropped| (dropped.label, dropped.count))
    }

    /// The same in words, separated by commas.
    fn sentence(&self) -> String {
        let parts = self.dropped().filter(Dropped::is_told);
        let parts: Vec<_> = parts.map(|dropped| count(dropped.count, dropped.one, dropped.many)).collect();
        if parts.is_empty() { "none is told".to_owned() } else { parts.join(", ") }
    }

    /// How many stacks are whole, where that is known of any.
    fn whole(&self) -> String {
        let is_untold = self.whole_stacks.whole == 0 && self.named_frames.whole > 0;
        if is_untold { "not told".to_owned() } else { share(self.whole_stacks) }
    }

    /// What was dropped, as label and value, for formats that have room for pairs.
    pub fn facts(&self) -> Vec<(&'static str, String)> {
        let mut facts: Vec<_> = self.counts().map(|(label, count)| (label, count.to_string())).collect();
        facts.extend([
            ("whole stacks", self.whole()),
            ("named frames", share(self.named_frames)),
            ("named managed frames", share(self.named_managed_frames)),
        ]);
        facts.extend(self.gaps.iter().map(|gap| ("gap", gap.clone())));
        facts
    }

    /// One line of what was dropped and how many stacks are whole, without full stop.
    pub fn line(&self) -> String {
        let mut line = format!("{}, whole stacks: {}", self.sentence(), self.whole());
        for gap in &self.gaps {
            line.push_str("; ");
            line.push_str(gap);
        }
        line
    }

    /// One paragraph for the end of a report.
    pub fn paragraph(&self) -> String {
        let mut text = format!("Loss: {}.", self.sentence());
        if !self.gaps.is_empty() {
            let _ = write!(text, " Missing: {}.", self.gaps.join("; "));
        }
        if self.whole_stacks.whole == 0 && self.named_frames.whole == 0 {
            text.push_str(" There is no stack to judge.");
            return text;
        }
        let _ = write!(text, " Whole stacks: {}", self.whole());
        let cuts: Vec<_> = self
            .stacks_by_end
            .iter()
            .filter_map(|end| Some(format!("{} {}", end.count, end.label.strip_prefix("cut: ")?)))
            .collect();
        if !cuts.is_empty() {
            let _ = write!(text, "; cut: {}", cuts.join(", "));
        }
        let _ = write!(text, ". Named frames: {}", share(self.named_frames));
        if self.named_managed_frames.whole > 0 {
            let _ = write!(text, "; managed: {}", share(self.named_managed_frames));
        }
        text.push('.');
        text
    }
}
