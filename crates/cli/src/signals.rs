//! Signals and keys that stop a recording.

use crate::say::say;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::io::{self, BufRead, IsTerminal};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use strata_record::Control;

/// What a signal to us is meant for.
#[derive(Clone, Debug)]
pub(crate) enum Meant {
    /// The recording.
    Recording,
    /// The launched program, whose id is here once it runs: its end ends the recording.
    Program(Arc<AtomicU32>),
}

/// Lets signals stop the recording or reach the launched program.
pub(crate) fn watch(control: &Control, meant: Meant) -> io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    let control = control.clone();
    let mut earlier = 0;
    thread::Builder::new().name("strata-signals".into()).spawn(move || {
        for signal in signals.forever() {
            match &meant {
                // A second time, whoever asks is out of patience with the program too.
                Meant::Program(pid) if earlier == 0 && pid.load(Ordering::SeqCst) != 0 => {
                    pass_on(signal, pid.load(Ordering::SeqCst));
                }
                _ => control.ask_to_stop(),
            }
            earlier += 1;
        }
    })?;
    Ok(())
}

/// Ctrl+C at a terminal reaches the program by itself: it is in the same group of processes.
fn pass_on(signal: i32, pid: u32) {
    use rustix::process::{Pid, Signal, kill_process};
    let from_terminal = signal == SIGINT && in_foreground();
    if from_terminal {
        say("waiting for the program to end (once more stops recording)");
        return;
    }
    if let (Some(pid), Some(signal)) = (Pid::from_raw(pid.cast_signed()), Signal::from_named_raw(signal)) {
        // It may have ended in this moment, which is what was asked for.
        let _ = kill_process(pid, signal);
    }
}

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
        let mut line = String::new();
        if io::stdin().lock().read_line(&mut line).is_ok_and(|length| length > 0) {
            control.ask_to_stop();
        }
    })?;
    Ok(())
}
