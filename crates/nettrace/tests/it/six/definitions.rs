//! Metadata blocks.

use strata_nettrace::{Decoder, Field, FieldType, Fields, Guid, Item, Metadata, MetadataDetails, ProblemKind};
use strata_testkit::nettrace::leb128;
use strata_testkit::nettrace6::{Definition, Rows, Stream, field, fields, kind, string};

use super::seen::{decode, definitions, events, problems, row};

/// The definition of the one event of a stream, and the problems of the stream.
fn defined(stream: Stream, id: u32) -> (Option<Metadata>, Vec<(ProblemKind, Option<i64>)>) {
    let (mut metadata, mut problems) = (None, Vec::new());
    let mut sink = |item: Item<'_>| match item {
        Item::Event(event) => metadata = Some(event.metadata.clone()),
        Item::Problem(problem) => problems.push((problem.kind, problem.value)),
        _ => {}
    };
    Decoder::new().feed(&stream.events(&Rows::compressed().with(row(id, 1, 0))).end(), &mut sink).unwrap();
    (metadata, problems)
}

fn base() -> Definition {
    Definition::new(9, "My-Provider", 300, "SomethingStart")
}

fn plain(field_type: FieldType) -> Fields {
    Fields::Known(vec![Field { name: "f".into(), field_type }])
}

#[test]
fn optional_entries() {
    let text = |kind, text: &str| (kind, string(text));
    let pair = |key, value| (6, [string(key), string(value)].concat());
    let all = vec![
        (1, vec![2]),
        (3, 0x8000_0000_0000_0001u64.to_le_bytes().to_vec()),
        text(4, "did {what}"),
        text(5, "Something was done"),
        pair("owner", "us"),
        pair("owner", "them"),
        (7, (1..=16).collect()),
        (8, vec![4]),
        (9, vec![255]),
    ];
    let definition = Definition { optional: all.clone(), ..base() };
    let (metadata, problems) = defined(definitions().metadata(&[definition]), 9);
    let metadata = metadata.expect("defined");
    assert_eq!((metadata.id, &*metadata.provider, metadata.event_id), (9, "My-Provider", 300));
    assert_eq!((&*metadata.name, &metadata.fields), ("SomethingStart", &Fields::Known(vec![])));
    assert_eq!((metadata.keywords, metadata.level, metadata.version), (0x8000_0000_0000_0001, 4, 255));
    assert_eq!((metadata.stated_opcode, metadata.opcode()), (Some(2), 2));
    let details = metadata.details.expect("details");
    assert_eq!(details.message_template.as_deref(), Some("did {what}"));
    assert_eq!(details.description.as_deref(), Some("Something was done"));
    assert_eq!(details.provider_guid, Some(Guid(std::array::from_fn(|index| index as u8 + 1))));
    let attributes: Vec<_> = details.attributes.iter().map(|(key, value)| format!("{key}={value}")).collect();
    assert_eq!(attributes, ["owner=us", "owner=them"]);
    assert_eq!(problems, []);

    /// Level, stated opcode, opcode that counts.
    type Says = (u32, Option<u8>, u8);
    type Told = &'static [(ProblemKind, Option<i64>)];
    let cases: [(&str, Definition, Says, Told); 6] = [
        ("none", base(), (0, None, 1), &[]),
        ("opcode 0", Definition { optional: vec![(1, vec![0])], ..base() }, (0, Some(0), 1), &[]),
        ("extra", Definition { optional: vec![(8, vec![3])], extra: vec![0xee; 9], ..base() }, (3, None, 1), &[]),
        // Its length is not known: those before it count, those behind it cannot.
        (
            "unknown",
            Definition { optional: vec![(8, vec![3]), (10, vec![1]), (1, vec![2])], ..base() },
            (3, None, 1),
            &[(ProblemKind::UnknownEntry, Some(10))],
        ),
        (
            "the list of fields of version 5",
            Definition { optional: vec![(2, vec![0; 4])], ..base() },
            (0, None, 1),
            &[(ProblemKind::UnknownEntry, Some(2))],
        ),
        (
            "cut",
            Definition { optional: vec![(8, vec![3]), (3, vec![1; 7])], ..base() },
            (3, None, 1),
            &[(ProblemKind::BadEntries, Some(9))],
        ),
    ];
    for (case, definition, (level, stated_opcode, opcode), told) in cases {
        let (metadata, problems) = defined(definitions().metadata(&[definition]), 9);
        let metadata = metadata.expect(case);
        assert_eq!(
            (metadata.level, metadata.stated_opcode, metadata.opcode()),
            (level, stated_opcode, opcode),
            "{case}"
        );
        assert_eq!(metadata.details, None, "{case}");
        assert_eq!(problems, told, "{case}");
    }
    assert_eq!(MetadataDetails::default().provider_guid, None);
}

#[test]
fn every_type_of_field() {
    use FieldType::*;
    let scalars = [
        (3, Boolean),
        (4, Char),
        (5, SByte),
        (6, Byte),
        (7, Int16),
        (8, UInt16),
        (9, Int32),
        (10, UInt32),
        (11, Int64),
        (12, UInt64),
        (13, Single),
        (14, Double),
        (15, Decimal),
        (16, DateTime),
        (17, FieldType::Guid),
        (18, Text),
        (20, VarInt),
        (21, VarUInt),
        (23, Utf8Unit),
        (26, Boolean8),
    ];
    let mut cases: Vec<(Vec<u8>, FieldType)> = scalars.map(|(code, field_type)| (vec![code], field_type)).to_vec();
    let pair = [vec![1], fields(&[field("x", &[9], 0), field("y", &[21], 3)])].concat();
    let named = |name: &str, field_type| Field { name: name.into(), field_type };
    let object = || Object(vec![named("x", Int32), named("y", VarUInt)]);
    cases.extend([
        (vec![19, 18], Array(Box::new(Text))),
        (vec![19, 19, 10], Array(Box::new(Array(Box::new(UInt32))))),
        (vec![22, 6, 16, 0], FixedArray(Box::new(Byte), 16)),
        // The count stands behind the element's type, whatever that is.
        (vec![22, 22, 4, 2, 0, 1, 1], FixedArray(Box::new(FixedArray(Box::new(Char), 2)), 257)),
        (vec![22, 6, 0, 0], FixedArray(Box::new(Byte), 0)),
        (vec![24, 23], RelLoc(Box::new(Utf8Unit))),
        (vec![25, 4], DataLoc(Box::new(Char))),
        (vec![25, 22, 6, 3, 0], DataLoc(Box::new(FixedArray(Box::new(Byte), 3)))),
        (vec![1, 0, 0], Object(vec![])),
        (pair.clone(), object()),
        ([vec![19], pair.clone()].concat(), Array(Box::new(object()))),
        ([vec![24], pair].concat(), RelLoc(Box::new(object()))),
    ]);
    for (bytes, field_type) in cases {
        for extra in [0, 8] {
            let fields = vec![field("f", &bytes, extra)];
            let stream = definitions().metadata(&[Definition { fields, optional: vec![(8, vec![5])], ..base() }]);
            let (metadata, problems) = defined(stream, 9);
            let metadata = metadata.expect("defined");
            assert_eq!((metadata.fields, problems), (plain(field_type.clone()), vec![]));
            assert_eq!(metadata.level, 5, "what stands behind the fields is found");
        }
    }
}

#[test]
fn fields_that_cannot_be_read_leave_the_event_with_an_opaque_payload() {
    let deep = |code: u8| [vec![code; 40], vec![6]].concat();
    let mut nested = field("leaf", &[9], 0);
    for _ in 0..40 {
        nested = field("", &[vec![1], fields(&[nested])].concat(), 0);
    }
    let cases: [(&str, Vec<Vec<u8>>); 15] = [
        ("code 0", vec![field("f", &[0], 0)]),
        ("code 2", vec![field("f", &[2], 0)]),
        ("code 27", vec![field("f", &[27], 0)]),
        ("no code", vec![field("f", &[], 0)]),
        ("no element", vec![field("f", &[19], 0)]),
        ("no count", vec![field("f", &[22, 6], 0)]),
        ("half a count", vec![field("f", &[22, 6, 1], 0)]),
        ("name too long", vec![vec![2, 0, 9, b'f']]),
        ("size past the row", vec![vec![0xff, 0xff, 1, b'f', 9]]),
        ("arrays too deep", vec![field("f", &deep(19), 0)]),
        ("objects too deep", vec![nested]),
        ("text elsewhere", vec![field("f", &[24, 18], 0)]),
        ("an array elsewhere", vec![field("f", &[25, 19, 6], 0)]),
        ("elsewhere elsewhere", vec![field("f", &[24, 22, 25, 6, 1, 0], 0)]),
        ("elements of no bytes", vec![field("f", &[19, 22, 6, 0, 0], 0)]),
    ];
    for (case, fields) in cases {
        let (metadata, problems) = defined(definitions().metadata(&[Definition { fields, ..base() }]), 9);
        assert_eq!(metadata.map(|metadata| metadata.fields), Some(Fields::Opaque), "{case}");
        assert_eq!(problems, [(ProblemKind::BadFields, Some(9))], "{case}");
    }
    // A count of more fields than there are bytes.
    let row = [leb128(9), string("P"), leb128(1), string("N"), vec![0xff, 0xff, 0, 0]].concat();
    let (metadata, problems) = defined(definitions().metadata_rows(0, &[row]), 9);
    assert_eq!(metadata.map(|metadata| metadata.fields), Some(Fields::Opaque));
    assert_eq!(problems, [(ProblemKind::BadFields, Some(9))]);
}

#[test]
fn headers_of_metadata_blocks_are_skipped() {
    for header in [0, 1, 5, 400] {
        let (metadata, problems) = defined(definitions().metadata_rows(header, &[base().row()]), 9);
        assert_eq!((metadata.map(|metadata| metadata.event_id), problems), (Some(300), vec![]));
    }
    // A row that ends behind its fields has nothing else to say.
    let mut row = base().row();
    row.truncate(row.len() - 2);
    let (metadata, problems) = defined(definitions().metadata_rows(0, &[row]), 9);
    assert_eq!((metadata.map(|metadata| metadata.fields), problems), (Some(Fields::Known(vec![])), vec![]));
}

#[test]
fn ids_may_be_any_number() {
    let ids = [0, 1, 3, 1000, u32::MAX, 0x7fff_ffff];
    let all: Vec<_> = ids.iter().map(|id| Definition::new(*id, "P", *id, "")).collect();
    let stream = definitions();
    let at = stream.offset() + 4 + 2 + all[0].row().len() + 2;
    let block = ids.iter().zip(1..).fold(Rows::compressed(), |block, (id, n)| block.with(row(*id, n, 0)));
    let (seen, _) = decode(&stream.metadata(&all).events(&block).end());
    // 1 was there before.
    assert_eq!(problems(&seen), [(ProblemKind::DuplicateMetadata, at, Some(1))]);
    assert_eq!(events(&seen).iter().map(|event| event.row.metadata).collect::<Vec<_>>(), ids);
}

#[test]
fn a_sequence_point_can_let_definitions_be_forgotten() {
    let rows = |first| Rows::compressed().with(row(1, first, 0)).with(row(2, first + 1, 0));
    let (seen, summary) = decode(&definitions().events(&rows(1)).sequence_point(5, 0, &[]).events(&rows(3)).end());
    assert_eq!((events(&seen).len(), summary.problems.total()), (4, 0));
    let stream = definitions().events(&rows(1)).sequence_point(5, 2, &[]);
    let (seen, summary) = decode(&stream.clone().events(&rows(3)).end());
    assert_eq!(events(&seen).len(), 2);
    assert_eq!(summary.problems.get(ProblemKind::UnknownMetadata), 2);
    // The same definition again is the same kind of event; another one with its id is another.
    let again = [Definition::new(1, "Provider-A", 10, "First"), Definition::new(2, "Other", 99, "Other")];
    let stream = stream.metadata(&again).events(&rows(3)).sequence_point(6, 3, &[]);
    let (seen, summary) = decode(&stream.metadata(&again).end());
    assert_eq!((events(&seen).len(), problems(&seen)), (4, vec![]));
    assert_eq!(summary.metadata, 3);
}

#[test]
fn a_bad_definition_does_not_harm_its_neighbours() {
    let good = |id| Definition::new(id, "P", id, "").row();
    let cases: [(&str, Vec<u8>); 5] = [
        ("empty", vec![]),
        ("id only", leb128(3)),
        ("id too long", vec![0xff; 12]),
        ("provider too long", [leb128(3), leb128(1 << 30), vec![b'x'; 4]].concat()),
        ("no name", [leb128(3), string("P"), leb128(1)].concat()),
    ];
    for (case, bad) in cases {
        let stream = definitions();
        let at = stream.offset() + 4 + 2 + 2 + good(8).len();
        let stream = stream.metadata_rows(0, &[good(8), bad, good(9)]);
        let (seen, summary) = decode(&stream.events(&Rows::compressed().with(row(8, 1, 0)).with(row(9, 2, 0))).end());
        assert_eq!(problems(&seen), [(ProblemKind::BadMetadata, at, None)], "{case}");
        assert_eq!((events(&seen).len(), summary.metadata), (2, 4), "{case}");
    }
    assert_eq!(kind::METADATA, 3);
}
