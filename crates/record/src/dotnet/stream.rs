//! From a session's socket to where it is kept: a file of the recording, or memory.

use std::io::{self, Read, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use strata_nettrace::{Decoder, Item};

/// How much came through all streams so far.
#[derive(Debug, Default)]
pub(crate) struct StreamTotals {
    pub(crate) bytes: AtomicU64,
    pub(crate) events: AtomicU64,
    pub(crate) dropped: AtomicU64,
}

/// How a stream ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// It said that it is complete.
    Orderly,
    /// It stopped before, or could not be understood.
    Cut,
}

/// Copies a stream until it ends, counting what passes.
///
/// The reader must never wait for anyone: when its socket fills, the runtime drops events.
pub(super) fn pump(mut stream: impl Read, mut into: impl Write, totals: &StreamTotals) -> io::Result<End> {
    let mut buffer = vec![0; 256 << 10];
    let mut decoder = Some(Decoder::new());
    loop {
        let length = match stream.read(&mut buffer) {
            Ok(0) => {
                let complete = decoder.is_some_and(|decoder| decoder.is_complete());
                return Ok(if complete { End::Orderly } else { End::Cut });
            }
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let bytes = &buffer[..length];
        into.write_all(bytes)?;
        totals.bytes.fetch_add(length as u64, Ordering::Relaxed);
        let mut events = 0;
        let mut dropped = 0;
        let mut count = |item: Item<'_>| match item {
            Item::Event(_) => events += 1,
            Item::Gap(gap) => dropped += u64::from(gap.lost.unwrap_or(1)),
            _ => {}
        };
        // What cannot be decoded is kept all the same: it is only not counted.
        if decoder.as_mut().is_some_and(|decoder| decoder.feed(bytes, &mut count).is_err()) {
            decoder = None;
        }
        totals.events.fetch_add(events, Ordering::Relaxed);
        totals.dropped.fetch_add(dropped, Ordering::Relaxed);
    }
}
