//! A runtime that takes commands.

use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::error::{Error, RuntimeError};
use crate::ipc::{Deadline, Socket, exchange};
use crate::port::Caller;
use crate::reply::{self, InfoVersion, ProcessInfo};
use crate::request::SessionRequest;
use crate::session::{self, Session, SessionId};
use crate::wire::Command;

/// A runtime that takes commands, one on each connection.
///
/// It is reached either by connecting to its socket or over the connections that it makes to a reverse port; the commands
/// are the same. While a runtime stops a session (which makes its rundown) it answers nothing else.
#[derive(Debug, Clone)]
pub struct Endpoint {
    process: Option<u32>,
    namespace_pid: Option<u32>,
    route: Route,
}

#[derive(Debug, Clone)]
enum Route {
    Sockets(Vec<Socket>),
    Caller(Arc<Caller>),
}

impl Endpoint {
    /// The runtime that listens on the socket at this path, such as one named by the user. The path may be longer than a
    /// socket address holds.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { process: None, namespace_pid: None, route: Route::Sockets(vec![Socket::at(path)]) }
    }

    pub(crate) fn of_process(pid: u32, namespace_pid: u32, sockets: Vec<Socket>) -> Self {
        Self { process: Some(pid), namespace_pid: Some(namespace_pid), route: Route::Sockets(sockets) }
    }

    pub(crate) fn of_caller(pid: u32, namespace_pid: u64, caller: Arc<Caller>) -> Self {
        Self { process: Some(pid), namespace_pid: u32::try_from(namespace_pid).ok(), route: Route::Caller(caller) }
    }

    /// The process id in our pid namespace, when the endpoint was found by it or the runtime called us.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        self.process
    }

    /// The process id in the target's own pid namespace, where known.
    #[must_use]
    pub fn namespace_pid(&self) -> Option<u32> {
        self.namespace_pid
    }

    /// The sockets that are tried, in that order; none for a runtime that calls us.
    pub fn sockets(&self) -> impl Iterator<Item = &Path> {
        let sockets: &[Socket] = match &self.route {
            Route::Sockets(sockets) => sockets,
            Route::Caller(_) => &[],
        };
        sockets.iter().map(|socket| socket.path.as_path())
    }

    pub(crate) fn connection(&self, deadline: Deadline) -> Result<UnixStream, Error> {
        let sockets = match &self.route {
            Route::Caller(caller) => return caller.next_connection(deadline),
            Route::Sockets(sockets) => sockets,
        };
        for socket in sockets {
            match socket.connect(deadline) {
                // Left behind by a process that was killed: the next one may be live.
                Err(Error::NotListening { .. }) => {}
                other => return other,
            }
        }
        Err(Error::NotListening { sockets: sockets.iter().map(|socket| socket.path.clone()).collect() })
    }

    pub(crate) fn command(&self, command: Command, payload: &[u8], deadline: Deadline) -> Result<Vec<u8>, Error> {
        exchange(&self.connection(deadline)?, command, payload, deadline)
    }

    /// Ask the process who it is, by the newest query that it knows.
    ///
    /// # Errors
    /// [`Error::NoProcessQuery`] from .NET Core 3.x, for which `/proc` has to do; else see [`Error`].
    pub fn process_info(&self, timeout: Duration) -> Result<ProcessInfo, Error> {
        let deadline = Deadline::after(timeout);
        for (command, version) in [
            (Command::ProcessInfo3, InfoVersion::Three),
            (Command::ProcessInfo2, InfoVersion::Two),
            (Command::ProcessInfo, InfoVersion::One),
        ] {
            match self.command(command, &[], deadline) {
                Ok(payload) => return Ok(reply::process_info(version, &payload)?),
                Err(Error::Refused { error: RuntimeError::UnknownCommand, .. }) => {}
                Err(other) => return Err(other),
            }
        }
        Err(Error::NoProcessQuery)
    }

    /// Start a session by the oldest command that can say all of the request; where the runtime does not know that command,
    /// by the next older one. What got lost then is in [`Session::granted`].
    ///
    /// Read the session without delay: when its reader is slow the runtime drops events.
    ///
    /// # Errors
    /// [`Error::Refused`] with [`RuntimeError::Failed`] when 64 sessions are active; else see [`Error`].
    pub fn start_session(&self, request: &SessionRequest, timeout: Duration) -> Result<Session, Error> {
        session::start(self, request, Deadline::after(timeout))
    }

    /// End a session on a connection of its own.
    ///
    /// The runtime makes the session's rundown before it answers, and it can only do so while someone reads the session:
    /// **keep reading it, on another thread, until it ends**. Its end is completion too, should this answer be lost.
    /// Seconds are normal for large programs; give a generous time-out. Ending a session that is gone is no error.
    ///
    /// # Errors
    /// [`Error::NotListening`] when the process is gone, which also ended the session; else see [`Error`].
    pub fn stop_session(&self, id: SessionId, timeout: Duration) -> Result<(), Error> {
        let deadline = Deadline::after(timeout);
        let payload = self.command(Command::StopTracing, &id.0.to_le_bytes(), deadline)?;
        match reply::session_id(&payload)? {
            answered if answered == id.0 => Ok(()),
            answered => Err(Error::OtherSession { asked: id.0, answered }),
        }
    }

    /// Let a runtime start that was launched suspended. Without effect on one that runs.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn resume(&self, timeout: Duration) -> Result<(), Error> {
        self.command(Command::ResumeRuntime, &[], Deadline::after(timeout)).map(drop)
    }
}
