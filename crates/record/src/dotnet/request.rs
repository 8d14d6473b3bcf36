//! What the runtime is asked for.

use strata_diagnostics::{Level, Provider, Rundown, SessionRequest, StackWalk};

const RUNTIME: &str = "Microsoft-Windows-DotNETRuntime";

const LOADER: u64 = 0x8;
const JIT: u64 = 0x10;
const NGEN: u64 = 0x20;
const END_ENUMERATION: u64 = 0x80;
const COMPILATION: u64 = 0x10_0000_0000;

/// The runtime drops what does not fit its buffer, and the list of methods at the end has to fit as a whole. The memory is
/// only used when it is needed.
const BUFFER_MB: u32 = 256;

/// The session that runs while we record: methods and modules as they come, with names. At its end the runtime lists what
/// precompiled code it used.
pub(super) fn live() -> SessionRequest {
    SessionRequest {
        providers: vec![Provider::new(RUNTIME, COMPILATION | END_ENUMERATION | NGEN | JIT | LOADER, Level::Verbose)],
        buffer_mb: BUFFER_MB,
        rundown: Rundown::Keywords(LOADER | NGEN),
        stack_walk: StackWalk::Off,
    }
}

/// The session whose only purpose is the list it ends with: what the runtime had when we attached.
pub(super) fn snapshot() -> SessionRequest {
    SessionRequest {
        providers: vec![Provider::new(RUNTIME, LOADER, Level::Critical)],
        buffer_mb: BUFFER_MB,
        rundown: Rundown::Keywords(LOADER | JIT | NGEN),
        stack_walk: StackWalk::Off,
    }
}
