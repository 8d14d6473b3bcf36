//! Connections, with a time limit on every wait.

use std::ffi::OsString;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SendFlags, SocketAddrUnix, SocketFlags, SocketType};

use crate::error::{Error, Phase};
use crate::reply::{self, Kind};
use crate::wire::{Command, HEADER_BYTES, message};

/// The longest path, without its NUL, that a socket address holds.
pub(crate) const LONGEST_SOCKET_PATH: usize = 107;

/// A day is as good as for ever, and is not too long for any system call.
const LONGEST_WAIT: Duration = Duration::from_secs(86_400);

/// How long to leave a full backlog alone where the kernel does not wait for us.
const BACKLOG_PAUSE: Duration = Duration::from_millis(2);

/// The moment at which a caller's time-out ends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deadline {
    end: Option<Instant>,
    whole: Duration,
}

impl Deadline {
    pub(crate) fn after(timeout: Duration) -> Self {
        Self { end: Instant::now().checked_add(timeout), whole: timeout }
    }

    /// What is left, never zero: a zero time-out means "wait for ever" to the kernel.
    pub(crate) fn remaining(self, phase: Phase) -> Result<Duration, Error> {
        let Some(end) = self.end else { return Ok(LONGEST_WAIT) };
        match end.checked_duration_since(Instant::now()) {
            Some(left) if !left.is_zero() => Ok(left.clamp(Duration::from_millis(1), LONGEST_WAIT)),
            _ => Err(self.timed_out(phase)),
        }
    }

    pub(crate) fn timed_out(self, phase: Phase) -> Error {
        Error::TimedOut { phase, after: self.whole }
    }
}

/// Where a socket is: its path as we would write it, and, when it was found in another mount namespace, the directory
/// itself, so that no symbolic link of the target's can lead us elsewhere.
#[derive(Debug, Clone)]
pub(crate) struct Socket {
    pub(crate) path: PathBuf,
    pub(crate) directory: Option<Arc<OwnedFd>>,
}

impl Socket {
    pub(crate) fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), directory: None }
    }

    pub(crate) fn connect(&self, deadline: Deadline) -> Result<UnixStream, Error> {
        let failed = |errno: Errno| match errno {
            Errno::CONNREFUSED | Errno::NOENT | Errno::NOTDIR => {
                Error::NotListening { sockets: vec![self.path.clone()] }
            }
            Errno::ACCESS | Errno::PERM => Error::NotPermitted { socket: self.path.clone() },
            other => Error::Connect { socket: self.path.clone(), source: other.into() },
        };
        // Held until connected: the address may go through it.
        let mut directory = self.directory.clone();
        if directory.is_none() && self.path.as_os_str().len() > LONGEST_SOCKET_PATH {
            directory = Some(Arc::new(open_directory(&parent(&self.path)).map_err(failed)?));
        }
        let address = match &directory {
            Some(directory) => SocketAddrUnix::new(through(directory, &self.path)).map_err(failed)?,
            None => SocketAddrUnix::new(&self.path).map_err(failed)?,
        };
        let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)
            .map_err(failed)?;
        loop {
            // A full backlog makes connect wait as long as the send time-out says.
            set_socket_timeout(&socket, Timeout::Send, Some(deadline.remaining(Phase::Connect)?)).map_err(failed)?;
            match rustix::net::connect(&socket, &address) {
                Ok(()) | Err(Errno::ISCONN) => return Ok(UnixStream::from(socket)),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    deadline.remaining(Phase::Connect)?;
                    std::thread::sleep(BACKLOG_PAUSE);
                }
                Err(errno) => return Err(failed(errno)),
            }
        }
    }
}

fn parent(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

fn open_directory(path: &Path) -> Result<OwnedFd, Errno> {
    rustix::fs::open(path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
}

fn through(directory: &OwnedFd, path: &Path) -> OsString {
    let mut through = OsString::from(format!("/proc/self/fd/{}/", directory.as_raw_fd()));
    through.push(path.file_name().unwrap_or_default());
    through
}

/// Whether a runtime can use this path as a socket address.
pub(crate) fn fits(path: &Path) -> bool {
    path.as_os_str().as_bytes().len() <= LONGEST_SOCKET_PATH
}

/// Send one command and read its reply: the payload of a result, or the error that the runtime gave.
pub(crate) fn exchange(
    stream: &UnixStream,
    command: Command,
    payload: &[u8],
    deadline: Deadline,
) -> Result<Vec<u8>, Error> {
    send(stream, &message(command, payload)?, deadline)?;
    let mut header = [0; HEADER_BYTES];
    receive(stream, &mut header, Phase::Reply, deadline)?;
    let header = reply::header(&header)?;
    // At most 65515 bytes: the size is a u16.
    let mut payload = vec![0; header.payload_bytes];
    receive(stream, &mut payload, Phase::Reply, deadline)?;
    match header.kind {
        Kind::Result => Ok(payload),
        Kind::Error => Err(Error::Refused { command: command.name(), error: reply::error(&payload)? }),
    }
}

fn send(stream: &UnixStream, bytes: &[u8], deadline: Deadline) -> Result<(), Error> {
    let phase = Phase::Send;
    let mut sent = 0usize;
    while let Some(rest) = bytes.get(sent..).filter(|rest| !rest.is_empty()) {
        stream.set_write_timeout(Some(deadline.remaining(phase)?)).map_err(|source| Error::Io { phase, source })?;
        // Without NOSIGNAL a peer that closed would end a program that left SIGPIPE at its default.
        match rustix::net::send(stream, rest, SendFlags::NOSIGNAL) {
            Ok(count) => sent = sent.saturating_add(count),
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(Errno::PIPE | Errno::CONNRESET) => {
                return Err(Error::ClosedEarly { phase, received: sent, expected: bytes.len() });
            }
            Err(errno) => return Err(Error::Io { phase, source: errno.into() }),
        }
    }
    Ok(())
}

/// Fill `bytes`, and never read more: what follows a reply is the session's stream.
pub(crate) fn receive(stream: &UnixStream, bytes: &mut [u8], phase: Phase, deadline: Deadline) -> Result<(), Error> {
    let expected = bytes.len();
    let mut received = 0usize;
    while let Some(rest) = bytes.get_mut(received..).filter(|rest| !rest.is_empty()) {
        stream.set_read_timeout(Some(deadline.remaining(phase)?)).map_err(|source| Error::Io { phase, source })?;
        match (&mut &*stream).read(rest) {
            Ok(0) => return Err(Error::ClosedEarly { phase, received, expected }),
            Ok(count) => received = received.saturating_add(count),
            Err(error) => match error.kind() {
                io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {}
                io::ErrorKind::ConnectionReset => return Err(Error::ClosedEarly { phase, received, expected }),
                _ => return Err(Error::Io { phase, source: error }),
            },
        }
    }
    Ok(())
}
