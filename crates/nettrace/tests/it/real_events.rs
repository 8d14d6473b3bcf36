//! Named values of real events, against what is known of them from elsewhere.

use std::collections::{BTreeMap, BTreeSet};

use strata_nettrace::{Decoder, Event, Fit, Item};

use strata_testkit::corpus;

/// Passes all events of a real stream on to `look`.
fn each_event(name: &str, mut look: impl FnMut(&Event<'_>)) -> bool {
    let Some(folder) = corpus() else { return false };
    let bytes = std::fs::read(folder.join(format!("nettrace/{name}.nettrace"))).unwrap();
    let mut sink = |item: Item<'_>| {
        if let Item::Event(event) = item {
            look(&event);
        }
    };
    Decoder::new().feed(&bytes, &mut sink).unwrap();
    true
}

#[test]
fn every_real_event_is_as_long_as_its_description() {
    let Some(folder) = corpus() else { return };
    let files = std::fs::read_dir(folder.join("nettrace")).unwrap().map(|entry| entry.unwrap().path());
    let mut events = 0;
    for file in files.filter(|path| path.extension().is_some_and(|extension| extension == "nettrace")) {
        let name = file.file_stem().unwrap().to_str().unwrap();
        each_event(name, |event| {
            events += 1;
            let metadata = event.metadata;
            let (provider, id, version) = (&metadata.provider, metadata.event_id, metadata.version);
            assert_eq!(event.fields().fit(), Fit::Whole, "{name}: {provider} {id} version {version}");
            assert!(!metadata.display_name().starts_with("Event("), "{name}: {provider} {id}");
        });
    }
    assert_eq!(events, 257_235);
}

#[test]
fn exceptions_have_their_types_and_messages() {
    let mut thrown: BTreeMap<(String, String), u32> = BTreeMap::new();
    let mut messages = BTreeSet::new();
    let read = each_event("net10-exceptions", |event| {
        if event.metadata.display_name() == "ExceptionThrown" {
            let fields: BTreeMap<_, _> = event.fields().map(|(name, value)| (name, value.to_string())).collect();
            assert_eq!(fields["ExceptionFlags"], "CLSCompliant");
            let kind = fields["ExceptionMessage"].split('-').next().unwrap().to_string();
            *thrown.entry((fields["ExceptionType"].clone(), kind)).or_default() += 1;
            messages.insert(fields["ExceptionMessage"].clone());
        }
    });
    if !read {
        return;
    }
    let thrown: Vec<_> = thrown.iter().map(|((name, kind), count)| (&**name, &**kind, *count)).collect();
    assert_eq!(
        thrown,
        [("System.ArgumentException", "rare", 667), ("System.InvalidOperationException", "common", 1333)]
    );
    assert_eq!(messages.len(), 2000);
}

/// What an independent reader shows of a stream: for each kind of event its name there, how many there are, and the first.
fn expected(file: &str) -> Vec<(String, u64, BTreeMap<String, String>)> {
    let Some(folder) = corpus() else { return vec![] };
    let text = std::fs::read_to_string(folder.join("nettrace").join(file)).unwrap();
    let kind = |line: &str| {
        let mut parts = line.splitn(3, ", ");
        let (name, count, xml) = (parts.next()?, parts.next()?, parts.next()?);
        // Some values are padded to a column.
        let xml = xml.replace("=  ", "=").replace("= ", "=").replace("= ", "=");
        let mut xml = &xml[..];
        let mut attributes = BTreeMap::new();
        // Only the event itself: elements of arrays are elements of their own.
        while let Some((before, rest)) = xml.split_once("=\"") {
            let (value, after) = rest.split_once('"')?;
            let name = before.rsplit(' ').next()?;
            attributes.insert(name.to_string(), value.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"));
            xml = after;
            if after.starts_with('>') || after.starts_with("/>") {
                break;
            }
        }
        Some((name.to_string(), count.parse().ok()?, attributes))
    };
    text.trim_start_matches('\u{feff}').lines().filter_map(kind).collect()
}

/// A value without what readers spell differently: digit groups, hexadecimal, names of the same thing.
fn plain(value: &str) -> String {
    const SAME: [(&str, &str); 9] = [
        ("NonConcurrentGC", "Blocking"),
        ("Small", "SOH"),
        ("SuspendOther", "Other"),
        ("None", "0"),
        ("Manifest | ReadyToRunModule", "Manifest | ReadyToRun"),
        ("Jitted", "Jitted | MinOptJitted"),
        ("False", "false"),
        ("True", "true"),
        ("-1", "-1"),
    ];
    if let Some((_, ours)) = SAME.iter().find(|(theirs, _)| *theirs == value.replace(", ", " | ")) {
        return (*ours).into();
    }
    let digits = value.replace(',', "");
    let hex = digits.strip_prefix("0x").and_then(|digits| u64::from_str_radix(digits, 16).ok());
    match (hex, digits.parse::<i64>(), digits.parse::<f64>()) {
        (Some(number), ..) => number.to_string(),
        (_, Ok(number), _) => number.to_string(),
        (.., Ok(number)) => format!("{number:.6e}"),
        _ if value.starts_with('[') => value.replace(", ", ","),
        _ => value.replace(", ", " | "),
    }
}

/// Events of one kind: how many there are, and the first of them with their times in milliseconds.
#[derive(Default)]
struct Kind {
    count: u64,
    first: Vec<(f64, BTreeMap<String, String>)>,
}

fn kinds(file: &str) -> BTreeMap<String, Kind> {
    let mut kinds: BTreeMap<String, Kind> = BTreeMap::new();
    let folder = corpus().expect("asked before");
    let bytes = std::fs::read(folder.join(format!("nettrace/{file}.nettrace"))).unwrap();
    let mut start = (0, 1);
    let mut sink = |item: Item<'_>| match item {
        Item::Trace(trace) => start = (trace.sync_ticks, trace.ticks_per_second),
        Item::Event(event) => {
            let name = format!("{}/{}", event.metadata.provider, event.metadata.display_name());
            let kind = kinds.entry(name).or_default();
            kind.count += 1;
            if kind.first.len() < 1000 {
                let milliseconds = event.header.time.saturating_sub(start.0) as f64 * 1000.0 / start.1 as f64;
                let fields = event.fields().map(|(name, value)| (name.into(), value.to_string()));
                kind.first.push((milliseconds, fields.collect()));
            }
        }
        _ => {}
    };
    Decoder::new().feed(&bytes, &mut sink).unwrap();
    kinds
}

/// Compares all kinds of events of a stream with what an independent reader shows; gives the number of values that are the
/// same, and the others.
fn compare(file: &str, names: &[(&str, &str)]) -> (usize, Vec<String>) {
    let mut kinds = kinds(file);
    let (mut equal, mut differing) = (0, Vec::new());
    for (theirs, count, attributes) in expected(&format!("{file}.expected.txt")) {
        let (provider, name) = theirs.split_once('/').unwrap();
        let ours: Vec<_> = names.iter().filter(|(their, _)| *their == name).map(|(_, our)| *our).collect();
        let ours = if ours.is_empty() { vec![name] } else { ours };
        let found: Vec<_> = ours.iter().filter_map(|our| kinds.remove(&format!("{provider}/{our}"))).collect();
        assert_eq!(found.iter().map(|kind| kind.count).sum::<u64>(), count, "{theirs}");
        let at: f64 = attributes["MSec"].trim().replace(',', "").parse().unwrap();
        let (_, fields) = (found.iter().flat_map(|kind| &kind.first))
            .find(|(time, _)| (time - at).abs() < 0.0001)
            .unwrap_or_else(|| panic!("no {theirs} at {at} ms"));
        for (name, value) in attributes {
            if let Some(found) = fields.get(&name) {
                if plain(found) == plain(&value) {
                    equal += 1;
                } else {
                    differing.push(format!("{name} of {theirs}: {found} is shown as {value}"));
                }
            }
        }
    }
    // That reader keeps these to itself.
    let silent = ["ILToNativeMap", "MethodDCEndVerbose"];
    let left: Vec<_> = kinds.keys().filter(|name| !silent.iter().any(|kind| name.ends_with(kind))).collect();
    assert!(left.is_empty(), "{left:?}");
    (equal, differing)
}

#[test]
fn an_independent_reader_sees_the_same_events_and_values() {
    let names = [
        ("Thread/Sample", "ThreadSample"),
        ("AppDomainResourceManagement/ThreadCreated", "ThreadCreated"),
        ("Contention/Start", "ContentionStart"),
        ("Contention/Stop", "ContentionStop"),
        ("GC", "IncreaseMemoryPressure"),
        ("GC", "DecreaseMemoryPressure"),
        ("GC/AllocationTick", "GCAllocationTick"),
        ("GC/BulkMovedObjectRanges", "GCBulkMovedObjectRanges"),
        ("GC/FinalizersStart", "GCFinalizersBegin"),
        ("GC/FinalizersStop", "GCFinalizersEnd"),
        ("GC/GenerationRange", "GCGenerationRange"),
        ("GC/GlobalHeapHistory", "GCGlobalHeapHistory"),
        ("GC/HeapStats", "GCHeapStats"),
        ("GC/MarkWithType", "GCMarkWithType"),
        ("GC/PerHeapHistory", "GCPerHeapHistory"),
        ("GC/PinObjectAtGCTime", "PinObjectAtGCTime"),
        ("GC/PinPlugAtGCTime", "PinPlugAtGCTime"),
        ("GC/RestartEEStart", "GCRestartEEBegin"),
        ("GC/RestartEEStop", "GCRestartEEEnd"),
        ("GC/Start", "GCStart"),
        ("GC/Stop", "GCEnd"),
        ("GC/SuspendEEStart", "GCSuspendEEBegin"),
        ("GC/SuspendEEStop", "GCSuspendEEEnd"),
        ("GC/Triggered", "GCTriggered"),
        ("Loader/AssemblyLoad", "AssemblyLoad"),
        ("Loader/DomainModuleLoad", "DomainModuleLoad"),
        ("Loader/ModuleLoad", "ModuleLoad"),
        ("Method/JittingStarted", "MethodJittingStarted"),
        ("Method/LoadVerbose", "MethodLoadVerbose"),
        ("Method/R2RGetEntryPoint", "R2RGetEntryPoint"),
        ("ThreadPool/Dequeue", "ThreadPoolDequeue"),
        ("ThreadPool/Enqueue", "ThreadPoolEnqueue"),
        ("ThreadPoolWorkerThread/Start", "ThreadPoolWorkerThreadStart"),
        ("ThreadPoolWorkerThread/Wait", "ThreadPoolWorkerThreadWait"),
        ("ThreadPoolWorkerThreadAdjustment/Adjustment", "ThreadPoolWorkerThreadAdjustmentAdjustment"),
        ("ThreadPoolWorkerThreadAdjustment/Sample", "ThreadPoolWorkerThreadAdjustmentSample"),
        ("ThreadPoolWorkerThreadAdjustment/Stats", "ThreadPoolWorkerThreadAdjustmentStats"),
        ("Loader/AppDomainDCStop", "AppDomainDCEnd"),
        ("Loader/AssemblyDCStop", "AssemblyDCEnd"),
        ("Loader/DomainModuleDCStop", "DomainModuleDCEnd"),
        ("Loader/ModuleDCStop", "ModuleDCEnd"),
        ("Method/DCStopComplete", "DCEndComplete"),
        ("Method/DCStopInit", "DCEndInit"),
        ("Method/DCStopVerbose", "MethodDCEndVerbose"),
        ("Method/ILToNativeMapDCStop", "MethodDCEndILToNativeMap"),
        ("Runtime/Start", "RuntimeInformationDCStart"),
        ("TestEvent3/24", "TestEvent3"),
    ];
    // Numbers that mean something else to that reader: it has no names for one, and takes bit fields for single values.
    let differing = [
        "Type of Microsoft-Windows-DotNETRuntime/GC/MarkWithType: Stack is shown as 0",
        "CompactMechanisms of Microsoft-Windows-DotNETRuntime/GC/PerHeapHistory: 0x80000002 is shown as compact_high_frag",
        "ExpandMechanisms of Microsoft-Windows-DotNETRuntime/GC/PerHeapHistory: 0x0 is shown as not_specified",
    ];
    if corpus().is_some() {
        assert_eq!(compare("net3.0-win-all-events", &names), (170, differing.map(String::from).to_vec()));
        assert_eq!(compare("net5-win-array-types", &names), (55, vec![]));
    }
}
