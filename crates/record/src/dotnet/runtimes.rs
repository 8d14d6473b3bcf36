//! Which processes are followed, by whom, and how far each is.

use super::stream::StreamTotals;
use crate::control::Control;
use crate::target::proc;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::mpsc::Sender;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use strata_diagnostics::SessionId;
use strata_recording::{Recording, Stream, StreamKind};

/// Something learnt of a .NET process.
#[derive(Debug)]
pub(crate) enum News {
    /// Its runtime said its version.
    Version { pid: u32, version: String },
    /// A stream of it is being written.
    Stream { pid: u32, stream: Stream },
    /// Its live session runs.
    Live { pid: u32 },
    /// It has no .NET runtime: there is nothing to ask.
    NotDotnet { pid: u32, executable: Option<PathBuf> },
    /// Something went wrong; names of this process may be missing.
    Problem { pid: u32, problem: String },
}

/// How a session with a runtime is begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// Over the connection that it made to our port.
    Call,
    /// Over its own socket.
    Attach,
}

/// How far a process is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Someone is about to begin a session with it.
    Asking,
    /// Streams of it are being read.
    Live(SessionId),
    /// Its streams have ended, or none could be begun.
    Ended,
    /// It has no runtime, as far as could be seen. That may change.
    NotDotnet,
}

/// A process.
struct Process {
    state: State,
    /// What tells the program that it runs from one that it becomes by `exec`; empty when it cannot be seen.
    program: Vec<u8>,
    /// How sessions with this program were begun, or tried.
    tried: Vec<Way>,
    /// A thread is there that attaches to it, or waits whether it has to.
    attaching: bool,
    /// It was seen to load a runtime since that thread looked.
    seen_again: bool,
    /// It was said to have no runtime.
    said_not_dotnet: bool,
    /// Streams that are being read.
    open: Vec<StreamKind>,
    /// Streams begun so far, of all kinds.
    begun: Vec<StreamKind>,
}

impl Process {
    fn new(pid: u32) -> Self {
        Self {
            state: State::Ended,
            program: program(pid),
            tried: Vec::new(),
            attaching: false,
            seen_again: false,
            said_not_dotnet: false,
            open: Vec::new(),
            begun: Vec::new(),
        }
    }

    /// Whether a session may be begun in this way.
    fn may_begin(&mut self, pid: u32, way: Way) -> bool {
        match self.state {
            State::Asking | State::Live(_) => false,
            State::NotDotnet => true,
            State::Ended => {
                let now = program(pid);
                if !now.is_empty() && now != self.program {
                    self.program = now;
                    self.tried.clear();
                }
                !self.tried.contains(&way)
            }
        }
    }
}

/// The kernel gives each program that a process becomes random bytes and addresses of its own.
fn program(pid: u32) -> Vec<u8> {
    std::fs::read(format!("/proc/{pid}/auxv")).unwrap_or_default()
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    #[default]
    Recording,
    /// Sessions are stopped as soon as they are there.
    Stopping,
    /// Nothing more is written.
    Closed,
}

#[derive(Default)]
struct Table {
    phase: Phase,
    processes: BTreeMap<u32, Process>,
}

impl Table {
    fn process(&mut self, pid: u32) -> &mut Process {
        self.processes.entry(pid).or_insert_with(|| Process::new(pid))
    }
}

/// What the following threads share.
pub(super) struct Shared {
    table: Mutex<Table>,
    changed: Condvar,
    pub(super) recording: Recording,
    news: Mutex<Sender<News>>,
    pub(super) totals: StreamTotals,
    control: Control,
}

impl Shared {
    pub(super) fn new(recording: Recording, news: Sender<News>, control: Control) -> Self {
        Self {
            table: Mutex::default(),
            changed: Condvar::new(),
            recording,
            news: Mutex::new(news),
            totals: StreamTotals::default(),
            control,
        }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes a process's entry and wakes all who wait for that.
    fn change<T>(&self, pid: u32, change: impl FnOnce(&mut Process) -> T) -> T {
        let changed = change(self.table().process(pid));
        self.changed.notify_all();
        self.control.wake();
        changed
    }

    pub(super) fn tell(&self, news: News) {
        // No one listens any more once the recording is finished.
        let _ = self.news.lock().unwrap_or_else(PoisonError::into_inner).send(news);
        self.control.wake();
    }

    pub(super) fn problem(&self, pid: u32, problem: impl std::fmt::Display) {
        self.tell(News::Problem { pid, problem: problem.to_string() });
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.table().phase >= Phase::Stopping
    }

    /// Whether the process has called our port, as far as this program of it goes.
    pub(super) fn has_called(&self, pid: u32) -> bool {
        let mut table = self.table();
        let process = table.process(pid);
        matches!(process.state, State::Asking | State::Live(_)) || process.tried.contains(&Way::Call)
    }

    /// Takes a process for beginning a session with it: at most one has it at any time. While another has it and no session
    /// yet, this waits for how that goes; `None` when there is one, or there was, or this way was tried.
    pub(super) fn claim(&self, pid: u32, way: Way) -> Option<Claim<'_>> {
        let mut table = self.table();
        while table.process(pid).state == State::Asking && table.phase < Phase::Closed {
            let waited = self.changed.wait_timeout(table, Duration::from_millis(200));
            table = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        if table.phase == Phase::Closed || !table.process(pid).may_begin(pid, way) {
            return None;
        }
        let process = table.process(pid);
        process.state = State::Asking;
        process.program = program(pid);
        process.tried.push(way);
        Some(Claim { shared: self, pid, way })
    }

    /// Whether a thread that attaches to the process has to be begun; then it is taken to be there.
    pub(super) fn begin_attaching(&self, pid: u32) -> bool {
        self.change(pid, |process| {
            if process.attaching || matches!(process.state, State::Live(_)) {
                process.seen_again = true;
                return false;
            }
            process.attaching = process.state == State::Asking || process.may_begin(pid, Way::Attach);
            process.attaching
        })
    }

    /// Ends what [`begin_attaching`](Self::begin_attaching) began, unless the process has loaded a runtime meanwhile.
    pub(super) fn attach_again(&self, pid: u32) -> bool {
        let stopping = self.is_stopping();
        self.change(pid, |process| {
            let again = std::mem::take(&mut process.seen_again);
            process.attaching = again && !stopping && process.may_begin(pid, Way::Attach);
            process.attaching
        })
    }

    /// Whether the process was seen to load a runtime while its streams were read and no thread was there to attach to it.
    pub(super) fn take_seen_again(&self, pid: u32) -> bool {
        self.change(pid, |process| !process.attaching && std::mem::take(&mut process.seen_again))
    }

    /// Names a new stream of a process; `None` when nothing is written any more.
    pub(super) fn next_stream(&self, pid: u32, kind: StreamKind) -> Option<Stream> {
        let mut table = self.table();
        if table.phase == Phase::Closed {
            return None;
        }
        let process = table.process(pid);
        process.begun.push(kind);
        let number = process.begun.iter().filter(|begun| **begun == kind).count();
        Some(Stream::new(pid, kind, u32::try_from(number).unwrap_or(u32::MAX)))
    }

    /// A stream has ended.
    pub(super) fn stream_ended(&self, pid: u32, kind: StreamKind) {
        self.change(pid, |process| process.open.retain(|open| *open != kind));
    }

    /// From now on no session stays; those that run are given back to be stopped.
    pub(super) fn stop(&self) -> Vec<(u32, SessionId)> {
        let mut table = self.table();
        table.phase = table.phase.max(Phase::Stopping);
        self.changed.notify_all();
        let live = table.processes.iter().filter_map(|(&pid, process)| match process.state {
            State::Live(session) => Some((pid, session)),
            _ => None,
        });
        live.collect()
    }

    /// Processes of which a stream is being read.
    pub(super) fn reading(&self) -> Vec<u32> {
        let table = self.table();
        table.processes.iter().filter(|(_, process)| !process.open.is_empty()).map(|(pid, _)| *pid).collect()
    }

    /// Whether an answer of some process is outstanding.
    pub(super) fn asks(&self) -> bool {
        self.table().processes.values().any(is_unanswered)
    }

    /// From now on nothing is written; each process that was not done is given back with what is missing of it.
    pub(super) fn close(&self, why: &str) -> Vec<(u32, String)> {
        let mut table = self.table();
        if table.phase == Phase::Closed {
            return Vec::new();
        }
        table.phase = Phase::Closed;
        self.changed.notify_all();
        let mut missing = Vec::new();
        for (&pid, process) in &table.processes {
            missing.extend(process.open.iter().map(|kind| match kind {
                StreamKind::Live => (pid, format!("its event stream has no orderly end: {why}")),
                StreamKind::Attach => (pid, format!("its list of methods at attach is not whole: {why}")),
            }));
            if is_unanswered(process) {
                missing.push((pid, no_answer(pid)));
            }
        }
        missing
    }
}

/// Whether it was asked, or is about to be, and nothing came back.
fn is_unanswered(process: &Process) -> bool {
    process.state == State::Asking || (process.attaching && process.tried.is_empty())
}

/// Why a process did not answer, as far as it can be seen.
fn no_answer(pid: u32) -> String {
    if proc::has_ended(pid) {
        "it ended before its runtime could be asked for names".to_owned()
    } else if proc::is_stopped(pid) {
        format!("its runtime did not answer: {}", stopped(pid))
    } else {
        "its runtime had not answered when the recording ended".to_owned()
    }
}

pub(super) fn stopped(pid: u32) -> String {
    format!("the process is stopped (kill -CONT {pid} lets it go on)")
}

/// A process that is ours to begin a session with. Dropping it gives it back: to the other way if no session came about.
pub(super) struct Claim<'a> {
    shared: &'a Shared,
    pub(super) pid: u32,
    way: Way,
}

impl Claim<'_> {
    /// Its session runs. Says whether that came too late: then it has to be stopped.
    pub(super) fn live(&self, session: SessionId) -> TooLate {
        // In one step: whoever stops the sessions either sees this one or is seen here.
        let mut table = self.shared.table();
        let process = table.process(self.pid);
        process.state = State::Live(session);
        process.tried = vec![Way::Call, Way::Attach];
        process.open = vec![StreamKind::Live, StreamKind::Attach];
        // What it becomes later is no news for whoever asked for it.
        process.said_not_dotnet = true;
        self.shared.changed.notify_all();
        match table.phase {
            Phase::Recording => TooLate::No,
            Phase::Stopping | Phase::Closed => TooLate::Yes,
        }
    }

    /// It has no runtime; says whether that is new.
    pub(super) fn not_dotnet(&self) -> bool {
        let way = self.way;
        self.shared.change(self.pid, |process| {
            process.state = State::NotDotnet;
            process.tried.retain(|tried| *tried != way);
            !std::mem::replace(&mut process.said_not_dotnet, true)
        })
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        self.shared.change(self.pid, |process| {
            process.open.clear();
            if process.state != State::NotDotnet {
                process.state = State::Ended;
            }
        });
    }
}

/// Whether a session began when the recording was ending already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TooLate {
    No,
    Yes,
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::sync::mpsc;

    struct Scene {
        shared: Shared,
        folder: PathBuf,
    }

    impl Scene {
        fn new(name: &str) -> Self {
            let folder = std::env::temp_dir().join(format!("strata-runtimes-{}-{name}", std::process::id()));
            let _ = std::fs::remove_dir_all(&folder);
            let recording = Recording::create(&folder).unwrap();
            let (news, _) = mpsc::channel();
            Self { shared: Shared::new(recording, news, Control::new().unwrap()), folder }
        }
    }

    impl Drop for Scene {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.folder);
        }
    }

    const SESSION: SessionId = SessionId(7);

    fn own_pid() -> u32 {
        std::process::id()
    }

    #[test]
    fn one_of_many_gets_the_process() {
        let scene = Scene::new("many");
        let (shared, pid) = (&scene.shared, own_pid());
        let (live, most) = (AtomicU32::new(0), AtomicU32::new(0));
        std::thread::scope(|scope| {
            for number in 0..16 {
                let (live, most) = (&live, &most);
                scope.spawn(move || {
                    let way = if number % 2 == 0 { Way::Call } else { Way::Attach };
                    let Some(claim) = shared.claim(pid, way) else { return };
                    most.fetch_max(live.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    assert_eq!(claim.live(SESSION), TooLate::No);
                    std::thread::sleep(Duration::from_millis(20));
                    live.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        assert_eq!(most.load(Ordering::SeqCst), 1);
        assert!(shared.claim(pid, Way::Attach).is_none(), "its streams have ended, and it is the same program");
    }

    #[test]
    fn what_failed_one_way_may_go_the_other() {
        let scene = Scene::new("ways");
        let (shared, pid) = (&scene.shared, own_pid());
        let call = shared.claim(pid, Way::Call).unwrap();
        std::thread::scope(|scope| {
            // It waits for how the other goes.
            let attaching = scope.spawn(|| shared.claim(pid, Way::Attach).is_some());
            std::thread::sleep(Duration::from_millis(50));
            assert!(!attaching.is_finished());
            drop(call);
            assert!(attaching.join().unwrap());
        });
        assert!(shared.claim(pid, Way::Call).is_none() && shared.claim(pid, Way::Attach).is_none());
        // Another program in its place is another matter.
        shared.change(pid, |process| process.program.push(0));
        assert!(shared.claim(pid, Way::Call).is_some());
    }

    #[test]
    fn what_has_no_runtime_yet_is_asked_again() {
        let scene = Scene::new("again");
        let (shared, pid) = (&scene.shared, own_pid());
        assert!(shared.begin_attaching(pid));
        assert!(!shared.begin_attaching(pid), "a thread is there");
        let claim = shared.claim(pid, Way::Attach).unwrap();
        assert!(claim.not_dotnet());
        drop(claim);
        assert!(shared.attach_again(pid), "it was seen to load one meanwhile");
        let claim = shared.claim(pid, Way::Attach).unwrap();
        assert!(!claim.not_dotnet(), "that is said once");
        drop(claim);
        assert!(!shared.attach_again(pid));
        assert!(shared.begin_attaching(pid));
        assert!(shared.claim(pid, Way::Call).is_some());
    }

    #[test]
    fn sessions_that_come_late_are_stopped_and_what_is_open_is_told() {
        let scene = Scene::new("late");
        let (shared, pid) = (&scene.shared, own_pid());
        let claim = shared.claim(pid, Way::Call).unwrap();
        assert!(shared.asks());
        assert_eq!(shared.stop(), []);
        assert_eq!(claim.live(SESSION), TooLate::Yes);
        assert!(!shared.asks());
        assert_eq!(shared.reading(), [pid]);
        shared.stream_ended(pid, StreamKind::Live);
        assert_eq!(shared.reading(), [pid], "its list is still being read");
        let files = [StreamKind::Live, StreamKind::Live, StreamKind::Attach];
        let files = files.map(|kind| shared.next_stream(pid, kind).unwrap().file);
        let expected = ["live", "live-2", "attach"].map(|name| format!("dotnet-{pid}-{name}.nettrace"));
        assert_eq!(files, expected);
        let missing = shared.close("the test is over");
        assert_eq!(missing, [(pid, "its list of methods at attach is not whole: the test is over".to_owned())]);
        assert_eq!(shared.next_stream(pid, StreamKind::Live), None);
        drop(claim);
        assert!(shared.reading().is_empty());
    }
}
