//! The reverse port: a runtime that we launch connects to us.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::Mode;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

use crate::endpoint::Endpoint;
use crate::error::{Error, Phase};
use crate::ipc::{Deadline, fits, receive};
use crate::reply::{self, ADVERTISE_BYTES, Advertise, Cookie};

/// The backlog of the runtime's own socket.
const BACKLOG: i32 = 255;

/// A runtime says who it is at once; whoever does not may not keep the others waiting for longer than this.
const ADVERTISE_TIMEOUT: Duration = Duration::from_millis(500);

/// While several wait on one port, each looks this often whether another took its connection in.
const SLICE: Duration = Duration::from_millis(50);

/// More runtimes than this that wait for a command are not launched by one recording.
const MOST_WAITING: usize = 1024;

/// Why there is no port at a path.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PortError {
    /// Runtimes cannot connect to a path longer than a socket address holds.
    #[error("the path has {length} bytes; a socket address holds at most {most}", most = crate::ipc::LONGEST_SOCKET_PATH)]
    PathTooLong {
        /// Its length in bytes.
        length: usize,
    },
    /// `,` and `;` separate things in the environment variable that tells a runtime the path.
    #[error("the path holds {character:?}, which a runtime would take for a separator")]
    Separator {
        /// The character.
        character: char,
    },
    /// The folder for the socket could not be made.
    #[error("cannot make the folder {}: {source}", .folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The socket could not be made.
    #[error("cannot listen on {}: {source}", .path.display())]
    Bind {
        /// The socket's path.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
}

/// What a runtime does until someone answers at the port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Startup {
    /// It waits until [`Endpoint::resume`], for ever if nobody is there any more.
    Suspended,
    /// It starts, and connects beside.
    Running,
}

/// A socket to which runtimes connect, made before they are launched.
///
/// Launching a program so that nothing is missed: bind a port; start the program with [`environment`](Self::environment);
/// [`accept`](Self::accept) it; start a session on [`Advertised::endpoint`]; [`Endpoint::resume`] it, even when starting the
/// session failed, or the program hangs. A runtime takes one command per connection and then connects again; the endpoint
/// waits for that by itself.
///
/// The socket is removed when the port and all endpoints over it are dropped, and so is its folder if the port made it.
#[derive(Debug)]
pub struct ReversePort {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    listener: UnixListener,
    path: PathBuf,
    /// The folder, if it is ours to remove.
    folder: Option<PathBuf>,
    /// Connections taken in by someone who waited for another runtime's. At most one per runtime.
    waiting: Mutex<Vec<Call>>,
    /// Runtimes that were handed out; those that someone still holds are not handed out again.
    handed_out: Mutex<Vec<(Cookie, Weak<Caller>)>>,
    rejected: AtomicU64,
}

/// One connection of a runtime, which waits for a command.
#[derive(Debug)]
struct Call {
    advertise: Advertise,
    /// Who connected, in our pid namespace.
    pid: u32,
    stream: UnixStream,
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.remove_files();
    }
}

impl Shared {
    fn remove_files(&self) {
        // Nothing can be done about a failure, and nothing depends on it.
        let _ = fs::remove_file(&self.path);
        if let Some(folder) = &self.folder {
            let _ = fs::remove_dir(folder);
        }
    }
}

impl ReversePort {
    /// Listen at `path`: the socket has mode 0600, and its folder, if it is not there yet, is made with mode 0700.
    ///
    /// # Errors
    /// See [`PortError`]; an existing file at `path` is left alone and is an error.
    pub fn bind(path: impl AsRef<Path>) -> Result<Self, PortError> {
        let path = std::path::absolute(path.as_ref())
            .map_err(|source| PortError::Bind { path: path.as_ref().to_owned(), source })?;
        check(&path)?;
        let folder = path.parent().filter(|folder| !folder.exists()).map(Path::to_owned);
        if let Some(folder) = &folder {
            let made = fs::DirBuilder::new().mode(0o700).create(folder);
            made.map_err(|source| PortError::Folder { folder: folder.clone(), source })?;
        }
        Self::bind_in(path, folder)
    }

    /// `folder` is ours to remove.
    fn bind_in(path: PathBuf, folder: Option<PathBuf>) -> Result<Self, PortError> {
        let listener = match check(&path)
            .and_then(|()| listen(&path).map_err(|source| PortError::Bind { path: path.clone(), source }))
        {
            Ok(listener) => listener,
            Err(error) => {
                if let Some(folder) = &folder {
                    let _ = fs::remove_dir(folder);
                }
                return Err(error);
            }
        };
        let (waiting, handed_out, rejected) = (Mutex::default(), Mutex::default(), AtomicU64::new(0));
        Ok(Self { shared: Arc::new(Shared { listener, path, folder, waiting, handed_out, rejected }) })
    }

    /// Listen in a new folder of our own below the temporary directory.
    ///
    /// # Errors
    /// See [`PortError`].
    pub fn bind_temporary() -> Result<Self, PortError> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let base = std::env::temp_dir();
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let folder = base.join(format!("strata-{}-{number}", std::process::id()));
            match fs::DirBuilder::new().mode(0o700).create(&folder) {
                // Left over from a process with our pid.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(source) => return Err(PortError::Folder { folder, source }),
                Ok(()) => return Self::bind_in(folder.join("port"), Some(folder)),
            }
        }
    }

    /// Where it listens: an absolute path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.shared.path
    }

    /// The environment variable that makes a runtime connect here. All that the program starts inherit it.
    #[must_use]
    pub fn environment(&self, startup: Startup) -> (&'static str, std::ffi::OsString) {
        let mut value = self.shared.path.clone().into_os_string();
        value.push(match startup {
            Startup::Suspended => ",suspend",
            Startup::Running => ",nosuspend",
        });
        ("DOTNET_DiagnosticPorts", value)
    }

    /// Removes the socket and its folder now, while others still hold endpoints over the port: no runtime can connect any
    /// more, those that have stay connected.
    pub fn close(&self) {
        self.shared.remove_files();
    }

    /// Connections that were closed because no runtime was at the other end: wrong first bytes, or none in time.
    #[must_use]
    pub fn rejected(&self) -> u64 {
        self.shared.rejected.load(Ordering::Relaxed)
    }

    /// Wait for the next runtime that waits for a command; `None` when none came in time. As long as anyone holds what was
    /// handed out, or an [`Endpoint`] of it, the runtime's next connections are kept for that and it is not handed out again.
    ///
    /// # Errors
    /// When the system refuses to accept connections.
    pub fn accept(&self, timeout: Duration) -> Result<Option<Advertised>, Error> {
        let not_held = |cookie| !self.shared.is_held(cookie);
        let Call { advertise, pid, stream } = match self.shared.wait_for(not_held, Deadline::after(timeout)) {
            Ok(taken) => taken,
            Err(Error::TimedOut { .. }) => return Ok(None),
            Err(other) => return Err(other),
        };
        let caller = Arc::new(Caller {
            shared: Arc::clone(&self.shared),
            cookie: advertise.cookie,
            first: Mutex::new(Some(stream)),
        });
        self.shared.hand_out(&caller);
        Ok(Some(Advertised { cookie: advertise.cookie, pid, namespace_pid: advertise.namespace_pid, caller }))
    }
}

/// A runtime that connected and waits for a command.
#[derive(Debug)]
pub struct Advertised {
    /// The same on each of its connections, and as in [`crate::ProcessInfo`].
    pub cookie: Cookie,
    /// The process id in our pid namespace, as the kernel tells it of the connection's other end.
    pub pid: u32,
    /// The process id in the target's own pid namespace, as the runtime says it.
    pub namespace_pid: u64,
    caller: Arc<Caller>,
}

impl Advertised {
    /// The endpoint for commands to it. The first goes over the connection at hand, each later one over the runtime's next.
    #[must_use]
    pub fn endpoint(&self) -> Endpoint {
        Endpoint::of_caller(self.pid, self.namespace_pid, Arc::clone(&self.caller))
    }
}

/// The connections of one runtime to our port.
#[derive(Debug)]
pub(crate) struct Caller {
    shared: Arc<Shared>,
    cookie: Cookie,
    first: Mutex<Option<UnixStream>>,
}

impl Drop for Caller {
    fn drop(&mut self) {
        // A runtime that finds its connection closed makes a new one, and it is handed out again then.
        let mut waiting = self.shared.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.retain(|call| call.advertise.cookie != self.cookie);
    }
}

impl Caller {
    pub(crate) fn next_connection(&self, deadline: Deadline) -> Result<UnixStream, Error> {
        let first = self.first.lock().unwrap_or_else(PoisonError::into_inner).take();
        match first {
            Some(stream) => Ok(stream),
            None => Ok(self.shared.wait_for(|cookie| cookie == self.cookie, deadline)?.stream),
        }
    }
}

impl Shared {
    fn is_held(&self, cookie: Cookie) -> bool {
        let handed_out = self.handed_out.lock().unwrap_or_else(PoisonError::into_inner);
        handed_out.iter().any(|(held, caller)| *held == cookie && caller.strong_count() > 0)
    }

    fn hand_out(&self, caller: &Arc<Caller>) {
        let mut handed_out = self.handed_out.lock().unwrap_or_else(PoisonError::into_inner);
        handed_out.retain(|(_, caller)| caller.strong_count() > 0);
        handed_out.push((caller.cookie, Arc::downgrade(caller)));
    }

    fn wait_for(&self, wanted: impl Fn(Cookie) -> bool, deadline: Deadline) -> Result<Call, Error> {
        loop {
            if let Some(taken) = self.take_waiting(&wanted) {
                return Ok(taken);
            }
            let left = deadline.remaining(Phase::Connect)?;
            if self.readable(left.min(SLICE))? {
                self.take_in()?;
            }
        }
    }

    fn take_waiting(&self, wanted: &impl Fn(Cookie) -> bool) -> Option<Call> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let index = waiting.iter().position(|call| wanted(call.advertise.cookie))?;
        Some(waiting.remove(index))
    }

    fn readable(&self, wait: Duration) -> Result<bool, Error> {
        let wait = Timespec { tv_sec: wait.as_secs().cast_signed(), tv_nsec: wait.subsec_nanos().into() };
        let mut polled = [PollFd::new(&self.listener, PollFlags::IN)];
        match rustix::event::poll(&mut polled, Some(&wait)) {
            Ok(count) => Ok(count > 0),
            Err(Errno::INTR) => Ok(false),
            Err(errno) => Err(Error::Io { phase: Phase::Connect, source: errno.into() }),
        }
    }

    /// Accept one connection and put it where whoever waits for it looks.
    fn take_in(&self) -> Result<(), Error> {
        let stream = match self.listener.accept() {
            Ok((stream, _)) => stream,
            // Another of us was faster, or the peer went away again.
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted | io::ErrorKind::ConnectionAborted
                ) =>
            {
                return Ok(());
            }
            Err(source) => return Err(Error::Io { phase: Phase::Connect, source }),
        };
        let mut record = [0; ADVERTISE_BYTES];
        let received = receive(&stream, &mut record, Phase::Advertise, Deadline::after(ADVERTISE_TIMEOUT));
        match received.and_then(|()| Ok((reply::advertise(&record)?, peer(&stream)?))) {
            Ok((advertise, pid)) => {
                let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
                // A runtime has one connection at a time: a second one means that it gave up the first.
                waiting.retain(|earlier| earlier.advertise.cookie != advertise.cookie);
                if waiting.len() >= MOST_WAITING {
                    waiting.remove(0);
                }
                waiting.push(Call { advertise, pid, stream });
            }
            Err(_) => {
                self.rejected.fetch_add(1, Ordering::Relaxed);
            }
        }
        Ok(())
    }
}

/// The process that connected, in our pid namespace.
fn peer(stream: &UnixStream) -> Result<u32, Error> {
    let credentials = rustix::net::sockopt::socket_peercred(stream)
        .map_err(|errno| Error::Io { phase: Phase::Advertise, source: errno.into() })?;
    Ok(credentials.pid.as_raw_nonzero().get().unsigned_abs())
}

fn check(path: &Path) -> Result<(), PortError> {
    if !fits(path) {
        return Err(PortError::PathTooLong { length: path.as_os_str().len() });
    }
    match path.as_os_str().as_bytes().iter().find(|byte| matches!(byte, b',' | b';')) {
        Some(&byte) => Err(PortError::Separator { character: byte.into() }),
        None => Ok(()),
    }
}

fn listen(path: &Path) -> io::Result<UnixListener> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    // Before bind, so that the file never exists with a wider mode.
    rustix::fs::fchmod(&socket, Mode::RUSR | Mode::WUSR)?;
    rustix::net::bind(&socket, &SocketAddrUnix::new(path)?)?;
    let listening = fs::set_permissions(path, fs::Permissions::from_mode(0o600))
        .and_then(|()| rustix::net::listen(&socket, BACKLOG).map_err(io::Error::from));
    if let Err(error) = listening {
        let _ = fs::remove_file(path);
        return Err(error);
    }
    Ok(UnixListener::from(socket))
}
