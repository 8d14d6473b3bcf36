//! Real runtimes, installed below `$STRATA_TARGETS` or `.targets`.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use strata_diagnostics::{
    CollectCommand, Endpoint, Error, EventFilter, EventFiltering, Granted, GrantedRundown, InfoVersion, Level,
    NotAttachable, Provider, ReversePort, Rundown, Session, SessionRequest, StackWalk, find, processes,
};
use strata_testkit::live::Runtime;

/// Far more than anything here takes, so that a slow machine fails no test.
const PATIENCE: Duration = Duration::from_secs(60);

const RUNTIMES: [(&str, &str); 4] = [("net3", "3.1.23"), ("net8", "8.0.4"), ("net9", "9.0.1"), ("net10", "10.0.13")];

fn command(runtime: &str, workload: &str, arguments: &[&str]) -> Command {
    let runtime = Runtime::all().into_iter().find(|known| known.name() == runtime).unwrap();
    runtime.command(workload, arguments).unwrap()
}

/// A workload at work, ended when the test is over.
struct Running(Child);

impl Running {
    fn start(mut command: Command) -> Self {
        let started = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = started.unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let mut line = String::new();
        let stdout = child.stdout.take().expect("a pipe");
        BufReader::new(stdout).read_line(&mut line).expect("readable");
        let running = Self(child);
        assert!(line.starts_with("ready"), "{command:?} said {line:?}");
        running
    }

    fn methods(runtime: &str) -> Command {
        command(runtime, "ManyMethods", &["500"])
    }

    fn pid(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A folder that is removed with all that is in it.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("strata-diagnostics-live-{}-{name}", std::process::id()));
        std::fs::create_dir(&path).expect("a new folder");
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn loader(rundown: Rundown, events: EventFilter) -> SessionRequest {
    let provider = Provider { events, ..Provider::new("Microsoft-Windows-DotNETRuntime", 0x8, Level::Informational) };
    SessionRequest { providers: vec![provider], buffer_mb: 64, rundown, stack_walk: StackWalk::Off }
}

/// Start a session, stop it at once, and read it to its end meanwhile.
fn snapshot(endpoint: &Endpoint, request: &SessionRequest) -> (Granted, Vec<u8>) {
    let session = endpoint.start_session(request, PATIENCE).expect("a session");
    let (id, granted) = (session.id(), session.granted());
    let reader = read_on(session);
    endpoint.stop_session(id, PATIENCE).expect("stopped");
    (granted, reader.join().expect("no panic"))
}

fn read_on(mut session: Session) -> std::thread::JoinHandle<Vec<u8>> {
    session.set_timeout(Some(PATIENCE)).expect("a socket");
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        session.read_to_end(&mut bytes).expect("the stream comes to its end");
        assert!(bytes.starts_with(b"Nettrace"));
        bytes
    })
}

/// Whether a name, as events have it, is in the stream.
fn holds(stream: &[u8], name: &str) -> bool {
    let wanted: Vec<u8> = name.encode_utf16().chain([0]).flat_map(u16::to_le_bytes).collect();
    stream.windows(wanted.len()).any(|bytes| bytes == wanted)
}

#[test]
fn who_they_are() {
    for (runtime, version) in RUNTIMES {
        let running = Running::start(Running::methods(runtime));
        let endpoint = find(running.pid()).unwrap_or_else(|reason| panic!("{runtime}: {reason}"));
        match endpoint.process_info(PATIENCE) {
            Err(Error::NoProcessQuery) if runtime == "net3" => {}
            Ok(info) => {
                assert_eq!((info.answered, info.namespace_pid), (InfoVersion::Three, running.pid().into()));
                assert_eq!((info.os.as_str(), info.runtime_version.as_deref()), ("Linux", Some(version)));
                assert!(info.portable_rid.is_some_and(|rid| rid.starts_with("linux-")));
            }
            Err(error) => panic!("{runtime}: {error}"),
        }
        let seen = processes();
        let seen = seen.iter().find(|seen| seen.pid == running.pid()).expect("it is listed");
        assert!(seen.attachable.is_ok() && !seen.command_line.is_empty() && seen.executable.is_some());
    }
}

#[test]
fn what_they_grant() {
    use EventFiltering::{Applied, Lost, NotAsked};
    let check = |runtime: &str, request: &SessionRequest, expected: Granted, all_methods: bool| {
        let running = Running::start(Running::methods(runtime));
        let endpoint = find(running.pid()).unwrap_or_else(|reason| panic!("{runtime}: {reason}"));
        let (granted, stream) = snapshot(&endpoint, request);
        assert_eq!(granted, expected, "{runtime}");
        for name in ["Method00000", "Method00499"] {
            assert_eq!(holds(&stream, name), all_methods, "{runtime}: {name} in {} bytes", stream.len());
        }
    };
    let granted = |command, stack_walk, rundown, event_filter| Granted { command, stack_walk, rundown, event_filter };
    let (two, three) = (CollectCommand::Two, CollectCommand::Three);
    let (on, off) = (StackWalk::On, StackWalk::Off);

    let methods = loader(Rundown::Keywords(0x138), EventFilter::All);
    for runtime in ["net3", "net8"] {
        check(runtime, &methods, granted(two, on, GrantedRundown::RuntimeDefault, NotAsked), true);
    }
    for runtime in ["net9", "net10"] {
        let expected = granted(CollectCommand::Four, off, GrantedRundown::Keywords(0x138), NotAsked);
        check(runtime, &methods, expected, true);
    }
    let settings = loader(Rundown::KeywordsOrNone(0x1), EventFilter::All);
    check("net8", &settings, granted(two, on, GrantedRundown::None, NotAsked), false);
    check("net9", &settings, granted(CollectCommand::Four, off, GrantedRundown::Keywords(1), NotAsked), false);

    let nothing = loader(Rundown::None, EventFilter::Only(vec![152]));
    check("net3", &nothing, granted(two, on, GrantedRundown::None, Lost), false);
    check("net9", &nothing, granted(three, off, GrantedRundown::None, Lost), false);
    check("net10", &nothing, granted(CollectCommand::Five, off, GrantedRundown::None, Applied), false);
    let default = loader(Rundown::Default, EventFilter::Only(vec![152]));
    let expected = granted(CollectCommand::Five, off, GrantedRundown::Keywords(0x8002_0139), Applied);
    check("net10", &default, expected, true);
}

#[test]
fn a_session_ends_with_its_process() {
    let mut running = Running::start(Running::methods("net8"));
    let endpoint = find(running.pid()).expect("a socket");
    let mut session = endpoint.start_session(&loader(Rundown::None, EventFilter::All), PATIENCE).expect("a session");
    let id = session.id();
    let mut begin = [0; 8];
    session.read_exact(&mut begin).expect("the stream begins");
    assert_eq!(&begin, b"Nettrace");
    let reader = std::thread::spawn(move || session.read_to_end(&mut Vec::new()));
    running.0.kill().expect("it runs");
    running.0.wait().expect("it ended");
    reader.join().expect("no panic").expect("the stream ends");
    let error = endpoint.stop_session(id, PATIENCE).expect_err("the process is gone");
    assert!(matches!(error, Error::NotListening { .. }), "{error}");
    assert!(matches!(find(running.pid()), Err(NotAttachable::NoSuchProcess { .. })));
}

#[test]
fn temporary_directories_of_their_own() {
    let folder = Folder::new("tmpdir");
    for (runtime, _) in RUNTIMES {
        for slash in ["", "/"] {
            let mut command = Running::methods(runtime);
            command.env("TMPDIR", format!("{}{slash}", folder.0.display()));
            let running = Running::start(command);
            let endpoint = find(running.pid()).unwrap_or_else(|reason| panic!("{runtime}: {reason}"));
            assert!(endpoint.sockets().all(|socket| socket.starts_with(format!("/proc/{}/root", running.pid()))));
            snapshot(&endpoint, &loader(Rundown::None, EventFilter::All));
        }
    }
    // As long as a socket's path may be, plus one: the runtime makes none.
    let long = folder.0.join("d".repeat(80));
    std::fs::create_dir(&long).expect("a new folder");
    let mut command = Running::methods("net8");
    command.env("TMPDIR", &long);
    let running = Running::start(command);
    let reason = find(running.pid()).expect_err("no socket");
    assert!(matches!(&reason, NotAttachable::PathTooLong { directory, .. } if *directory == long), "{reason}");
}

#[test]
fn diagnostics_switched_off() {
    let check = |runtime: &str, variable: &'static str| {
        let mut command = Running::methods(runtime);
        command.env(variable, "0");
        let running = Running::start(command);
        let reason = find(running.pid()).expect_err("no socket");
        assert!(
            matches!(&reason, NotAttachable::SwitchedOff { variable: it, .. } if *it == variable),
            "{runtime} {variable}: {reason}"
        );
        let listed = processes().into_iter().find(|seen| seen.pid == running.pid()).expect("it is listed");
        assert!(matches!(listed.attachable, Err(NotAttachable::SwitchedOff { .. })));
    };
    check("net3", "COMPlus_EnableDiagnostics");
    check("net8", "COMPlus_EnableDiagnostics");
    for runtime in ["net8", "net9", "net10"] {
        check(runtime, "DOTNET_EnableDiagnostics");
        check(runtime, "DOTNET_EnableDiagnostics_IPC");
    }
}

#[test]
fn a_process_1_in_a_namespace() {
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--pid", "--fork", "--kill-child", "--mount-proc"]);
    let inner = Running::methods("net8");
    command.arg(inner.get_program()).args(inner.get_args());
    command.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let running = Running::start(command);
    let pid = running.pid();
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).expect("readable");
    let inside = children.trim().parse().expect("one child");
    let endpoint = find(inside).unwrap_or_else(|reason| panic!("{reason}"));
    assert_eq!((endpoint.pid(), endpoint.namespace_pid()), (Some(inside), Some(1)));
    assert_eq!(endpoint.process_info(PATIENCE).expect("it answers").namespace_pid, 1);
}

#[test]
fn launched_suspended() {
    for runtime in ["net8", "net9", "net10"] {
        let port = ReversePort::bind_temporary().expect("a port");
        let (name, value) = port.environment(strata_diagnostics::Startup::Suspended);
        let mut command = command(runtime, "Exits", &["7"]);
        let child = command.env(name, value).stdout(Stdio::null()).spawn().expect("it starts");
        let mut running = Running(child);
        let caller = port.accept(PATIENCE).expect("a port").expect("the runtime calls");
        assert_eq!(caller.namespace_pid, running.pid().into());
        let endpoint = caller.endpoint();
        assert_eq!(endpoint.process_info(PATIENCE).expect("it answers").cookie, caller.cookie);
        let mut request = loader(Rundown::None, EventFilter::Only(vec![141, 143, 152]));
        request.providers[0].keywords = 0x18;
        request.providers[0].level = Level::Verbose;
        let session = endpoint.start_session(&request, PATIENCE).expect("a session");
        let reader = read_on(session);
        endpoint.resume(PATIENCE).expect("resumed");
        let stream = reader.join().expect("the stream ends with the process");
        assert!(holds(&stream, "Main"), "{runtime}: the entry point was compiled during the session");
        assert_eq!(running.0.wait().expect("it ended").code(), Some(7), "{runtime}");
        assert_eq!(port.rejected(), 0);
    }
}

#[test]
fn listing_while_processes_come_and_go() {
    let running = Running::start(Running::methods("net8"));
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                let short: Vec<Child> = (0..20).filter_map(|_| Command::new("true").spawn().ok()).collect();
                for mut child in short {
                    let _ = child.wait();
                }
            }
        });
        let started = Instant::now();
        let mut lists = 0;
        while started.elapsed() < Duration::from_secs(2) || lists < 3 {
            let seen = processes();
            assert!(seen.iter().any(|seen| seen.pid == running.pid() && seen.attachable.is_ok()));
            lists += 1;
        }
        over.store(true, Ordering::Relaxed);
    });
}

const LOOK_AT: &str = "STRATA_TEST_LOOK_AT";
const NOBODY: u32 = 65534;

#[test]
fn another_users_process() {
    let running = Running::start(Running::methods("net8"));
    let folder = Folder::new("nobody");
    // Where this test was built may be closed to other users.
    let looker = folder.0.join("looker");
    std::fs::copy(std::env::current_exe().expect("known"), &looker).expect("readable");
    let mut command = Command::new(looker);
    command.args(["--exact", "look_at_another_users_process", "--ignored"]);
    command.env(LOOK_AT, running.pid().to_string()).uid(NOBODY).gid(NOBODY).current_dir("/");
    let output = command.output().expect("only root may run this test: it becomes another user");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
#[ignore = "run by another_users_process, as that user"]
fn look_at_another_users_process() {
    let pid = std::env::var(LOOK_AT).expect("set by the other test").parse().expect("a process id");
    let reason = find(pid).expect_err("not permitted");
    assert!(matches!(reason, NotAttachable::OtherUser { .. }), "{reason}");
    let listed = processes().into_iter().find(|seen| seen.pid == pid).expect("its socket is seen");
    assert!(matches!(listed.attachable, Err(NotAttachable::OtherUser { .. })));
    let reason = find(1).expect_err("not permitted");
    assert!(matches!(reason, NotAttachable::NotInspectable { pid: 1, .. }), "{reason}");
}
