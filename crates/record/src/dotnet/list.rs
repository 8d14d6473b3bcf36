//! The list of what a runtime has compiled: a session whose only purpose is what comes when it ends.

use super::stream::{self, StreamTotals};
use super::{follow, request};
use std::io;
use std::thread;
use std::time::Duration;
use strata_diagnostics::discover::{NotAttachable, find};
use strata_diagnostics::{Endpoint, Error, Session};

/// How long a runtime may take to list what it has; large programs take seconds.
pub(super) const LIST_TIMEOUT: Duration = Duration::from_secs(60);

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

/// Asks for the list; `read` reads its stream to the end.
pub(super) fn ask(
    endpoint: &Endpoint,
    timeout: Duration,
    read: impl FnOnce(Session) -> io::Result<stream::End>,
) -> Result<(), ListError> {
    let session = endpoint.start_session(&request::snapshot(), timeout)?;
    let id = session.id();
    // The list is made when the session is stopped, and it only comes while someone reads.
    thread::scope(|scope| {
        let stopping = scope.spawn(|| endpoint.stop_session(id, LIST_TIMEOUT));
        let read = read(session);
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
    let read = |session| stream::pump(session, &mut bytes, &StreamTotals::default());
    ask(&find(pid)?, follow::ANSWER_TIMEOUT, read)?;
    Ok(bytes)
}
