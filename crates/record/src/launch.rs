//! Launching a program so that it is sampled from its first instruction.

use crate::control::Control;
use rustix::pipe::{PipeFlags, pipe_with};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::sync::mpsc::{self, Receiver};
use std::thread;

/// A program that is waiting, already with its process id, to be let go.
pub(crate) struct Held {
    pid: u32,
    go: File,
    spawned: Receiver<io::Result<()>>,
    ended: Receiver<ExitStatus>,
}

/// A launched program.
#[derive(Debug)]
pub struct Child {
    pid: u32,
    ended: Receiver<ExitStatus>,
}

/// Whether there is such a program, looked for as the system will: by its path, or by its name in the folders of `PATH`.
pub(crate) fn check(program: &OsStr) -> io::Result<()> {
    if program.as_bytes().contains(&b'/') {
        return may_run(Path::new(program));
    }
    let path = std::env::var_os("PATH").unwrap_or_else(|| "/bin:/usr/bin".into());
    let mut refused = io::Error::new(io::ErrorKind::NotFound, "no program of this name in the folders of PATH");
    for folder in std::env::split_paths(&path) {
        match may_run(&folder.join(program)) {
            Ok(()) => return Ok(()),
            // One that exists and may not be run says more than those that are not there.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => refused = error,
            Err(_) => {}
        }
    }
    Err(refused)
}

fn may_run(path: &Path) -> io::Result<()> {
    rustix::fs::access(path, rustix::fs::Access::EXEC_OK)?;
    if path.is_dir() { Err(io::Error::from_raw_os_error(libc::EISDIR)) } else { Ok(()) }
}

/// Starts a process for the command and holds it just before it becomes the program. Standard input, output and error
/// are ours.
pub(crate) fn hold(command: &[OsString], environment: Option<(&str, OsString)>, control: &Control) -> io::Result<Held> {
    let Some((program, arguments)) = command.split_first() else { return Err(io::ErrorKind::InvalidInput.into()) };
    let (mut pid_from_child, pid_to_parent) = pipe()?;
    let (go_from_parent, go) = pipe()?;
    let mut command = Command::new(program);
    command.args(arguments);
    if let Some((name, value)) = environment {
        command.env(name, value);
    }
    let (tell, wait, parents_end) = (pid_to_parent.as_raw_fd(), go_from_parent.as_raw_fd(), go.as_raw_fd());
    // SAFETY: between fork and exec only `getpid`, `close`, `write` and `read` are called, which are async-signal-safe.
    unsafe {
        command.pre_exec(move || {
            let pid = std::process::id().to_ne_bytes();
            let mut go = 0_u8;
            // SAFETY: the descriptors were inherited from the parent, which keeps its own open until we are let go; the
            // buffers are as long as said. The parent's end must not be open here too: its closing would never be seen.
            let (told, let_go) = {
                libc::close(parents_end);
                (libc::write(tell, pid.as_ptr().cast(), pid.len()), libc::read(wait, (&raw mut go).cast(), 1))
            };
            // Nothing was read: the parent is gone or gave up, so no one would watch this program.
            if told == 4 && let_go == 1 { Ok(()) } else { Err(io::Error::from_raw_os_error(libc::ECANCELED)) }
        });
    }
    let (tell_spawned, spawned) = mpsc::channel();
    let (tell_ended, ended) = mpsc::channel();
    let control = control.clone();
    // `spawn` returns only when the program runs, which is after we let it go: it has to wait on a thread of its own.
    thread::Builder::new().name("launch".into()).spawn(move || {
        let child = command.spawn();
        drop((pid_to_parent, go_from_parent));
        match child {
            Ok(mut child) => {
                let _ = tell_spawned.send(Ok(()));
                if let Ok(status) = child.wait() {
                    let _ = tell_ended.send(status);
                }
            }
            Err(error) => {
                let _ = tell_spawned.send(Err(error));
            }
        }
        control.wake();
    })?;
    let mut pid = [0; 4];
    match pid_from_child.read_exact(&mut pid) {
        Ok(()) => Ok(Held { pid: u32::from_ne_bytes(pid), go, spawned, ended }),
        // The fork itself failed.
        Err(read) => Err(spawned.recv().ok().and_then(Result::err).unwrap_or(read)),
    }
}

fn pipe() -> io::Result<(File, File)> {
    let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
    Ok((read.into(), write.into()))
}

impl Held {
    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    /// Ends the process before it becomes the program.
    pub(crate) fn give_up(self) {
        use rustix::process::{Pid, Signal, kill_process};
        if let Some(pid) = Pid::from_raw(self.pid.cast_signed()) {
            // It is our own child and waits for us: it is still there.
            let _ = kill_process(pid, Signal::KILL);
        }
        let _ = self.spawned.recv();
    }

    /// Lets the process become the program.
    pub(crate) fn let_go(mut self) -> io::Result<Child> {
        self.go.write_all(&[1])?;
        self.spawned.recv().unwrap_or_else(|_| Err(io::ErrorKind::BrokenPipe.into()))?;
        Ok(Child { pid: self.pid, ended: self.ended })
    }
}

impl Child {
    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// How it ended, if it has.
    pub(crate) fn ended(&self) -> Option<ExitStatus> {
        self.ended.try_recv().ok()
    }

    /// Waits until it ends; `None` when the system could not tell.
    pub fn wait(&self) -> Option<ExitStatus> {
        self.ended.recv().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;
    use std::sync::{Mutex, MutexGuard, PoisonError};

    /// A process that is forked while another waits to be let go has that one's pipe open too: one at a time.
    fn alone() -> MutexGuard<'static, ()> {
        static ONE: Mutex<()> = Mutex::new(());
        ONE.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(command: &[&str]) -> io::Result<ExitStatus> {
        let control = Control::new().unwrap();
        let command: Vec<OsString> = command.iter().map(OsString::from).collect();
        let held = hold(&command, Some(("STRATA_TEST", "there".into())), &control)?;
        assert!(held.pid() > 0);
        let child = held.let_go()?;
        Ok(child.wait().unwrap())
    }

    #[test]
    fn the_program_gets_its_environment_and_its_end_comes_back() {
        let _alone = alone();
        assert_eq!(run(&["sh", "-c", "test $STRATA_TEST = there && exit 7"]).unwrap().code(), Some(7));
        assert_eq!(run(&["sh", "-c", "kill -SEGV $$"]).unwrap().signal(), Some(libc::SIGSEGV));
    }

    #[test]
    fn a_program_that_is_not_there_is_an_error() {
        let _alone = alone();
        assert_eq!(run(&["/no/such/program"]).unwrap_err().kind(), io::ErrorKind::NotFound);
        assert_eq!(run(&["/etc/passwd"]).unwrap_err().kind(), io::ErrorKind::PermissionDenied);
        assert_eq!(run(&[]).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }

    #[test]
    fn a_program_is_looked_for_before_anything_is_done() {
        let check = |program: &str, expected: Option<io::ErrorKind>| {
            assert_eq!(check(program.as_ref()).err().map(|error| error.kind()), expected, "{program}");
        };
        check("sh", None);
        check("/bin/sh", None);
        check("no-such-program-anywhere", Some(io::ErrorKind::NotFound));
        check("/no/such/program", Some(io::ErrorKind::NotFound));
        check("/etc/passwd", Some(io::ErrorKind::PermissionDenied));
        check("/etc", Some(io::ErrorKind::IsADirectory));
        check("", Some(io::ErrorKind::NotFound));
    }

    #[test]
    fn a_program_that_is_never_let_go_does_not_run() {
        let _alone = alone();
        let control = Control::new().unwrap();
        let held = hold(&["sh".into(), "-c".into(), "exit 0".into()], None, &control).unwrap();
        let Held { go, spawned, .. } = held;
        drop(go);
        assert!(spawned.recv().unwrap().is_err());
    }
}
