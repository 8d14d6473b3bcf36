//! Types that version 4 streams do not have, and those of the runtime's own events, read without a stream around them.

use super::*;
use crate::fields::{Field, FieldType};
use crate::stack::PointerSize;

fn field(name: &str, field_type: FieldType) -> Field {
    Field { name: name.into(), field_type }
}

fn boxed(field_type: FieldType) -> Box<FieldType> {
    Box::new(field_type)
}

/// The last of these fields as text, and whether the payload fits.
fn read(payload: &[u8], fields: &[Field], pointer_size: PointerSize) -> (Option<String>, Fit) {
    let fields = FieldsOfPayload::new(payload, Some(fields), pointer_size);
    (fields.clone().last().map(|(_, value)| value.to_string()), fields.fit())
}

#[test]
fn types_of_version_6() {
    use FieldType::{Array, Boolean8, Byte, Char, DataLoc, FixedArray, Int16, RelLoc, Text, Utf8Unit, VarInt, VarUInt};
    let most = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1];
    let cases: &[(FieldType, &[u8], &str)] = &[
        (VarUInt, &[0], "0"),
        (VarUInt, &[0x80, 1], "128"),
        (VarUInt, &most, "18446744073709551615"),
        (VarInt, &[0], "0"),
        (VarInt, &[1], "-1"),
        (VarInt, &[2], "1"),
        (VarInt, &most, "-9223372036854775808"),
        (VarInt, &[0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1], "9223372036854775807"),
        (Boolean8, &[2], "true"),
        (Boolean8, &[0], "false"),
        (Utf8Unit, b"x", "x"),
        (Array(boxed(Utf8Unit)), b"\x05\0a\xc3\xa4\xffb", "aä\u{fffd}b"),
        (Array(boxed(Boolean8)), &[2, 0, 1, 0], "[true, false]"),
        (Array(boxed(VarInt)), &[2, 0, 1, 0x80, 1], "[-1, 64]"),
        (FixedArray(boxed(Byte), 3), &[1, 2, 3], "0x010203"),
        (FixedArray(boxed(Int16), 2), &[1, 0, 2, 0], "[1, 2]"),
        (FixedArray(boxed(Text), 1), &[0x41, 0, 0, 0], "[\"A\"]"),
        (FixedArray(boxed(FixedArray(boxed(Char), 2)), 1), &[0x41, 0, 0x42, 0], "[\"AB\"]"),
        (FixedArray(boxed(Byte), 0), &[], "0x"),
        // Nothing, at the very end.
        (DataLoc(boxed(Utf8Unit)), &[4, 0, 0, 0], ""),
        (RelLoc(boxed(Utf8Unit)), &[0, 0, 0, 0], ""),
    ];
    for (field_type, payload, expected) in cases {
        let fields = [field("it", field_type.clone())];
        let read_whole = read(payload, &fields, PointerSize::Eight);
        assert_eq!(read_whole, (Some((*expected).into()), Fit::Whole), "{field_type:?}");
        for length in 0..payload.len() {
            let short = read(&payload[..length], &fields, PointerSize::Eight);
            assert_eq!(short, (None, Fit::Short { at: 0 }), "{field_type:?} in {length} bytes");
        }
    }
}

#[test]
fn located_data_is_inside_the_payload_and_neither_nests_nor_repeats() {
    use FieldType::{Array, Char, DataLoc, Int32, Object, RelLoc, Text, UInt16, Utf8Unit};
    let data = |element| DataLoc(boxed(element));
    let relative = |element| RelLoc(boxed(element));
    // 2 bytes in front, 4 of the field, then "abcd".
    let payload =
        |offset: u16, size: u16| [&[9, 9][..], &offset.to_le_bytes(), &size.to_le_bytes(), b"a\0b\0"].concat();
    let cases: &[(FieldType, Vec<u8>, Option<&str>)] = &[
        (data(Utf8Unit), payload(6, 1), Some("a")),
        (data(Char), payload(6, 4), Some("ab")),
        (relative(Char), payload(0, 4), Some("ab")),
        (relative(Char), payload(2, 2), Some("b")),
        (data(UInt16), payload(6, 4), Some("[97, 98]")),
        (data(Char), payload(0, 2), Some("\u{909}")),
        (data(Char), payload(7, 4), None),
        (relative(Char), payload(1, 4), None),
        (data(Char), payload(6, 3), None),
        (data(Char), payload(0xffff, 2), None),
        (relative(Char), payload(0xffff, 0), None),
        (data(Text), payload(6, 4), None),
        (data(data(Char)), payload(6, 4), None),
        (data(Object(vec![])), payload(6, 4), None),
        (Array(boxed(data(Int32))), [&[9, 9, 1, 0][..], &[0, 0, 4, 0], b"abcd"].concat(), None),
    ];
    for (field_type, payload, expected) in cases {
        let fields = [field("first", UInt16), field("it", field_type.clone())];
        let (value, fit) = read(payload, &fields, PointerSize::Eight);
        match expected {
            Some(expected) => {
                assert_eq!((value.as_deref(), fit), (Some(*expected), Fit::Longer { at: 6 }), "{field_type:?}")
            }
            None => assert_eq!((value.as_deref(), fit), (Some("2313"), Fit::Short { at: 2 }), "{field_type:?}"),
        }
    }
}

#[test]
fn fields_that_lead_to_the_same_bytes_cannot_make_many_of_them() {
    use FieldType::{DataLoc, Object, RelLoc, Utf8Unit};
    let data = || field("it", DataLoc(boxed(Utf8Unit)));
    let inner = field("inner", Object(vec![data(), data()]));
    // Fields of 4 bytes each, then 8 bytes. Each field leads to all of those.
    let payload = |fields: u16| {
        let at = (fields * 4).to_le_bytes();
        [[at, [8, 0]].concat().repeat(fields.into()), b"abcdefgh".to_vec()].concat()
    };
    let cases: &[(Vec<Field>, Fit)] = &[
        (vec![data(), data()], Fit::Longer { at: 8 }),
        (vec![data(), data(), data()], Fit::Short { at: 8 }),
        (vec![inner.clone()], Fit::Longer { at: 8 }),
        (vec![inner.clone(), data()], Fit::Short { at: 8 }),
        (vec![data(), inner], Fit::Short { at: 4 }),
    ];
    for (fields, expected) in cases {
        assert_eq!(read(&payload(3), fields, PointerSize::Eight).1, *expected, "{fields:?}");
    }
    // 8 bytes behind the field itself.
    let relative = field("it", RelLoc(boxed(Utf8Unit)));
    let payload = [&[4, 0, 8, 0][..], &[0, 0, 8, 0], b"abcdefgh"].concat();
    let twice = [relative.clone(), relative.clone()];
    assert_eq!(read(&payload, &twice, PointerSize::Eight), (Some("abcdefgh".into()), Fit::Longer { at: 8 }));
}

#[test]
fn numbers_have_the_names_that_hold() {
    let values = Names {
        style: NamesStyle::Values,
        entries: vec![(u64::MAX, 0, "Zero"), (u64::MAX, 3, "Three"), (u64::MAX, 0xffff_ffff, "Minus")],
    };
    let bits = Names {
        style: NamesStyle::Bits,
        entries: vec![(1, 1, "One"), (2, 2, "Two"), (0x70, 0x10, "First"), (0x70, 0x20, "Second"), (0x8000, 0, "Off")],
    };
    let (values, bits): (&'static Names, &'static Names) = (Box::leak(Box::new(values)), Box::leak(Box::new(bits)));
    let cases: &[(&'static Names, u64, &str, usize)] = &[
        (values, 0, "Zero", 1),
        (values, 3, "Three", 1),
        (values, 0xffff_ffff, "Minus", 1),
        (values, 7, "7", 0),
        (bits, 0, "Off", 1),
        (bits, 0x8000, "0x8000", 0),
        (bits, 3, "One | Two | Off", 3),
        (bits, 0x21, "One | Second | Off", 3),
        (bits, 0x31, "One | Off | 0x30", 2),
        (bits, 0x100, "Off | 0x100", 1),
    ];
    for (names, number, expected, count) in cases {
        let named = NamedNumber::new(*number, names);
        assert_eq!((named.to_string(), named.names().count(), named.number()), ((*expected).into(), *count, *number));
    }
    let none: &'static Names = Box::leak(Box::new(Names { style: NamesStyle::Bits, entries: vec![] }));
    assert_eq!(NamedNumber::new(0, none).to_string(), "0");
}

#[test]
fn pointers_have_the_size_that_the_process_has() {
    use FieldType::{AlignedPointer, Byte, Hex, Pointer, UInt32};
    let payload: Vec<u8> = (1..=16).collect();
    let cases = [
        (vec![Hex(boxed(Pointer))], PointerSize::Four, "0x4030201", 4),
        (vec![Hex(boxed(Pointer))], PointerSize::Eight, "0x807060504030201", 8),
        (vec![Byte, AlignedPointer], PointerSize::Four, "134678021", 8),
        (vec![UInt32, AlignedPointer], PointerSize::Eight, "1157159078456920585", 16),
        (vec![AlignedPointer], PointerSize::Four, "67305985", 4),
    ];
    for (types, pointer_size, expected, at) in cases {
        let fields: Vec<_> = types.iter().map(|field_type| field("it", field_type.clone())).collect();
        let fit = if at == payload.len() { Fit::Whole } else { Fit::Longer { at } };
        assert_eq!(read(&payload, &fields, pointer_size), (Some(expected.into()), fit), "{types:?}");
    }
}

#[test]
fn counts_are_those_of_the_field_they_name() {
    use FieldType::{Counted, Int32, UInt16, UInt32};
    let counted = |index| Counted(boxed(UInt16), index);
    let payload = [2u16, 1, 7, 8].map(u16::to_le_bytes).concat();
    let two = [field("a", UInt16), field("b", UInt16), field("it", counted(0))];
    assert_eq!(read(&payload, &two, PointerSize::Eight), (Some("[7, 8]".into()), Fit::Whole));
    let one = [field("a", UInt16), field("b", UInt16), field("it", counted(1))];
    assert_eq!(read(&payload, &one, PointerSize::Eight), (Some("[7]".into()), Fit::Longer { at: 6 }));
    // A table that is wrong, and counts that are: damage, and nothing worse.
    for (first, index, payload) in [
        (UInt16, 1, &payload[..]),
        (UInt16, 9, &payload),
        (Int32, 0, &payload),
        (UInt32, 0, &[0xff, 0xff, 0xff, 0xff, 1, 2]),
    ] {
        let fields = [field("a", first), field("it", counted(index))];
        let (_, fit) = read(payload, &fields, PointerSize::Eight);
        assert!(matches!(fit, Fit::Short { .. }), "{fields:?}: {fit:?}");
    }
}

#[test]
fn a_value_is_small_enough_to_be_passed_around() {
    assert!(size_of::<Value<'_>>() <= 144, "{}", size_of::<Value<'_>>());
}
