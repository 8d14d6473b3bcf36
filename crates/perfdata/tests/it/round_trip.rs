//! What is encoded, or written to a file, is read back as it was.

use std::io::{self, Cursor, Seek, SeekFrom, Write};

use proptest::prelude::*;
use strata_address::Avma;
use strata_perfdata::record::{
    Callchain, Comm, Lifetime, Misc, Mmap, Mmap2Fields, MmapIdentity, Other, RegsAbi, Sample, SampleId, TaskId,
    Throttle, UserRegs, UserStack, Words, sample_type,
};
use strata_perfdata::{
    AttrFlags, BuildId, BuildIdEntry, CLOCK_MONOTONIC, ClockData, CpuCounts, EncodeError, EventAttr, EventDescription,
    Features, PerfData, Record, RecordData, RecordFormat, Sampling, TimeSpan, WriteError, Writer, encode,
};

/// Where the words, bytes and names of a record are borrowed from.
#[derive(Clone, Debug)]
struct Material {
    chain: Vec<u64>,
    regs: Vec<u64>,
    raw: Vec<u8>,
    stack: Vec<u64>,
    name: Vec<u8>,
    numbers: [u64; 8],
    flags: [bool; 4],
}

fn material() -> impl Strategy<Value = Material> {
    use proptest::collection::vec;
    let lists = (vec(any::<u64>(), 0..130), vec(any::<u64>(), 64), vec(any::<u8>(), 0..50), vec(any::<u64>(), 0..40));
    (lists, vec(1..255_u8, 0..60), any::<[u64; 8]>(), any::<[bool; 4]>()).prop_map(
        |((chain, regs, raw, stack), name, numbers, flags)| Material { chain, regs, raw, stack, name, numbers, flags },
    )
}

fn task(number: u64) -> TaskId {
    TaskId { pid: number as i32, tid: (number >> 32) as i32 }
}

/// A record of that format, of the type that `choice` says.
fn record<'a>(choice: u8, material: &'a Material, stack: &'a [u8], format: &RecordFormat) -> Record<'a> {
    let Material { raw, name, numbers, flags, .. } = material;
    let &[a, b, c, d, e, f, g, h] = numbers;
    let &[flag, other_flag, ..] = flags;
    let has = |bit| format.sample_type & bit != 0;
    let is_sample = choice == 0;
    let carries = |bit| has(bit) && (is_sample || format.sample_id_all);
    let own = choice == 10;
    let id = if own {
        SampleId::default()
    } else {
        SampleId {
            task: carries(sample_type::TID).then_some(task(a)),
            time: carries(sample_type::TIME).then_some(b),
            id: (carries(sample_type::ID) || carries(sample_type::IDENTIFIER)).then_some(c),
            stream_id: carries(sample_type::STREAM_ID).then_some(d),
            cpu: carries(sample_type::CPU).then_some(e as u32),
        }
    };
    let throttle = Throttle { time: f, id: g, stream_id: h };
    let lifetime = Lifetime { task: task(f), parent: task(g), time: h };
    let data = match choice {
        0 => RecordData::Sample(sample(material, stack, format)),
        1 | 2 => RecordData::Mmap(Mmap {
            task: task(f),
            start: Avma(g),
            length: h,
            file_offset: a,
            filename: name,
            is_data: flag,
            more: (choice == 2).then_some(Mmap2Fields {
                identity: if other_flag {
                    MmapIdentity::BuildId(BuildId::new(&raw[..raw.len().min(20)]).unwrap())
                } else {
                    MmapIdentity::Inode { major: b as u32, minor: c as u32, inode: d, generation: e }
                },
                protection: f as u32,
                flags: g as u32,
            }),
        }),
        3 => RecordData::Comm(Comm { task: task(f), name, exec: flag }),
        4 => RecordData::Fork(lifetime),
        5 => RecordData::Exit(lifetime),
        6 => RecordData::Lost { id: f, lost: g },
        7 => RecordData::LostSamples { lost: f },
        8 => RecordData::Throttle(throttle),
        9 => RecordData::Unthrottle(throttle),
        10 => RecordData::Other(Other { kind: 68, body: stack }),
        _ => RecordData::Other(Other { kind: 14, body: &[] }),
    };
    Record { misc: Misc::USER, id, data }
}

fn sample<'a>(material: &'a Material, stack: &'a [u8], format: &RecordFormat) -> Sample<'a> {
    let has = |bit| format.sample_type & bit != 0;
    let [.., f, g, h] = material.numbers;
    let count = format.sample_regs_user.count_ones() as usize;
    let regs = UserRegs {
        abi: if material.flags[0] { RegsAbi::Bits64 } else { RegsAbi::Bits32 },
        mask: format.sample_regs_user,
        values: Words::Words(&material.regs[..count]),
    };
    Sample {
        ip: has(sample_type::IP).then_some(Avma(f)),
        address: has(sample_type::ADDR).then_some(Avma(g)),
        period: has(sample_type::PERIOD).then_some(h),
        callchain: Callchain::from_words(if has(sample_type::CALLCHAIN) { &material.chain } else { &[] }),
        raw: has(sample_type::RAW).then_some(&material.raw),
        user_regs: (has(sample_type::REGS_USER) && material.flags[1]).then_some(regs),
        user_stack: (has(sample_type::STACK_USER) && !stack.is_empty())
            .then_some(UserStack { bytes: stack, filled: f }),
    }
}

/// The record with the misc bits and the padding that encoding gives it.
fn as_read<'a>(mut record: Record<'a>, padded_raw: &'a [u8]) -> Record<'a> {
    let mut misc = record.misc.0;
    match &mut record.data {
        RecordData::Comm(comm) if comm.exec => misc |= 1 << 13,
        RecordData::Mmap(mmap) => {
            misc |= if mmap.is_data { 1 << 13 } else { 0 };
            let by_build_id = mmap.more.is_some_and(|more| matches!(more.identity, MmapIdentity::BuildId(_)));
            misc |= if by_build_id { 1 << 14 } else { 0 };
        }
        RecordData::Sample(sample) if sample.raw.is_some() => sample.raw = Some(padded_raw),
        _ => {}
    }
    Record { misc: Misc(misc), ..record }
}

fn format() -> impl Strategy<Value = RecordFormat> {
    (any::<u64>(), any::<u64>(), any::<bool>()).prop_map(|(bits, sample_regs_user, sample_id_all)| RecordFormat {
        sample_type: bits & sample_type::CARRIED,
        sample_regs_user,
        sample_id_all,
        mmap_build_id: true,
        ..RecordFormat::default()
    })
}

proptest! {
    #[test]
    fn encode_then_parse(choice in 0..12_u8, material in material(), format in format()) {
        let stack: Vec<u8> = material.stack.iter().flat_map(|word| word.to_le_bytes()).collect();
        let record = record(choice, &material, &stack, &format);
        let mut bytes = b"before".to_vec();
        encode(&record, &format, &mut bytes).unwrap();
        let bytes = bytes.strip_prefix(b"before").unwrap();
        prop_assert_eq!(bytes.len() % 8, 0);
        let mut padded_raw = material.raw.clone();
        padded_raw.resize((padded_raw.len() + 4).next_multiple_of(8) - 4, 0);
        prop_assert_eq!(Record::parse(bytes, &format), Ok(as_read(record, &padded_raw)));
    }

    #[test]
    fn write_then_read(materials in proptest::collection::vec((0..12_u8, material()), 0..30), bits in any::<u64>()) {
        let format = RecordFormat {
            sample_type: bits & sample_type::CARRIED & !sample_type::RAW | sample_type::IDENTIFIER,
            sample_regs_user: 0xff,
            sample_id_all: true,
            mmap_build_id: true,
            ..RecordFormat::default()
        };
        let stacks: Vec<Vec<u8>> = materials
            .iter()
            .map(|(_, material)| material.stack.iter().flat_map(|word| word.to_le_bytes()).collect())
            .collect();
        let records: Vec<Record<'_>> = materials
            .iter()
            .zip(&stacks)
            .map(|((choice, material), stack)| record(*choice, material, stack, &format))
            .collect();
        let events = vec![description(format)];
        let mut writer = Writer::new(Cursor::new(Vec::new()), events.clone()).unwrap();
        for record in &records {
            writer.push(record).unwrap();
        }
        let bytes = writer.finish(&features()).unwrap().into_inner();
        let file = PerfData::parse(&bytes).unwrap();
        prop_assert_eq!(file.notes(), &[]);
        prop_assert_eq!(file.events(), &events);
        prop_assert_eq!(file.features(), &features());
        let read: Vec<Record<'_>> = file.records().map(|at| at.unwrap().record).collect();
        let expected: Vec<Record<'_>> = records.iter().map(|record| as_read(*record, &[])).collect();
        prop_assert_eq!(read, expected);
    }
}

fn description(format: RecordFormat) -> EventDescription {
    let mut attr = EventAttr::cpu_clock(Sampling::Frequency(999), format);
    attr.flags = AttrFlags::MMAP.union(AttrFlags::MMAP2).union(AttrFlags::COMM_EXEC).union(AttrFlags::TASK);
    attr.clock = Some(CLOCK_MONOTONIC);
    attr.user_stack_bytes = 1024;
    attr.max_stack = 127;
    EventDescription { attr, name: "cpu-clock:u".to_owned(), ids: vec![5, 6] }
}

fn features() -> Features {
    let build_id = |bytes: &[u8], is_kernel, filename: &str| BuildIdEntry {
        pid: -1,
        build_id: BuildId::new(bytes).unwrap(),
        is_kernel,
        filename: filename.as_bytes().to_vec(),
    };
    Features {
        build_ids: vec![build_id(&[1; 20], true, "[kernel.kallsyms]"), build_id(&[2; 8], false, "/usr/lib/libc.so.6")],
        hostname: Some("host".to_owned()),
        os_release: Some("6.1.0".to_owned()),
        version: Some("0.1".to_owned()),
        arch: Some("x86_64".to_owned()),
        cpus: Some(CpuCounts { available: 8, online: 4 }),
        command_line: vec!["strata".to_owned(), "record".to_owned(), String::new()],
        sample_times: Some(TimeSpan { first: 1, last: 2 }),
        clock_resolution: Some(1),
        clock: Some(ClockData { clock: CLOCK_MONOTONIC, wall_clock: 3, clock_time: 4 }),
    }
}

fn timed() -> RecordFormat {
    RecordFormat { sample_type: sample_type::TIME, sample_id_all: true, ..RecordFormat::default() }
}

fn sample_at(time: u64) -> Record<'static> {
    let id = SampleId { time: Some(time), ..SampleId::default() };
    Record { misc: Misc::USER, id, data: RecordData::Sample(Sample::default()) }
}

#[test]
fn what_does_not_fit_a_record_is_refused_and_leaves_nothing() {
    let format = RecordFormat { sample_type: sample_type::CALLCHAIN, ..RecordFormat::default() };
    let chain = vec![1; 8_190];
    let sample_of = |callchain| Record {
        misc: Misc::USER,
        id: SampleId::default(),
        data: RecordData::Sample(Sample { callchain, ..Sample::default() }),
    };
    let mut out = vec![7];
    let too_long = encode(&sample_of(Callchain::from_words(&chain)), &format, &mut out);
    assert_eq!((too_long, out.as_slice()), (Err(EncodeError::TooLong { size: 65_536 }), &[7][..]));
    encode(&sample_of(Callchain::from_words(&chain[1..])), &format, &mut out).unwrap();
    assert_eq!(out.len(), 1 + 65_528);
    let with_read = RecordFormat { sample_type: 1 << 4 | 1 << 14, ..format };
    let refused = encode(&sample_of(Callchain::default()), &with_read, &mut out);
    assert_eq!(refused, Err(EncodeError::FieldsNotCarried { bits: 1 << 4 | 1 << 14 }));
}

#[test]
fn several_events_are_laid_out_each_its_way() {
    let with = |sample_type| RecordFormat { sample_type, sample_id_all: true, ..RecordFormat::default() };
    let first = EventDescription { ids: vec![1], ..description(with(sample_type::IDENTIFIER)) };
    let second = EventDescription { ids: vec![2, 3], ..description(with(sample_type::IDENTIFIER | sample_type::TIME)) };
    let mut writer = Writer::new(Cursor::new(Vec::new()), vec![first, second]).unwrap();
    for id in [3, 1, 2] {
        let mut record = sample_at(100);
        record.id.id = Some(id);
        writer.push(&record).unwrap();
    }
    let bytes = writer.finish(&Features::default()).unwrap().into_inner();
    let file = PerfData::parse(&bytes).unwrap();
    let found: Vec<_> =
        file.records().map(|at| at.unwrap()).map(|at| (at.event, at.record.id.id, at.record.time())).collect();
    assert_eq!(found, [(1, Some(3), Some(100)), (0, Some(1), None), (1, Some(2), Some(100))]);
}

#[test]
fn a_finished_file_without_records_has_features() {
    let writer = Writer::new(Cursor::new(Vec::new()), vec![description(timed())]).unwrap();
    let bytes = writer.finish(&features()).unwrap().into_inner();
    let file = PerfData::parse(&bytes).unwrap();
    assert_eq!((file.records().count(), file.features(), file.notes()), (0, &features(), &[][..]));
}

#[test]
fn bytes_that_are_no_record_are_refused() {
    let mut writer = Writer::new(Cursor::new(Vec::new()), vec![description(timed())]).unwrap();
    for bytes in [&[][..], &[0; 7], &[9, 0, 0, 0, 0, 0, 16, 0], &[9, 0, 0, 0, 0, 0, 9, 0, 0]] {
        assert!(matches!(writer.record(bytes), Err(WriteError::NotARecord { .. })), "{bytes:?}");
    }
    assert_eq!(writer.data_size(), 0);
    assert!(matches!(Writer::new(Cursor::new(Vec::new()), vec![]), Err(WriteError::NoEvents)));
}

/// A disk of so many bytes that writes as much as fits and then fails.
struct SmallDisk {
    file: Cursor<Vec<u8>>,
    size: u64,
}

impl Write for SmallDisk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = self.size.saturating_sub(self.file.position()) as usize;
        match &bytes[..bytes.len().min(room)] {
            [] if !bytes.is_empty() => Err(io::ErrorKind::StorageFull.into()),
            fits => self.file.write(fits),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for SmallDisk {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

#[test]
fn a_full_disk_is_told_and_what_was_written_stays_readable() {
    let mut disk = SmallDisk { file: Cursor::new(Vec::new()), size: 600_000 };
    let mut writer = Writer::new(&mut disk, vec![description(timed())]).unwrap();
    let mut taken = 0_u64;
    let failure = loop {
        match writer.push(&sample_at(taken)) {
            Ok(()) => taken += 1,
            Err(error) => break error,
        }
        assert!(taken < 1_000_000, "the disk never got full");
    };
    assert!(matches!(&failure, WriteError::Io(error) if error.kind() == io::ErrorKind::StorageFull), "{failure}");
    assert!(writer.flush().is_err());
    assert!(writer.finish(&features()).is_err());
    let bytes = disk.file.into_inner();
    let file = PerfData::parse(&bytes).unwrap();
    let times: Vec<u64> = file.records().map(|at| at.unwrap().record.time().unwrap()).collect();
    assert!(times.len() > 20_000 && (times.len() as u64) < taken, "{} of {taken}", times.len());
    assert!(times.iter().copied().eq(0..times.len() as u64));
}

#[test]
fn a_disk_that_has_room_again_gets_every_record_once() {
    struct Hiccup(Cursor<Vec<u8>>, u32);
    impl Write for Hiccup {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.1 += 1;
            // Half of a long write goes through, then one fails.
            match (bytes.len() > 1000, self.1 % 4) {
                (true, 1) => self.0.write(&bytes[..bytes.len() / 2]),
                (true, 2) => Err(io::ErrorKind::StorageFull.into()),
                _ => self.0.write(bytes),
            }
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    impl Seek for Hiccup {
        fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
            self.0.seek(to)
        }
    }
    let mut writer = Writer::new(Hiccup(Cursor::new(Vec::new()), 0), vec![description(timed())]).unwrap();
    let mut failures = 0;
    for time in 0..100_000 {
        while writer.push(&sample_at(time)).is_err() {
            failures += 1;
        }
    }
    while writer.flush().is_err() {
        failures += 1;
    }
    assert!(failures > 0);
    let bytes = writer.finish(&Features::default()).unwrap().0.into_inner();
    let file = PerfData::parse(&bytes).unwrap();
    assert!(file.records().map(|at| at.unwrap().record.time().unwrap()).eq(0..100_000));
}
