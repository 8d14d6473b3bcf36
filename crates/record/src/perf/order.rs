//! Records of several rings in one order of time.

/// A record's time and where its bytes lie in the batch.
#[derive(Clone, Copy, Debug)]
struct Entry {
    time: u64,
    start: usize,
    length: usize,
}

/// Puts records of several rings in time order.
///
/// Each ring is in order by itself. When all rings have been read once (a round), no record can still come that is older
/// than the newest record of the round *before*: those are released, later ones wait for the next round.
#[derive(Debug, Default)]
pub(crate) struct TimeOrder {
    bytes: Vec<u8>,
    entries: Vec<Entry>,
    newest: u64,
    released_to: u64,
}

impl TimeOrder {
    /// Adds a record of this round.
    pub(crate) fn push(&mut self, time: u64, record: &[u8]) {
        self.entries.push(Entry { time, start: self.bytes.len(), length: record.len() });
        self.bytes.extend_from_slice(record);
        self.newest = self.newest.max(time);
    }

    /// Ends a round: hands over what no later record can precede, in time order.
    pub(crate) fn end_round(&mut self, take: impl FnMut(u64, &[u8])) {
        let limit = std::mem::replace(&mut self.released_to, self.newest);
        self.release(limit, take);
    }

    /// Ends the last round: hands over everything.
    pub(crate) fn end(&mut self, take: impl FnMut(u64, &[u8])) {
        self.release(u64::MAX, take);
    }

    fn release(&mut self, limit: u64, mut take: impl FnMut(u64, &[u8])) {
        // Stable: records of one moment keep the order they came in.
        self.entries.sort_by_key(|entry| entry.time);
        let ready = self.entries.partition_point(|entry| entry.time <= limit);
        for entry in self.entries.drain(..ready) {
            take(entry.time, &self.bytes[entry.start..entry.start + entry.length]);
        }
        if self.entries.is_empty() {
            self.bytes.clear();
            return;
        }
        let mut kept = Vec::with_capacity(self.entries.iter().map(|entry| entry.length).sum());
        for entry in &mut self.entries {
            let start = kept.len();
            kept.extend_from_slice(&self.bytes[entry.start..entry.start + entry.length]);
            entry.start = start;
        }
        self.bytes = kept;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_record_of_the_next_round_still_finds_its_place() {
        let mut order = TimeOrder::default();
        let mut seen = Vec::new();
        let mut take = |time: u64, bytes: &[u8]| seen.push((time, bytes.to_vec()));
        order.push(10, b"a");
        order.push(30, b"c");
        order.end_round(&mut take);
        order.push(20, b"b");
        order.push(40, b"e");
        order.push(40, b"f");
        order.end_round(&mut take);
        order.push(35, b"d");
        order.end(&mut take);
        let letters: Vec<u8> = seen.iter().flat_map(|(_, bytes)| bytes.clone()).collect();
        assert_eq!(letters, b"abcdef");
        assert_eq!(seen.iter().map(|(time, _)| *time).collect::<Vec<_>>(), [10, 20, 30, 35, 40, 40]);
    }
}
