//! Sessions: which command starts them, what was granted, and their stream.

use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use crate::endpoint::Endpoint;
use crate::error::{Error, RuntimeError};
use crate::ipc::{Deadline, exchange};
use crate::reply;
use crate::request::{SessionRequest, StackWalk};
use crate::wire::Command;

/// The runtime's name for a session: opaque, unique among the live ones of a process, possibly used again later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SessionId(pub u64);

/// The commands that start a session, oldest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CollectCommand {
    /// `CollectTracing` (3.0): always with the default rundown and stack walks.
    One,
    /// `CollectTracing2` (3.0): rundown or none.
    Two,
    /// `CollectTracing3` (9): stack walks or none.
    Three,
    /// `CollectTracing4` (9): a chosen rundown keyword.
    Four,
    /// `CollectTracing5` (10): an event filter.
    Five,
}

impl CollectCommand {
    /// The command as sent.
    #[must_use]
    pub fn command(self) -> Command {
        match self {
            Self::One => Command::CollectTracing,
            Self::Two => Command::CollectTracing2,
            Self::Three => Command::CollectTracing3,
            Self::Four => Command::CollectTracing4,
            Self::Five => Command::CollectTracing5,
        }
    }

    /// The oldest command up to `newest` that says as much of the request as `newest` can.
    ///
    /// The oldest, because it costs one connection less on an old runtime and is the one most used on a new one.
    #[must_use]
    pub fn for_request(request: &SessionRequest, newest: Self) -> Self {
        let wanted = if request.has_event_filter() && newest >= Self::Five {
            Self::Five
        } else if request.rundown_needs_keywords() && newest >= Self::Four {
            Self::Four
        } else if request.stack_walk == StackWalk::Off && newest >= Self::Three {
            Self::Three
        } else {
            Self::Two
        };
        wanted.min(newest)
    }

    fn older(self) -> Option<Self> {
        match self {
            Self::One => None,
            Self::Two => Some(Self::One),
            Self::Three => Some(Self::Two),
            Self::Four => Some(Self::Three),
            Self::Five => Some(Self::Four),
        }
    }
}

/// The rundown that a session ends with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum GrantedRundown {
    /// None.
    None,
    /// What the runtime lists by default.
    RuntimeDefault,
    /// What these rundown keywords select.
    Keywords(u64),
}

/// Whether the runtime lets only the wanted events pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EventFiltering {
    /// All events were wanted.
    NotAsked,
    /// It does.
    Applied,
    /// It cannot: unwanted events come as well.
    Lost,
}

/// What a runtime granted of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Granted {
    /// The command that it took.
    pub command: CollectCommand,
    /// Whether it walks stacks for this session. Asked to be off, they are on before 9.
    pub stack_walk: StackWalk,
    /// The rundown that will be made.
    pub rundown: GrantedRundown,
    /// What became of the event filters.
    pub event_filter: EventFiltering,
}

impl Granted {
    /// What a runtime that takes `command` does for this request.
    #[must_use]
    pub fn by(command: CollectCommand, request: &SessionRequest) -> Self {
        Self {
            command,
            stack_walk: if command >= CollectCommand::Three { request.stack_walk } else { StackWalk::On },
            rundown: match command {
                CollectCommand::One => GrantedRundown::RuntimeDefault,
                CollectCommand::Two | CollectCommand::Three if request.rundown_wanted() => {
                    GrantedRundown::RuntimeDefault
                }
                CollectCommand::Two | CollectCommand::Three => GrantedRundown::None,
                CollectCommand::Four | CollectCommand::Five => match request.rundown_keywords() {
                    0 => GrantedRundown::None,
                    keywords => GrantedRundown::Keywords(keywords),
                },
            },
            event_filter: match (request.has_event_filter(), command) {
                (false, _) => EventFiltering::NotAsked,
                (true, CollectCommand::Five) => EventFiltering::Applied,
                (true, _) => EventFiltering::Lost,
            },
        }
    }
}

pub(crate) fn start(endpoint: &Endpoint, request: &SessionRequest, deadline: Deadline) -> Result<Session, Error> {
    let mut collect = CollectCommand::for_request(request, CollectCommand::Five);
    loop {
        let payload = request.payload(collect)?;
        // After an error reply the runtime closes the connection: each try has its own.
        let stream = endpoint.connection(deadline)?;
        match exchange(&stream, collect.command(), &payload, deadline) {
            Ok(reply) => {
                let id = SessionId(reply::session_id(&reply)?);
                let granted = Granted::by(collect, request);
                return Session::new(id, granted, stream);
            }
            Err(error @ Error::Refused { error: RuntimeError::UnknownCommand, .. }) => match collect.older() {
                Some(newest) => collect = CollectCommand::for_request(request, newest),
                None => return Err(error),
            },
            Err(other) => return Err(other),
        }
    }
}

/// A live session: its id, what was granted, and its stream of nettrace bytes.
///
/// Reading ends (0 bytes) when the session was stopped, the process exited or was killed. Dropping it closes the connection;
/// the runtime then ends the session by itself at its next failing write, making a rundown that nobody reads: prefer
/// [`Endpoint::stop_session`].
#[derive(Debug)]
pub struct Session {
    id: SessionId,
    granted: Granted,
    stream: UnixStream,
}

impl Session {
    fn new(id: SessionId, granted: Granted, stream: UnixStream) -> Result<Self, Error> {
        let session = Self { id, granted, stream };
        session.set_timeout(None).map_err(|source| Error::Io { phase: crate::error::Phase::Reply, source })?;
        Ok(session)
    }

    /// The runtime's name for it.
    #[must_use]
    pub fn id(&self) -> SessionId {
        self.id
    }

    /// What the runtime granted.
    #[must_use]
    pub fn granted(&self) -> Granted {
        self.granted
    }

    /// How long one read may wait; `None`, as at the start, is without limit. A read that waited so long fails with
    /// [`io::ErrorKind::TimedOut`]; the session goes on and can be read again. A session of an idle program is silent for
    /// any length of time: silence is no error.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn set_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        // The kernel takes zero for "without limit".
        self.stream.set_read_timeout(timeout.map(|timeout| timeout.max(Duration::from_millis(1))))
    }
}

impl Read for Session {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        (&*self).read(buffer)
    }
}

impl Read for &Session {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match (&self.stream).read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Err(io::ErrorKind::TimedOut.into()),
            // A killed process whose socket had unread bytes.
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => Ok(0),
            other => other,
        }
    }
}

impl AsFd for Session {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}
