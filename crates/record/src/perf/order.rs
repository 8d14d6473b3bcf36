//! Records of several rings in one order of time.

/// A record's time and where its bytes lie in its round's buffer.
#[derive(Clone, Copy, Debug)]
struct Entry {
    time: u64,
    start: usize,
    length: usize,
}

/// Records of one round, back to back.
#[derive(Debug, Default)]
struct Round {
    bytes: Vec<u8>,
    entries: Vec<Entry>,
    newest: u64,
}

impl Round {
    fn bytes_of(&self, entry: Entry) -> &[u8] {
        &self.bytes[entry.start..entry.start + entry.length]
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.entries.clear();
    }
}

/// Puts records of several rings in time order.
///
/// Each ring is in order by itself. When all rings have been read once (a round), no record can still come that is older
/// than the newest record of the round *before*: those are released, later ones wait for the next round.
#[derive(Debug, Default)]
pub(crate) struct TimeOrder {
    /// What was left of the round before; all of it is older than `current.newest` at that time.
    previous: Round,
    current: Round,
}

impl TimeOrder {
    /// Adds a record of this round.
    pub(crate) fn push(&mut self, time: u64, record: &[u8]) {
        let current = &mut self.current;
        current.entries.push(Entry { time, start: current.bytes.len(), length: record.len() });
        current.bytes.extend_from_slice(record);
        current.newest = current.newest.max(time);
    }

    /// Ends a round: hands over what no later record can precede, in time order.
    pub(crate) fn end_round(&mut self, take: impl FnMut(&[u8])) {
        let limit = self.previous.newest;
        self.release(limit, take);
        // All of the previous round is out: its buffers serve again.
        std::mem::swap(&mut self.previous, &mut self.current);
        self.current.clear();
        self.current.newest = self.previous.newest;
    }

    /// Ends the last round: hands over everything.
    pub(crate) fn end(&mut self, take: impl FnMut(&[u8])) {
        self.release(u64::MAX, take);
    }

    /// Merges the previous round (wholly released) with what of the current one is old enough.
    fn release(&mut self, limit: u64, mut take: impl FnMut(&[u8])) {
        // Stable: records of one moment keep the order they came in.
        self.current.entries.sort_by_key(|entry| entry.time);
        let ready = self.current.entries.partition_point(|entry| entry.time <= limit);
        let mut earlier = self.previous.entries.iter().copied().peekable();
        for entry in self.current.entries.drain(..ready) {
            while let Some(before) = earlier.next_if(|before| before.time <= entry.time) {
                take(self.previous.bytes_of(before));
            }
            take(&self.current.bytes[entry.start..entry.start + entry.length]);
        }
        for before in earlier {
            take(self.previous.bytes_of(before));
        }
        self.previous.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_record_of_the_next_round_still_finds_its_place() {
        let mut order = TimeOrder::default();
        let mut seen = Vec::new();
        let mut take = |bytes: &[u8]| seen.extend_from_slice(bytes);
        order.push(10, b"a");
        order.push(30, b"c");
        order.end_round(&mut take);
        order.push(20, b"b");
        order.push(40, b"e");
        order.push(40, b"f");
        order.end_round(&mut take);
        order.push(35, b"d");
        order.end(&mut take);
        assert_eq!(seen, b"abcdef");
    }
}
