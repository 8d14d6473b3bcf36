//! All sampling events of one recording and the rings they write into.

use super::cpus;
use super::event::{Begin, Event, EventConfig};
use super::order::TimeOrder;
use super::ring::Ring;
use crate::error::RecordError;
use rustc_hash::FxHashSet;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use strata_perfdata::record::{Record, RecordData, RecordFormat};

/// The events of all threads, with one ring for each processor.
///
/// An event that is inherited by later threads must be bound to one processor to have a ring, so each thread that exists
/// at attach gets one event for each processor; later threads inherit them and need no descriptor.
pub(crate) struct Sampler {
    config: EventConfig,
    format: RecordFormat,
    processors: Vec<Processor>,
    events: Vec<Event>,
    order: TimeOrder,
    /// Threads that fork records told of, while that is of interest.
    inherited: Option<FxHashSet<u32>>,
    unreadable: u64,
}

struct Processor {
    number: u32,
    output: Option<(Event, Ring)>,
}

/// Whether a thread was still there to be sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Added {
    Sampled,
    Gone,
}

/// Why a thread could not be sampled.
#[derive(Debug)]
pub(crate) enum AddError {
    Event(io::Error),
    Ring(io::Error),
}

impl AddError {
    pub(crate) fn into_record_error(self, threads: usize, processors: usize) -> RecordError {
        match self {
            AddError::Event(source) => RecordError::sampling(source, threads, processors),
            AddError::Ring(source) => RecordError::ring(source),
        }
    }
}

impl Sampler {
    pub(crate) fn new(config: EventConfig) -> Self {
        let processors = cpus::online().into_iter().map(|number| Processor { number, output: None }).collect();
        Self {
            format: config.ring_format(),
            config,
            processors,
            events: Vec::new(),
            order: TimeOrder::default(),
            inherited: Some(FxHashSet::default()),
            unreadable: 0,
        }
    }

    pub(crate) fn config(&self) -> &EventConfig {
        &self.config
    }

    /// How many processors were online when sampling was prepared.
    pub(crate) fn processors(&self) -> usize {
        self.processors.len()
    }

    /// Reads the rings so that [`Sampler::has_inherited`] knows the latest; nothing is handed over yet.
    pub(crate) fn look_for_inherited(&mut self) {
        self.fill();
    }

    /// Whether a thread is sampled because the thread that started it was.
    pub(crate) fn has_inherited(&self, tid: u32) -> bool {
        self.inherited.as_ref().is_some_and(|inherited| inherited.contains(&tid))
    }

    /// Ends the interest in inherited threads.
    pub(crate) fn forget_inherited(&mut self) {
        self.inherited = None;
    }

    /// Samples a thread and everything it starts from now on.
    pub(crate) fn add_thread(&mut self, tid: u32, begin: Begin) -> Result<Added, AddError> {
        let processors = self.processors.len();
        for processor in &mut self.processors {
            let event = match Event::open(&self.config, tid, processor.number, begin) {
                Err(error) if error.raw_os_error() == Some(libc::ESRCH) => return Ok(Added::Gone),
                // A processor that went offline since we asked: nothing runs there.
                Err(error) if error.raw_os_error() == Some(libc::ENODEV) => continue,
                other => other.map_err(AddError::Event)?,
            };
            let event = match &processor.output {
                Some((output, _)) => {
                    event.write_into(output).map_err(AddError::Event)?;
                    self.events.push(event);
                    self.events.last()
                }
                None => {
                    let ring = map_ring(&event, ring_pages(&self.config, processors)).map_err(AddError::Ring)?;
                    processor.output = Some((event, ring));
                    processor.output.as_ref().map(|(event, _)| event)
                }
            };
            if let Some(event) = event.filter(|_| begin == Begin::Enabled) {
                event.enable().map_err(AddError::Event)?;
            }
        }
        Ok(Added::Sampled)
    }

    /// Descriptors that become readable when a ring fills.
    pub(crate) fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.processors.iter().filter_map(|processor| processor.output.as_ref()).map(|(event, _)| event.fd().as_fd())
    }

    /// Empties all rings once and hands over, in time order, what no later record can precede.
    pub(crate) fn drain(&mut self, take: impl FnMut(&[u8])) {
        self.fill();
        self.order.end_round(take);
    }

    /// Ends sampling, and hands over everything that is left.
    pub(crate) fn finish(&mut self, take: impl FnMut(&[u8])) {
        let outputs = self.processors.iter().filter_map(|processor| processor.output.as_ref());
        for event in outputs.map(|(event, _)| event).chain(&self.events) {
            // One that cannot be switched off ends with its descriptor, just below.
            let _ = event.disable();
        }
        self.fill();
        self.order.end(take);
        self.events.clear();
        for processor in &mut self.processors {
            processor.output = None;
        }
    }

    fn fill(&mut self) {
        for (_, ring) in self.processors.iter_mut().filter_map(|processor| processor.output.as_mut()) {
            let thrown_away = ring.drain(|bytes| {
                let record = Record::parse(bytes, &self.format).ok();
                if let (Some(inherited), Some(RecordData::Fork(life))) =
                    (&mut self.inherited, record.map(|record| record.data))
                {
                    inherited.insert(life.task.tid.unsigned_abs());
                }
                match record.and_then(|record| record.time()) {
                    Some(time) => self.order.push(time, bytes),
                    None => self.unreadable += 1,
                }
            });
            self.unreadable += thrown_away;
        }
    }

    /// Records that could not be read (the rest of a ring that was thrown away counts as one); the kernel writes none such, so each is a bug worth seeing.
    pub(crate) fn unreadable(&self) -> u64 {
        self.unreadable
    }
}

/// The smallest ring, in pages: with its page of positions it is what every user may lock for each processor
/// (`kernel.perf_event_mlock_kb`).
const LEAST_PAGES: usize = 128;

/// Maps a ring, a smaller one where the limit on locked memory forbids the wanted size.
fn map_ring(event: &Event, pages: usize) -> io::Result<Ring> {
    match Ring::map(event, pages) {
        Err(error)
            if matches!(error.raw_os_error(), Some(libc::EPERM | libc::ENOMEM | libc::EAGAIN))
                && pages > LEAST_PAGES =>
        {
            map_ring(event, pages / 2)
        }
        other => other,
    }
}

/// Pages of a ring that hold half a second of samples, within sane bounds for one ring and for all together.
fn ring_pages(config: &EventConfig, processors: usize) -> usize {
    const PAGE: usize = 4096;
    const RECORD_WITHOUT_STACK: u64 = 1024;
    const MOST_PAGES: usize = 1024;
    const ALL_RINGS_BYTES: usize = 32 << 20;
    let half_second = config.frequency_hz.saturating_mul(u64::from(config.stack_bytes) + RECORD_WITHOUT_STACK) / 2;
    let wanted = usize::try_from(half_second / PAGE as u64).unwrap_or(MOST_PAGES).next_power_of_two();
    let share = (ALL_RINGS_BYTES / PAGE / processors.max(1)).max(1);
    // A power of two that is no more than the share.
    let affordable = 1 << share.ilog2();
    wanted.min(affordable).clamp(LEAST_PAGES, MOST_PAGES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::perf::event::{EventKind, KernelSide};

    #[test]
    fn rings_are_powers_of_two_and_bounded_together() {
        let config = |frequency_hz, stack_bytes| EventConfig {
            kind: EventKind::CpuClock,
            frequency_hz,
            stack_bytes,
            wakeup_bytes: 0,
            kernel: KernelSide::Included,
            build_ids: true,
        };
        assert_eq!(ring_pages(&config(999, 8192), 2), 1024);
        assert_eq!(ring_pages(&config(99, 8192), 2), 128);
        assert_eq!(ring_pages(&config(999, 8192), 64), 128);
        assert_eq!(ring_pages(&config(20_000, 65_528), 1), 1024);
        for processors in 1..300 {
            assert!(ring_pages(&config(999, 8192), processors).is_power_of_two());
        }
    }
}
