//! Files that are written here are read by perf, finished or cut.

use std::fs::File;
use std::path::Path;

use strata_address::Avma;
use strata_perfdata::record::{
    Callchain, ChainContext, Comm, Lifetime, Misc, Mmap, Mmap2Fields, MmapIdentity, Sample, SampleId, TaskId,
    sample_type,
};
use strata_perfdata::{
    AttrFlags, BuildId, BuildIdEntry, CLOCK_MONOTONIC, ClockData, CpuCounts, EventAttr, EventDescription, Features,
    Record, RecordData, RecordFormat, Sampling, TimeSpan, Writer,
};

use crate::perf::{check_against_perf, is_present, perf, scratch};

const TASK: TaskId = TaskId { pid: 4242, tid: 4243 };
const SECOND: u64 = 1_000_000_000;

fn description() -> EventDescription {
    use sample_type::{CALLCHAIN, CPU, IDENTIFIER, IP, PERIOD, TID, TIME};
    let sample_type = IP | TID | TIME | CPU | PERIOD | CALLCHAIN | IDENTIFIER;
    let format = RecordFormat { sample_type, sample_id_all: true, ..RecordFormat::default() };
    let mut attr = EventAttr::cpu_clock(Sampling::Frequency(999), format);
    // Without EXCLUDE_GUEST perf names the event cpu-clock:HG.
    let flags = [AttrFlags::MMAP2, AttrFlags::COMM, AttrFlags::COMM_EXEC, AttrFlags::TASK, AttrFlags::EXCLUDE_GUEST];
    attr.flags = flags.into_iter().fold(AttrFlags::MMAP, AttrFlags::union);
    attr.clock = Some(CLOCK_MONOTONIC);
    EventDescription { attr, name: "cpu-clock".to_owned(), ids: vec![77] }
}

fn record(time: u64, data: RecordData<'_>) -> Record<'_> {
    let id = SampleId { task: Some(TASK), time: Some(time), id: Some(77), stream_id: None, cpu: Some(1) };
    Record { misc: Misc::USER, id, data }
}

fn side_records() -> [Record<'static>; 4] {
    let mmap = Mmap {
        task: TASK,
        start: Avma(0x40_0000),
        length: 0x10_0000,
        file_offset: 0,
        filename: b"/nowhere/program",
        is_data: false,
        more: Some(Mmap2Fields {
            identity: MmapIdentity::Inode { major: 8, minor: 1, inode: 99, generation: 3 },
            protection: 5,
            flags: 2,
        }),
    };
    let by_build_id =
        Mmap2Fields { identity: MmapIdentity::BuildId(BuildId::new(&[0xab; 20]).unwrap()), protection: 5, flags: 2 };
    let library = Mmap { start: Avma(0x7f00_0000), filename: b"/nowhere/lib.so", more: Some(by_build_id), ..mmap };
    let parent = TaskId { pid: 4000, tid: 4000 };
    [
        record(SECOND, RecordData::Fork(Lifetime { task: TASK, parent, time: SECOND })),
        record(SECOND + 1, RecordData::Comm(Comm { task: TASK, name: b"a program", exec: false })),
        record(SECOND + 2, RecordData::Mmap(mmap)),
        record(SECOND + 3, RecordData::Mmap(library)),
    ]
}

fn push_samples(writer: &mut Writer<File>, indices: std::ops::Range<u64>) {
    for index in indices {
        let ip = 0x40_1000 + index;
        let chain = [ChainContext::User.marker(), ip, 0x40_2222, 0x7f00_3333];
        let sample = Sample {
            ip: Some(Avma(ip)),
            period: Some(1_001_001),
            callchain: Callchain::from_words(&chain),
            ..Sample::default()
        };
        writer.push(&record(2 * SECOND + index * 1_000, RecordData::Sample(sample))).unwrap();
    }
}

fn features() -> Features {
    let entry = |byte, is_kernel, filename: &str| BuildIdEntry {
        pid: -1,
        build_id: BuildId::new(&[byte; 20]).unwrap(),
        is_kernel,
        filename: filename.as_bytes().to_vec(),
    };
    Features {
        build_ids: vec![entry(0x11, true, "[kernel.kallsyms]"), entry(0x22, false, "/nowhere/program")],
        hostname: Some("some-host".to_owned()),
        os_release: Some("6.99-test".to_owned()),
        version: Some("strata 0.1.0".to_owned()),
        arch: Some("x86_64".to_owned()),
        cpus: Some(CpuCounts { available: 8, online: 4 }),
        command_line: vec!["strata".to_owned(), "record".to_owned(), "-p".to_owned(), "4242".to_owned()],
        sample_times: Some(TimeSpan { first: 2 * SECOND, last: 2 * SECOND + 9_000 }),
        clock_resolution: Some(1),
        clock: Some(ClockData { clock: CLOCK_MONOTONIC, wall_clock: 1_700_000_000 * SECOND, clock_time: 5 * SECOND }),
    }
}

/// perf finds so many samples in the file, with the chains that were written.
#[track_caller]
fn check_samples(path: &Path, samples: u64) {
    let path_text = path.to_str().unwrap();
    let report = perf(&["report", "--stdio", "-i", path_text]);
    assert!(report.contains(&format!("# Samples: {samples}  of event 'cpu-clock'")), "{report}");
    assert!(report.contains("a program"), "{report}");
    let script = perf(&["script", "--ns", "-F", "comm,pid,tid,cpu,time,period,event,ip", "-i", path_text]);
    let headers: Vec<&str> = script.lines().filter(|line| line.contains("cpu-clock:")).collect();
    assert_eq!(headers.len() as u64, samples, "{script}");
    let words: Vec<&str> = headers[0].split_whitespace().collect();
    assert_eq!(words, ["a", "program", "4242/4243", "[001]", "2.000000000:", "1001001", "cpu-clock:"]);
    let chain: Vec<&str> = script.lines().skip(1).take(3).map(str::trim).collect();
    // perf prints offsets in the image.
    assert_eq!(chain, ["1000", "2222", "3333"]);
    assert_eq!(check_against_perf(path) as u64, samples);
}

#[test]
fn a_finished_file() {
    if !is_present() {
        return;
    }
    let path = scratch("finished.data");
    let mut writer = Writer::new(File::create(&path).unwrap(), vec![description()]).unwrap();
    side_records().iter().for_each(|record| writer.push(record).unwrap());
    push_samples(&mut writer, 0..10);
    writer.finish(&features()).unwrap();
    check_samples(&path, 10);

    let path = path.to_str().unwrap();
    let header = perf(&["report", "--header-only", "-I", "-i", path]);
    for line in [
        "# hostname : some-host",
        "# os release : 6.99-test",
        "# perf version : strata 0.1.0",
        "# arch : x86_64",
        "# nrcpus online : 4",
        "# nrcpus avail : 8",
        "# cmdline : strata record -p 4242 ",
        "# clockid: monotonic (1)",
        "# time of first sample : 2.000000",
        "# time of last sample : 2.000009",
        "# event : name = cpu-clock, , id = { 77 }, type = 1,",
        "{ sample_period, sample_freq } = 999",
        "sample_type = IP|TID|TIME|CALLCHAIN|CPU|PERIOD|IDENTIFIER",
        "sample_id_all = 1",
        "comm_exec = 1",
        "use_clockid = 1",
    ] {
        assert!(header.contains(line), "{line} in\n{header}");
    }
    let build_ids = perf(&["buildid-list", "-i", path]);
    assert_eq!(build_ids, format!("{} [kernel.kallsyms]\n{} /nowhere/program\n", "11".repeat(20), "22".repeat(20)));
}

#[test]
fn every_flushed_prefix() {
    if !is_present() {
        return;
    }
    let path = scratch("growing.data");
    let mut writer = Writer::new(File::create(&path).unwrap(), vec![description()]).unwrap();
    side_records().iter().for_each(|record| writer.push(record).unwrap());
    for part in 0..3 {
        push_samples(&mut writer, part * 5..part * 5 + 5);
        writer.flush().unwrap();
        let prefix = std::fs::read(&path).unwrap();
        for (name, tail) in [("flushed.data", &[][..]), ("half-written.data", &[9, 0, 0, 0, 2, 0, 80, 0, 1, 2, 3])] {
            let copy = scratch(name);
            std::fs::write(&copy, [&prefix, tail].concat()).unwrap();
            check_samples(&copy, part * 5 + 5);
        }
    }
}
