//! The items of one stream in one order of time.

mod held;
mod queue;

use held::{Definitions, HeldEvent, Threads};
use queue::{Held, Queue};

use crate::event::{Event, Item};

/// Bytes of waiting events unless the caller asks for another limit.
const DEFAULT_LIMIT: usize = 64 << 20;

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
/// - Every event handed on says that it is sorted, which in this order is true.
/// - An [`Item::Gap`] comes directly before the event or sequence point that shows it. An [`Item::Problem`] tells of a place
///   in the stream and not of a time: it is handed on at once.
/// - Events that wait are copied, into memory that is used again and again. It is limited: when the limit is reached, those
///   that waited for longest in the order of time go early, which [`OrderCounts::early`] counts. Nothing is dropped.
///
/// Source: the rules on sorting in the nettrace description of the .NET diagnostics documentation.
pub struct TimeOrder {
    queue: Queue,
    definitions: Definitions,
    threads: Threads,
    limit: usize,
    /// Latest time handed on.
    reached: u64,
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

    /// Lets so many bytes of events wait. Beside them are kept the definitions of these events, and what
    /// the stream says of their threads.
    pub fn with_limit(bytes: usize) -> Self {
        Self {
            queue: Queue::default(),
            definitions: Definitions::default(),
            threads: Threads::default(),
            limit: bytes,
            reached: 0,
            counts: OrderCounts::default(),
        }
    }

    /// Takes the next item of the stream, and hands on what can go.
    pub fn push(&mut self, item: Item<'_>, sink: &mut impl FnMut(Item<'_>)) {
        match item {
            Item::Event(event) if event.header.sorted => {
                // Those of the same time came earlier in the stream, so they go before it.
                self.release(event.header.time, sink);
                self.hand_on(event, sink);
            }
            Item::Event(event) => self.wait(event, sink),
            Item::Gap(gap) => {
                self.make_room(0, sink);
                self.queue.push(gap.before, Held::Gap(gap), core::iter::empty());
            }
            Item::SequencePoint(_) => {
                self.flush(sink);
                self.definitions.doubt();
                self.threads.forget();
                sink(item);
            }
            Item::Trace(_) | Item::Problem(_) => sink(item),
        }
    }

    /// Hands on everything that waits: for a live view whose source went quiet, since the last events of a stream wait for
    /// others that may never come. Should earlier ones come after all, they are counted as out of order.
    pub fn flush(&mut self, sink: &mut impl FnMut(Item<'_>)) {
        self.release(u64::MAX, sink);
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
        let needed = HeldEvent::bytes_of(&event);
        self.make_room(needed, sink);
        if self.queue.size_with(needed) > self.limit {
            // Larger than all that may wait, alone.
            self.counts.early = self.counts.early.saturating_add(1);
            return self.hand_on(event, sink);
        }
        let definition = self.definitions.index_of(event.metadata);
        let thread_info = event.header.thread_info.map(|info| self.threads.index_of(info));
        let (held, parts) = HeldEvent::of(&event, definition, thread_info);
        self.queue.push(event.header.time, Held::Event(held), parts.into_iter());
        self.counts.waited = self.counts.waited.saturating_add(1);
    }

    /// Lets the oldest go until so many bytes more may wait.
    fn make_room(&mut self, bytes: usize, sink: &mut impl FnMut(Item<'_>)) {
        while self.queue.size_with(bytes) > self.limit && self.queue.len() > 0 {
            if self.queue.is_worth_compacting() {
                self.queue.compact();
            } else {
                self.counts.early = self.counts.early.saturating_add(1);
                self.release_first(sink);
            }
        }
    }

    /// Hands on what waits and is not later than `time`.
    #[inline]
    fn release(&mut self, time: u64, sink: &mut impl FnMut(Item<'_>)) {
        while self.queue.first_time().is_some_and(|first| first <= time) {
            self.release_first(sink);
        }
    }

    fn release_first(&mut self, sink: &mut impl FnMut(Item<'_>)) {
        match self.queue.pop() {
            Some((time, Held::Event(held))) => {
                self.count_order(time);
                if let Some(metadata) = self.definitions.get(held.definition) {
                    let thread_info = held.thread_info.and_then(|index| self.threads.get(index));
                    held.lend(time, self.queue.bytes(), metadata, thread_info, |event| sink(Item::Event(event)));
                }
            }
            Some((_, Held::Gap(gap))) => sink(Item::Gap(gap)),
            None => {}
        }
        self.queue.tidy();
    }

    fn hand_on(&mut self, event: Event<'_>, sink: &mut impl FnMut(Item<'_>)) {
        self.count_order(event.header.time);
        if event.header.sorted {
            return sink(Item::Event(event));
        }
        let header = crate::EventHeader { sorted: true, ..*event.header };
        sink(Item::Event(Event { header: &header, ..event }));
    }

    #[inline]
    fn count_order(&mut self, time: u64) {
        if time < self.reached {
            self.counts.out_of_order = self.counts.out_of_order.saturating_add(1);
        } else {
            self.reached = time;
        }
    }
}
