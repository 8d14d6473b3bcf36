//! Runtime events of the .NET processes in a recording.
//!
//! Each process is followed by threads of its own: a stream must be read without waiting for anything, and a runtime may
//! take its time to answer. What they learn comes back as [`News`].

mod request;
mod stream;

use crate::control::Control;
use crate::target::proc;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use strata_diagnostics::discover::{NotAttachable, find};
use strata_diagnostics::{Advertised, Endpoint, Error, ReversePort, Session, SessionId, Startup};
use strata_recording::{Recording, Stream, StreamKind};

pub(crate) use stream::StreamTotals;

/// How long a runtime may take to answer a command that needs no work.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a runtime may take to list what it has; large programs take seconds.
const LIST_TIMEOUT: Duration = Duration::from_secs(60);

/// How long a process that loads the runtime may take until its socket is there.
const STARTUP_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a launched process that loads the runtime may take until it calls our port.
const CALL_TIMEOUT: Duration = Duration::from_secs(3);

/// Something learnt of a .NET process.
#[derive(Debug)]
pub(crate) enum News {
    /// Its runtime said its version.
    Version { pid: u32, version: String },
    /// A stream of it is being written.
    Stream { pid: u32, stream: Stream },
    /// Its live session runs.
    Live { pid: u32, session: SessionId },
    /// Its live stream ended.
    Ended { pid: u32 },
    /// It has no .NET runtime: there is nothing to ask.
    NotDotnet { pid: u32, executable: Option<PathBuf> },
    /// Something went wrong; names of this process may be missing.
    Problem { pid: u32, problem: String },
}

/// Follows the .NET processes of one recording.
pub(crate) struct Runtimes {
    shared: Arc<Shared>,
    news: Receiver<News>,
    sessions: BTreeMap<u32, Option<SessionId>>,
    /// Processes of which nothing came back yet.
    unanswered: BTreeSet<u32>,
    /// Where launched runtimes call, if any were launched.
    port: Option<Arc<ReversePort>>,
}

impl Drop for Runtimes {
    fn drop(&mut self) {
        self.shared.finished.store(true, Ordering::SeqCst);
        if let Some(port) = &self.port {
            // The thread that waits on the port may outlive us, and the port's file with it.
            port.close();
        }
    }
}

/// What the following threads share.
struct Shared {
    recording: Recording,
    news: Sender<News>,
    totals: StreamTotals,
    finished: AtomicBool,
    /// Processes whose runtime called our port.
    called: Mutex<BTreeSet<u32>>,
    control: Control,
}

impl Shared {
    fn has_called(&self, pid: u32) -> bool {
        self.called.lock().unwrap_or_else(PoisonError::into_inner).contains(&pid)
    }

    fn tell(&self, news: News) {
        // No one listens any more once the recording is finished.
        let _ = self.news.send(news);
        self.control.wake();
    }

    fn problem(&self, pid: u32, problem: impl std::fmt::Display) {
        self.tell(News::Problem { pid, problem: problem.to_string() });
    }
}

impl Runtimes {
    pub(crate) fn new(recording: Recording, control: Control) -> Self {
        let (tell, news) = mpsc::channel();
        let shared = Shared {
            recording,
            news: tell,
            totals: StreamTotals::default(),
            finished: AtomicBool::new(false),
            called: Mutex::default(),
            control,
        };
        Self { shared: Arc::new(shared), news, sessions: BTreeMap::new(), unanswered: BTreeSet::new(), port: None }
    }

    /// Opens a port that launched runtimes connect to, and waits on it; returns the environment variable that tells them.
    pub(crate) fn listen(&mut self) -> Result<(&'static str, std::ffi::OsString), String> {
        let port = Arc::new(ReversePort::bind_temporary().map_err(|error| error.to_string())?);
        // Not suspended: a runtime that starts when we are gone, however we went, must not wait for us.
        let environment = port.environment(Startup::Running);
        let (shared, listening) = (Arc::clone(&self.shared), Arc::clone(&port));
        spawn("port", move || accept_runtimes(&listening, &shared)).map_err(|error| error.to_string())?;
        self.port = Some(port);
        Ok(environment)
    }

    /// Follows a process that runs already. Asked again for the same process it does nothing.
    pub(crate) fn attach(&mut self, pid: u32) {
        if self.sessions.contains_key(&pid) {
            return;
        }
        self.sessions.insert(pid, None);
        self.unanswered.insert(pid);
        let shared = Arc::clone(&self.shared);
        let may_call = self.port.is_some();
        let follow = move || {
            if !(may_call && calls_us(pid, &shared)) {
                attach(pid, &shared);
            }
        };
        if let Err(error) = spawn("attach", follow) {
            self.shared.problem(pid, error);
        }
    }

    /// What was learnt since the last call.
    pub(crate) fn news(&mut self) -> Vec<News> {
        let news: Vec<News> = self.news.try_iter().collect();
        for item in &news {
            match item {
                News::Live { pid, session } => {
                    self.sessions.insert(*pid, Some(*session));
                    self.unanswered.remove(pid);
                }
                News::Ended { pid } => {
                    self.sessions.insert(*pid, None);
                    self.unanswered.remove(pid);
                }
                News::Problem { pid, .. } | News::NotDotnet { pid, .. } => {
                    self.unanswered.remove(pid);
                }
                News::Version { .. } | News::Stream { .. } => {}
            }
        }
        news
    }

    /// Asks all runtimes to end their streams; the answer is [`News::Ended`] of each.
    pub(crate) fn stop(&self) {
        self.shared.finished.store(true, Ordering::SeqCst);
        for (&pid, session) in self.sessions.iter() {
            let Some(session) = *session else { continue };
            let shared = Arc::clone(&self.shared);
            let stop = move || {
                if let Err(error) = stop_session(pid, session) {
                    shared.problem(pid, format_args!("its event stream did not end in an orderly way: {error}"));
                }
            };
            if let Err(error) = spawn("stop", stop) {
                self.shared.problem(pid, error);
            }
        }
    }

    /// Processes whose live stream has not ended.
    pub(crate) fn live(&self) -> impl Iterator<Item = u32> + '_ {
        self.sessions.iter().filter(|(_, session)| session.is_some()).map(|(pid, _)| *pid)
    }

    /// Processes whose runtime was asked and has not answered, each with the reason as far as it can be seen.
    pub(crate) fn unanswered(&self) -> Vec<(u32, String)> {
        let why = |pid| match () {
            () if proc::has_ended(pid) => "it ended before its runtime could be asked for names".to_owned(),
            () if proc::is_stopped(pid) => format!("its runtime did not answer: {}", stopped(pid)),
            () => "its runtime had not answered when the recording ended".to_owned(),
        };
        self.unanswered.iter().map(|&pid| (pid, why(pid))).collect()
    }

    pub(crate) fn totals(&self) -> &StreamTotals {
        &self.shared.totals
    }
}

fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> io::Result<()> {
    thread::Builder::new().name(format!("strata-{name}")).spawn(body).map(drop)
}

/// Whether the runtime of a launched process calls our port. Those before 5 know no ports, and a program may have been
/// started with another environment: they are attached to.
fn calls_us(pid: u32, shared: &Shared) -> bool {
    if version_by_path(pid).is_some_and(|version| version.starts_with("3.") || version.starts_with("2.")) {
        return false;
    }
    let give_up = Instant::now() + CALL_TIMEOUT;
    while !shared.has_called(pid) && !shared.finished.load(Ordering::SeqCst) {
        if Instant::now() >= give_up {
            return false;
        }
        thread::sleep(Duration::from_millis(20));
    }
    true
}

/// A process that has ended cannot be asked any more: that is no problem, its stream has ended too.
fn stop_session(pid: u32, session: SessionId) -> Result<(), Error> {
    match find(pid).map(|endpoint| endpoint.stop_session(session, LIST_TIMEOUT)) {
        Ok(Err(Error::NotListening { .. })) | Err(_) => Ok(()),
        Ok(other) => other,
    }
}

fn attach(pid: u32, shared: &Arc<Shared>) {
    let endpoint = match find_when_started(pid, shared) {
        Ok(endpoint) => endpoint,
        Err(reason) => return not_attachable(pid, &reason, shared),
    };
    let session = match endpoint.start_session(&request::live(), ANSWER_TIMEOUT) {
        Ok(session) => session,
        Err(error) => return shared.problem(pid, explain(pid, &error)),
    };
    listen(pid, session, shared);
}

/// Reads a live session to its end, and beside it asks for what was before.
fn listen(pid: u32, session: Session, shared: &Arc<Shared>) {
    // The live session runs: what is jitted from here on is told there, what was before is in the snapshot.
    let asking = Arc::clone(shared);
    if let Err(error) = spawn("snapshot", move || ask_what_was_before(pid, &asking)) {
        shared.problem(pid, error);
    }
    follow(pid, session, shared);
}

fn ask_what_was_before(pid: u32, shared: &Arc<Shared>) {
    match find_when_started(pid, shared) {
        Ok(endpoint) => {
            say_version(pid, &endpoint, shared);
            snapshot(pid, &endpoint, shared);
        }
        // A runtime that ends in order tells of all its code by itself.
        Err(_) if proc::has_ended(pid) => {}
        Err(reason) => not_attachable(pid, &reason, shared),
    }
}

/// A process that just loaded the runtime has no socket yet: its start is waited for.
fn find_when_started(pid: u32, shared: &Shared) -> Result<Endpoint, NotAttachable> {
    let give_up = Instant::now() + STARTUP_TIMEOUT;
    loop {
        match find(pid) {
            Err(NotAttachable::StartingUp { .. })
                if Instant::now() < give_up && !shared.finished.load(Ordering::SeqCst) =>
            {
                thread::sleep(Duration::from_millis(20));
            }
            other => return other,
        }
    }
}

/// Tells why a process is not listened to. A process without a runtime is no problem, and who is told of a problem knows
/// already which process it is about.
fn not_attachable(pid: u32, reason: &NotAttachable, shared: &Shared) {
    match reason {
        NotAttachable::NotDotnet { executable, .. } => {
            shared.tell(News::NotDotnet { pid, executable: executable.clone() });
        }
        NotAttachable::KernelThread { .. } => shared.tell(News::NotDotnet { pid, executable: None }),
        NotAttachable::NoSuchProcess { .. } | NotAttachable::Ended { .. } => {
            shared.problem(pid, "it ended before its runtime could be asked for names");
        }
        other => {
            let words = other.to_string();
            match words.strip_prefix(&format!("process {pid} ")) {
                Some(rest) => shared.problem(pid, format_args!("it {rest}")),
                None => shared.problem(pid, words),
            }
        }
    }
}

fn explain(pid: u32, error: &Error) -> String {
    match error {
        Error::TimedOut { .. } if proc::is_stopped(pid) => format!("its runtime did not answer: {}", stopped(pid)),
        Error::TimedOut { .. } => format!("its runtime did not answer: {error}"),
        _ => error.to_string(),
    }
}

fn stopped(pid: u32) -> String {
    format!("the process is stopped (kill -CONT {pid} lets it go on)")
}

/// Reads a live session to its end.
fn follow(pid: u32, session: Session, shared: &Shared) {
    let id = session.id();
    match write_stream(pid, StreamKind::Live, session, shared, || shared.tell(News::Live { pid, session: id })) {
        Ok(()) => {}
        Err(error) => shared.problem(pid, format_args!("its event stream broke: {error}")),
    }
    shared.tell(News::Ended { pid });
}

fn snapshot(pid: u32, endpoint: &Endpoint, shared: &Arc<Shared>) {
    let session = match endpoint.start_session(&request::snapshot(), ANSWER_TIMEOUT) {
        Ok(session) => session,
        Err(error) => {
            return shared.problem(pid, format_args!("no list of methods at attach: {}", explain(pid, &error)));
        }
    };
    let id = session.id();
    // The list is made when the session is stopped, and it only comes while someone reads.
    let stopped = thread::scope(|scope| {
        let stopping = scope.spawn(|| endpoint.stop_session(id, LIST_TIMEOUT));
        let read = write_stream(pid, StreamKind::Attach, session, shared, || {});
        let stopped = stopping.join().unwrap_or(Ok(())).map_err(|error| error.to_string());
        read.map_err(|error| error.to_string()).and(stopped)
    });
    if let Err(error) = stopped {
        shared.problem(pid, format_args!("no whole list of methods at attach: {error}"));
    }
}

fn write_stream(
    pid: u32,
    kind: StreamKind,
    session: Session,
    shared: &Shared,
    started: impl FnOnce(),
) -> io::Result<()> {
    let stream = Stream::new(pid, kind);
    let file = shared.recording.create_file(&stream.file).map_err(io::Error::other)?;
    shared.tell(News::Stream { pid, stream });
    started();
    stream::pump(session, file, &shared.totals)
}

fn say_version(pid: u32, endpoint: &Endpoint, shared: &Shared) {
    let version = match endpoint.process_info(ANSWER_TIMEOUT) {
        Ok(info) => info.runtime_version,
        Err(_) => None,
    };
    if let Some(version) = version.or_else(|| version_by_path(pid)) {
        shared.tell(News::Version { pid, version });
    }
}

/// Runtimes before 5 do not say their version; the folder of the runtime's library is named after it.
fn version_by_path(pid: u32) -> Option<String> {
    proc::executable_mappings(pid).ok()?.iter().find_map(|mapping| {
        let folder = mapping.path.strip_suffix("/libcoreclr.so")?;
        let name = folder.rsplit('/').next()?;
        name.starts_with(|first: char| first.is_ascii_digit()).then(|| name.to_owned())
    })
}

/// Takes in launched runtimes until the recording is finished.
fn accept_runtimes(port: &ReversePort, shared: &Arc<Shared>) {
    // A runtime connects again after each command; the connection is kept so that it does not keep trying.
    let mut known: Vec<Advertised> = Vec::new();
    while !shared.finished.load(Ordering::SeqCst) {
        match port.accept(Duration::from_millis(200)) {
            Ok(None) => {}
            Ok(Some(runtime)) => match known.iter_mut().find(|known| known.cookie == runtime.cookie) {
                Some(again) => *again = runtime,
                None => {
                    launched(&runtime, shared);
                    known.push(runtime);
                }
            },
            Err(error) => return shared.problem(0, format_args!("launched runtimes are not taken in: {error}")),
        }
    }
}

fn launched(runtime: &Advertised, shared: &Arc<Shared>) {
    let pid = u32::try_from(runtime.namespace_pid).unwrap_or(0);
    shared.called.lock().unwrap_or_else(PoisonError::into_inner).insert(pid);
    let session = match runtime.endpoint().start_session(&request::live(), ANSWER_TIMEOUT) {
        Ok(session) => session,
        Err(error) => return shared.problem(pid, explain(pid, &error)),
    };
    let listening = Arc::clone(shared);
    if let Err(error) = spawn("listen", move || listen(pid, session, &listening)) {
        shared.problem(pid, error);
    }
}
