//! Events by which collectors of whole machines tell of samples, processes and code.

use strata_address::Avma;
use strata_nettrace::universal::{
    Beginning, MappingEvent, MappingMetadataEvent, PayloadError, ProcessEvent, SymbolEvent, UniversalEvent,
};
use strata_nettrace::{Decoder, Event, Fit, Item};
use strata_testkit::nettrace::leb128;
use strata_testkit::nettrace6::{Definition, Row, Rows, Stream};
use strata_testkit::universal::{definitions, id, mapping, metadata, process, symbol, text};

/// Passes the event that one payload makes on to `look`.
fn with<T>(definitions: &[Definition], metadata: u32, payload: &[u8], look: impl Fn(&Event<'_>) -> T) -> T {
    let row = Row { metadata, sequence: 1, time: 2_000, payload: payload.to_vec(), ..Row::default() };
    let stream = Stream::with_trace().metadata(definitions).events(&Rows::compressed().with(row)).end();
    let mut result = None;
    let mut sink = |item: Item<'_>| {
        if let Item::Event(event) = item {
            result = Some(look(&event));
        }
    };
    Decoder::new().feed(&stream, &mut sink).expect("a good stream");
    result.expect("one event")
}

/// Looks at a payload as it is and with more behind it, and sees that every shorter one is an error with its numbers. The
/// fields, for those who show whatever there is, are `fields`.
#[track_caller]
fn check(metadata: u32, payload: &[u8], fields: &str, look: impl Fn(UniversalEvent<'_>)) {
    let definitions = definitions();
    let seen = |event: &Event<'_>| look(UniversalEvent::decode(event).expect("long enough").expect("known"));
    with(&definitions, metadata, payload, seen);
    with(&definitions, metadata, &[payload, &[0xee; 7]].concat(), seen);
    for length in 0..payload.len() {
        let error: Option<PayloadError> =
            with(&definitions, metadata, &payload[..length], |event| UniversalEvent::decode(event).err());
        let error = error.unwrap_or_else(|| panic!("{length} of {} bytes are enough", payload.len()));
        assert_eq!(error.present, length);
    }
    let shown = with(&definitions, metadata, payload, |event| {
        assert_eq!(event.fields().fit(), Fit::Whole);
        let shown: Vec<_> = event.fields().map(|(name, value)| format!("{name}={value}")).collect();
        shown.join(" ")
    });
    assert_eq!(shown, fields);
}

#[test]
fn samples_and_switches_have_a_number() {
    check(id::CPU, &leb128(3), "Value=3", |event| assert_eq!(event, UniversalEvent::CpuSample { weight: 3 }));
    check(id::CSWITCH, &leb128(u64::MAX), &format!("Value={}", u64::MAX), |event| {
        assert_eq!(event, UniversalEvent::ContextSwitch { waited: u64::MAX });
    });
}

#[test]
fn processes_begin_and_end() {
    for (metadata, beginning) in [(id::EXISTING, Beginning::Before), (id::CREATE, Beginning::Now)] {
        let payload = process(7, "dotnet", "Unknown");
        check(metadata, &payload, "NamespaceId=7 Name=dotnet NamespaceName=Unknown", |event| {
            let UniversalEvent::Process(found, ProcessEvent { namespace_pid, name, namespace }) = event else {
                panic!("{event:?}")
            };
            assert_eq!((found, namespace_pid), (beginning, 7));
            assert_eq!((name.to_string(), namespace.to_string()), ("dotnet".into(), "Unknown".into()));
        });
    }
    check(id::EXIT, &[], "", |event| assert_eq!(event, UniversalEvent::ProcessExit));
}

#[test]
fn mappings_say_where_a_file_is() {
    let payload = mapping(9, 0x7f00_0000_1000, 0x7f00_0000_1fff, 0x2000, "/lib/libc.so.6", 4);
    let fields = "Id=9 StartAddress=0x7f0000001000 EndAddress=0x7f0000001fff FileOffset=0x2000 FileName=/lib/libc.so.6 \
                  MetadataId=4";
    check(id::MAPPING, &payload, fields, |event| {
        let UniversalEvent::Mapping(MappingEvent { id, start, last, file_offset, file, metadata_id, .. }) = event
        else {
            panic!("{event:?}")
        };
        assert_eq!((id, start, last), (9, Avma(0x7f00_0000_1000), Avma(0x7f00_0000_1fff)));
        assert_eq!((file_offset, file.to_string(), metadata_id), (0x2000, "/lib/libc.so.6".into(), 4));
    });
}

#[test]
fn newer_mappings_have_metadata_of_their_own() {
    let old = mapping(1, 0xffff_8000_0000_0000, u64::MAX, 0, "vmlinux", 0);
    let payload = [old.clone(), text("{\"type\": \"ELF\"}"), text("")].concat();
    let definitions = definitions();
    let found = with(&definitions, id::MAPPING, &payload, |event| {
        let Ok(Some(UniversalEvent::Mapping(mapping))) = UniversalEvent::decode(event) else { panic!("{event:?}") };
        assert_eq!(event.fields().fit(), Fit::Whole);
        assert_eq!(
            event.fields().last().map(|(name, value)| (name, value.to_string())),
            Some(("VersionMetadata", String::new()))
        );
        (mapping.last, mapping.symbol.map(|text| text.to_string()), mapping.version.map(|text| text.to_string()))
    });
    assert_eq!(found, (Avma(u64::MAX), Some("{\"type\": \"ELF\"}".into()), Some(String::new())));
    // Neither are there in an older one, nor where they do not fit.
    for payload in [old.clone(), [old, vec![9, 0, b'x']].concat()] {
        let found = with(&definitions, id::MAPPING, &payload, |event| match UniversalEvent::decode(event) {
            Ok(Some(UniversalEvent::Mapping(mapping))) => mapping.symbol.is_some() || mapping.version.is_some(),
            other => panic!("{other:?}"),
        });
        assert!(!found);
    }
}

#[test]
fn metadata_and_symbols_name_what_is_there() {
    let payload = metadata(4, "{\"type\": \"ELF\",\"build_id\": \"0a0b\"}", "{}");
    let fields = "Id=4 SymbolMetadata={\"type\": \"ELF\",\"build_id\": \"0a0b\"} VersionMetadata={}";
    check(id::METADATA, &payload, fields, |event| {
        let UniversalEvent::MappingMetadata(MappingMetadataEvent { id, symbol, version }) = event else {
            panic!("{event:?}")
        };
        assert_eq!((id, version.to_string()), (4, "{}".into()));
        assert!(symbol.to_string().contains("0a0b"));
    });
    let payload = symbol(300, 9, 0x1000, 0x10ff, "schön");
    let fields = "Id=300 MappingId=9 StartAddress=0x1000 EndAddress=0x10ff Name=schön";
    check(id::SYMBOL, &payload, fields, |event| {
        let UniversalEvent::Symbol(SymbolEvent { id, mapping_id, start, last, name }) = event else {
            panic!("{event:?}")
        };
        assert_eq!((id, mapping_id, start, last), (300, 9, Avma(0x1000), Avma(0x10ff)));
        assert_eq!(name.to_string(), "schön");
    });
}

#[test]
fn names_count_and_not_numbers() {
    let known = |provider: &str, event_id, name: &str| {
        let definition = Definition::new(1, provider, event_id, name);
        with(&[definition], 1, &leb128(1), |event| !matches!(UniversalEvent::decode(event), Ok(None)))
    };
    assert!(known("Universal.Events", 77, "cpu"));
    assert!(known("Universal.System", 77, "ProcessSymbol"));
    assert!(!known("Universal.Events", 1, "page_fault"));
    assert!(!known("Universal.Events", 4, "ProcessSymbol"));
    assert!(!known("Shop", 1, "cpu"));
}
