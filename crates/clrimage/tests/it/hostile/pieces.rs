//! Metadata and maps that claim what cannot be.

use strata_clrimage::metadata::Metadata;
use strata_clrimage::{DebugInfo, ErrorKind, Image, Layout};
use strata_testkit::image::debug_info::Debug;
use strata_testkit::image::encode::{native, native_of_length, nibbles};
use strata_testkit::image::samples;
use strata_testkit::image::tables::{Tables, root};

use super::ask_metadata;

fn said_of(metadata: &[u8]) -> String {
    let parsed = Metadata::parse(metadata);
    parsed.iter().for_each(|parsed| ask_metadata(parsed, metadata.len()));
    parsed.map_or_else(|error| error.to_string(), |parsed| format!("{} methods", parsed.method_count()))
}

#[test]
fn row_counts_of_four_billion() {
    let with = |valid: u64, counts: &[u32]| {
        let mut stream = vec![0, 0, 0, 0, 2, 0, 0, 1];
        stream.extend(valid.to_le_bytes());
        stream.extend([0; 8]);
        counts.iter().for_each(|count| stream.extend(count.to_le_bytes()));
        stream.resize(stream.len() + 400, 0);
        said_of(&root(&[("#~", stream), ("#Strings", vec![0; 4]), ("#Blob", vec![0; 4])]))
    };
    assert_eq!(with(1 << 6, &[u32::MAX]), "a metadata table is cut off at offset 0x6c");
    assert_eq!(with(1 << 6, &[0x1000_0000]), "a metadata table is cut off at offset 0x6c");
    assert_eq!(with(u64::MAX, &[u32::MAX; 64]), "a metadata table is cut off at offset 0x168");
    // All tables there are and some that there are not, each without rows.
    assert_eq!(with(u64::MAX, &[]), "0 methods");
    assert_eq!(with(1 << 6 | 1 << 0x23, &[1, u32::MAX]), "a metadata table is cut off at offset 0x70");
}

#[test]
fn streams_that_lie_outside() {
    let bytes = samples::library().bytes();
    // The first stream is that of the tables; its offset and size are behind the version and the count of streams.
    for (offset, size) in
        [(u32::MAX, 1), (0, u32::MAX), (u32::MAX, u32::MAX), (bytes.len() as u32, 4), (0x7fff_ffff, 0)]
    {
        let mut bytes = bytes.clone();
        bytes[32..36].copy_from_slice(&offset.to_le_bytes());
        bytes[36..40].copy_from_slice(&size.to_le_bytes());
        assert!(said_of(&bytes).starts_with("a metadata stream is cut off at offset "), "{}", said_of(&bytes));
    }
    for length in 0..bytes.len() {
        said_of(&bytes[..length]);
    }
    assert_eq!(said_of(&root(&[])), "not metadata with tables at offset 0x0");
    assert_eq!(said_of(b"BSJA"), "not metadata at offset 0x0");
}

#[test]
fn indices_beyond_their_tables_and_heaps() {
    for value in [1, 0x7fff, 0xffff] {
        let mut tables = Tables::default();
        for _ in 0..3 {
            tables.row(0x00, &[value; 5]);
            tables.row(0x01, &[value; 3]);
            tables.row(0x02, &[value; 6]);
            tables.row(0x06, &[value; 6]);
            tables.row(0x0a, &[value; 3]);
            tables.row(0x1a, &[value]);
            tables.row(0x1b, &[value]);
            tables.row(0x20, &[value; 9]);
            tables.row(0x23, &[value; 9]);
            tables.row(0x29, &[value; 2]);
            tables.row(0x2a, &[value; 4]);
        }
        assert_eq!(said_of(&tables.bytes()), "3 methods");
    }
}

#[test]
fn names_of_any_length() {
    let method = |length: usize| {
        let mut library = samples::library();
        library.types[0].methods[0].name = "m".repeat(length);
        let bytes = library.bytes();
        let found = Metadata::parse(&bytes).unwrap().method(1).map(|method| method.name.len());
        found.map_err(|error| error.kind)
    };
    assert_eq!(method(4096), Ok(4096));
    assert_eq!(method(4097), Err(ErrorKind::TooLong { what: "a name" }));
    assert_eq!(method(100_000), Err(ErrorKind::TooLong { what: "a name" }));
}

/// Metadata whose tables need not be sorted, with so many methods that MethodPtr lists from the last to the first.
#[test]
fn tables_without_order() {
    let method_rows: u16 = 5000;
    let present: u64 = 1 << 0x02 | 1 << 0x05 | 1 << 0x06;
    let mut stream = [&[0, 0, 0, 0, 2, 0, 0, 1], &present.to_le_bytes()[..], &[0; 8]].concat();
    [1, method_rows, method_rows].iter().for_each(|count| stream.extend(u32::from(*count).to_le_bytes()));
    // One type, whose methods begin with the first.
    stream.extend([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0]);
    (1..=method_rows).rev().for_each(|row| stream.extend(row.to_le_bytes()));
    stream.resize(stream.len() + usize::from(method_rows) * 14, 0);
    let bytes = root(&[("#-", stream)]);
    let metadata = Metadata::parse(&bytes).unwrap();
    // Those that are listed among the first are found, and looking for the others ends.
    assert_eq!(metadata.owner_of_method(5000), Ok(1));
    assert_eq!(metadata.owner_of_method(5000 - 1023), Ok(1));
    assert!(metadata.owner_of_method(1).is_err());
}

#[test]
fn maps_that_cannot_be() {
    let with = |major: u16, debug: Vec<u8>| {
        let mut image = samples::single();
        image.version.0 = major;
        image.methods[0].debug = Debug::Raw(debug);
        image.methods[1].debug = Debug::None;
        let file = image.build().file;
        let image = Image::parse(&file, Layout::File).unwrap();
        let rows = DebugInfo::read(&image).unwrap().unwrap().map(0);
        rows.map(|rows| rows.map_or(0, |rows| rows.len()))
    };
    // A distance back to itself, to before the table, and to before the file.
    for back in [1, 2, 5, 50, 70_000, u32::MAX] {
        for bytes in [native(back), native_of_length(back, 5)] {
            let rows = with(9, [bytes, vec![0xff; 20]].concat());
            assert!(rows.is_err() || back < 70_000, "{back}: {rows:?}");
        }
    }
    for major in [9, 16, 17, 25, u16::MAX] {
        let sized = |size: u32, map: Vec<u8>| with(major, [native(0), nibbles(&[size, 0]), map].concat());
        assert!(sized(u32::MAX, vec![0; 64]).is_err());
        assert!(sized(0x7fff_ffff, vec![0; 64]).is_err());
        let most = nibbles(&[u32::MAX, 0, 0]);
        assert!(sized(64, [most, vec![0; 64]].concat()).is_err());
        let wide = nibbles(&[3, 31, 31]);
        let rows = sized(64, [wide, vec![0xff; 64]].concat());
        assert!(rows.is_err() || rows == Ok(3), "{rows:?}");
        let wider = nibbles(&[3, 32, u32::MAX]);
        assert!(sized(64, [wider, vec![0xff; 64]].concat()).is_err());
    }
}
