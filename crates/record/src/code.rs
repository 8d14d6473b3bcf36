//! What code a process has now, without a recording.

use crate::dotnet;
use crate::target::processes::Processes;
use std::convert::Infallible;
use strata_perfdata::record::Mmap;

pub use dotnet::ListError;

/// Hands over a record of each mapping of code that a process has, as a recording begins with: with the identities of .NET
/// images, and with those inside single-file programs recognized. In the order of addresses; none when
/// there is no such process, or it may not be looked into.
pub fn mapped_code(pid: u32, mut take: impl FnMut(&Mmap<'_>)) {
    let told: Result<(), Infallible> = Processes::default().found(pid, |record| {
        take(record);
        Ok(())
    });
    match told {
        Ok(()) => {}
    }
}

/// Asks the runtime of a process for the methods it has compiled: an event stream with its list of them.
///
/// # Errors
/// Why there is no list, or not a whole one.
pub fn jitted_code(pid: u32) -> Result<Vec<u8>, ListError> {
    dotnet::list_methods(pid)
}
