//! Files that perf wrote are read as perf reads them.

use strata_perfdata::record::MmapIdentity;
use strata_perfdata::{AttrFlags, CLOCK_MONOTONIC, Note, PerfData, RecordData, Sampling};

use crate::perf::{check_against_perf, is_present, perf, scratch};

/// Keeps a CPU busy for some tenths of a second, with forks and execs.
const BUSY: &str = "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done; ls / >/dev/null; (cd /; pwd) >/dev/null";

/// Records a busy shell with these arguments, compares the file with perf's reading, and gives its bytes.
#[track_caller]
fn recorded(name: &str, arguments: &[&str]) -> Vec<u8> {
    let path = scratch(name);
    let path = path.to_str().unwrap();
    // -N: perf need not copy the images it saw.
    perf(&[&["record", "-q", "-N", "-o", path], arguments, &["--", "sh", "-c", BUSY]].concat());
    let samples = check_against_perf(path.as_ref());
    let printed = perf(&["script", "-F", "comm,pid", "-G", "-i", path]);
    assert_eq!(printed.lines().filter(|line| !line.trim().is_empty()).count(), samples);
    assert!(samples > 20, "{samples} samples");
    std::fs::read(path).unwrap()
}

#[test]
fn with_kernels_callchains() {
    if !is_present() {
        return;
    }
    let bytes = recorded("chains.data", &["-e", "cpu-clock", "-k", "mono", "-g"]);
    let file = PerfData::parse(&bytes).unwrap();
    assert_eq!(file.notes(), []);
    let [event] = file.events() else { panic!("{:?}", file.events()) };
    assert_eq!((event.name.as_str(), event.attr.kind, event.attr.config), ("cpu-clock", 1, 0));
    assert_eq!((event.attr.clock, event.attr.sampling), (Some(CLOCK_MONOTONIC), Sampling::Frequency(4000)));
    let expected = AttrFlags::MMAP.union(AttrFlags::MMAP2).union(AttrFlags::COMM).union(AttrFlags::TASK);
    assert!(event.attr.flags.contains(expected.union(AttrFlags::COMM_EXEC).union(AttrFlags::INHERIT)));
    assert!(event.attr.format.sample_id_all);

    let features = file.features();
    let uname = |flag| {
        let output = std::process::Command::new("uname").arg(flag).output().unwrap().stdout;
        Some(String::from_utf8(output).unwrap().trim_end().to_owned())
    };
    assert_eq!((&features.hostname, &features.os_release, &features.arch), (&uname("-n"), &uname("-r"), &uname("-m")));
    assert!(features.cpus.unwrap().online > 0 && features.command_line.iter().any(|argument| argument == "cpu-clock"));
    assert_eq!(features.clock.unwrap().clock, CLOCK_MONOTONIC);
    let samples = || file.records_by_time().map(Result::unwrap).filter(|at| at.is_sample());
    let times = features.sample_times.unwrap();
    assert_eq!(samples().next().and_then(|at| at.record.time()), Some(times.first));
    assert_eq!(samples().last().and_then(|at| at.record.time()), Some(times.last));
    let listed = perf(&["buildid-list", "-i", scratch("chains.data").to_str().unwrap()]);
    let ours: Vec<String> = features
        .build_ids
        .iter()
        .map(|entry| format!("{} {}", entry.build_id, String::from_utf8_lossy(&entry.filename)))
        .collect();
    assert!(!ours.is_empty());
    assert_eq!(listed.lines().collect::<Vec<_>>(), ours);
}

#[test]
fn with_registers_and_stacks() {
    if !is_present() {
        return;
    }
    let bytes = recorded("dwarf.data", &["-e", "cpu-clock", "-k", "mono", "--call-graph", "dwarf,2048"]);
    let file = PerfData::parse(&bytes).unwrap();
    assert_eq!(file.events()[0].attr.user_stack_bytes, 2048);
    let with_stack = file.records().flatten().filter_map(|at| match at.record.data {
        RecordData::Sample(sample) => sample.user_stack,
        _ => None,
    });
    let sizes: Vec<usize> = with_stack.map(|stack| stack.bytes.len()).collect();
    assert!(sizes.len() > 20 && sizes.iter().all(|size| *size == 2048), "{sizes:?}");
}

#[test]
fn with_several_events_on_all_cpus() {
    if !is_present() {
        return;
    }
    let arguments = ["-e", "cpu-clock,task-clock,page-faults", "-c", "50000", "-a", "-d"];
    let bytes = recorded("events.data", &arguments);
    let file = PerfData::parse(&bytes).unwrap();
    assert!(file.events().len() >= 3);
    let names: Vec<&str> = file.events().iter().map(|event| event.name.as_str()).collect();
    assert_eq!(names[..3], ["cpu-clock", "task-clock", "page-faults"]);
    let path = scratch("events.data");
    let printed = perf(&["script", "-F", "event", "-i", path.to_str().unwrap()]);
    for (index, name) in names.iter().enumerate() {
        let ours = file.records().flatten().filter(|at| at.is_sample() && at.event == index).count();
        let theirs = printed.lines().filter(|line| line.trim().trim_end_matches(':') == *name).count();
        assert_eq!(ours, theirs, "{name}");
    }
}

#[test]
fn with_build_ids_in_mappings() {
    if !is_present() {
        return;
    }
    // Not on all CPUs: the kernel would then mark the mappings of other recordings too, which makes perf abort.
    let bytes = recorded("build-ids.data", &["-e", "cpu-clock", "--buildid-mmap"]);
    let file = PerfData::parse(&bytes).unwrap();
    assert!(file.events()[0].attr.format.mmap_build_id);
    let by_build_id = file.records().flatten().filter(|at| match at.record.data {
        RecordData::Mmap(mmap) => mmap.more.is_some_and(|more| matches!(more.identity, MmapIdentity::BuildId(_))),
        _ => false,
    });
    assert!(by_build_id.count() > 5);
}

#[test]
fn when_perf_was_killed_more_is_read_than_perf_reads() {
    if !is_present() {
        return;
    }
    // A killed recording: its size was never filled in, though its feature flags are set.
    let bytes = recorded("killed.data", &["-e", "cpu-clock", "-g"]);
    let samples =
        |bytes: &[u8]| PerfData::parse(bytes).unwrap().records().flatten().filter(|at| at.is_sample()).count();
    let data_end = {
        let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
        usize::try_from(word(40) + word(48)).unwrap()
    };
    let mut killed = bytes[..data_end].to_vec();
    killed[48..56].fill(0);
    assert_eq!(samples(&killed), samples(&bytes));
    let file = PerfData::parse(&killed).unwrap();
    assert!(matches!(file.notes(), [Note::Unfinished { .. }]), "{:?}", file.notes());
}
