//! How others ask a running recording to stop.

use rustix::event::{EventfdFlags, eventfd};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

/// What was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ask {
    /// Nothing: go on.
    GoOn,
    /// Stop in an orderly way.
    Stop,
    /// Stop now and keep what exists.
    Abort,
}

/// Asks a recording to stop; any thread may hold one.
#[derive(Clone, Debug)]
pub struct Control {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    asked: AtomicU8,
    wake: OwnedFd,
}

impl Control {
    /// A control that nothing was asked of yet.
    ///
    /// # Errors
    /// When the system has no descriptor left.
    pub fn new() -> io::Result<Self> {
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self { shared: Arc::new(Shared { asked: AtomicU8::new(0), wake }) })
    }

    /// Asks once more: first for an orderly stop, then for an immediate one.
    pub fn ask_to_stop(&self) {
        let _ = self.shared.asked.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |asked| Some((asked + 1).min(2)));
        self.wake();
    }

    /// What was asked so far.
    pub fn asked(&self) -> Ask {
        match self.shared.asked.load(Ordering::SeqCst) {
            0 => Ask::GoOn,
            1 => Ask::Stop,
            _ => Ask::Abort,
        }
    }

    /// Wakes the recording up to look around.
    pub(crate) fn wake(&self) {
        // A full counter has woken it already.
        let _ = rustix::io::write(&self.shared.wake, &1_u64.to_ne_bytes());
    }

    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        self.shared.wake.as_fd()
    }

    pub(crate) fn clear_wake(&self) {
        let mut counter = [0; 8];
        let _ = rustix::io::read(&self.shared.wake, &mut counter);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn asking_twice_aborts_and_asking_more_changes_nothing() {
        let control = Control::new().unwrap();
        assert_eq!(control.asked(), Ask::GoOn);
        let asked = std::array::from_fn(|_| {
            control.ask_to_stop();
            control.asked()
        });
        assert_eq!(asked, [Ask::Stop, Ask::Abort, Ask::Abort]);
    }
}
