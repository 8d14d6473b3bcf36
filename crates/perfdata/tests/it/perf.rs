//! perf itself as the judge: what it prints of a file's records (`perf script -D`) against what is read here.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use strata_address::Avma;
use strata_perfdata::record::{MmapIdentity, Sample, sample_type};
use strata_perfdata::{EventDescription, PerfData, RecordAt, RecordData, Sampling};

/// Whether perf is there. Where tests must all run, it is.
pub(crate) fn is_present() -> bool {
    let present = Command::new("perf").arg("--version").output().is_ok_and(|output| output.status.success());
    if !present {
        assert!(std::env::var_os("CI").is_none(), "perf is not installed");
        eprintln!("perf not present: nothing is compared");
    }
    present
}

/// A path for a test's file.
pub(crate) fn scratch(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// What perf prints on stdout, after it exited well.
#[track_caller]
pub(crate) fn perf(arguments: &[&str]) -> String {
    let Output { status, stdout, stderr } = Command::new("perf").args(arguments).output().unwrap();
    assert!(status.success(), "perf {arguments:?}: {status}\n{}", String::from_utf8_lossy(&stderr));
    String::from_utf8_lossy(&stdout).into_owned()
}

/// A record as both sides tell it.
type Told = BTreeMap<u64, (u64, String)>;

/// Compares all that perf prints of the records of a file with what is read here; gives the number of samples.
#[track_caller]
pub(crate) fn check_against_perf(path: &Path) -> usize {
    let printed = perf(&["script", "-D", "-i", path.to_str().unwrap()]);
    let (theirs, their_times) = told_by_perf(&printed);
    let bytes = std::fs::read(path).unwrap();
    let file = PerfData::parse(&bytes).unwrap();
    let records: Vec<RecordAt<'_>> = file.records().map(|at| at.unwrap()).collect();
    let ours: Told =
        records.iter().filter_map(|at| told_by_us(at, file.events()).map(|told| (at.offset, told))).collect();
    assert!(!ours.is_empty());
    for (offset, told) in &ours {
        assert_eq!(theirs.get(offset), Some(told), "record at {offset:#x}");
    }
    assert_eq!(ours.len(), theirs.len());
    let our_times: Vec<u64> = file
        .records_by_time()
        .map(|at| at.unwrap())
        .filter(|at| told_by_us(at, file.events()).is_some())
        .filter_map(|at| at.record.time())
        .filter(|time| *time != 0)
        .collect();
    assert_eq!(our_times, their_times);
    records.iter().filter(|at| at.is_sample()).count()
}

/// Of `perf script -D`: lines like `[cpu] 1510896555740 0x848 [0x4f8]: PERF_RECORD_SAMPLE(IP, 0x2): 1/1: 0x7f period: 2 addr: 0`
/// followed by lines of the callchain, the registers and the stack.
fn told_by_perf(printed: &str) -> (Told, Vec<u64>) {
    let mut told = Told::new();
    let mut times = Vec::new();
    let mut current = None;
    for line in printed.lines() {
        if let Some((before, after)) = line.split_once("]: PERF_RECORD_") {
            current = None;
            let mut words = before.split_whitespace().rev();
            let _size = words.next().unwrap();
            let offset = u64::from_str_radix(words.next().unwrap().strip_prefix("0x").unwrap(), 16).unwrap();
            let time: u64 = words.next().unwrap().parse().unwrap();
            let known = ["SAMPLE", "MMAP", "COMM", "EXIT", "FORK"].iter().any(|kind| after.starts_with(kind));
            if known {
                if time != 0 {
                    times.push(time);
                }
                told.insert(offset, (time, after.trim_end().to_owned()));
                current = Some(offset);
            }
        } else if let Some((_, text)) = current.and_then(|offset| told.get_mut(&offset)) {
            let words: Vec<&str> = line.split_whitespace().collect();
            match words.as_slice() {
                ["...", "FP", "chain:", count] => *text += &format!("; chain {count}"),
                [".....", _, address] => *text += &format!(" {address}"),
                ["...", "user", "regs:", "mask", mask, "ABI", abi] => *text += &format!("; regs {mask} {abi}"),
                ["....", _, value] => *text += &format!(" {value}"),
                ["...", "ustack:", "size", size, "offset", _] => *text += &format!("; stack {size}"),
                _ => {}
            }
        }
    }
    (told, times)
}

fn told_by_us(at: &RecordAt<'_>, events: &[EventDescription]) -> Option<(u64, String)> {
    let record = &at.record;
    let task = record.id.task.unwrap_or_default();
    let text = match &record.data {
        RecordData::Sample(sample) => {
            let ip = sample.ip.unwrap_or_default();
            let asked = match events[at.event].attr.sampling {
                Sampling::Period(period) => period,
                Sampling::Frequency(_) => 1,
            };
            let (period, address) = (sample.period.unwrap_or(asked), sample.address.unwrap_or_default().0);
            let misc = record.misc.0;
            let rest = told_sample(sample, events[at.event].attr.format.sample_type & sample_type::CALLCHAIN != 0);
            format!("SAMPLE(IP, {misc:#x}): {}/{}: {ip} period: {period} addr: {address:#x}{rest}", task.pid, task.tid)
                .replace("addr: 0x0", "addr: 0")
        }
        RecordData::Mmap(mmap) => {
            let place = format!("{:#x}({:#x}) @ {}", mmap.start.0, mmap.length, alternate(mmap.file_offset));
            let task = format!("{}/{}", mmap.task.pid, mmap.task.tid);
            let name = String::from_utf8_lossy(mmap.filename);
            match mmap.more {
                None => format!("MMAP {task}: [{place}]: {} {name}", if mmap.is_data { 'r' } else { 'x' }),
                Some(more) => {
                    let identity = match more.identity {
                        MmapIdentity::Inode { major, minor, inode, generation } => {
                            format!(" {major:02x}:{minor:02x} {inode} {generation}")
                        }
                        MmapIdentity::BuildId(id) => format!(" <{id}>"),
                    };
                    let letter = |bit, letter| if more.protection & bit != 0 { letter } else { '-' };
                    let shared = if more.flags & 1 != 0 { 's' } else { 'p' };
                    let protection: String = [letter(1, 'r'), letter(2, 'w'), letter(4, 'x'), shared].iter().collect();
                    format!("MMAP2 {task}: [{place}{identity}]: {protection} {name}")
                }
            }
        }
        RecordData::Comm(comm) => {
            let exec = if comm.exec { " exec" } else { "" };
            format!("COMM{exec}: {}:{}/{}", String::from_utf8_lossy(comm.name), comm.task.pid, comm.task.tid)
        }
        RecordData::Fork(lifetime) | RecordData::Exit(lifetime) => {
            let kind = if matches!(record.data, RecordData::Fork(_)) { "FORK" } else { "EXIT" };
            let (task, parent) = (lifetime.task, lifetime.parent);
            format!("{kind}({}:{}):({}:{})", task.pid, task.tid, parent.pid, parent.tid)
        }
        _ => return None,
    };
    Some((record.id.time.unwrap_or_default(), text))
}

fn told_sample(sample: &Sample<'_>, with_chain: bool) -> String {
    let mut text = String::new();
    if with_chain {
        text += &format!("; chain nr:{}", sample.callchain.len());
        for word in sample.callchain.words.iter() {
            text += &format!(" {word:016x}");
        }
    }
    if let Some(regs) = sample.user_regs {
        text += &format!("; regs {:#x} 64-bit", regs.mask);
        for value in regs.values.iter() {
            text += &format!(" 0x{value:016x}");
        }
    }
    if let Some(stack) = sample.user_stack {
        text += &format!("; stack {},", stack.filled);
    }
    text
}

/// A number as `%#x` of C prints it.
fn alternate(number: u64) -> String {
    if number == 0 { "0".to_owned() } else { Avma(number).to_string() }
}
