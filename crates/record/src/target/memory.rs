//! Reading the target's memory without stopping it.

use rustc_hash::FxHashMap;
use std::io::IoSliceMut;
use strata_address::Avma;
use strata_unwind::TargetMemory;

const PAGE: u64 = 4096;

/// Pages kept before all are forgotten; bounds memory when a batch touches very many stacks.
const MAX_PAGES: usize = 512;

/// The memory of one or more processes as it is now. Stack pages are read once per batch of samples.
#[derive(Default)]
pub(crate) struct LiveMemory {
    pages: FxHashMap<(u32, u64), Option<Box<[u8; PAGE as usize]>>>,
}

impl LiveMemory {
    /// Forgets what was read: the next batch looks again.
    pub(crate) fn forget(&mut self) {
        self.pages.clear();
    }

    /// The memory of one process, through a thread of it that lives: a main thread that has ended shows none.
    pub(crate) fn of(&mut self, pid: u32, tid: u32) -> ProcessMemory<'_> {
        ProcessMemory { pid, tid, pages: &mut self.pages }
    }
}

/// The memory of one process as it is now.
pub(crate) struct ProcessMemory<'a> {
    pid: u32,
    tid: u32,
    pages: &'a mut FxHashMap<(u32, u64), Option<Box<[u8; PAGE as usize]>>>,
}

impl TargetMemory for ProcessMemory<'_> {
    fn read_word(&mut self, address: Avma) -> Option<u64> {
        let start = address.0 & !(PAGE - 1);
        if self.pages.len() >= MAX_PAGES {
            self.pages.clear();
        }
        let (pid, tid) = (self.pid, self.tid);
        let page = self.pages.entry((pid, start)).or_insert_with(|| {
            let mut page = Box::new([0; PAGE as usize]);
            (read(tid, Avma(start), &mut *page) == page.len()).then_some(page)
        });
        let offset = (address.0 - start) as usize;
        page.as_ref()?.get(offset..)?.first_chunk().map(|bytes| u64::from_le_bytes(*bytes))
    }

    fn read_code(&mut self, address: Avma, code: &mut [u8]) -> usize {
        match read(self.tid, address, code) {
            // The window may reach past the end of the mapping: take what lies before the page boundary.
            0 => {
                let to_page_end = (PAGE - address.0 % PAGE) as usize;
                let shorter = code.len().min(to_page_end);
                read(self.tid, address, &mut code[..shorter])
            }
            length => length,
        }
    }
}

/// Reads bytes of the process that a thread belongs to; returns how many could be read.
pub(crate) fn read(tid: u32, address: Avma, into: &mut [u8]) -> usize {
    let Ok(tid) = i32::try_from(tid) else { return 0 };
    let remote = libc::iovec { iov_base: address.0 as *mut libc::c_void, iov_len: into.len() };
    let local = IoSliceMut::new(into);
    // SAFETY: `IoSliceMut` has the layout of `iovec` and describes memory we may write; the remote address is only
    // looked at by the kernel, which checks it against the other process.
    let length = unsafe { libc::process_vm_readv(tid, (&raw const local).cast(), 1, &raw const remote, 1, 0) };
    usize::try_from(length).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_memory_reads_as_it_is_and_nothing_is_read_from_nowhere() {
        let word = 0x1122_3344_5566_7788_u64;
        let at = Avma(&raw const word as u64);
        let mut memory = LiveMemory::default();
        let mut ourselves = memory.of(std::process::id(), std::process::id());
        assert_eq!(ourselves.read_word(at), Some(word));
        assert_eq!(ourselves.read_word(Avma(8)), None);
        let mut code = [0; 64];
        assert_eq!(ourselves.read_code(Avma(16), &mut code), 0);
        assert!(ourselves.read_code(Avma(read as *const () as u64), &mut code) > 0);
    }
}
