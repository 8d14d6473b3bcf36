//! Images that a runtime inflated out of a compressed single-file program and copied to where their code runs.

use super::dotnet_image::{PAGE, Source, pages};
use super::memory;
use std::os::unix::ffi::OsStringExt;
use strata_address::{Avma, AvmaRange};
use strata_clrimage::{Layout, Pe};

/// How far before its code an image begins, in pages: by far the most often so far, else closer.
const USUAL_DISTANCE: u64 = 16;

/// Where an image begins whose code was copied to a mapping, with its headers; `None` for any other code in memory, such as
/// that of a JIT.
pub(crate) fn find(pid: u32, mapping: AvmaRange) -> Option<(Avma, Vec<u8>)> {
    let distances = std::iter::once(USUAL_DISTANCE).chain(1..USUAL_DISTANCE);
    distances.filter_map(|pages| mapping.start().checked_sub(pages * PAGE)).find_map(|base| {
        let mut magic = [0; 2];
        if memory::read(pid, base, &mut magic) != magic.len() || magic != *b"MZ" {
            return None;
        }
        let headers = Source::Memory { pid, base }.headers();
        let is_ours = code_pages(&headers, base)? == (mapping.start().0, mapping.end().0);
        is_ours.then_some((base, headers))
    })
}

/// The pages that the code of an image takes.
fn code_pages(headers: &[u8], base: Avma) -> Option<(u64, u64)> {
    let pe = Pe::parse(headers, Layout::Memory).ok()?;
    let code = pe.code_section()?;
    pages(base.0.checked_add(code.virtual_address.into())?, code.end().checked_sub(code.virtual_address)?)
}

/// Path of the program that a process runs, as the kernel prints it.
pub(crate) fn executable(pid: u32) -> Option<Vec<u8>> {
    let path = std::fs::read_link(format!("/proc/{pid}/exe")).ok()?;
    Some(path.into_os_string().into_vec())
}
