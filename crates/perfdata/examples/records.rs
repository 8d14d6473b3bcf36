//! Prints how fast a million samples are encoded, written, parsed and put in time order.
//!
//! `cargo run --release -p strata-perfdata --example records`

use std::hint::black_box;
use std::io::Cursor;

use strata_address::Avma;
use strata_perfdata::record::{Callchain, Misc, Sample, SampleId, TaskId, sample_type};
use strata_perfdata::{
    EventAttr, EventDescription, Features, PerfData, Record, RecordData, RecordFormat, Sampling, Writer,
};

const SAMPLES: u64 = 1_000_000;
/// Entries of a chain: as many as a managed stack has under a server's frames.
const CHAIN: u64 = 40;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    use sample_type::{CALLCHAIN, CPU, IDENTIFIER, IP, PERIOD, TID, TIME};
    let sample_type = IP | TID | TIME | CPU | PERIOD | CALLCHAIN | IDENTIFIER;
    let format = RecordFormat { sample_type, sample_id_all: true, ..RecordFormat::default() };
    let attr = EventAttr::cpu_clock(Sampling::Frequency(999), format);
    let event = EventDescription { attr, name: "cpu-clock".to_owned(), ids: vec![1] };

    let started = cpu_time();
    let mut writer = Writer::new(Cursor::new(Vec::new()), vec![event])?;
    let chain: Vec<u64> = (0..CHAIN).collect();
    for index in 0..SAMPLES {
        // Two rings that are read in turn, so that the file is not in time order.
        let time = if index % 2000 < 1000 { index } else { index - 1000 };
        let id = SampleId {
            task: Some(TaskId { pid: 1, tid: 2 }),
            time: Some(time),
            id: Some(1),
            cpu: Some(0),
            ..SampleId::default()
        };
        let callchain = Callchain::from_words(&chain);
        let sample = Sample { ip: Some(Avma(index)), period: Some(1), callchain, ..Sample::default() };
        writer.push(&Record { misc: Misc::USER, id, data: RecordData::Sample(sample) })?;
    }
    let bytes = writer.finish(&Features::default())?.into_inner();
    tell("encode and write (to memory)", started, bytes.len());

    let file = PerfData::parse(&bytes)?;
    let started = cpu_time();
    let mut sum = 0_u64;
    for at in file.records() {
        sum = sum.wrapping_add(at?.record.time().unwrap_or_default());
    }
    tell("parse", started, bytes.len());

    let started = cpu_time();
    for at in file.records() {
        if let RecordData::Sample(sample) = at?.record.data {
            sum = sample.callchain.words.iter().fold(sum, u64::wrapping_add);
        }
    }
    tell("parse, and read the chains", started, bytes.len());

    let started = cpu_time();
    for at in file.records_by_time() {
        sum = sum.wrapping_add(at?.record.time().unwrap_or_default());
    }
    tell("put in time order and parse", started, bytes.len());
    black_box(sum);
    Ok(())
}

/// Nanoseconds that this thread has run: unlike wall time, the same on a busy machine.
fn cpu_time() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|first| first.parse().ok()).unwrap_or_default()
}

fn tell(what: &str, started: u64, bytes: usize) {
    let spent = (cpu_time() - started) as f64;
    let rate = bytes as f64 / spent;
    println!("{what}: {:.0} ms of CPU for {SAMPLES} samples of {CHAIN} entries ({rate:.1} GB/s)", spent / 1e6);
}
