//! The ring that the kernel writes records into.

use super::event::Event;
use perf_event_open_sys::bindings::perf_event_mmap_page;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::ffi::c_void;
use std::io;
use std::num::NonZeroUsize;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU64, Ordering};

const PAGE: usize = 4096;

/// The reading end of one event's ring.
///
/// The kernel writes between tail and head and publishes head; we read and publish tail. Sizes are powers of two.
pub(crate) struct Ring {
    base: NonNull<c_void>,
    mapped: usize,
    data_offset: usize,
    data_size: NonZeroUsize,
}

// SAFETY: the mapping belongs to this value alone, and only `&mut self` reads records out of it.
unsafe impl Send for Ring {}

impl Ring {
    /// Maps a ring of `data_pages` pages (a power of two) onto an event.
    pub(crate) fn map(event: &Event, data_pages: usize) -> io::Result<Self> {
        let mapped = (data_pages + 1) * PAGE;
        // SAFETY: a fresh shared mapping at an address of the kernel's choice; nothing else refers to it.
        let base = unsafe {
            mmap(ptr::null_mut(), mapped, ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED, event.fd(), 0)?
        };
        let base = NonNull::new(base).ok_or_else(|| io::Error::other("ring mapped at address zero"))?;
        let data_size = NonZeroUsize::new(data_pages * PAGE).ok_or(io::ErrorKind::InvalidInput)?;
        Ok(Self { base, mapped, data_offset: PAGE, data_size })
    }

    fn position(&self, field: impl FnOnce(*mut perf_event_mmap_page) -> *mut u64) -> &AtomicU64 {
        let page = self.base.as_ptr().cast::<perf_event_mmap_page>();
        // SAFETY: the first page of the mapping is this struct for as long as `self` lives; the field is an aligned u64
        // that the kernel changes while we look, which is why it is an atomic.
        unsafe { AtomicU64::from_ptr(field(page)) }
    }

    fn head(&self) -> &AtomicU64 {
        // SAFETY: only the address of the field is taken.
        self.position(|page| unsafe { &raw mut (*page).data_head })
    }

    fn tail(&self) -> &AtomicU64 {
        // SAFETY: only the address of the field is taken.
        self.position(|page| unsafe { &raw mut (*page).data_tail })
    }

    /// Hands each complete record (its bytes, header included) to `take` and frees its place. Gives how often what was left
    /// had to be thrown away unread: once, if a record stated a size that it cannot have.
    pub(crate) fn drain(&mut self, mut take: impl FnMut(&[u8])) -> u64 {
        let head = self.head().load(Ordering::Acquire);
        let mut tail = self.tail().load(Ordering::Relaxed);
        let mut wrapped = Vec::new();
        let mut thrown_away = 0;
        while tail < head {
            let mut header = [0; 8];
            self.copy(tail, &mut header);
            let [.., size_low, size_high] = header;
            let size = usize::from(u16::from_le_bytes([size_low, size_high]));
            // The kernel never writes such a size; if it did, what follows could not be trusted.
            if size < header.len() || head - tail < size as u64 {
                tail = head;
                thrown_away = 1;
                break;
            }
            let start = (tail % self.data_size.get() as u64) as usize;
            if start + size <= self.data_size.get() {
                // SAFETY: the range lies inside the data area, between tail and head, where the kernel does not write
                // until we publish a new tail below.
                take(unsafe { std::slice::from_raw_parts(self.data().add(start), size) });
            } else {
                wrapped.resize(size, 0);
                self.copy(tail, &mut wrapped);
                take(&wrapped);
            }
            tail += size as u64;
        }
        self.tail().store(tail, Ordering::Release);
        thrown_away
    }

    fn data(&self) -> *const u8 {
        // SAFETY: the offset lies inside the mapping.
        unsafe { self.base.as_ptr().cast::<u8>().add(self.data_offset) }
    }

    /// Copies bytes out from a position, around the end of the ring.
    fn copy(&self, position: u64, into: &mut [u8]) {
        let size = self.data_size.get();
        let start = (position % size as u64) as usize;
        let before_end = into.len().min(size - start);
        let (first, rest) = into.split_at_mut(before_end);
        // SAFETY: both ranges lie inside the data area (records are at most 64 KiB, rings at least that) and between
        // tail and head.
        unsafe {
            ptr::copy_nonoverlapping(self.data().add(start), first.as_mut_ptr(), first.len());
            ptr::copy_nonoverlapping(self.data(), rest.as_mut_ptr(), rest.len());
        }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: exactly the mapping made in `map`; nothing refers to it any more.
        let _ = unsafe { munmap(self.base.as_ptr(), self.mapped) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A ring without a kernel behind it, whose data are these bytes.
    fn ring_of(data: &[u8]) -> Ring {
        let mapped = 2 * PAGE;
        // SAFETY: a fresh private mapping at an address of the kernel's choice; nothing else refers to it.
        let base = unsafe {
            rustix::mm::mmap_anonymous(ptr::null_mut(), mapped, ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE)
        };
        let base = NonNull::new(base.unwrap()).unwrap();
        let ring = Ring { base, mapped, data_offset: PAGE, data_size: NonZeroUsize::new(PAGE).unwrap() };
        assert!(data.len() <= PAGE);
        // SAFETY: the data area is a page, and the mapping is fresh.
        unsafe { ptr::copy_nonoverlapping(data.as_ptr(), base.as_ptr().cast::<u8>().add(PAGE), data.len()) };
        ring.head().store(data.len() as u64, Ordering::Release);
        ring
    }

    fn record(stated: u16, body: usize) -> Vec<u8> {
        let mut bytes = vec![9, 0, 0, 0, 0, 0];
        bytes.extend(stated.to_le_bytes());
        bytes.resize(8 + body, 7);
        bytes
    }

    #[test]
    fn what_is_thrown_away_is_counted() {
        let whole = [record(16, 8), record(24, 16)].concat();
        let too_small = [record(16, 8), record(4, 8), record(16, 8)].concat();
        let too_long = [record(16, 8), record(64, 8)].concat();
        for (data, taken, thrown_away) in [(whole, 2, 0), (too_small, 1, 1), (too_long, 1, 1)] {
            let mut ring = ring_of(&data);
            let mut sizes = Vec::new();
            assert_eq!(ring.drain(|bytes| sizes.push(bytes.len())), thrown_away, "{sizes:?}");
            assert_eq!(sizes.len(), taken);
            assert_eq!(ring.drain(|_| panic!("the ring is empty")), 0);
        }
    }
}
