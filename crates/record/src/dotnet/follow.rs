//! What is done for one process: beginning a session, reading it to its end, and asking for what was before.

use super::list::LIST_TIMEOUT;
use super::runtimes::{Claim, News, Shared, TooLate, Way, stopped};
use super::{list, request, spawn, stream};
use crate::target::proc;
use std::io::{self, Read};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};
use strata_diagnostics::discover::{NotAttachable, find};
use strata_diagnostics::{Endpoint, Error, Session, SessionId};
use strata_recording::StreamKind;

/// How long a runtime may take to answer a command that needs no work.
pub(super) const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a process that loads the runtime may take until its socket is there.
const STARTUP_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a launched process that loads the runtime may take until it calls our port.
const CALL_TIMEOUT: Duration = Duration::from_secs(3);

const LOOK: Duration = Duration::from_millis(20);

/// Whether a process may have been told of our port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MayCall {
    Yes,
    No,
}

/// Attaches to a process on a thread of its own; `false` when there is nothing to do.
pub(super) fn begin_to_attach(pid: u32, may_call: MayCall, shared: &Arc<Shared>) -> bool {
    if !shared.begin_attaching(pid) {
        return false;
    }
    let following = Arc::clone(shared);
    let follow = move || {
        if may_call == MayCall::Yes {
            await_call(pid, &following);
        }
        loop {
            if let Some(claim) = following.claim(pid, Way::Attach) {
                attach(&claim, &following);
            }
            if !following.attach_again(pid) {
                break;
            }
        }
    };
    if let Err(error) = spawn("attach", follow) {
        shared.problem(pid, error);
    }
    true
}

/// Gives the runtime of a launched process time to call our port. Those before 5 know no ports, and a program may have been
/// started with another environment: they are attached to.
fn await_call(pid: u32, shared: &Shared) {
    if version_by_path(pid).is_some_and(|version| version.starts_with("3.") || version.starts_with("2.")) {
        return;
    }
    let give_up = Instant::now() + CALL_TIMEOUT;
    while !shared.has_called(pid) && !shared.is_stopping() && !proc::has_ended(pid) && Instant::now() < give_up {
        thread::sleep(LOOK);
    }
}

fn attach(claim: &Claim<'_>, shared: &Arc<Shared>) {
    let pid = claim.pid;
    let endpoint = match find_when_started(pid, shared) {
        Ok(endpoint) => endpoint,
        Err(reason @ (NotAttachable::NotDotnet { .. } | NotAttachable::KernelThread { .. })) => {
            let executable = match reason {
                NotAttachable::NotDotnet { executable, .. } => executable,
                _ => None,
            };
            if claim.not_dotnet() {
                shared.tell(News::NotDotnet { pid, executable });
            }
            return;
        }
        Err(reason) => return not_attachable(pid, &reason, shared),
    };
    let give_up = Instant::now() + STARTUP_TIMEOUT;
    loop {
        match endpoint.start_session(&request::live(), ANSWER_TIMEOUT) {
            Ok(session) => return listen(claim, session, shared),
            // Its socket has a name a moment before it listens.
            Err(Error::NotListening { .. })
                if Instant::now() < give_up && !shared.is_stopping() && !proc::has_ended(pid) =>
            {
                thread::sleep(LOOK);
            }
            Err(error) => return shared.problem(pid, explain(pid, &error)),
        }
    }
}

/// A process that just loaded the runtime has no socket yet: its start is waited for. One that became the program a moment
/// ago may be old itself.
fn find_when_started(pid: u32, shared: &Shared) -> Result<Endpoint, NotAttachable> {
    use NotAttachable::{NoSocket, NotListening, StartingUp};
    let give_up = Instant::now() + STARTUP_TIMEOUT;
    loop {
        match find(pid) {
            Err(StartingUp { .. } | NoSocket { .. } | NotListening { .. })
                if Instant::now() < give_up && !shared.is_stopping() =>
            {
                thread::sleep(LOOK);
            }
            other => return other,
        }
    }
}

/// Tells why a process is not listened to. Who is told of a problem knows already which process it is about.
fn not_attachable(pid: u32, reason: &NotAttachable, shared: &Shared) {
    match reason {
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

pub(super) fn explain(pid: u32, error: &Error) -> String {
    match error {
        Error::TimedOut { .. } if proc::is_stopped(pid) => format!("its runtime did not answer: {}", stopped(pid)),
        Error::TimedOut { .. } => format!("its runtime did not answer: {error}"),
        _ => error.to_string(),
    }
}

/// Reads a live session to its end, and beside it asks for what was before.
pub(super) fn listen(claim: &Claim<'_>, session: Session, shared: &Arc<Shared>) {
    let (pid, id) = (claim.pid, session.id());
    let at_exit = AtExit::of(pid);
    if claim.live(id) == TooLate::Yes {
        stop(pid, id, shared);
    }
    // The live session runs: what is jitted from here on is told there, what was before is in the snapshot.
    let (live_end, before) = thread::scope(|scope| {
        let ask = || {
            let before = ask_what_was_before(pid, shared);
            shared.stream_ended(pid, StreamKind::Attach);
            before
        };
        let asking = thread::Builder::new().name("strata-snapshot".into()).spawn_scoped(scope, ask);
        let live_end = follow(pid, session, shared);
        shared.stream_ended(pid, StreamKind::Live);
        match asking {
            Ok(asking) => (live_end, asking.join().unwrap_or(Before::Known)),
            Err(error) => {
                shared.problem(pid, format_args!("no list of methods at attach: {error}"));
                (live_end, Before::Known)
            }
        }
    });
    if let Before::Lost(why) = before
        && (live_end, at_exit) != (LiveEnd::Orderly, AtExit::TellsOfItsCode)
    {
        shared.problem(pid, format_args!("no whole list of methods at attach: {why}"));
    }
}

/// Whether a live stream has its own end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LiveEnd {
    Orderly,
    Cut,
}

/// What a runtime does when it ends in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AtExit {
    /// It announces that all its jitted code is unloaded.
    TellsOfItsCode,
    /// It says nothing.
    Silent,
}

impl AtExit {
    /// Of a runtime that runs still.
    fn of(pid: u32) -> Self {
        match version_by_path(pid) {
            Some(version) if version.starts_with("3.") || version.starts_with("5.") => Self::Silent,
            _ => Self::TellsOfItsCode,
        }
    }
}

/// What became of the list of what a runtime had before the live session.
enum Before {
    /// It is there, or why it is not was told.
    Known,
    /// The process ended too early for it.
    Lost(String),
}

/// Reads a live session to its end.
fn follow(pid: u32, session: Session, shared: &Shared) -> LiveEnd {
    match write_stream(pid, StreamKind::Live, session, shared, || shared.tell(News::Live { pid })) {
        Ok(stream::End::Orderly) => LiveEnd::Orderly,
        Ok(stream::End::Cut) => LiveEnd::Cut,
        Err(error) => {
            shared.problem(pid, format_args!("its event stream broke: {error}"));
            LiveEnd::Cut
        }
    }
}

fn ask_what_was_before(pid: u32, shared: &Arc<Shared>) -> Before {
    match find_when_started(pid, shared) {
        Ok(endpoint) => {
            say_version(pid, &endpoint, shared);
            snapshot(pid, &endpoint, shared)
        }
        Err(_) if proc::has_ended(pid) => Before::Lost("the process ended before it was asked".to_owned()),
        Err(reason) => {
            not_attachable(pid, &reason, shared);
            Before::Known
        }
    }
}

fn snapshot(pid: u32, endpoint: &Endpoint, shared: &Arc<Shared>) -> Before {
    // While it ends its live session a runtime answers nothing else.
    let timeout = if shared.is_stopping() { LIST_TIMEOUT } else { ANSWER_TIMEOUT };
    let read = |listing: list::Listing<'_>| write_stream(pid, StreamKind::Attach, listing, shared, || {});
    match list::ask(endpoint, timeout, read) {
        Ok(()) => Before::Known,
        Err(list::ListError::Runtime(error)) => lost(pid, &explain(pid, &error), shared),
        Err(error) => lost(pid, &error.to_string(), shared),
    }
}

fn lost(pid: u32, why: &str, shared: &Shared) -> Before {
    if proc::has_ended(pid) {
        return Before::Lost(format!("the process ended meanwhile ({why})"));
    }
    shared.problem(pid, format_args!("no whole list of methods at attach: {why}"));
    Before::Known
}

/// Ends a session, on a thread of its own; its stream tells when it has ended.
pub(super) fn stop(pid: u32, session: SessionId, shared: &Arc<Shared>) {
    let stopping = Arc::clone(shared);
    let stop = move || {
        if let Err(error) = stop_session(pid, session) {
            stopping.problem(pid, format_args!("its event stream did not end in an orderly way: {error}"));
        }
    };
    if let Err(error) = spawn("stop", stop) {
        shared.problem(pid, error);
    }
}

/// A process that has ended cannot be asked any more: that is no problem, its stream has ended too.
fn stop_session(pid: u32, session: SessionId) -> Result<(), Error> {
    match find(pid).map(|endpoint| endpoint.stop_session(session, LIST_TIMEOUT)) {
        Ok(Err(Error::NotListening { .. })) | Err(_) => Ok(()),
        Ok(other) => other,
    }
}

fn write_stream(
    pid: u32,
    kind: StreamKind,
    session: impl Read,
    shared: &Shared,
    started: impl FnOnce(),
) -> io::Result<stream::End> {
    let Some(stream) = shared.next_stream(pid, kind) else { return Ok(stream::End::Cut) };
    let file = shared.recording.create_new_file(&stream.file).map_err(io::Error::other)?;
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
