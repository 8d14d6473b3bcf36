//! What `/proc` says of a process. Processes vanish at any moment: every answer may be empty.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use strata_address::{Avma, AvmaRange};

/// What memory without a name is called, as in the kernel's records.
pub(crate) const ANONYMOUS: &str = "//anon";

/// One executable mapping of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ExecutableMapping {
    pub(crate) range: AvmaRange,
    pub(crate) file_offset: u64,
    pub(crate) device: (u32, u32),
    pub(crate) inode: u64,
    /// `PROT_*` bits.
    pub(crate) protection: u32,
    /// `MAP_SHARED` or `MAP_PRIVATE`.
    pub(crate) flags: u32,
    /// As the kernel writes it; `//anon` for memory without a name, as `perf` calls it.
    pub(crate) path: String,
}

/// The executable mappings, in order of address.
pub(crate) fn executable_mappings(pid: u32) -> io::Result<Vec<ExecutableMapping>> {
    let mut maps = fs::read(format!("/proc/{pid}/maps"))?;
    // A main thread that has ended shows none any more; those of its other threads are the same.
    let others = if maps.is_empty() { threads(pid).unwrap_or_default() } else { Vec::new() };
    for tid in others.into_iter().filter(|tid| *tid != pid) {
        maps = fs::read(format!("/proc/{pid}/task/{tid}/maps")).unwrap_or_default();
        if !maps.is_empty() {
            break;
        }
    }
    Ok(maps.split(|byte| *byte == b'\n').filter_map(|line| parse_mapping(&String::from_utf8_lossy(line))).collect())
}

fn parse_mapping(line: &str) -> Option<ExecutableMapping> {
    let mut fields = line.splitn(6, ' ');
    let (start, end) = fields.next()?.split_once('-')?;
    let permissions = fields.next()?;
    let file_offset = u64::from_str_radix(fields.next()?, 16).ok()?;
    let (major, minor) = fields.next()?.split_once(':')?;
    let inode = fields.next()?.parse().ok()?;
    let path = fields.next().unwrap_or_default().trim_start();
    if !permissions.contains('x') {
        return None;
    }
    let hex = |digits| u64::from_str_radix(digits, 16).ok();
    let bit = |letter, bit: i32| if permissions.contains(letter) { bit.unsigned_abs() } else { 0 };
    Some(ExecutableMapping {
        range: AvmaRange::new(Avma(hex(start)?), Avma(hex(end)?))?,
        file_offset,
        device: (u32::from_str_radix(major, 16).ok()?, u32::from_str_radix(minor, 16).ok()?),
        inode,
        protection: bit('r', libc::PROT_READ) | bit('w', libc::PROT_WRITE) | bit('x', libc::PROT_EXEC),
        flags: if permissions.contains('s') { libc::MAP_SHARED } else { libc::MAP_PRIVATE }.unsigned_abs(),
        path: if path.is_empty() { ANONYMOUS.to_owned() } else { path.to_owned() },
    })
}

/// Where the kernel's own code lies, if it tells: from its first symbol to where its modules begin.
pub(crate) fn kernel_code() -> Option<AvmaRange> {
    /// The kernel maps itself into the gigabyte below this address (`KERNEL_IMAGE_SIZE`); modules follow.
    const MODULES: Avma = Avma(0xffff_ffff_c000_0000);
    /// The list is in order of address and begins with the code; making all of it takes the kernel a tenth of a second.
    const FIRST_LINES: usize = 2000;
    let symbols = BufReader::new(File::open("/proc/kallsyms").ok()?);
    for line in symbols.lines().take(FIRST_LINES) {
        let line = line.ok()?;
        let mut fields = line.split_ascii_whitespace();
        if let (Some(address), Some(_), Some("_text")) = (fields.next(), fields.next(), fields.next()) {
            // A hidden address is zero.
            let start = u64::from_str_radix(address, 16).ok().filter(|address| *address != 0)?;
            return AvmaRange::new(Avma(start), MODULES);
        }
    }
    None
}

/// Ids of the threads a process has now.
pub(crate) fn threads(pid: u32) -> io::Result<Vec<u32>> {
    let mut threads = Vec::new();
    for entry in fs::read_dir(format!("/proc/{pid}/task"))? {
        threads.extend(entry?.file_name().to_str().and_then(|name| name.parse::<u32>().ok()));
    }
    Ok(threads)
}

/// A thread's name as the kernel has it, without the newline.
pub(crate) fn thread_name(pid: u32, tid: u32) -> Option<Vec<u8>> {
    let mut name = fs::read(format!("/proc/{pid}/task/{tid}/comm")).ok()?;
    if name.last() == Some(&b'\n') {
        name.pop();
    }
    Some(name)
}

/// A process's command line, arguments separated by spaces; its name in brackets when it has none (a kernel thread).
pub(crate) fn command_line(pid: u32) -> Option<String> {
    let bytes = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let arguments: Vec<_> =
        bytes.split(|byte| *byte == 0).filter(|part| !part.is_empty()).map(String::from_utf8_lossy).collect();
    if arguments.is_empty() {
        return thread_name(pid, pid).map(|name| format!("[{}]", String::from_utf8_lossy(&name)));
    }
    Some(arguments.join(" "))
}

/// The effective user id of a process.
pub(crate) fn user(pid: u32) -> Option<u32> {
    status_field(pid, "Uid:", 1)
}

/// The process that a thread belongs to: for the id of a process, itself.
pub(crate) fn process_of(tid: u32) -> Option<u32> {
    status_field(tid, "Tgid:", 0)
}

/// One of the numbers that the kernel's description of a process or thread has under a name.
fn status_field(id: u32, name: &str, index: usize) -> Option<u32> {
    let status = fs::read(format!("/proc/{id}/status")).ok()?;
    let status = String::from_utf8_lossy(&status);
    let values = status.lines().find_map(|line| line.strip_prefix(name))?;
    values.split_ascii_whitespace().nth(index)?.parse().ok()
}

/// Whether the process is stopped by a signal or a debugger.
pub(crate) fn is_stopped(pid: u32) -> bool {
    matches!(state(pid), Some(b'T' | b't'))
}

/// Whether the process has ended (or was never there); a zombie has ended.
pub(crate) fn has_ended(pid: u32) -> bool {
    match state(pid) {
        // Anything but its absence, as when no descriptor is left to look with, says nothing.
        None => !Path::new(&format!("/proc/{pid}")).exists(),
        Some(b'X') => true,
        // A main thread that ended before the others looks the same: the process goes on without it.
        Some(b'Z') => threads(pid).map_or(true, |threads| threads.len() <= 1),
        Some(_) => false,
    }
}

/// The letter that the kernel gives the process's state.
fn state(pid: u32) -> Option<u8> {
    // The name in parentheses may hold anything: parentheses, and bytes that are no text.
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let name_end = stat.iter().rposition(|byte| *byte == b')')?;
    stat[name_end + 1..].iter().copied().find(|byte| *byte != b' ')
}

/// What is added to our `CLOCK_MONOTONIC` to get the one of a process in another time namespace, nanoseconds.
pub(crate) fn monotonic_offset_ns(pid: u32) -> i64 {
    let offsets = fs::read_to_string(format!("/proc/{pid}/timens_offsets")).unwrap_or_default();
    offsets
        .lines()
        .find_map(|line| {
            let mut fields = line.split_whitespace();
            let clock = fields.next()?;
            let seconds: i64 = fields.next()?.parse().ok()?;
            let nanoseconds: i64 = fields.next()?.parse().ok()?;
            (clock == "monotonic").then(|| seconds.saturating_mul(1_000_000_000).saturating_add(nanoseconds))
        })
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mappings_are_read_as_the_kernel_writes_them() {
        let mapping =
            parse_mapping("7f0000001000-7f0000003000 r-xs 00002000 00:01 1037    /memfd:doublemapper (deleted)")
                .unwrap();
        assert_eq!(mapping.path, "/memfd:doublemapper (deleted)");
        assert_eq!((mapping.file_offset, mapping.inode, mapping.device), (0x2000, 1037, (0, 1)));
        assert_eq!(mapping.range.len(), 0x2000);
        assert_eq!(mapping.flags, libc::MAP_SHARED.unsigned_abs());
        assert_eq!(parse_mapping("7f00-7f10 rwxp 00000000 00:00 0").unwrap().path, "//anon");
        for line in ["", "7f00-7f10 rw-p 00000000 00:00 0", "x-y r-xp 0 0:0 0", "7f10-7f00 r-xp 00000000 00:00 0"] {
            assert_eq!(parse_mapping(line), None, "{line:?}");
        }
    }

    #[test]
    fn we_find_ourselves() {
        let pid = std::process::id();
        assert!(executable_mappings(pid).unwrap().iter().any(|mapping| mapping.path.starts_with('/')));
        assert!(threads(pid).unwrap().contains(&pid));
        assert!(threads(pid).unwrap().iter().all(|tid| process_of(*tid) == Some(pid)));
        assert_eq!(user(pid), Some(rustix::process::geteuid().as_raw()));
        assert!(command_line(pid).is_some() && !is_stopped(pid) && !has_ended(pid));
        assert!(has_ended(u32::MAX / 2) && command_line(u32::MAX / 2).is_none());
    }
}
