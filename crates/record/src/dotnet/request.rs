//! What the runtime is asked for.

use strata_diagnostics::{Level, Provider, Rundown, SessionRequest, StackWalk};

const RUNTIME: &str = "Microsoft-Windows-DotNETRuntime";

const LOADER: u64 = 0x8;
const JIT: u64 = 0x10;
const END_ENUMERATION: u64 = 0x80;
/// Which instructions belong to which IL offset, for each body that the JIT makes.
const IL_TO_NATIVE_MAP: u64 = 0x2_0000;
const COMPILATION: u64 = 0x10_0000_0000;

/// The runtime drops what does not fit its buffer, and the list of methods at the end has to fit as a whole. The memory is
/// only used when it is needed.
const BUFFER_MB: u32 = 256;

/// The session that runs while we record: methods and modules as they come, with names. Its end lists nothing: what was
/// before it is in the snapshot, and precompiled code is named from its images. A runtime that ends in order tells of all
/// its jitted code once more (since .NET 6), which is what the end of the enumeration is asked for.
pub(super) fn live() -> SessionRequest {
    let keywords = COMPILATION | END_ENUMERATION | IL_TO_NATIVE_MAP | JIT | LOADER;
    SessionRequest {
        providers: vec![Provider::new(RUNTIME, keywords, Level::Verbose)],
        buffer_mb: BUFFER_MB,
        rundown: Rundown::None,
        stack_walk: StackWalk::Off,
    }
}

/// The session whose only purpose is the list it ends with: what the runtime had jitted when we attached.
///
/// Runtimes before 9 cannot choose and list precompiled code too: 3.1 and 8.0 ignore a rundown provider that the session names,
/// whether its keywords ask for something or suppress it, and another session's as well; and on the runtime's own provider
/// they list nothing at a session's start.
pub(super) fn snapshot() -> SessionRequest {
    SessionRequest {
        providers: vec![Provider::new(RUNTIME, LOADER, Level::Critical)],
        buffer_mb: BUFFER_MB,
        rundown: Rundown::Keywords(IL_TO_NATIVE_MAP | LOADER | JIT),
        stack_walk: StackWalk::Off,
    }
}
