//! The list of what a runtime has compiled: a session whose only purpose is what comes when it ends.

use super::stream::{self, StreamTotals};
use super::{follow, request};
use std::io::{self, Read};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use strata_diagnostics::discover::{NotAttachable, find};
use strata_diagnostics::{Endpoint, Error, Session};

/// How long a runtime may take to list what it has; large programs take seconds.
pub(super) const LIST_TIMEOUT: Duration = Duration::from_secs(60);

/// How long the runtime's silence may last once it could not be told to make the list.
const SILENCE: Duration = Duration::from_millis(500);

/// A list longer than this is not kept in memory: large programs have some ten mebibytes.
const MAX_LIST: u64 = 1 << 30;

/// Why there is no list of methods, or not a whole one.
#[derive(Debug, thiserror::Error)]
pub enum ListError {
    /// The process has no runtime that answers.
    #[error(transparent)]
    NotAttachable(#[from] NotAttachable),
    /// The runtime refused, or did not answer.
    #[error(transparent)]
    Runtime(#[from] Error),
    /// The stream broke off.
    #[error("the list of methods broke off: {0}")]
    Broken(#[from] io::Error),
    /// The stream ended before the list did.
    #[error("the list of methods was cut")]
    Cut,
}

/// The stream of a list: it ends in time, and when the list will not come.
pub(super) struct Listing<'a> {
    session: Session,
    deadline: Instant,
    stop_failed: &'a AtomicBool,
}

impl Read for Listing<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let left = self.deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            self.session.set_timeout(Some(left.min(SILENCE)))?;
            match self.session.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::TimedOut => {
                    if self.stop_failed.load(Ordering::Relaxed) {
                        return Ok(0);
                    }
                }
                other => return other,
            }
        }
    }
}

/// Asks for the list; `read` reads its stream to the end, which comes within [`LIST_TIMEOUT`].
pub(super) fn ask(
    endpoint: &Endpoint,
    timeout: Duration,
    read: impl FnOnce(Listing<'_>) -> io::Result<stream::End>,
) -> Result<(), ListError> {
    let session = endpoint.start_session(&request::snapshot(), timeout)?;
    let id = session.id();
    let stop_failed = AtomicBool::new(false);
    let listing = Listing { session, deadline: Instant::now() + LIST_TIMEOUT, stop_failed: &stop_failed };
    // The list is made when the session is stopped, and it only comes while someone reads.
    thread::scope(|scope| {
        let stopping = scope.spawn(|| {
            let stopped = endpoint.stop_session(id, LIST_TIMEOUT);
            stop_failed.store(stopped.is_err(), Ordering::Relaxed);
            stopped
        });
        let read = read(listing);
        let stopped = stopping.join().unwrap_or(Ok(()));
        match read? {
            // The stream says that it is whole: then it is, whatever became of the answer.
            stream::End::Orderly => Ok(()),
            stream::End::Cut => stopped.map_err(ListError::from).and(Err(ListError::Cut)),
        }
    })
}

/// The list of a process, as an event stream.
pub(crate) fn list_methods(pid: u32) -> Result<Vec<u8>, ListError> {
    let mut bytes = Vec::new();
    let read = |listing: Listing<'_>| stream::pump(listing.take(MAX_LIST), &mut bytes, &StreamTotals::default());
    ask(&find(pid)?, follow::ANSWER_TIMEOUT, read)?;
    Ok(bytes)
}
