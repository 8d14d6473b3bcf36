//! What a stream holds, counted.

use std::collections::{BTreeMap, HashMap};

use rustc_hash::FxHashMap;

use crate::event::{Event, Item};
use crate::metadata::Metadata;
use crate::runtime::{Known, RUNDOWN_PROVIDER, RuntimeEvent, RuntimeVersion};

/// Threads counted one by one. A process rarely has thousands; a hostile stream has one for each event.
const MAX_THREADS: usize = 100_000;

/// Counts what a stream holds, item by item: kinds of events, threads, and what the runtime says about itself.
///
/// Memory grows with the distinct kinds, and with the threads up to 100,000.
#[derive(Default)]
pub struct Survey {
    /// What the runtime and the process say about themselves.
    about: About,
    /// By the stream's id of the definition. Ids may get another meaning at a sequence point.
    definitions: FxHashMap<u32, usize>,
    kinds: Vec<Kind>,
    /// By provider, id and name.
    places: HashMap<(Box<str>, u32, Box<str>), usize>,
    /// The definition of the event before: most events are like it.
    last: Option<(u32, usize)>,
    threads: FxHashMap<u64, u64>,
    last_thread: Option<(u64, u64)>,
    /// Events of threads beyond [`MAX_THREADS`].
    of_other_threads: u64,
    times: Times,
}

/// What the runtime and the process say about themselves; all texts as the stream has them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct About {
    /// Version of the runtime.
    pub runtime: Option<RuntimeVersion>,
    /// The file of the runtime.
    pub runtime_path: Option<String>,
    /// How the process was started.
    pub command_line: Option<String>,
    /// Operating system, such as `Linux`.
    pub operating_system: Option<String>,
    /// Architecture, such as `x64`.
    pub architecture: Option<String>,
}

/// When there were events, ticks: the earliest and the latest.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Times {
    /// Of all that are not of the rundown.
    pub events: Option<(u64, u64)>,
    /// Of the rundown, the runtime's list of its code when a session is stopped: nothing of it happened at its time.
    pub rundown: Option<(u64, u64)>,
}

impl Times {
    fn take(&mut self, time: u64, is_rundown: bool) {
        let span = if is_rundown { &mut self.rundown } else { &mut self.events };
        *span = Some(span.map_or((time, time), |(first, last)| (first.min(time), last.max(time))));
    }
}

/// Events of one kind: of one provider, id and name, whatever their version.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Kind {
    /// Name of the provider.
    pub provider: Box<str>,
    /// Id within the provider.
    pub event_id: u32,
    /// Name as [`Metadata::display_name`] has it.
    pub name: Box<str>,
    /// How many there are.
    pub events: u64,
    /// How many of them have a stack.
    pub with_stack: u64,
    /// Bytes of their payloads.
    pub payload_bytes: u64,
}

impl Survey {
    /// Takes the next item of the stream.
    pub fn take(&mut self, item: &Item<'_>) {
        let event = match item {
            Item::Event(event) => event,
            Item::SequencePoint(_) => {
                self.definitions.clear();
                self.last = None;
                return;
            }
            _ => return,
        };
        let index = match self.last {
            Some((id, index)) if id == event.metadata.id => index,
            _ => self.index_of(event),
        };
        if let Some(kind) = self.kinds.get_mut(index) {
            kind.events = kind.events.saturating_add(1);
            kind.with_stack = kind.with_stack.saturating_add(u64::from(event.stack.is_some()));
            kind.payload_bytes = kind.payload_bytes.saturating_add(event.payload.len() as u64);
            self.times.take(event.header.time, *kind.provider == *RUNDOWN_PROVIDER);
        }
        match &mut self.last_thread {
            Some((thread, count)) if *thread == event.header.thread => *count = count.saturating_add(1),
            _ => {
                self.settle_thread();
                self.last_thread = Some((event.header.thread, 1));
            }
        }
    }

    #[cold]
    fn index_of(&mut self, event: &Event<'_>) -> usize {
        let id = event.metadata.id;
        let index = match self.definitions.get(&id) {
            Some(index) => *index,
            None => {
                let index = self.kind_of(event.metadata);
                self.definitions.insert(id, index);
                index
            }
        };
        self.last = Some((id, index));
        if matches!(event.metadata.known, Some(Known::Information(_) | Known::Process)) {
            self.about.read(event);
        }
        index
    }

    /// The kind that a definition belongs to: versions of one event have definitions of their own.
    fn kind_of(&mut self, metadata: &Metadata) -> usize {
        let name: Box<str> = metadata.display_name().into();
        let (provider, event_id) = (metadata.provider.clone(), metadata.event_id);
        let next = self.kinds.len();
        let index = *self.places.entry((provider.clone(), event_id, name.clone())).or_insert(next);
        if index == next {
            self.kinds.push(Kind { provider, event_id, name, events: 0, with_stack: 0, payload_bytes: 0 });
        }
        index
    }

    fn settle_thread(&mut self) {
        if let Some((thread, count)) = self.last_thread.take() {
            let is_full = self.threads.len() >= MAX_THREADS;
            let sum = match self.threads.get_mut(&thread) {
                Some(sum) => sum,
                None if is_full => &mut self.of_other_threads,
                None => self.threads.entry(thread).or_default(),
            };
            *sum = sum.saturating_add(count);
        }
    }

    /// What the runtime and the process say about themselves.
    pub fn about(&self) -> &About {
        &self.about
    }

    /// The kinds of events that came, in the order in which the first of each came.
    pub fn kinds(&self) -> &[Kind] {
        &self.kinds
    }

    /// When there were events, those of the rundown apart.
    pub fn times(&self) -> Times {
        self.times
    }

    /// How many events each thread has, by the thread's id in the traced process: of the first 100,000 threads, for the
    /// others see [`Survey::events_of_other_threads`].
    pub fn threads(&mut self) -> BTreeMap<u64, u64> {
        self.settle_thread();
        self.threads.iter().map(|(thread, count)| (*thread, *count)).collect()
    }

    /// Events of threads that are not in [`Survey::threads`] because there are too many.
    pub fn events_of_other_threads(&mut self) -> u64 {
        self.settle_thread();
        self.of_other_threads
    }
}

impl About {
    /// Reads the few events that tell of the process. They are never like the event before them: each comes once or twice.
    fn read(&mut self, event: &Event<'_>) {
        match RuntimeEvent::decode(event) {
            Ok(Some(RuntimeEvent::Information(_, information))) => {
                self.runtime = Some(information.version);
                self.runtime_path = Some(information.runtime_path.to_string());
                // What the stream says of the process itself counts for more.
                if self.command_line.as_ref().is_none_or(String::is_empty) {
                    self.command_line = Some(information.command_line.to_string());
                }
            }
            Ok(Some(RuntimeEvent::Process(process))) => {
                self.command_line = Some(process.command_line.to_string());
                self.operating_system = process.system.map(|system| system.to_string());
                self.architecture = process.architecture.map(|architecture| architecture.to_string());
            }
            _ => {}
        }
    }
}
