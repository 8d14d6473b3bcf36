//! Real streams, against the answers in their list.

use std::collections::{BTreeMap, BTreeSet};

use strata_nettrace::runtime::{Occasion, RuntimeEvent, SampleType};
use strata_nettrace::{CutBlock, Decoder, FieldType, Fields, Item, ProblemKind, StreamEnd, Summary};
use strata_testkit::corpus;

/// Name and bytes of each real stream.
pub(crate) fn files() -> Vec<(String, Vec<u8>)> {
    let Some(folder) = corpus() else { return Vec::new() };
    let mut files: Vec<_> = std::fs::read_dir(folder.join("nettrace"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "nettrace"))
        .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read(path).unwrap()))
        .collect();
    files.sort_unstable();
    files
}

/// The value behind `key=` in a line of the list, up to the next space outside of braces.
fn value<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    let start = line.find(&format!(" {key}="))? + key.len() + 2;
    let rest = &line[start..];
    let end = if rest.starts_with('{') { rest.find('}')? + 1 } else { rest.find([' ', ')']).unwrap_or(rest.len()) };
    Some(&rest[..end])
}

fn number(line: &str, key: &str) -> Option<u64> {
    value(line, key)?.parse().ok()
}

/// `{'a': 1, 'b': 2}`
fn table(line: &str, key: &str) -> BTreeMap<String, u64> {
    let Some(text) = value(line, key) else { return BTreeMap::new() };
    let pairs = text.trim_matches(['{', '}']).split(", ").filter_map(|pair| pair.split_once(": "));
    pairs.map(|(name, count)| (name.trim_matches('\'').into(), count.parse().unwrap())).collect()
}

#[derive(Default)]
struct Found {
    providers: BTreeMap<String, u64>,
    threads: BTreeSet<u64>,
    deepest: u64,
    samples: BTreeMap<SampleType, u64>,
    sample_frames: u64,
    rundown_methods: u64,
    payload_errors: u64,
    clr: Option<String>,
}

fn read(bytes: &[u8], chunk: usize) -> (Found, Summary) {
    let mut found = Found::default();
    let mut sink = |item: Item<'_>| {
        let Item::Event(event) = item else { return };
        *found.providers.entry(event.metadata.provider.to_string()).or_default() += 1;
        found.threads.insert(event.header.thread);
        let depth = event.stack.map_or(0, |stack| stack.len() as u64);
        found.deepest = found.deepest.max(depth);
        match RuntimeEvent::decode(&event) {
            Ok(Some(RuntimeEvent::Sample(kind))) => {
                *found.samples.entry(kind).or_default() += 1;
                found.sample_frames += depth;
            }
            Ok(Some(RuntimeEvent::Method(Occasion::RundownEnd, method))) => {
                found.rundown_methods += 1;
                assert!(method.range().is_some() && method.names.is_some_and(|names| !names.name.is_empty()));
            }
            Ok(Some(RuntimeEvent::Information(_, information))) => {
                found.clr = Some(information.version.to_string());
            }
            Ok(_) => {}
            Err(_) => found.payload_errors += 1,
        }
    };
    let mut decoder = Decoder::new();
    for bytes in bytes.chunks(chunk) {
        decoder.feed(bytes, &mut sink).unwrap();
    }
    let summary = decoder.finish(&mut sink).unwrap();
    (found, summary)
}

#[test]
fn every_file_holds_what_its_list_says() {
    let Some(folder) = corpus() else { return };
    let list = std::fs::read_to_string(folder.join("MANIFEST.tsv")).unwrap();
    let lines: Vec<_> = list.lines().filter(|line| line.split('\t').next().unwrap().ends_with(".nettrace")).collect();
    assert_eq!(lines.len(), 13);
    for line in lines {
        let name = line.split('\t').next().unwrap();
        let bytes = std::fs::read(folder.join(name)).unwrap();
        let (found, summary) = read(&bytes, bytes.len());
        let trace = summary.trace.unwrap();
        assert_eq!(number(line, "ptr"), Some(trace.pointer_size.bytes() as u64), "{name}");
        assert_eq!(number(line, "cpus"), trace.processors.map(u64::from), "{name}");
        assert_eq!(number(line, "freq"), Some(trace.ticks_per_second), "{name}");
        let utc = trace.utc;
        let date = format!("{:04}-{:02}-{:02}", utc.year, utc.month, utc.day);
        assert_eq!(value(line, "date"), Some(&date[..]), "{name}");
        assert_eq!(number(line, "stacks"), Some(summary.stacks), "{name}");
        assert_eq!(number(line, "seqpoints"), Some(summary.blocks.sequence_point), "{name}");
        assert_eq!(number(line, "lost"), Some(summary.loss.lost), "{name}");
        assert_eq!(found.payload_errors, 0, "{name}");
        let blocks = [
            ("EventBlock", summary.blocks.event),
            ("MetadataBlock", summary.blocks.metadata),
            ("SPBlock", summary.blocks.sequence_point),
            ("StackBlock", summary.blocks.stack),
            ("Trace", 1),
        ];
        let blocks: BTreeMap<_, _> = blocks.map(|(name, count)| (name.to_string(), count)).into();
        assert_eq!(table(line, "blocks"), blocks, "{name}");
        if let Some(version) = value(line, "clr").filter(|version| *version != "None") {
            assert_eq!(found.clr.as_deref(), Some(version), "{name}");
        }
        // The list counts no events in the block in which a stream is cut.
        if matches!(summary.end, StreamEnd::Cut { .. }) {
            continue;
        }
        assert_eq!((summary.end, summary.problems.total()), (StreamEnd::Complete, 0), "{name}");
        assert_eq!(number(line, "events"), Some(summary.events), "{name}");
        assert_eq!(number(line, "threads"), Some(found.threads.len() as u64), "{name}");
        assert_eq!(number(line, "maxdepth"), Some(found.deepest), "{name}");
        assert_eq!(table(line, "providers"), found.providers, "{name}");
        assert_eq!(number(line, "rundown_methods").unwrap_or(0), found.rundown_methods, "{name}");
        assert_eq!(number(line, "samples").unwrap_or(0), found.samples.values().sum::<u64>(), "{name}");
        if line.contains("(managed=") {
            let count = |kind| found.samples.get(&kind).copied().unwrap_or(0);
            let said = line.split("(managed=").nth(1).unwrap();
            let expected = format!(
                "{} external={} error={})",
                count(SampleType::Managed),
                count(SampleType::External),
                count(SampleType::Error)
            );
            assert!(said.starts_with(&expected), "{name}: {expected}");
            assert_eq!(number(line, "frames"), Some(found.sample_frames), "{name}");
        }
    }
}

#[test]
fn chunks_do_not_matter_in_real_streams() {
    let Some(folder) = corpus() else { return };
    for name in ["net10-counters", "net6-linux-gc-threads-exceptions", "truncated-no-rundown"] {
        let bytes = std::fs::read(folder.join("nettrace").join(name).with_extension("nettrace")).unwrap();
        let (_, whole) = read(&bytes, bytes.len());
        for chunk in [1, 4096, 65_536] {
            assert_eq!(read(&bytes, chunk).1, whole, "{name} in chunks of {chunk}");
        }
    }
}

#[test]
fn the_real_cut_file_keeps_all_whole_events_and_says_where_it_is_cut() {
    let Some(folder) = corpus() else { return };
    let bytes = std::fs::read(folder.join("nettrace/truncated-no-rundown.nettrace")).unwrap();
    let mut cut = Vec::new();
    let mut offsets = Vec::new();
    let mut sink = |item: Item<'_>| match item {
        Item::Event(event) => offsets.push(event.offset),
        Item::Problem(problem) => cut.push((problem.kind, problem.offset, problem.value)),
        _ => {}
    };
    let mut decoder = Decoder::new();
    decoder.feed(&bytes, &mut sink).unwrap();
    let summary = decoder.finish(&mut sink).unwrap();
    let StreamEnd::Cut { offset: 4_174_144, block: Some(CutBlock { offset, declared, present, .. }) } = summary.end
    else {
        panic!("{:?}", summary.end);
    };
    assert_eq!((declared, present), (5488, 3440));
    assert_eq!(cut, [(ProblemKind::Cut, 4_174_144, Some(5488 - 3440 + 1))]);
    assert_eq!(offsets.iter().filter(|at| **at < offset).count(), 19_842, "in whole blocks");
    // The 69 events in front of the cut hold 45 samples: the list counts them where it says 7338 instead of 7293.
    assert_eq!(offsets.len(), 19_842 + 69);
}

#[test]
fn array_fields_of_version_5() {
    let Some(folder) = corpus() else { return };
    let bytes = std::fs::read(folder.join("nettrace/net5-win-array-types.nettrace")).unwrap();
    let mut decoder = Decoder::new();
    let mut payloads = Vec::new();
    let mut sink = |item: Item<'_>| {
        if let Item::Event(event) = item
            && &*event.metadata.provider == "TestEventSource0"
        {
            payloads.push((event.metadata.name.to_string(), event.payload.to_vec()));
        }
    };
    decoder.feed(&bytes, &mut sink).unwrap();
    let array = |element| FieldType::Array(Box::new(element));
    use FieldType::{Char, Int16, Int32, Int64, UInt32, UInt64};
    let expected = [
        ("TestEvent1", 2, 0, vec![array(UInt32), array(Int16), Int64]),
        ("TestEvent2", 4, 0, vec![Int64, Int32, array(Int32), array(UInt64)]),
        ("TestEvent3", 4, 24, vec![array(Char)]),
    ];
    for (name, level, opcode, types) in expected {
        let metadata = decoder.metadata().iter().find(|metadata| &*metadata.name == name).unwrap();
        let Fields::Known(fields) = &metadata.fields else { panic!("{name}: fields not read") };
        let found: Vec<_> = fields.iter().map(|field| field.field_type.clone()).collect();
        assert_eq!(found, types, "{name}");
        assert_eq!(&*fields[0].name, "arg0");
        if name != "TestEvent3" {
            assert_eq!(metadata.level, level, "{name}");
        }
        assert_eq!(metadata.opcode(), opcode, "{name}");
    }
    // uint[6], first 2032854139.
    let (name, payload) = &payloads[0];
    assert_eq!(&**name, "TestEvent1");
    assert_eq!(payload[..6], [&6u16.to_le_bytes()[..], &2_032_854_139u32.to_le_bytes()].concat());
}
