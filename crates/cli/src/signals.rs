//! Signals and keys that stop a recording.

use crate::say::say;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use signal_hook::consts::{SIGHUP, SIGINT, SIGKILL, SIGTERM};
use signal_hook::iterator::Signals;
use std::io::{self, BufRead, IsTerminal};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::Duration;
use strata_record::Control;

/// What a signal to us is meant for.
#[derive(Clone, Debug)]
pub(crate) enum Meant {
    /// The recording.
    Recording,
    /// The launched program: its end ends the recording.
    Program(Arc<Program>),
}

/// The launched program, as far as signals are concerned.
#[derive(Debug, Default)]
pub(crate) struct Program {
    /// Its process id; 0 until it runs.
    pid: AtomicU32,
    recorded: AtomicBool,
}

impl Program {
    /// It runs under this process id.
    pub(crate) fn runs(&self, pid: u32) {
        self.pid.store(pid, Ordering::SeqCst);
    }

    /// Its recording is over; strata only waits for its end.
    pub(crate) fn is_recorded(&self) {
        self.recorded.store(true, Ordering::SeqCst);
    }
}

/// Lets signals stop the recording or reach the launched program.
pub(crate) fn watch(control: &Control, meant: Meant) -> io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    let control = control.clone();
    thread::Builder::new().name("strata-signals".into()).spawn(move || {
        let (mut earlier, mut while_waiting) = (0, 0);
        for signal in signals.forever() {
            match &meant {
                Meant::Program(program) if program.recorded.load(Ordering::SeqCst) => {
                    // Who asks twice means it.
                    let signal = if while_waiting > 0 { SIGKILL } else { signal };
                    pass_on(signal, program.pid.load(Ordering::SeqCst));
                    while_waiting += 1;
                }
                // A second time, whoever asks is out of patience with the program too.
                Meant::Program(program) if earlier == 0 && program.pid.load(Ordering::SeqCst) != 0 => {
                    if signal == SIGINT && in_foreground() {
                        say("waiting for the program to end (once more stops recording)");
                    } else {
                        pass_on(signal, program.pid.load(Ordering::SeqCst));
                    }
                }
                _ => control.ask_to_stop(),
            }
            earlier += 1;
        }
    })?;
    Ok(())
}

fn pass_on(signal: i32, pid: u32) {
    use rustix::process::{Pid, Signal, kill_process};
    if let (Some(pid), Some(signal)) = (Pid::from_raw(pid.cast_signed()), Signal::from_named_raw(signal)) {
        // It may have ended in this moment, which is what was asked for.
        let _ = kill_process(pid, signal);
    }
}

/// Whether Ctrl+C at our terminal reaches the launched program by itself: it is in the same group of processes.
fn in_foreground() -> bool {
    let ours = rustix::process::getpgrp();
    let terminals = [rustix::stdio::stdin(), rustix::stdio::stdout(), rustix::stdio::stderr()];
    terminals.iter().any(|terminal| rustix::termios::tcgetpgrp(terminal).is_ok_and(|group| group == ours))
}

/// Lets Enter stop the recording, when someone is there to press it.
pub(crate) fn watch_enter(control: &Control) -> io::Result<()> {
    if !io::stdin().is_terminal() {
        return Ok(());
    }
    let control = control.clone();
    thread::Builder::new().name("strata-enter".into()).spawn(move || {
        let stdin = rustix::stdio::stdin();
        let tick = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };
        loop {
            let mut polled = [PollFd::new(&stdin, PollFlags::IN)];
            let ready = poll(&mut polled, Some(&tick)).is_ok_and(|count| count > 0);
            // A job in the background that reads from its terminal is stopped: what is typed then is not for us.
            if !ready || !in_foreground() {
                if ready {
                    thread::sleep(Duration::from_millis(200));
                }
                continue;
            }
            let mut line = String::new();
            if io::stdin().lock().read_line(&mut line).is_ok_and(|length| length > 0) {
                control.ask_to_stop();
            }
            return;
        }
    })?;
    Ok(())
}
