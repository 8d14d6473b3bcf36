//! The items of one stream in one order of time.

mod held;
mod queue;
mod shared;

use held::HeldEvent;
use queue::{Held, Queue};
use shared::Shared;

use crate::event::{Event, EventHeader, Item};

/// Bytes of waiting events unless the caller asks for another limit.
const DEFAULT_LIMIT: usize = 64 << 20;

/// Bytes of both activity ids of an event.
const GUIDS: usize = 32;

/// Puts the items of one stream in the order of time; those of equal times stay in the order of the stream.
///
/// A stream has the events of each capture thread in the order of time, and the threads in turns. Now and then an event is
/// marked as sorted, which promises that nothing later in the stream is earlier than it: all that waits and is not later than
/// that event can go. Sequence points and the end let everything go. A promise is believed, not checked beforehand; whether it
/// was kept is in [`OrderCounts::out_of_order`].
///
/// ```
/// use strata_nettrace::order::TimeOrder;
/// use strata_nettrace::{Decoder, Item};
///
/// # fn main() -> Result<(), strata_nettrace::Refused> {
/// # let bytes = b"Nettrace";
/// let mut times = Vec::new();
/// let mut in_order = |item: Item<'_>| {
///     if let Item::Event(event) = item {
///         times.push(event.header.time);
///     }
/// };
/// let mut order = TimeOrder::new();
/// let mut decoder = Decoder::new();
/// decoder.feed(bytes, &mut |item: Item<'_>| order.push(item, &mut in_order))?;
/// decoder.finish(&mut |item: Item<'_>| order.push(item, &mut in_order))?;
/// let counts = order.finish(&mut in_order);
/// assert_eq!(counts.out_of_order, 0);
/// # Ok(())
/// # }
/// ```
///
/// - An event handed on says that it is sorted, which in this order is true, unless a later one went before it: those that
///   [`OrderCounts::out_of_order`] counts are not marked.
/// - An [`Item::Gap`] comes directly before the event or sequence point that shows it. An [`Item::Problem`] tells of a place
///   in the stream and not of a time: it is handed on at once.
/// - Events that wait are copied, into memory that is used again and again. It is limited: when the limit is reached, those
///   that waited for longest in the order of time go early, which [`OrderCounts::early`] counts. Nothing is dropped.
///
/// Source: the rules on sorting in the nettrace description of the .NET diagnostics documentation.
pub struct TimeOrder {
    queue: Queue,
    shared: Shared,
    limit: usize,
    /// Latest time handed on.
    latest: u64,
    counts: OrderCounts,
}

/// How a stream was put in order, and where its order could not be kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct OrderCounts {
    /// Events that had to wait for others.
    pub waited: u64,
    /// Events that were let go before the stream said that nothing earlier comes, because the limit was reached.
    pub early: u64,
    /// Events handed on although a later one had been before them: the stream broke its promise, or events were let go early.
    pub out_of_order: u64,
}

impl Default for TimeOrder {
    fn default() -> Self {
        Self::new()
    }
}

impl TimeOrder {
    /// Lets 64 MiB of events wait.
    pub fn new() -> Self {
        Self::with_limit(DEFAULT_LIMIT)
    }

    /// Lets so many bytes of events wait, with their stacks and what the stream says of their threads. Beside them are kept
    /// the definitions of these events.
    pub fn with_limit(bytes: usize) -> Self {
        Self {
            queue: Queue::default(),
            shared: Shared::default(),
            limit: bytes,
            latest: 0,
            counts: OrderCounts::default(),
        }
    }

    /// Takes the next item of the stream, and hands on what can go.
    pub fn push(&mut self, item: Item<'_>, sink: &mut impl FnMut(Item<'_>)) {
        match item {
            Item::Event(event) if event.header.sorted => {
                // Those of the same time came earlier in the stream, so they go before it.
                self.release(event.header.time, usize::MAX, sink);
                self.hand_on(event, sink);
            }
            Item::Event(event) => self.wait(event, sink),
            Item::Gap(gap) => {
                self.make_room(0, sink);
                self.queue.push(gap.before, Held::Gap(gap));
            }
            Item::SequencePoint(_) => {
                self.flush(sink);
                self.shared.sequence_point();
                sink(item);
            }
            Item::Trace(_) | Item::Problem(_) => sink(item),
        }
    }

    /// Says that no event earlier than `time` (ticks of the stream's clock) will come any more, and hands on what waits and is
    /// not later: for callers that leave out events, since a sorted one that is left out makes the same promise.
    pub fn reached(&mut self, time: u64, sink: &mut impl FnMut(Item<'_>)) {
        self.release(time, usize::MAX, sink);
    }

    /// Hands on everything that waits: for a live view whose source went quiet, since the last events of a stream wait for
    /// others that may never come. Should earlier ones come after all, they are counted as out of order.
    pub fn flush(&mut self, sink: &mut impl FnMut(Item<'_>)) {
        self.release(u64::MAX, usize::MAX, sink);
    }

    /// Says that no more items will come: hands on the rest.
    pub fn finish(mut self, sink: &mut impl FnMut(Item<'_>)) -> OrderCounts {
        self.flush(sink);
        self.counts
    }

    /// The counts so far.
    pub fn counts(&self) -> OrderCounts {
        self.counts
    }

    /// Events and gaps that wait.
    pub fn waiting(&self) -> usize {
        self.queue.len()
    }

    fn wait(&mut self, event: Event<'_>, sink: &mut impl FnMut(Item<'_>)) {
        // As many bytes as it can take at most.
        let stack = event.stack.map_or(0, |stack| stack.as_bytes().len());
        let labels = event.header.labels.as_bytes().len();
        let thread = event.header.thread_info.map_or(0, Shared::bytes_of);
        let needed = event.payload.len().saturating_add(stack).saturating_add(labels).saturating_add(thread);
        if !self.has_room(needed) {
            self.make_room(needed, sink);
            if !self.has_room(needed) {
                // Larger than all that may wait, alone.
                self.counts.early = self.counts.early.saturating_add(1);
                return self.hand_on(event, sink);
            }
        }
        let held = HeldEvent::copy(&event, &mut self.shared, self.queue.arena());
        self.queue.push(event.header.time, Held::Event(held));
        self.counts.waited = self.counts.waited.saturating_add(1);
    }

    /// Whether one more with so many bytes may wait.
    fn has_room(&self, bytes: usize) -> bool {
        let more = bytes.saturating_add(Queue::slot_bytes()).saturating_add(GUIDS);
        self.queue.bytes().saturating_add(self.shared.bytes()).saturating_add(more) <= self.limit
    }

    /// Lets the oldest go until one more with so many bytes may wait.
    fn make_room(&mut self, bytes: usize, sink: &mut impl FnMut(Item<'_>)) {
        while !self.has_room(bytes) {
            if self.queue.len() == 0 {
                return self.shared.forget();
            }
            if !self.queue.give_back(2) {
                self.counts.early = self.counts.early.saturating_add(1);
                self.release(u64::MAX, 1, sink);
            }
        }
    }

    /// Hands on what waits and is not later than `time`, but no more than `most`.
    #[inline]
    fn release(&mut self, time: u64, most: usize, sink: &mut impl FnMut(Item<'_>)) {
        if self.queue.len() == 0 {
            return;
        }
        let Self { queue, shared, latest, counts, .. } = self;
        queue.release(time, most, |time, held, arena| match held {
            Held::Event(event) => {
                let sorted = counts.event(time, latest);
                event.lend((time, sorted), arena, shared, |event| sink(Item::Event(event)));
            }
            Held::Gap(gap) => sink(Item::Gap(*gap)),
        });
    }

    fn hand_on(&mut self, event: Event<'_>, sink: &mut impl FnMut(Item<'_>)) {
        let sorted = self.counts.event(event.header.time, &mut self.latest);
        let header = EventHeader { sorted, ..*event.header };
        sink(Item::Event(Event { header: &header, ..event }));
    }
}

impl OrderCounts {
    /// An event of this time is handed on; says whether no later one was before it.
    #[inline]
    fn event(&mut self, time: u64, latest: &mut u64) -> bool {
        let in_order = time >= *latest;
        if in_order {
            *latest = time;
        } else {
            self.out_of_order = self.out_of_order.saturating_add(1);
        }
        in_order
    }
}
