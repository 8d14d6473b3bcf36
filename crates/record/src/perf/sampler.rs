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
                    let ring = Ring::map(&event, ring_pages(&self.config)).map_err(AddError::Ring)?;
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
    pub(crate) fn drain(&mut self, take: impl FnMut(u64, &[u8])) {
        self.fill();
        self.order.end_round(take);
    }

    /// Empties all rings and hands over everything.
    pub(crate) fn finish(&mut self, take: impl FnMut(u64, &[u8])) {
        self.fill();
        self.order.end(take);
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

/// Pages of a ring that hold half a second of samples, within sane bounds.
fn ring_pages(config: &EventConfig) -> usize {
    const PAGE: u64 = 4096;
    const RECORD_WITHOUT_STACK: u64 = 1024;
    let half_second = config.frequency_hz.saturating_mul(u64::from(config.stack_bytes) + RECORD_WITHOUT_STACK) / 2;
    let pages = (half_second / PAGE).clamp(128, 1024).next_power_of_two();
    usize::try_from(pages).unwrap_or(128)
}
