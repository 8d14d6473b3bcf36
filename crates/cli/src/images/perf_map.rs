//! The code of a process as perf reads it from `perf-PID.map`: `START SIZE NAME`, numbers in hexadecimal.

use super::listing::Listing;
use crate::failure::Failure;
use crate::say::say;
use std::io::{self, Write};
use strata_digest::visible;
use strata_profile::CodeKind;
use strata_resolve::{JittedMethod, jitted_methods};

/// A line of perf's map of a process.
fn write_line(out: &mut dyn Write, start: u64, size: u64, name: &str, tier: &str) -> io::Result<()> {
    writeln!(out, "{start:x} {size:x} {}[{tier}]", visible(name))
}

/// The lines of an image: its methods, their cold parts, and the code between them and the runtime.
pub(super) fn write_image(out: &mut dyn Write, listing: &Listing<'_>) -> io::Result<()> {
    let base = listing.base.map_or(0, |base| base.0);
    let at = |rva: u32| base.wrapping_add(rva.into());
    listing.for_each_row(|row| {
        write_line(out, at(row.method.start), row.method.size.into(), &row.name, "PreJIT")?;
        let cold = row.method.cold;
        cold.map_or(Ok(()), |cold| write_line(out, at(cold.start), cold.size.into(), &row.name, "PreJit-cold"))
    })?;
    for thunk in listing.methods.thunks() {
        writeln!(out, "{:x} {:x} {thunk}", at(thunk.start), thunk.size)?;
    }
    Ok(())
}

/// What the runtime of a process has compiled, as it lists it when asked.
pub(super) fn jitted(pid: u32) -> Result<Vec<JittedMethod>, Failure> {
    let stream = strata_record::jitted_code(pid).map_err(|error| {
        Failure::could_not_start(
            format_args!("the methods that process {pid} compiled cannot be listed: {error}"),
            "strata ps tells why a process cannot be asked; --image NAME --perfmap maps one image without asking",
        )
    })?;
    let (methods, gaps) = jitted_methods(&stream);
    if !gaps.is_empty() {
        say(&format!("strata: the list of methods that process {pid} compiled is not whole"));
    }
    Ok(methods)
}

/// The lines of what a runtime has compiled.
pub(super) fn write_jitted(out: &mut dyn Write, methods: &[JittedMethod]) -> io::Result<()> {
    methods.iter().try_for_each(|method| {
        let tier = match method.kind {
            CodeKind::Jit(tier) => tier.label(),
            _ => "Stub",
        };
        write_line(out, method.range.start().0, method.range.len(), &method.name, tier)
    })
}
