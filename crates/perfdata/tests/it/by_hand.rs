//! Bytes put together from the format's description mean what it says.

use strata_address::Avma;
use strata_perfdata::record::{
    ChainContext, ChainEntry, Comm, CpuMode, Lifetime, Mmap, Mmap2Fields, MmapIdentity, Other, TaskId, Throttle,
    UserStack,
};
use strata_perfdata::{
    BuildId, FileError, Note, PerfData, ProblemKind, Record, RecordData, RecordError, RecordFormat, Sampling,
};
use strata_testkit::perfdata::{Attr, Fields, File, record};

/// TID, TIME, ID, CPU and STREAM_ID at the end of records.
const TRAILER: u64 = 1 << 1 | 1 << 2 | 1 << 6 | 1 << 7 | 1 << 9;
const WITH_TRAILER: RecordFormat = RecordFormat {
    sample_type: TRAILER,
    read_format: 0,
    branch_sample_type: 0,
    sample_regs_user: 0,
    sample_id_all: true,
    mmap_build_id: true,
};
const TASK: TaskId = TaskId { pid: 10, tid: 11 };

fn trailer(fields: Fields) -> Fields {
    fields.u32(70).u32(71).u64(72).u64(73).u64(74).u32(75).u32(0)
}

#[track_caller]
fn check_side(kind: u32, misc: u16, body: Fields, expected: RecordData<'_>) {
    let bytes = record(kind, misc, trailer(body.clone()));
    let parsed = Record::parse(&bytes, &WITH_TRAILER).unwrap();
    assert_eq!(parsed.data, expected);
    assert_eq!(parsed.id.task, Some(TaskId { pid: 70, tid: 71 }));
    assert_eq!(
        (parsed.id.time, parsed.id.id, parsed.id.stream_id, parsed.id.cpu),
        (Some(72), Some(73), Some(74), Some(75))
    );
    let mut encoded = Vec::new();
    strata_perfdata::encode(&parsed, &WITH_TRAILER, &mut encoded).unwrap();
    assert_eq!(encoded, bytes);

    // The same without a trailer.
    let bytes = record(kind, misc, body);
    let parsed = Record::parse(&bytes, &RecordFormat { sample_id_all: false, ..WITH_TRAILER }).unwrap();
    assert_eq!((parsed.data, parsed.id.time), (expected, None));
}

#[test]
fn mmap() {
    let body = Fields::new().u32(10).u32(11).u64s(&[0x4000, 0x2000, 0x1000]).text("/lib/a.so", 8);
    let mmap = Mmap {
        task: TASK,
        start: Avma(0x4000),
        length: 0x2000,
        file_offset: 0x1000,
        filename: b"/lib/a.so",
        is_data: false,
        more: None,
    };
    check_side(1, 2, body.clone(), RecordData::Mmap(mmap));
    check_side(1, 2 | 1 << 13, body, RecordData::Mmap(Mmap { is_data: true, ..mmap }));
    assert!(mmap.is_executable() && !Mmap { is_data: true, ..mmap }.is_executable());
}

#[test]
fn mmap2_with_inode_and_with_build_id() {
    let start = Fields::new().u32(10).u32(11).u64s(&[0x4000, 0x2000, 0x1000]);
    let inode = start.clone().u32(8).u32(1).u64(1234).u64(5).u32(5).u32(2).text("/a", 8);
    let identity = MmapIdentity::Inode { major: 8, minor: 1, inode: 1234, generation: 5 };
    let more = Mmap2Fields { identity, protection: 5, flags: 2 };
    let mmap = Mmap {
        task: TASK,
        start: Avma(0x4000),
        length: 0x2000,
        file_offset: 0x1000,
        filename: b"/a",
        is_data: false,
        more: Some(more),
    };
    check_side(10, 2, inode, RecordData::Mmap(mmap));
    assert!(mmap.is_executable());

    let room = [1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let by_build_id = start.clone().u8(8).u8(0).u16(0).bytes(&room).u32(1).u32(2).text("/a", 8);
    let identity = MmapIdentity::BuildId(BuildId::new(&room[..8]).unwrap());
    let more = Mmap2Fields { identity, protection: 1, flags: 2 };
    check_side(10, 2 | 1 << 14, by_build_id, RecordData::Mmap(Mmap { more: Some(more), ..mmap }));

    let too_long = start.u8(21).u8(0).u16(0).bytes(&room).u32(1).u32(2).text("/a", 8);
    assert_eq!(
        Record::parse(&record(10, 1 << 14, too_long), &RecordFormat { sample_id_all: false, ..WITH_TRAILER }),
        Err(RecordError::BuildIdLength { offset: 40, stated: 21 })
    );
}

#[test]
fn mmap2_of_an_event_that_did_not_ask_for_build_ids_has_its_inode_whatever_misc_says() {
    // The kernel leaves the bit set when another event, of a profiler beside this one, asked for build ids.
    let not_asked = RecordFormat::default();
    for major in [0, 8, 0xfe, 0x103] {
        let body = Fields::new().u32(10).u32(11).u64s(&[0x4000, 0x2000, 0x1000]);
        let body = body.u32(major).u32(1).u64(1234).u64(5).u32(5).u32(2).text("/usr/bin/ls", 8);
        let bytes = record(10, 2 | 1 << 14, body);
        let RecordData::Mmap(mmap) = Record::parse(&bytes, &not_asked).unwrap().data else { panic!() };
        let identity = MmapIdentity::Inode { major, minor: 1, inode: 1234, generation: 5 };
        assert_eq!(mmap.more, Some(Mmap2Fields { identity, protection: 5, flags: 2 }));
    }
    // perf inject puts them in afterwards.
    let body = Fields::new().u32(10).u32(11).u64s(&[0x4000, 0x2000, 0x1000]);
    let bytes = record(10, 2 | 1 << 14, body.u32(20).bytes(&[0xab; 20]).u32(5).u32(2).text("/usr/bin/ls", 8));
    let RecordData::Mmap(mmap) = Record::parse(&bytes, &not_asked).unwrap().data else { panic!() };
    assert_eq!(mmap.more.unwrap().identity, MmapIdentity::BuildId(BuildId::new(&[0xab; 20]).unwrap()));
}

#[test]
fn other_side_records() {
    let comm = Fields::new().u32(10).u32(11).text("dotnet", 8);
    check_side(3, 0, comm.clone(), RecordData::Comm(Comm { task: TASK, name: b"dotnet", exec: false }));
    check_side(3, 1 << 13, comm, RecordData::Comm(Comm { task: TASK, name: b"dotnet", exec: true }));
    let lifetime = Lifetime { task: TASK, parent: TaskId { pid: 20, tid: 21 }, time: 99 };
    let body = Fields::new().u32(10).u32(20).u32(11).u32(21).u64(99);
    check_side(7, 0, body.clone(), RecordData::Fork(lifetime));
    check_side(4, 0, body, RecordData::Exit(lifetime));
    check_side(2, 0, Fields::new().u64s(&[1, 5]), RecordData::Lost { id: 1, lost: 5 });
    check_side(13, 0, Fields::new().u64(5), RecordData::LostSamples { lost: 5 });
    let throttle = Throttle { time: 1, id: 2, stream_id: 3 };
    check_side(5, 0, Fields::new().u64s(&[1, 2, 3]), RecordData::Throttle(throttle));
    check_side(6, 0, Fields::new().u64s(&[1, 2, 3]), RecordData::Unthrottle(throttle));
    check_side(14, 1 << 13, Fields::new(), RecordData::Other(Other { kind: 14, body: &[] }));
}

#[test]
fn perfs_own_records_have_no_trailer() {
    let bytes = record(68, 0, Fields::new());
    let parsed = Record::parse(&bytes, &WITH_TRAILER).unwrap();
    assert_eq!(parsed.data, RecordData::Other(Other { kind: 68, body: &[] }));
    assert_eq!(parsed.time(), None);
}

/// A sample with every field up to the stack, and one word after it.
fn full_sample() -> (Vec<u8>, RecordFormat) {
    let format = RecordFormat {
        sample_type: 0x3fff | 1 << 16 | 1 << 15,
        read_format: 0x1f,
        branch_sample_type: 1 << 17,
        sample_regs_user: 0b1000_0001_0000_0001,
        sample_id_all: true,
        mmap_build_id: false,
    };
    let fields = Fields::new()
        .u64s(&[900, 0x1234])
        .u32(10)
        .u32(11)
        .u64s(&[5_000, 0xadd8, 900, 901])
        .u32(3)
        .u32(0)
        .u64(1_000_000)
        // Two counters of a group: enabled, running, then value, id, lost each.
        .u64s(&[2, 50, 60, 1, 2, 3, 4, 5, 6])
        .u64s(&[4, -128_i64 as u64, 0xffff_8000_0000_1000, -512_i64 as u64, 0x5555])
        .u32(12)
        .bytes(b"raw bytes...")
        .u64s(&[1, 77, 0xf0, 0xf1, 0xf2])
        .u64s(&[2, 0xa0, 0xa8, 0xaf])
        .u64(16)
        .bytes(b"stack of sixteen")
        .u64(9)
        // data_src, which is not read.
        .u64(0xdead);
    (record(9, 2, fields), format)
}

#[test]
fn sample_with_every_field() {
    let (bytes, format) = full_sample();
    let record = Record::parse(&bytes, &format).unwrap();
    assert_eq!(record.cpu_mode(), CpuMode::User);
    assert_eq!((record.id.task, record.time(), record.id.id), (Some(TASK), Some(5_000), Some(900)));
    assert_eq!((record.id.stream_id, record.id.cpu), (Some(901), Some(3)));
    let RecordData::Sample(sample) = record.data else { panic!("{record:?}") };
    assert_eq!((sample.ip, sample.address, sample.period), (Some(Avma(0x1234)), Some(Avma(0xadd8)), Some(1_000_000)));
    let chain: Vec<ChainEntry> = sample.callchain.entries().collect();
    let expected = [
        ChainEntry::Context(ChainContext::Kernel),
        ChainEntry::Address(Avma(0xffff_8000_0000_1000)),
        ChainEntry::Context(ChainContext::User),
        ChainEntry::Address(Avma(0x5555)),
    ];
    assert_eq!(chain, expected);
    assert_eq!(sample.raw, Some(&b"raw bytes..."[..]));
    let regs = sample.user_regs.unwrap();
    let by_number = [0, 8, 15, 1, 63, 64].map(|register| regs.get(register));
    assert_eq!(by_number, [Some(0xa0), Some(0xa8), Some(0xaf), None, None, None]);
    let stack = UserStack { bytes: b"stack of sixteen", filled: 9 };
    assert_eq!(sample.user_stack, Some(stack));
    assert_eq!(stack.copied(), b"stack of ");
    assert_eq!(UserStack { filled: u64::MAX, ..stack }.copied(), stack.bytes);
}

#[test]
fn a_kernel_threads_sample_has_no_user_side() {
    let format = RecordFormat { sample_type: 1 << 12 | 1 << 13, sample_regs_user: 7, ..RecordFormat::default() };
    let bytes = record(9, 1, Fields::new().u64s(&[0, 0]));
    let RecordData::Sample(sample) = Record::parse(&bytes, &format).unwrap().data else { panic!() };
    assert_eq!((sample.user_regs, sample.user_stack), (None, None));
}

#[test]
fn every_cut_of_every_record_is_told() {
    let (sample, format) = full_sample();
    let mmap2 = Fields::new().u32(1).u32(2).u64s(&[3, 4, 5, 6, 7, 8]).u32(1).u32(2).text("name", 8);
    // Up to where the last field that is read ends.
    for (bytes, format, needed) in
        [(sample.clone(), format, sample.len() - 8), (record(10, 0, mmap2), WITH_TRAILER, 104)]
    {
        for length in 0..bytes.len() {
            let mut cut = bytes[..length].to_vec();
            assert!(Record::parse(&cut, &format).is_err(), "header states more than the {length} bytes there");
            if length < 8 {
                continue;
            }
            cut[6..8].copy_from_slice(&u16::try_from(length).unwrap().to_le_bytes());
            match Record::parse(&cut, &format) {
                Ok(_) => assert!(length >= needed, "{length} bytes were enough"),
                Err(RecordError::Cut { offset, .. }) => assert!(offset <= length && length < needed),
                Err(error) => panic!("{error}"),
            }
        }
    }
}

/// A file of one event with TID and TIME.
fn timed_event() -> Attr {
    Attr::cpu_clock().sample_type(1 << 1 | 1 << 2).flags(1 << 18)
}

fn timed_sample(time: u64) -> Vec<u8> {
    record(9, 2, Fields::new().u32(1).u32(1).u64(time))
}

#[test]
fn records_in_time_order() {
    let records = [
        timed_sample(30),
        // No time of its own: stays with the one before.
        record(68, 0, Fields::new()),
        timed_sample(10),
        record(2, 0, Fields::new().u64s(&[0, 1]).u32(1).u32(1).u64(u64::MAX)),
        timed_sample(30),
        timed_sample(20),
    ];
    let bytes = File::new().event(timed_event(), &[]).records(&records.concat()).done();
    let file = PerfData::parse(&bytes).unwrap();
    let start = file.records().next().unwrap().unwrap().offset;
    let offsets: Vec<u64> = file.records_by_time().map(|at| at.unwrap().offset - start).collect();
    assert_eq!(offsets, [32, 56, 120, 0, 24, 96]);
    assert_eq!(file.notes(), []);
}

#[test]
fn events_are_told_by_their_ids() {
    let first = Attr::cpu_clock().sample_type(1 << 16 | 1 << 2).flags(1 << 18);
    let second = Attr::cpu_clock().sample_type(1 << 16).flags(1 << 18).word(8, 1);
    let records = [
        record(9, 0, Fields::new().u64s(&[200])),
        record(9, 0, Fields::new().u64s(&[101, 5])),
        record(13, 0, Fields::new().u64s(&[7, 200])),
        record(13, 0, Fields::new().u64s(&[8, 6, 0])),
        record(9, 0, Fields::new().u64s(&[300])),
        record(9, 0, Fields::new().u64s(&[100, 9])),
    ];
    let bytes = File::new()
        .event(first, &[100, 101])
        .event(second, &[200])
        .records(&records.concat())
        .feature(12, Fields::new().u32(1).u32(128).bytes(&[0; 128]).u32(1).u32(64).text("second", 64).u64(200))
        .done();
    let file = PerfData::parse(&bytes).unwrap();
    let found: Vec<_> =
        file.records().map(|at| at.map(|at| (at.event, at.record.time())).map_err(|at| at.kind)).collect();
    let unknown = Err(ProblemKind::UnknownEvent { id: 300 });
    assert_eq!(found, [Ok((1, None)), Ok((0, Some(5))), Ok((1, None)), Ok((0, Some(6))), unknown, Ok((0, Some(9)))]);
    let names: Vec<&str> = file.events().iter().map(|event| event.name.as_str()).collect();
    assert_eq!(names, ["cpu-clock", "second"]);
    assert_eq!(file.events()[0].attr.sampling, Sampling::Frequency(1000));
}

#[test]
fn events_that_cannot_be_told_apart_are_refused() {
    let other = Attr::cpu_clock().sample_type(1 << 16);
    let bytes = File::new().event(timed_event(), &[1]).event(other, &[2]).done();
    assert_eq!(PerfData::parse(&bytes).unwrap_err(), FileError::EventsNotTold { event: 1 });
}

#[track_caller]
fn check_refused(bytes: &[u8], expected: FileError) {
    assert_eq!(PerfData::parse(bytes).unwrap_err(), expected);
}

#[test]
fn what_is_not_read_is_named() {
    let file = File::new().event(timed_event(), &[]);
    check_refused(b"", FileError::NotPerfData);
    check_refused(b"Nettrace and more", FileError::NotPerfData);
    check_refused(b"2ELIFREP and more", FileError::BigEndian);
    check_refused(b"PERFFILE and more", FileError::OldVersion);
    check_refused(&Fields::new().bytes(b"PERFILE2").u64(16).done(), FileError::PipeMode);
    check_refused(
        &file.clone().feature(27, Fields::new().u32(1)).records(&timed_sample(1)).done(),
        FileError::Compressed,
    );
    check_refused(&File::new().done(), FileError::NoEvents);

    let killed = [timed_sample(1), record(81, 0, Fields::new().u64(1)), timed_sample(1)].concat();
    let bytes = file.records(&killed).stating_data_size(0).done();
    let file = PerfData::parse(&bytes).unwrap();
    let kinds: Vec<_> = file.records().map(|at| at.map(|_| ()).map_err(|problem| problem.kind)).collect();
    assert_eq!(kinds, [Ok(()), Err(ProblemKind::Compressed)]);
}

#[test]
fn an_unfinished_or_cut_file_is_read_as_far_as_it_goes() {
    let records = [timed_sample(1), timed_sample(2), timed_sample(3)].concat();
    let file = File::new().event(timed_event(), &[]).records(&records);
    for (stated, note) in [(0, Note::Unfinished { present: 72 }), (1 << 60, Note::Cut { stated: 1 << 60, present: 72 })]
    {
        let bytes = file.clone().stating_data_size(stated).done();
        let parsed = PerfData::parse(&bytes).unwrap();
        assert_eq!((parsed.records().flatten().count(), parsed.notes()), (3, &[note][..]));
    }
    let mut cut = file.done();
    cut.truncate(cut.len() - 1);
    let parsed = PerfData::parse(&cut).unwrap();
    let results: Vec<_> = parsed.records().map(|at| at.is_ok()).collect();
    assert_eq!(results, [true, true, false]);
}

#[test]
fn reading_goes_on_after_a_record_that_makes_no_sense() {
    let records = [timed_sample(1), record(9, 0, Fields::new()), timed_sample(3)].concat();
    let bytes = File::new().event(timed_event(), &[]).records(&records).done();
    let parsed = PerfData::parse(&bytes).unwrap();
    let results: Vec<_> = parsed.records().map(|at| at.is_ok()).collect();
    assert_eq!(results, [true, false, true]);
    assert_eq!(parsed.records_by_time().count(), 3);
}

#[test]
fn trace_bytes_after_an_auxtrace_record_are_passed_over() {
    let auxtrace = record(71, 0, Fields::new().u64s(&[24, 0, 0, 0, 0]));
    let records = [timed_sample(1), auxtrace, vec![0xff; 24], timed_sample(3)].concat();
    let bytes = File::new().event(timed_event(), &[]).records(&records).done();
    let parsed = PerfData::parse(&bytes).unwrap();
    assert_eq!(parsed.records().filter(|at| at.is_ok_and(|at| at.is_sample())).count(), 2);
    assert_eq!(parsed.records().count(), 3);
}

#[test]
fn a_feature_that_makes_no_sense_is_noted_and_the_others_are_read() {
    let bytes = File::new()
        .event(timed_event(), &[])
        .records(&timed_sample(1))
        .feature(3, Fields::new().u32(64).text("host", 64))
        .feature(4, Fields::new().u32(65).text("release", 64))
        .feature(6, Fields::new().u32(64).text("x86_64", 64))
        .feature(200, Fields::new().u8(1))
        .done();
    let parsed = PerfData::parse(&bytes).unwrap();
    let features = parsed.features();
    let found = [&features.hostname, &features.os_release, &features.arch].map(|text| text.as_deref());
    assert_eq!(found, [Some("host"), None, Some("x86_64")]);
    assert!(matches!(parsed.notes(), [Note::Feature { feature: 4, .. }]), "{:?}", parsed.notes());
}
