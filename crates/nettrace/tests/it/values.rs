//! Values of events that describe themselves.

use strata_nettrace::{Decoder, Event, Fit, Item, ProblemKind, Value};
use strata_testkit::nettrace::{Blob, Blobs, Definition, Stream, utf16};

use crate::seen::event;

/// Type codes of the format.
mod code {
    pub(super) const OBJECT: u32 = 1;
    pub(super) const BOOLEAN: u32 = 3;
    pub(super) const CHAR: u32 = 4;
    pub(super) const SBYTE: u32 = 5;
    pub(super) const BYTE: u32 = 6;
    pub(super) const INT16: u32 = 7;
    pub(super) const UINT16: u32 = 8;
    pub(super) const INT32: u32 = 9;
    pub(super) const UINT32: u32 = 10;
    pub(super) const INT64: u32 = 11;
    pub(super) const UINT64: u32 = 12;
    pub(super) const SINGLE: u32 = 13;
    pub(super) const DOUBLE: u32 = 14;
    pub(super) const DECIMAL: u32 = 15;
    pub(super) const DATE_TIME: u32 = 16;
    pub(super) const GUID: u32 = 17;
    pub(super) const TEXT: u32 = 18;
    pub(super) const ARRAY: u32 = 19;
}

/// A type as version 5 writes it: code, then the element's type or the fields.
#[derive(Clone)]
struct Type(Vec<u8>);

fn scalar(code: u32) -> Type {
    Type(code.to_le_bytes().to_vec())
}

fn array(element: &Type) -> Type {
    Type([&code::ARRAY.to_le_bytes()[..], &element.0].concat())
}

fn object(fields: &[(&str, Type)]) -> Type {
    Type([&code::OBJECT.to_le_bytes()[..], &list(fields)].concat())
}

fn list(fields: &[(&str, Type)]) -> Vec<u8> {
    let mut bytes = (fields.len() as u32).to_le_bytes().to_vec();
    for (name, Type(field_type)) in fields {
        let name = utf16(name);
        bytes.extend(((4 + name.len() + field_type.len()) as u32).to_le_bytes());
        bytes.extend(name);
        bytes.extend(field_type);
    }
    bytes
}

/// An event source's event of these fields.
fn definition(fields: &[(&str, Type)]) -> Definition {
    Definition { name: "Happened".into(), tags: vec![(2, list(fields))], ..Definition::native(1, "My-Source", 3, 0) }
}

/// Passes an event of this definition and payload on to `look`, and sees that the next event is unharmed.
fn with<T>(definition: Definition, payload: &[u8], look: impl Fn(&Event<'_>) -> T) -> T {
    let blob = |sequence, payload: &[u8]| Blob { payload: payload.to_vec(), ..event(1, sequence, 0) };
    let blobs = Blobs::compressed().with(blob(1, payload)).with(blob(2, b"next"));
    let stream = Stream::with_trace().metadata(&[definition]).events(&blobs).end();
    let (mut result, mut next) = (None, None);
    let mut sink = |item: Item<'_>| match item {
        Item::Event(event) if event.header.sequence == 1 => result = Some(look(&event)),
        Item::Event(event) => next = Some(event.fields().bytes().to_vec()),
        _ => {}
    };
    Decoder::new().feed(&stream, &mut sink).expect("a good stream");
    assert_eq!(next.as_deref(), Some(&b"next"[..]));
    result.expect("an event")
}

fn shown(event: &Event<'_>) -> (Vec<String>, Fit) {
    let mut fields = event.fields();
    let shown = fields.by_ref().map(|(name, value)| format!("{name}={value}")).collect();
    assert_eq!(fields.bytes(), event.payload);
    (shown, fields.fit())
}

#[test]
fn every_type_that_event_sources_have() {
    use code::*;
    let decimal = [&0x8002_0000u32.to_le_bytes()[..], &0u32.to_le_bytes(), &12345u64.to_le_bytes()].concat();
    let point = object(&[("X", scalar(INT32)), ("Y", scalar(INT32))]);
    let points = [&2u16.to_le_bytes()[..], &[1, 2, 3, 4].map(i32::to_le_bytes).concat()].concat();
    let words = [&2u16.to_le_bytes()[..], &utf16("a, b"), &utf16("\"c\"\n")].concat();
    let nested = [&2u16.to_le_bytes()[..], &[1, 0, 9], &[2, 0, 8, 7]].concat();
    let cases: &[(&str, Type, &[u8], &str)] = &[
        ("Boolean", scalar(BOOLEAN), &[2, 0, 0, 0], "true"),
        ("Boolean", scalar(BOOLEAN), &[0; 4], "false"),
        ("Char", scalar(CHAR), &[0xe4, 0], "ä"),
        ("half of a character", scalar(CHAR), &[0, 0xd8], "\u{fffd}"),
        ("SByte", scalar(SBYTE), &[0xff], "-1"),
        ("Byte", scalar(BYTE), &[0xff], "255"),
        ("Int16", scalar(INT16), &[0, 0x80], "-32768"),
        ("UInt16", scalar(UINT16), &[0, 0x80], "32768"),
        ("Int32", scalar(INT32), &[0xfe, 0xff, 0xff, 0xff], "-2"),
        ("UInt32", scalar(UINT32), &[0xfe, 0xff, 0xff, 0xff], "4294967294"),
        ("Int64", scalar(INT64), &i64::MIN.to_le_bytes(), "-9223372036854775808"),
        ("UInt64", scalar(UINT64), &u64::MAX.to_le_bytes(), "18446744073709551615"),
        ("Single", scalar(SINGLE), &0.1f32.to_le_bytes(), "0.1"),
        ("Double", scalar(DOUBLE), &f64::NAN.to_le_bytes(), "NaN"),
        ("Decimal", scalar(DECIMAL), &decimal, "-123.45"),
        ("DateTime", scalar(DATE_TIME), &116_444_736_000_000_000u64.to_le_bytes(), "1970-01-01T00:00:00.0000000Z"),
        ("Guid", scalar(GUID), &[0xab; 16], "abababab-abab-abab-abab-abababababab"),
        ("text", scalar(TEXT), &utf16("Größe 😀"), "Größe 😀"),
        ("array of numbers", array(&scalar(INT16)), &[2, 0, 1, 0, 0xff, 0xff], "[1, -1]"),
        ("array of nothing", array(&scalar(INT16)), &[0, 0], "[]"),
        ("array of bytes", array(&scalar(BYTE)), &[2, 0, 0x0a, 0xff], "0x0aff"),
        ("array of code units", array(&scalar(CHAR)), &[3, 0, 0x41, 0, 0, 0, 0x42, 0], "A\0B"),
        ("array of texts", array(&scalar(TEXT)), &words, r#"["a, b", "\"c\"\n"]"#),
        ("array of arrays", array(&array(&scalar(BYTE))), &nested, "[0x09, 0x0807]"),
        ("array of objects", array(&point), &points, "[{X: 1, Y: 2}, {X: 3, Y: 4}]"),
        ("object", point.clone(), &points[2..10], "{X: 1, Y: 2}"),
        ("object of nothing", object(&[]), &[], "{}"),
    ];
    for (case, field_type, payload, expected) in cases {
        // A field in front and one behind show that exactly the right bytes are taken.
        let fields = [("before", scalar(BYTE)), ("it", field_type.clone()), ("behind", scalar(BYTE))];
        let whole = [&[7], *payload, &[8]].concat();
        let all = ["before=7".to_string(), format!("it={expected}"), "behind=8".into()];
        let read = |payload: &[u8]| with(definition(&fields), payload, shown);
        assert_eq!(read(&whole), (all.to_vec(), Fit::Whole), "{case}");
        let longer = [&whole[..], &[1, 2, 3]].concat();
        assert_eq!(read(&longer), (all.to_vec(), Fit::Longer { at: whole.len() }), "{case}");
        for length in 0..whole.len() {
            let (found, fit) = read(&whole[..length]);
            let at = match found.len() {
                0 => 0,
                1 => 1,
                _ => whole.len() - 1,
            };
            assert_eq!((&found[..], fit), (&all[..found.len()], Fit::Short { at }), "{case} in {length} bytes");
        }
    }
}

#[test]
fn what_is_wrong_in_a_payload_ends_it_and_costs_no_time() {
    use code::*;
    let text = scalar(TEXT);
    let empty = object(&[]);
    let deep = (0..10).fold(scalar(BYTE), |element, _| array(&element));
    let cases: &[(&str, Type, Vec<u8>)] = &[
        ("count beyond the bytes", array(&scalar(UINT64)), vec![0xff, 0xff, 1, 2, 3, 4, 5, 6, 7, 8]),
        ("texts beyond the bytes", array(&text), [&[0xff, 0xff][..], &utf16("only"), &utf16("two")].concat()),
        ("text without its end", text, vec![0x41, 0, 0x42, 0, 0]),
        ("elements without bytes", array(&empty), vec![0xff, 0xff]),
        ("arrays of elements without bytes", array(&array(&empty)), vec![2, 0, 1, 0, 1, 0]),
        ("a field without bytes in an element", array(&object(&[("x", scalar(BYTE)), ("y", empty)])), vec![1, 0, 1]),
        ("counts in counts", deep, vec![0xff; 60_000]),
        ("object that ends early", object(&[("a", scalar(INT32)), ("b", scalar(INT32))]), vec![1, 0, 0, 0, 2]),
    ];
    for (case, field_type, payload) in cases {
        let fields = [("first", scalar(BYTE)), ("it", field_type.clone()), ("last", scalar(BYTE))];
        let whole = [&[7], &payload[..]].concat();
        let read = with(definition(&fields), &whole, shown);
        assert_eq!(read, (vec!["first=7".into()], Fit::Short { at: 1 }), "{case}");
    }
}

#[test]
fn many_small_elements_are_read_in_time_that_follows_their_bytes() {
    // The most that a count of two bytes allows, several levels deep: each level is read once for each level above it.
    let element = object(&[("a", object(&[("b", object(&[("c", scalar(code::BYTE))]))]))]);
    let payload = [&u16::MAX.to_le_bytes()[..], &vec![5; 65_535]].concat();
    let count = with(definition(&[("all", array(&element))]), &payload, |event| {
        assert_eq!(event.fields().fit(), Fit::Whole);
        let Some((_, Value::Array(array))) = event.fields().next() else { panic!("no array") };
        assert_eq!((array.len(), array.is_empty()), (65_535, false));
        array.iter().filter(|element| element.to_string() == "{a: {b: {c: 5}}}").count()
    });
    assert_eq!(count, 65_535);
}

#[test]
fn structure_is_there_for_those_who_want_it() {
    let element = object(&[("Key", scalar(code::TEXT)), ("Value", scalar(code::INT32))]);
    let payload = [&1u16.to_le_bytes()[..], &utf16("k"), &7i32.to_le_bytes()].concat();
    with(definition(&[("pairs", array(&element))]), &payload, |event| {
        let (name, Value::Array(pairs)) = event.fields().next().unwrap() else { panic!("no array") };
        assert_eq!((name, pairs.len()), ("pairs", 1));
        let Some(Value::Object(pair)) = pairs.iter().next() else { panic!("no object") };
        assert_eq!((pair.len(), pair.is_empty()), (2, false));
        let fields: Vec<_> = pair.iter().collect();
        assert!(matches!(fields[0], ("Key", Value::Utf16(key)) if key == "k"));
        assert_eq!(fields[1], ("Value", Value::Signed(7)));
        assert_eq!(format!("{pairs:?}"), r#"[Object({"Key": Utf16("k"), "Value": Signed(7)})]"#);
    });
}

#[test]
fn an_object_around_everything_that_has_no_name_is_not_shown() {
    // Event sources write their counters so.
    let counter = object(&[("Name", scalar(code::TEXT)), ("Mean", scalar(code::DOUBLE))]);
    let payload = [&utf16("cpu-usage")[..], &0.5f64.to_le_bytes()].concat();
    let wrapped = definition(&[("", object(&[("Payload", counter)]))]);
    let expected = vec!["Payload={Name: \"cpu-usage\", Mean: 0.5}".to_string()];
    assert_eq!(with(wrapped, &payload, shown), (expected, Fit::Whole));
}

#[test]
fn names_are_kept_as_they_are() {
    let lone = |units: &[u16]| units.iter().flat_map(|unit| unit.to_le_bytes()).collect::<Vec<u8>>();
    let cases: &[(&str, Vec<u8>, &str)] = &[
        ("9lives!<b>&\"x", utf16("9lives!<b>&\"x"), "9lives!<b>&\"x"),
        ("newline", utf16("a\nb"), "a\nb"),
        ("emoji", utf16("🐈"), "🐈"),
        ("lone surrogate", lone(&[0x61, 0xd83d, 0x62, 0]), "a\u{fffd}b"),
        ("control characters", utf16("\u{1b}[31m\u{7f}"), "\u{1b}[31m\u{7f}"),
        ("empty", utf16(""), "Event(3)"),
    ];
    for (case, name, expected) in cases {
        // The definition is written by hand: its name need not be text.
        let mut payload = 1u32.to_le_bytes().to_vec();
        payload.extend([&name[..], &3u32.to_le_bytes(), name, &0u64.to_le_bytes()].concat());
        payload.extend([0u32, 4, 1, code::TEXT].iter().flat_map(|number| number.to_le_bytes()));
        payload.extend(name);
        let definition = Blob { payload, ..Blob::default() };
        let blob = Blob { payload: name.clone(), ..event(1, 1, 0) };
        let stream = Stream::with_trace()
            .block("MetadataBlock", &Blobs::compressed().with(definition).content())
            .events(&Blobs::compressed().with(blob))
            .end();
        let mut events = 0;
        let mut sink = |item: Item<'_>| match item {
            Item::Event(event) => {
                events += 1;
                assert_eq!(event.metadata.display_name(), *expected, "{case}");
                let provider = if *case == "empty" { "" } else { expected };
                assert_eq!(&*event.metadata.provider, provider, "{case}");
                let (found, value) = event.fields().next().unwrap();
                assert_eq!((found, &value.to_string()[..]), (provider, provider), "{case}");
                assert_eq!(event.fields().fit(), Fit::Whole);
            }
            Item::Problem(problem) => panic!("{problem}"),
            _ => {}
        };
        Decoder::new().feed(&stream, &mut sink).unwrap();
        assert_eq!(events, 1, "{case}");
    }
}

#[test]
fn a_name_with_a_zero_in_it_ends_there() {
    // Names are terminated by a zero, so that what follows is read as the next fields: the definition may be unusable then,
    // and its events stay.
    let definition = Definition { provider: "a\0b".into(), ..Definition::native(1, "", 3, 0) };
    let blobs = Blobs::compressed().with(event(1, 1, 0));
    let stream = Stream::with_trace().metadata(&[definition]).events(&blobs).end();
    let mut problems = Vec::new();
    let mut sink = |item: Item<'_>| {
        if let Item::Problem(problem) = item {
            problems.push(problem.kind);
        }
    };
    Decoder::new().feed(&stream, &mut sink).unwrap();
    assert_eq!(problems, [ProblemKind::BadFields]);
}

#[test]
fn without_a_readable_description_a_payload_is_opaque() {
    let unreadable = Definition { fields: vec![0xff; 4], name: "X".into(), ..Definition::native(1, "My-Source", 3, 0) };
    assert_eq!(with(unreadable.clone(), &[1, 2], shown), (vec![], Fit::Opaque));
    assert_eq!(with(unreadable, &[], shown), (vec![], Fit::Whole));
    let none = Definition { name: "X".into(), ..Definition::native(1, "My-Source", 3, 0) };
    assert_eq!(with(none.clone(), &[1, 2], shown), (vec![], Fit::Opaque));
    assert_eq!(with(none, &[], shown), (vec![], Fit::Whole));
}

#[test]
fn spans_pair_whichever_way_they_were_written() {
    let opcode = |name: &str, stated: Option<u8>| {
        let tags = stated.map(|opcode| (1, vec![opcode])).into_iter().collect();
        let definition = Definition { name: name.into(), tags, ..Definition::native(1, "My-Source", 3, 0) };
        with(definition, &[], |event| (event.metadata.opcode(), event.metadata.display_name().into_owned()))
    };
    let cases = [
        ("RequestStart", None, 1),
        ("RequestStart", Some(0), 1),
        ("RequestStart", Some(1), 1),
        ("RequestStop", None, 2),
        ("RequestStop", Some(0), 2),
        ("RequestStop", Some(2), 2),
        // What is stated is never overruled by a name, and no name is changed.
        ("RequestStart", Some(2), 2),
        ("RequestStop", Some(1), 1),
        ("RequestStart", Some(24), 24),
        ("Restart", None, 0),
        ("Request", None, 0),
    ];
    for (name, stated, expected) in cases {
        assert_eq!(opcode(name, stated), (expected, name.into()), "{name} {stated:?}");
    }
}
