//! Any bytes: a perf.data file, and a record of a format that the bytes choose. What parses must encode and parse again
//! to the same value.

#![no_main]

use libfuzzer_sys::fuzz_target;
use strata_perfdata::{EncodeError, PerfData, Record, RecordFormat, encode};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(file) = PerfData::parse(bytes) {
        let in_file_order = file.records().count();
        assert_eq!(file.records_by_time().count(), in_file_order);
        for at in file.records().flatten() {
            again(&at.record, &file.events()[at.event].attr.format);
        }
    }
    let Some((head, record)) = bytes.split_first_chunk::<24>() else { return };
    let word = |index: usize| u64::from_le_bytes(std::array::from_fn(|byte| head[index * 8 + byte]));
    let format = RecordFormat {
        sample_type: word(0),
        read_format: word(1) & 0x1f,
        branch_sample_type: word(1),
        sample_regs_user: word(2),
        sample_id_all: word(1) >> 63 == 1,
        mmap_build_id: word(1) >> 62 & 1 == 1,
    };
    if let Ok(record) = Record::parse(record, &format) {
        again(&record, &format);
    }
});

fn again(record: &Record<'_>, format: &RecordFormat) {
    let mut bytes = Vec::new();
    match encode(record, format, &mut bytes) {
        Ok(()) => {
            let mut second = Vec::new();
            let reread = Record::parse(&bytes, format).expect("what was encoded parses");
            encode(&reread, format, &mut second).expect("what was encoded encodes");
            assert_eq!(bytes, second);
        }
        Err(EncodeError::TooLong { .. } | EncodeError::FieldsNotCarried { .. } | EncodeError::Unaligned { .. }) => {}
        Err(error) => panic!("{error}"),
    }
}
