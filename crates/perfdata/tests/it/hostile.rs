//! Bytes that mean harm: never a panic, never memory for what is not there.

use proptest::prelude::*;
use strata_perfdata::{FileError, PerfData, Record, RecordError, RecordFormat};
use strata_testkit::perfdata::{Attr, Fields, File, record};

#[track_caller]
fn check_cut(kind: u32, sample_type: u64, body: Fields, field: &'static str) {
    let format = RecordFormat { sample_type, read_format: 8, sample_regs_user: u64::MAX, ..RecordFormat::default() };
    match Record::parse(&record(kind, 0, body), &format) {
        Err(RecordError::Cut { field: found, .. }) => assert_eq!(found, field),
        other => panic!("{other:?}"),
    }
}

#[test]
fn counts_are_checked_against_the_bytes_there() {
    let huge = 1 << 60;
    check_cut(9, 1 << 5, Fields::new().u64s(&[huge, 1, 2]), "callchain ips");
    check_cut(9, 1 << 5, Fields::new().u64s(&[u64::MAX, 1, 2]), "callchain ips");
    check_cut(9, 1 << 5, Fields::new().u64s(&[(1 << 61) + 2, 1, 2]), "callchain ips");
    check_cut(9, 1 << 10, Fields::new().u32(u32::MAX).u32(0), "raw data");
    check_cut(9, 1 << 4, Fields::new().u64s(&[huge, 1]), "read values");
    check_cut(9, 1 << 11, Fields::new().u64s(&[huge, 1]), "branch records");
    check_cut(9, 1 << 12, Fields::new().u64s(&[2, 1]), "user regs");
    check_cut(9, 1 << 13, Fields::new().u64s(&[huge, 1]), "user stack data");
}

#[test]
fn sizes_less_than_a_header_stop_the_reading() {
    for stated in 0..8_u16 {
        let bytes = Fields::new().u32(9).u16(0).u16(stated).done();
        assert_eq!(Record::parse(&bytes, &RecordFormat::default()), Err(RecordError::Size { stated }));
        let file = File::new().event(Attr::cpu_clock(), &[]).records(&bytes).done();
        let file = PerfData::parse(&file).unwrap();
        assert_eq!((file.records().count(), file.records_by_time().count()), (1, 1));
    }
}

/// A file with two events, records and features.
fn small_file() -> Vec<u8> {
    let attr = || Attr::cpu_clock().sample_type(1 << 16 | 1 << 2 | 1 << 5).flags(1 << 18);
    let path = Fields::new().u32(0).u16(2 | 1 << 15).u16(100).u32(u32::MAX).bytes(&[7; 20]).u32(20).text("/a", 64);
    let records = [
        record(3, 0, Fields::new().u32(1).u32(1).text("name", 8).u64s(&[5, 11])),
        record(9, 2, Fields::new().u64s(&[12, 6, 2, 1, 2])),
        record(9, 2, Fields::new().u64s(&[11, 4, 1, 1])),
    ];
    File::new()
        .event(attr(), &[11])
        .event(attr().word(8, 1), &[12])
        .records(&records.concat())
        .feature(2, path)
        .feature(3, Fields::new().u32(64).text("host", 64))
        .feature(11, Fields::new().u32(2).u32(64).text("a", 64).u32(64).text("b", 64))
        .feature(12, Fields::new().u32(1).u32(128).bytes(&[0; 128]).u32(1).u32(64).text("x", 64).u64(12))
        .done()
}

fn read_all(bytes: &[u8]) -> usize {
    let Ok(file) = PerfData::parse(bytes) else { return 0 };
    let by_time = file.records_by_time().count();
    assert_eq!(file.records().count(), by_time);
    by_time
}

#[test]
fn every_prefix_and_every_changed_byte_of_a_file() {
    let whole = small_file();
    assert_eq!(read_all(&whole), 3);
    assert_eq!(PerfData::parse(&whole).unwrap().notes(), []);
    for length in 0..whole.len() {
        read_all(&whole[..length]);
    }
    for at in 0..whole.len() {
        for value in [0, 1, 0x7f, 0x80, 0xff] {
            let mut changed = whole.clone();
            changed[at] = value;
            read_all(&changed);
        }
    }
}

#[test]
fn many_events_cannot_share_one_table_of_ids() {
    // Sections all pointing at the same bytes would make the ids take (events x file) bytes.
    let mut bytes = (0..64).fold(File::new(), |file, _| file.event(Attr::cpu_clock(), &[1])).done();
    let ids_at = 104 + 64 * 144;
    for event in 0..64 {
        let section = 104 + event * 144 + 128;
        bytes[section..section + 16].copy_from_slice(&Fields::new().u64s(&[0, ids_at as u64]).done());
    }
    let refused = PerfData::parse(&bytes).unwrap_err();
    assert!(matches!(refused, FileError::OverlappingIds { event: 1, .. }), "{refused}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn any_bytes_as_a_record(
        kind in prop_oneof![0..24_u32, any::<u32>()],
        misc in any::<u16>(),
        body in proptest::collection::vec(prop_oneof![Just(0), Just(1), any::<u8>()], 0..400),
        (sample_type, read_format, branch_sample_type, sample_regs_user) in any::<(u64, u64, u64, u64)>(),
        (sample_id_all, mmap_build_id) in any::<(bool, bool)>(),
    ) {
        let format = RecordFormat { sample_type, read_format, branch_sample_type, sample_regs_user, sample_id_all, mmap_build_id };
        let bytes = record(kind, misc, Fields::new().bytes(&body));
        match Record::parse(&bytes, &format) {
            Ok(parsed) => drop(format!("{parsed:?}")),
            Err(RecordError::Cut { offset, present, .. }) => prop_assert!(offset + present as usize <= bytes.len()),
            Err(_) => {}
        }
    }

    #[test]
    fn any_changes_to_a_file(changes in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..24)) {
        let mut bytes = small_file();
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        read_all(&bytes);
    }

    #[test]
    fn any_bytes_after_a_good_header(tail in proptest::collection::vec(any::<u8>(), 0..600)) {
        let mut bytes = small_file()[..104].to_vec();
        bytes.extend(tail);
        read_all(&bytes);
    }
}
