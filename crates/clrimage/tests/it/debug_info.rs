//! Native maps: of every precompiled method of the real images, and of each form in images put together.

use strata_clrimage::{
    DebugInfo, IlOffset, Image, Layout, MethodSource, MethodTable, MethodToken, NativeMapping, il_offset,
};
use strata_testkit::image::code::{Method, Name};
use strata_testkit::image::debug_info::{Bound, Debug, Form};
use strata_testkit::image::metadata::Assembly;

/// Methods with a map, rows of their maps, and rows whose IL offset is not in the method's IL.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Maps {
    pub(crate) methods: usize,
    pub(crate) rows: usize,
    pub(crate) strange: usize,
}

/// Bytes of a method's IL, if it has any in this image, by the header in front of it (ECMA-335 II.25.4).
fn il_size(image: &Image<'_>, source: &MethodSource) -> Option<u32> {
    let rid = match source {
        MethodSource::Definition { rid, .. } => *rid,
        MethodSource::Instance { signature, .. } => {
            let instance = image.instance(*signature).unwrap();
            match instance.method {
                MethodToken::Definition(rid) if instance.module.is_none() => rid,
                _ => return None,
            }
        }
    };
    // Zero for calls of native functions: their IL is made by the compiler.
    let header = Some(image.metadata()?.method(rid).unwrap().il).filter(|rva| *rva != 0)?;
    match image.pe().bytes_at(header, 1).unwrap()[0] {
        tiny if tiny & 3 == 2 => Some((tiny >> 2).into()),
        _ => Some(u32::from_le_bytes(image.pe().bytes_at(header + 4, 4).unwrap().try_into().unwrap())),
    }
}

/// Every map lies in its method; counts them.
pub(crate) fn check_maps(what: &str, image: &Image<'_>, table: &MethodTable, found: &mut Maps) {
    let Some(debug_info) = DebugInfo::read(image).unwrap() else { return };
    for method in table.methods() {
        let Some(map) = debug_info.map(method.entry).unwrap() else { continue };
        assert!(map.is_sorted_by_key(|row| row.native_offset), "{what}");
        if let Some(last) = map.last() {
            let size = method.size + method.cold.map_or(0, |cold| cold.size);
            assert!(last.native_offset <= size, "{what} {method:?}");
            let at = last.native_offset / 2;
            assert_eq!(debug_info.il_offset(method.entry, at), Ok(il_offset(&map, at)));
        }
        if let Some(size) = il_size(image, &method.source) {
            let is_outside = |row: &&NativeMapping| matches!(row.il_offset, IlOffset::Offset(il) if il >= size);
            found.strange += map.iter().filter(is_outside).count();
        }
        found.methods += 1;
        found.rows += map.len();
    }
}

const BOUNDS: [(u32, i32); 6] = [(0, -2), (9, 0), (20, 0x1234), (20, 7), (0x4000, -1), (0x4001, -3)];

/// The same as it is read.
const ROWS: [NativeMapping; 6] = {
    const fn row(native_offset: u32, il_offset: IlOffset) -> NativeMapping {
        NativeMapping { native_offset, il_offset }
    }
    [
        row(0, IlOffset::Prolog),
        row(9, IlOffset::Offset(0)),
        row(20, IlOffset::Offset(0x1234)),
        row(20, IlOffset::Offset(7)),
        row(0x4000, IlOffset::NoMapping),
        row(0x4001, IlOffset::Epilog),
    ]
};

#[test]
fn each_form_is_read() {
    let check = |version: u16, form: Form, flags: u32| {
        let bounds = BOUNDS.map(|(native, il)| Bound { native, il, flags }).to_vec();
        let method =
            |row, debug| Method { names: vec![Name::Definition(0, row)], body: 0x5000, debug, ..Method::default() };
        let built = strata_testkit::image::Image {
            version: (version, 0),
            methods: vec![method(1, Debug::Map(bounds)), method(2, Debug::None), method(3, Debug::Of(0))],
            debug_form: Some(form),
            ..strata_testkit::image::Image::single(Assembly::default().bytes())
        }
        .build();
        for (bytes, layout) in [(&built.file, Layout::File), (&built.memory, Layout::Memory)] {
            let image = Image::parse(bytes, layout).unwrap();
            let debug_info = DebugInfo::read(&image).unwrap().unwrap();
            let entry = |index: usize| built.methods[index].entry;
            let map = debug_info.map(entry(0)).unwrap().unwrap();
            assert_eq!(map, ROWS, "{form:?}");
            assert_eq!(debug_info.map(entry(1)), Ok(None), "{form:?}");
            assert_eq!(debug_info.map(entry(2)), Ok(Some(map)), "{form:?}");
        }
    };
    check(9, Form::Nibbles, 2);
    check(15, Form::Nibbles, 0x10);
    check(16, Form::Packed, 3);
    check(17, Form::PackedWithAsync, 7);
    check(17, Form::Fat, 5);
    check(99, Form::Fat, 0);
}

#[test]
fn the_row_of_an_offset() {
    let check = |offset, expected| assert_eq!(il_offset(&ROWS, offset), Some(expected), "{offset}");
    check(0, IlOffset::Prolog);
    check(8, IlOffset::Prolog);
    check(9, IlOffset::Offset(0));
    check(20, IlOffset::Offset(7));
    check(0x3fff, IlOffset::Offset(7));
    check(0x4000, IlOffset::NoMapping);
    check(u32::MAX, IlOffset::Epilog);
    assert_eq!(il_offset(&ROWS[1..], 8), None);
    assert_eq!(il_offset(&[], 0), None);
}

#[test]
fn damaged_maps_are_errors() {
    let check = |version: u16, blob: &[u8]| {
        let method = Method {
            names: vec![Name::Definition(0, 1)],
            body: 16,
            debug: Debug::Raw(blob.to_vec()),
            ..Method::default()
        };
        let built = strata_testkit::image::Image {
            version: (version, 0),
            methods: vec![method],
            ..strata_testkit::image::Image::single(Assembly::default().bytes())
        }
        .build();
        let image = Image::parse(&built.file, Layout::File).unwrap();
        let debug_info = DebugInfo::read(&image).unwrap().unwrap();
        assert!(debug_info.map(built.methods[0].entry).is_err(), "{version} {blob:x?}");
    };
    // Shared with something in front of the image; a first number that goes on for ever; a map that is longer than all.
    check(9, &[0x0f, 0xff, 0xff, 0xff, 0xff]);
    check(9, &[0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]);
    check(9, &[0, 0x8f, 0x88, 0x88, 0x08]);
    // Two rows, of which one is there.
    check(9, &[0, 0x03, 0x02, 0x00, 0x00]);
    check(16, &[0, 0x02, 0x02, 0x00]);
    // Numbers of 64 bits, and native offsets beyond 32.
    check(16, &[0, 0x06, 0xf2, 0x0f, 0, 0, 0, 0]);
}
