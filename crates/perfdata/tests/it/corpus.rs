//! Files of others whose content is known.

use std::collections::BTreeMap;
use std::io::Cursor;

use linux_perf_data::linux_perf_event_reader::EventRecord;
use linux_perf_data::{PerfFileReader, PerfFileRecord};
use strata_perfdata::record::Other;
use strata_perfdata::{FileError, PerfData, ProblemKind, RecordAt, RecordData};

/// A file of the corpus, where that is there.
fn corpus_file(name: &str) -> Option<Vec<u8>> {
    Some(std::fs::read(strata_testkit::corpus()?.join("perfdata").join(name)).unwrap())
}

#[test]
fn sleep() {
    let Some(bytes) = corpus_file("sleep.data") else { return };
    let file = PerfData::parse(&bytes).unwrap();
    assert_eq!(file.notes(), []);
    let mut counts = BTreeMap::new();
    for at in file.records() {
        let at = at.unwrap();
        let kind = match at.record.data {
            RecordData::Sample(_) => "sample".to_owned(),
            RecordData::Mmap(mmap) if mmap.more.is_some() => "mmap2".to_owned(),
            RecordData::Comm(_) => "comm".to_owned(),
            RecordData::Exit(_) => "exit".to_owned(),
            RecordData::Other(Other { kind, .. }) => kind.to_string(),
            other => panic!("{other:?}"),
        };
        *counts.entry(kind).or_insert(0) += 1;
    }
    let expected =
        [("68", 1), ("69", 1), ("73", 1), ("74", 1), ("78", 1), ("82", 1), ("comm", 2), ("exit", 1), ("mmap2", 4)];
    let expected = expected.into_iter().chain([("sample", 7)]).map(|(kind, count)| (kind.to_owned(), count));
    assert_eq!(counts, expected.collect());
    assert!(file.features().hostname.is_some() && !file.features().build_ids.is_empty());
}

/// What a sample, mapping or name says, in words that both sides have.
type Told = (u64, i32, String);

fn told_by_us(file: &PerfData<'_>) -> Vec<Told> {
    let tell = |at: RecordAt<'_>| {
        let text = match at.record.data {
            RecordData::Sample(sample) => {
                let chain: Vec<u64> = sample.callchain.words.iter().collect();
                format!("{:x?} {:?} {chain:x?}", sample.ip.map(|ip| ip.0), sample.period)
            }
            RecordData::Mmap(mmap) => {
                let name = String::from_utf8_lossy(mmap.filename);
                format!("{:x} {:x} {:x} {name}", mmap.start.0, mmap.length, mmap.file_offset)
            }
            RecordData::Comm(comm) => format!("{} {}", String::from_utf8_lossy(comm.name), comm.exec),
            _ => return None,
        };
        Some((at.record.time().unwrap(), at.record.id.task.unwrap().pid, text))
    };
    file.records_by_time().filter_map(|at| tell(at.unwrap())).collect()
}

/// The same from another reader of perf.data.
fn told_by_another(bytes: &[u8]) -> Vec<Told> {
    let PerfFileReader { mut perf_file, mut record_iter } = PerfFileReader::parse_file(Cursor::new(bytes)).unwrap();
    let mut told = Vec::new();
    while let Some(record) = record_iter.next_record(&mut perf_file).unwrap() {
        let PerfFileRecord::EventRecord { record, .. } = record else { continue };
        let common = record.common_data().unwrap();
        let text = match record.parse().unwrap() {
            EventRecord::Sample(sample) => {
                let chain: Vec<u64> = sample
                    .callchain
                    .iter()
                    .flat_map(|chain| (0..chain.len()).map(|at| chain.get(at).unwrap()))
                    .collect();
                format!("{:x?} {:?} {chain:x?}", sample.ip, sample.period)
            }
            EventRecord::Mmap2(mmap) => {
                let name = mmap.path.as_slice();
                format!(
                    "{:x} {:x} {:x} {}",
                    mmap.address,
                    mmap.length,
                    mmap.page_offset,
                    String::from_utf8_lossy(&name)
                )
            }
            EventRecord::Comm(comm) => {
                format!("{} {}", String::from_utf8_lossy(&comm.name.as_slice()), comm.is_execve)
            }
            _ => continue,
        };
        told.push((common.timestamp.unwrap(), common.pid.unwrap(), text));
    }
    told
}

#[test]
fn another_reader_reads_the_same() {
    let Some(bytes) = corpus_file("sleep.data") else { return };
    let told = told_by_us(&PerfData::parse(&bytes).unwrap());
    assert_eq!(told.len(), 13);
    assert_eq!(told, told_by_another(&bytes));
}

#[test]
fn compressed_files_and_pipes_are_refused_by_name() {
    for (name, expected) in [
        ("sleep.compressed.data", FileError::Compressed),
        ("sleep.compressed2.data", FileError::Compressed),
        ("sleep.compressed.pipe.data", FileError::PipeMode),
        ("sleep.compressed2.pipe.data", FileError::PipeMode),
        ("fibo.compressed2.pipe.data", FileError::PipeMode),
    ] {
        let Some(bytes) = corpus_file(name) else { return };
        assert_eq!(PerfData::parse(&bytes).unwrap_err(), expected, "{name}");
    }
}

#[test]
fn a_compressed_file_whose_flags_are_lost_stops_at_the_first_compressed_record() {
    let Some(mut bytes) = corpus_file("sleep.compressed2.data") else { return };
    bytes[72..104].fill(0);
    let file = PerfData::parse(&bytes).unwrap();
    let last = file.records().last().unwrap();
    assert_eq!(last.unwrap_err().kind, ProblemKind::Compressed);
}
