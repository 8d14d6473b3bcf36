//! Whether standard output was there when the program began.

use std::sync::atomic::{AtomicBool, Ordering};

static WAS_CLOSED: AtomicBool = AtomicBool::new(false);

/// Whether standard output was closed when the program began (`>&-` in a shell).
///
/// Before `main` Rust opens `/dev/null` in its place, which takes everything and keeps nothing, and cannot be told from a
/// `/dev/null` that whoever started the program wanted.
pub fn standard_output_was_closed() -> bool {
    WAS_CLOSED.load(Ordering::Relaxed)
}

// SAFETY: the section is a list of pointers to functions of the C calling convention, which are called one after the other
// before `main`. This one needs nothing that is set up later.
#[used]
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look;

extern "C" fn look() {
    // SAFETY: it asks for the flags of a number that may or may not be a descriptor, and changes nothing.
    let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) };
    WAS_CLOSED.store(flags == -1, Ordering::Relaxed);
}
