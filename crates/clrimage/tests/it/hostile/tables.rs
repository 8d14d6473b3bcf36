//! Tables that claim what cannot be.

use strata_clrimage::{Layout, ProblemKind};
use strata_testkit::image::code::{Fixups, Name};
use strata_testkit::image::encode::{compressed, native, native_of_length};
use strata_testkit::image::samples::{self, Embedded};
use strata_testkit::image::signature::{Instance, Type};
use strata_testkit::image::{Changes, Image};

use super::ask;

/// All sections that a reader looks at.
const SECTIONS: [u32; 12] = [101, 102, 103, 104, 105, 106, 109, 112, 115, 116, 118, 120];

/// The image with other sections, as a file and in memory; gives how many methods are left.
fn ask_changed(image: &Image, changes: Changes) -> usize {
    let built = Image { changes, ..image.clone() }.build();
    let methods = ask(&built.file, Layout::File);
    assert_eq!(ask(&built.memory, Layout::Memory), methods);
    methods
}

fn images() -> [Image; 3] {
    [samples::hot_cold(), samples::composite(Embedded::Yes), samples::component()]
}

#[test]
fn sections_that_lie_outside() {
    for image in images() {
        let whole = ask_changed(&image, Changes::default());
        for kind in SECTIONS {
            let sound = image.build().sections.get(&kind).copied().unwrap_or((0x1_0300, 64));
            let places = [
                (0, u32::MAX),
                (u32::MAX, u32::MAX),
                (sound.0, u32::MAX),
                (sound.0, 0x7fff_ffff),
                (sound.0, sound.1 + 0x10_0000),
                (0xffff_fff0, 0x20),
                (0x1_0000, 0x200),
                (0x8000_0000, sound.1),
                (sound.0, 1),
                (sound.0 + 1, sound.1),
            ];
            for place in places {
                let left = ask_changed(&image, Changes { place: [(kind, place)].into(), ..Changes::default() });
                assert!(left <= whole + 4, "section {kind} at {place:x?}: {left} of {whole}");
            }
        }
    }
}

#[test]
fn sections_of_one_byte_over_and_over() {
    for image in images() {
        for kind in SECTIONS {
            for byte in [0, 1, 2, 3, 0x0f, 0x1f, 0x7f, 0x80, 0xc0, 0xff] {
                for length in [1, 7, 16, 400, 5000] {
                    let content = [(kind, vec![byte; length])].into();
                    ask_changed(&image, Changes { content, ..Changes::default() });
                }
            }
        }
    }
}

#[test]
fn counts_of_four_billion() {
    let with = |kind, bytes: Vec<u8>| {
        ask_changed(&samples::single(), Changes { content: [(kind, bytes)].into(), ..Changes::default() })
    };
    for width in 0..4 {
        // 2^30 - 1 elements, and the rest of the table's bytes.
        let count = native_of_length(u32::MAX << 2 | width, 5);
        for fill in [0, 1, 2, 3, 6, 0xff] {
            assert!(with(103, [count.clone(), vec![fill; 4096]].concat()) <= 26);
            assert!(with(105, [count.clone(), vec![fill; 4096]].concat()) <= 26);
        }
    }
    for header in 0..=255_u8 {
        with(109, [vec![header], vec![0; 64]].concat());
        with(109, [vec![header], vec![0xff; 64]].concat());
    }
    // Counts in signatures: type arguments, parameters of a function pointer, sizes of an array.
    let most = compressed(0x1fff_ffff);
    let arguments = [vec![0x15, 0x12, 0x08], most.clone(), vec![0x3e; 300]].concat();
    let parameters = [vec![0x1b, 0x00], most.clone(), vec![0x08; 300]].concat();
    let sizes = [vec![0x14, 0x08, 0x02], most, vec![0x00; 300]].concat();
    for owner in [arguments, parameters, sizes] {
        assert_eq!(with_owner(owner), 26);
    }
}

/// An image with one instance more, whose owner is this.
fn with_owner(owner: Vec<u8>) -> usize {
    let mut image = samples::single();
    let instance = Instance { owner: Some(Type::Raw(owner)), ..Instance::of(1) };
    image.methods.push(samples::instance(instance, 16));
    ask_changed(&image, Changes::default())
}

#[test]
fn signatures_nested_deep() {
    let nested = |levels: &[u8], count: usize| [levels.repeat(count), vec![0x08]].concat();
    for count in [1, 10, 60] {
        assert_eq!(with_owner(nested(&[0x0f], count)), 27);
        assert_eq!(with_owner(nested(&[0x3f, 0x02], count)), 27);
    }
    for count in [100, 10_000] {
        for levels in [&[0x0f][..], &[0x10], &[0x1d], &[0x45], &[0x3d], &[0x3f, 1], &[0x15], &[0x14], &[0x1b, 0, 0]] {
            assert_eq!(with_owner(nested(levels, count)), 26, "{levels:x?}");
        }
        // Each level has two arguments of the level below: short bytes cannot say that, but they can begin to.
        assert_eq!(with_owner(nested(&[0x15, 0x12, 0x08, 0x02], count)), 26);
    }
}

#[test]
fn tables_that_refer_to_themselves() {
    let with = |kind, bytes: Vec<u8>| {
        ask_changed(&samples::single(), Changes { content: [(kind, bytes)].into(), ..Changes::default() })
    };
    // A block whose nodes lead to themselves: on the right by a distance of zero or on the left into the next byte.
    for node in [0b10, 0b11, 0b110, 0b111] {
        let nodes: Vec<u8> = native(node).repeat(600);
        with(103, [native(400 << 2), vec![0; 25], nodes.clone()].concat());
        with(105, [native(400 << 2 | 1), vec![0; 50], nodes].concat());
    }
    // All blocks are the first; all buckets are the whole of the table; all objects are the same bytes.
    let shared = [vec![11 << 2 | 1], [0x02_u8, 0x10].repeat(2049)].concat();
    with(109, shared);
    let all: Vec<u8> = [vec![0, 2, 250], [1, 0xf8].repeat(124)].concat();
    with(109, all);
    let backwards: Vec<u8> =
        [vec![10 << 2 | 2], [0_u8, 0, 0, 0, 0xff, 0xff, 0, 0].repeat(513), vec![0; 60_000]].concat();
    with(109, backwards);
}

#[test]
fn more_thunks_and_import_sections_than_any_image_has() {
    // Sections of no cells, which each thunk would be looked for in.
    let sections = |count: usize| vec![0; count * 20];
    // A jump through the cell behind it.
    let thunks = [0xff, 0x25, 0, 0, 0, 0].repeat(50_000);
    let changed = |sections: Vec<u8>| {
        let content = [(101, sections), (106, thunks.clone())].into();
        let built = Image { changes: Changes { content, ..Changes::default() }, ..samples::single() }.build();
        assert_eq!(ask(&built.file, Layout::File), 26);
        let table = strata_clrimage::Image::parse(&built.file, Layout::File).unwrap().methods().unwrap();
        assert_eq!(table.thunks().len(), 50_000);
        table.problems().iter().map(|problem| problem.kind).collect::<Vec<_>>()
    };
    assert_eq!(changed(sections(64)), []);
    assert_eq!(changed(sections(65)), [ProblemKind::TableUnreadable]);
    assert_eq!(changed(sections(200_000)), [ProblemKind::TableUnreadable]);
}

#[test]
fn every_entry_names_the_same_code() {
    let mut image = samples::single();
    let names: Vec<Name> = (1..3000).map(|row| Name::Definition(0, row)).collect();
    image.methods = vec![samples::definition(1, 64)];
    image.methods[0].names = names;
    assert_eq!(ask_changed(&image, Changes::default()), 1);
    image.methods[0].fixups = Fixups::Raw(native(77 << 1));
    assert_eq!(ask_changed(&image, Changes::default()), 0);
}

#[test]
fn maps_of_cold_parts_that_cannot_be() {
    let with = |rows: &[u32]| {
        let bytes = rows.iter().flat_map(|row| row.to_le_bytes()).collect();
        ask_changed(&samples::hot_cold(), Changes { content: [(120, bytes)].into(), ..Changes::default() })
    };
    let whole = with(&[]);
    for rows in [
        &[0, 0][..],
        &[0, 0, 0, 0],
        &[u32::MAX; 8],
        &[5, 6, 4, 3],
        &[30, 1, 30, 2, 30, 3],
        &[1, 2, u32::MAX, 0],
        &[34, 34],
        &[34],
    ] {
        assert!(with(rows) <= whole, "{rows:?}");
    }
}
