//! How far reading a large file is, on standard error: one line that changes at a terminal, plain lines elsewhere.

use crate::say::say;
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

/// How often the line at a terminal changes.
const LIVE_EVERY: Duration = Duration::from_millis(250);

/// How often a plain line is written.
const PLAIN_EVERY: Duration = Duration::from_secs(10);

/// Tells how far reading is; says nothing of what is done soon.
pub(crate) struct ReadProgress {
    /// Bytes there are, where that is known.
    total: Option<u64>,
    live: bool,
    shown: bool,
    last: Instant,
}

impl ReadProgress {
    pub(crate) fn new(total: Option<u64>) -> Self {
        Self { total, live: io::stderr().is_terminal(), shown: false, last: Instant::now() }
    }

    /// So many bytes are read.
    pub(crate) fn at(&mut self, bytes: u64) {
        let every = if self.live { LIVE_EVERY } else { PLAIN_EVERY };
        if self.last.elapsed() < every {
            return;
        }
        self.last = Instant::now();
        let mebibytes = |bytes: u64| bytes >> 20;
        let of = self.total.map_or_else(String::new, |total| format!(" of {}", mebibytes(total)));
        self.tell(&format!("reading: {}{of} MiB", mebibytes(bytes)));
    }

    /// All is read, and now named.
    pub(crate) fn naming(&mut self) {
        if self.shown {
            self.tell("naming code");
        }
    }

    fn tell(&mut self, line: &str) {
        if !self.live {
            self.shown = true;
            return say(line);
        }
        self.clear();
        self.shown = true;
        let _ = io::stderr().write_all(line.as_bytes());
    }

    fn clear(&self) {
        if self.shown && self.live {
            // Back to the line's start, and everything on it away.
            let _ = io::stderr().write_all(b"\r\x1b[2K");
        }
    }
}

impl Drop for ReadProgress {
    fn drop(&mut self) {
        self.clear();
    }
}
