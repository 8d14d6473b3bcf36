//! Reading `/proc`. Each error concerns one process.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::io::Errno;

use super::environment::Environment;
use super::maps::{Evidence, evidence};
use super::reason::NotAttachable;

/// A bit of the flags in `/proc/PID/stat`: a thread of the kernel.
const PF_KTHREAD: u64 = 0x0020_0000;

/// Clock ticks per second in `/proc` on every Linux that .NET runs on.
const TICKS_PER_SECOND: f64 = 100.0;

/// No environment and no command line is read further than this.
const LONGEST_TEXT: u64 = 8 << 20;

/// In every single-file program, after the offset of its bundle: the SHA-256 of `.net core bundle`, here from its end to its
/// beginning, so that our own executable is not taken for one.
const BUNDLE_SIGNATURE_REVERSED: [u8; 32] = [
    0xae, 0x6a, 0xb3, 0x24, 0xce, 0x2d, 0x3b, 0xee, 0x18, 0x33, 0xae, 0xef, 0xe6, 0xb9, 0xf5, 0x13, 0x32, 0xa0, 0xd7,
    0x14, 0x02, 0x93, 0x7b, 0x72, 0x38, 0x20, 0x61, 0x6a, 0xb9, 0x02, 0x12, 0x8b,
];

/// Size of the bundle's offset and the signature.
const BUNDLE_MARK: usize = 8 + 32;

/// A `/proc`.
pub(super) struct ProcFs {
    root: PathBuf,
}

/// What anyone may read of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Process {
    pub(super) pid: u32,
    /// The same as `pid`, unless that is a thread's.
    pub(super) thread_group: u32,
    /// In its innermost pid namespace.
    pub(super) namespace_pid: u32,
    /// Effective.
    pub(super) uid: u32,
    /// Clock ticks since boot.
    pub(super) start_time: u64,
    pub(super) kernel_thread: bool,
    /// A zombie, or about to be gone.
    pub(super) ended: bool,
}

/// Whether a read failed because the process is no more.
pub(super) fn is_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound || Errno::from_io_error(error) == Some(Errno::SRCH)
}

/// Whether there is a process with this id, though `/proc` may not show it.
fn is_signallable(pid: u32) -> bool {
    let Some(pid) = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw) else { return false };
    rustix::process::test_kill_process(pid) != Err(Errno::SRCH)
}

impl ProcFs {
    pub(super) fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    pub(super) fn path(&self, pid: u32, name: &str) -> PathBuf {
        self.root.join(pid.to_string()).join(name)
    }

    /// As far as the folder can be read.
    pub(super) fn pids(&self) -> Vec<u32> {
        let Ok(entries) = fs::read_dir(&self.root) else { return Vec::new() };
        entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
    }

    pub(super) fn is_there(&self, pid: u32) -> bool {
        self.path(pid, "stat").exists()
    }

    pub(super) fn process(&self, pid: u32) -> Result<Process, NotAttachable> {
        let read = |name| {
            self.read(pid, name).map_err(|error| match error.kind() {
                io::ErrorKind::PermissionDenied => NotAttachable::Hidden { pid },
                _ if is_gone(&error) && is_signallable(pid) => NotAttachable::Hidden { pid },
                _ => NotAttachable::NoSuchProcess { pid },
            })
        };
        let (stat, status) = (read("stat")?, read("status")?);
        parse_process(pid, &stat, &status).ok_or(NotAttachable::NoSuchProcess { pid })
    }

    pub(super) fn environment(&self, pid: u32) -> io::Result<Environment> {
        self.read(pid, "environ").map(Environment)
    }

    pub(super) fn command_line(&self, pid: u32) -> Vec<OsString> {
        let Ok(bytes) = self.read(pid, "cmdline") else { return Vec::new() };
        let bytes = bytes.strip_suffix(&[0]).unwrap_or(&bytes);
        if bytes.is_empty() {
            return Vec::new();
        }
        bytes.split(|&byte| byte == 0).map(|part| OsStr::from_bytes(part).to_owned()).collect()
    }

    pub(super) fn executable(&self, pid: u32) -> Option<PathBuf> {
        fs::read_link(self.path(pid, "exe")).ok()
    }

    pub(super) fn evidence(&self, pid: u32) -> io::Result<Evidence> {
        evidence(BufReader::with_capacity(1 << 16, File::open(self.path(pid, "maps"))?))
    }

    pub(super) fn is_single_file_host(&self, pid: u32) -> bool {
        let Ok(file) = File::open(self.path(pid, "exe")) else { return false };
        let length = file.metadata().map_or(0, |metadata| metadata.len());
        holds_bundle(file, length).unwrap_or(false)
    }

    /// How long a process has been running.
    pub(super) fn age(&self, process: &Process) -> Option<Duration> {
        let uptime = fs::read_to_string(self.root.join("uptime")).ok()?;
        let uptime: f64 = uptime.split_whitespace().next()?.parse().ok()?;
        #[expect(clippy::cast_precision_loss, reason = "exact for 2^53 ticks")]
        let start = process.start_time as f64 / TICKS_PER_SECOND;
        Duration::try_from_secs_f64((uptime - start).max(0.0)).ok()
    }

    /// Whether the process itself holds a listening socket bound under this file name. `None` when that cannot be read.
    pub(super) fn listens(&self, pid: u32, socket_name: &OsStr) -> Option<bool> {
        let table = self.read(pid, "net/unix").ok()?;
        let inodes: Vec<&str> =
            table.split(|&byte| byte == b'\n').filter_map(|line| listening_inode(line, socket_name)).collect();
        if inodes.is_empty() {
            return Some(false);
        }
        let descriptors = fs::read_dir(self.path(pid, "fd")).ok()?;
        Some(descriptors.flatten().any(|entry| {
            let target = fs::read_link(entry.path()).unwrap_or_default();
            let inode = target.to_str().and_then(|target| target.strip_prefix("socket:[")?.strip_suffix(']'));
            inode.is_some_and(|inode| inodes.contains(&inode))
        }))
    }

    fn read(&self, pid: u32, name: &str) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        File::open(self.path(pid, name))?.take(LONGEST_TEXT).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

fn parse_process(pid: u32, stat: &[u8], status: &[u8]) -> Option<Process> {
    // The name, in parentheses, may itself hold parentheses and blanks.
    let name_end = stat.iter().rposition(|&byte| byte == b')')?;
    let stat = std::str::from_utf8(stat.get(name_end..)?.strip_prefix(b")")?).ok()?;
    let field = |number: usize| stat.split_whitespace().nth(number.checked_sub(3)?);
    let flags: u64 = field(9)?.parse().ok()?;
    let status = String::from_utf8_lossy(status);
    let line = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    Some(Process {
        pid,
        thread_group: line("Tgid").and_then(|id| id.trim().parse().ok()).unwrap_or(pid),
        namespace_pid: line("NSpid").and_then(|ids| ids.split_whitespace().last()?.parse().ok()).unwrap_or(pid),
        uid: line("Uid")?.split_whitespace().nth(1)?.parse().ok()?,
        start_time: field(22)?.parse().ok()?,
        kernel_thread: flags & PF_KTHREAD != 0,
        ended: matches!(field(3)?, "Z" | "X" | "x"),
    })
}

/// The inode of a line of `/proc/net/unix`, if it is a listening socket with this file name.
/// Columns: address, references, protocol, flags (bit 16: listening), type, state, inode, path.
fn listening_inode<'a>(line: &'a [u8], socket_name: &OsStr) -> Option<&'a str> {
    let line = std::str::from_utf8(line).ok()?;
    let mut columns = line.split_whitespace();
    let flags = u64::from_str_radix(columns.nth(3)?, 16).ok()?;
    let inode = columns.nth(2)?;
    let name = Path::new(columns.next()?).file_name()?;
    (flags & 0x1_0000 != 0 && name == socket_name).then_some(inode)
}

/// Whether an executable of this length says where its bundle is. A host without a bundle says 0.
fn holds_bundle(mut file: impl Read, length: u64) -> io::Result<bool> {
    const PIECE: usize = 1 << 18;
    let mut bytes = Vec::with_capacity(PIECE);
    loop {
        if file.by_ref().take(PIECE as u64).read_to_end(&mut bytes)? == 0 {
            return Ok(false);
        }
        if bytes.windows(BUNDLE_MARK).any(|mark| is_bundle_mark(mark, length)) {
            return Ok(true);
        }
        let keep_from = bytes.len().saturating_sub(BUNDLE_MARK);
        bytes.drain(..keep_from);
    }
}

fn is_bundle_mark(mark: &[u8], length: u64) -> bool {
    // The last byte first: most places are done with then.
    mark.iter().rev().zip(BUNDLE_SIGNATURE_REVERSED).all(|(byte, expected)| *byte == expected)
        && mark.first_chunk().is_some_and(|offset| (1..length).contains(&u64::from_le_bytes(*offset)))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    const STAT: &str =
        "42 (a) b (c)) S 1 42 42 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 98765 100 200 18446744073709551615";

    #[test]
    fn stat_and_status() {
        let check = |stat: &str, status: &str, expected: Option<(u32, u32, u64, bool, bool)>| {
            let process = parse_process(42, stat.as_bytes(), status.as_bytes());
            let seen = process.map(|it| (it.namespace_pid, it.uid, it.start_time, it.kernel_thread, it.ended));
            assert_eq!(seen, expected, "{stat} / {status}");
        };
        check(STAT, "Name:\ta\nTgid:\t42\nUid:\t1\t2\t3\t4\nNSpid:\t42\t7\t1\n", Some((1, 2, 98765, false, false)));
        check(STAT, "Uid:\t0\t0\t0\t0\n", Some((42, 0, 98765, false, false)));
        check(&STAT.replace(") S ", ") Z "), "Uid:\t0\t0\t0\t0\n", Some((42, 0, 98765, false, true)));
        check(&STAT.replace("4194560", "69238880"), "Uid:\t0\t0\t0\t0\n", Some((42, 0, 98765, true, false)));
        check(STAT, "", None);
        check("", "Uid:\t0\t0\t0\t0\n", None);
        check("42 (a) S 1", "Uid:\t0\t0\t0\t0\n", None);
    }

    #[test]
    fn listening_sockets() {
        let check = |line: &str, expected: Option<&str>| {
            assert_eq!(listening_inode(line.as_bytes(), OsStr::new("name")), expected, "{line}");
        };
        check("ffff: 00000002 00000000 00010000 0001 01 4711 /tmp/name", Some("4711"));
        check("ffff: 00000002 00000000 00010000 0001 01 4711 name", Some("4711"));
        check("ffff: 00000003 00000000 00000000 0001 03 4711 /tmp/name", None);
        check("ffff: 00000002 00000000 00010000 0001 01 4711 /tmp/other", None);
        check("ffff: 00000002 00000000 00010000 0001 01 4711", None);
        check("Num       RefCount Protocol Flags    Type St Inode Path", None);
    }

    /// An executable with so many bytes before the place where it says where its bundle is.
    pub(in super::super) fn single_file(before: usize, bundle: u64) -> Vec<u8> {
        let signature: Vec<u8> = BUNDLE_SIGNATURE_REVERSED.iter().rev().copied().collect();
        [&vec![0x8b; before][..], &bundle.to_le_bytes(), &signature].concat()
    }

    #[test]
    fn bundle_mark_across_pieces() {
        let check = |bytes: &[u8], expected: bool| {
            assert_eq!(holds_bundle(bytes, bytes.len() as u64).expect("reading memory"), expected);
        };
        for before in [0, 5, (1 << 18) - 39, (1 << 18) - 9, (1 << 18) - 1, 1 << 18, 600_000] {
            let bytes = single_file(before, 20);
            check(&bytes, true);
            check(&bytes[..bytes.len() - 1], false);
        }
        check(&single_file(10, 0), false);
        check(&single_file(10, 50), false);
        check(&single_file(10, 49), true);
    }
}
