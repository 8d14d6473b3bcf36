//! A part of a profile: some of its time, some of its threads.

use crate::{Profile, Quantity, Table, Thread, ThreadId, Timestamp};

/// Which part is wanted; everything where nothing is said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// Only what was from this moment on.
    pub from: Option<Timestamp>,
    /// Only what was before this moment.
    pub to: Option<Timestamp>,
    /// Only threads with one of these ids, of whichever process; all where there is none.
    pub threads: Vec<u32>,
}

impl Profile {
    /// Keeps this part. A sample of thread time stands for the time up to its moment, so that it is kept for as much of that as
    /// lies in the part; other samples are kept where their moment does. What was lost is not known by time, and stays, as do
    /// functions and stacks that no sample is left of.
    #[must_use]
    pub fn part(mut self, part: &Part) -> Self {
        if *part == Part::default() {
            return self;
        }
        let recording = &mut self.recording;
        let begun = recording.start;
        recording.start = part.from.map_or(begun, |from| from.max(begun));
        recording.end = part.to.map_or(recording.end, |to| to.min(recording.end)).max(recording.start);
        recording.start_unix_ns = recording.start_unix_ns.map(|unix| unix.saturating_add(recording.start.since(begun)));

        let kept = self.keep_threads(&part.threads);
        let reaches_back = self.recording.measure.quantity() == Quantity::ThreadTime;
        let from = part.from.unwrap_or(Timestamp(0));
        let to = part.to.unwrap_or(Timestamp(u64::MAX));
        let is_whole = part.from.is_none() && part.to.is_none();
        self.samples.retain_mut(|sample| {
            let Some(thread) = kept.get(crate::Handle::index(sample.thread)).copied().flatten() else { return false };
            sample.thread = thread;
            if is_whole {
                return true;
            }
            let is_within = from <= sample.time && sample.time < to;
            if !reaches_back {
                return is_within;
            }
            let begun = Timestamp(sample.time.0.saturating_sub(sample.weight)).max(from);
            sample.weight = sample.time.min(to).since(begun);
            sample.time = sample.time.min(to);
            is_within || sample.weight > 0
        });
        self
    }

    /// Drops all other threads; by the old handles, the new ones.
    fn keep_threads(&mut self, wanted: &[u32]) -> Vec<Option<ThreadId>> {
        let mut threads: Table<ThreadId, Thread> = Table::default();
        let mut kept = Vec::with_capacity(self.threads.len());
        for thread in self.threads.rows() {
            let is_kept = wanted.is_empty() || wanted.contains(&thread.tid);
            kept.push(is_kept.then(|| threads.push(thread.clone())));
        }
        self.threads = threads;
        kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Measure, Process, ProfileBuilder, RecordingInfo, Sample, StackEnd, ThreadState};

    /// Two threads, sampled at 10, 20, 30 and 40, each sample but the first of a thread for the 10 before.
    fn profile(measure: Measure) -> Profile {
        let (start, end) = (Timestamp(5), Timestamp(45));
        let recording = RecordingInfo { measure, start, end, start_unix_ns: Some(1000), ..RecordingInfo::default() };
        let mut builder = ProfileBuilder::new(recording);
        let process = builder.process(Process { pid: 1, name: "app".into(), runtime_version: None });
        for tid in [1, 2] {
            let thread = builder.thread(Thread { process, tid, name: String::new() });
            for time in [10, 20, 30, 40] {
                let weight = if time == 10 { 0 } else { 10 };
                let (time, state, end) = (Timestamp(time), ThreadState::Managed, StackEnd::Root);
                builder.sample(Sample { time, thread, stack: None, weight, state, end });
            }
        }
        builder.finish()
    }

    /// `(tid, time, weight)` of each sample that is left.
    fn left(measure: Measure, part: &Part) -> Vec<(u32, u64, u64)> {
        let profile = profile(measure).part(part);
        let row = |sample: &Sample| (profile.threads[sample.thread].tid, sample.time.0, sample.weight);
        profile.samples.iter().map(row).collect()
    }

    fn of_thread_2(from: Option<u64>, to: Option<u64>) -> Part {
        Part { from: from.map(Timestamp), to: to.map(Timestamp), threads: vec![2] }
    }

    #[test]
    fn thread_time_is_cut_where_the_part_begins_and_ends() {
        let thread_time = || Measure::ThreadTime { usual_gap_ns: Some(10) };
        let check = |from, to, expected: &[(u32, u64, u64)]| {
            assert_eq!(left(thread_time(), &of_thread_2(from, to)), expected, "{from:?} to {to:?}");
        };
        check(None, None, &[(2, 10, 0), (2, 20, 10), (2, 30, 10), (2, 40, 10)]);
        check(Some(23), Some(37), &[(2, 30, 7), (2, 37, 7)]);
        check(Some(23), Some(27), &[(2, 27, 4)]);
        check(Some(20), Some(30), &[(2, 20, 0), (2, 30, 10)]);
        check(Some(41), None, &[]);
        check(None, Some(10), &[]);
        assert_eq!(left(thread_time(), &Part::default()).len(), 8);
    }

    #[test]
    fn samples_of_other_quantities_are_where_they_were_taken() {
        let cpu = || Measure::CpuTime { event: "cpu-clock".into(), frequency_hz: 100 };
        let events = || Measure::Events { what: "all".into() };
        for measure in [cpu(), events()] {
            assert_eq!(left(measure.clone(), &of_thread_2(Some(20), Some(40))), [(2, 20, 10), (2, 30, 10)]);
            assert_eq!(left(measure, &of_thread_2(None, Some(11))), [(2, 10, 0)]);
        }
    }

    #[test]
    fn the_recording_is_as_long_as_the_part() {
        let part = profile(Measure::default()).part(&of_thread_2(Some(20), Some(400)));
        let recording = &part.recording;
        assert_eq!((recording.start, recording.end), (Timestamp(20), Timestamp(45)));
        assert_eq!((recording.start_unix_ns, part.duration_ns()), (Some(1015), 25));
        assert_eq!(part.threads.len(), 1);
        assert_eq!(profile(Measure::default()).part(&of_thread_2(Some(90), None)).duration_ns(), 0);
    }
}
