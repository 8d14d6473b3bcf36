//! Single methods whose ranges are known.

use strata_address::Rva;
use strata_clrimage::{Image, Layout, MethodSource, Part, Place};
use strata_testkit::live::ImageSet;

use crate::images::named;

/// The token of a method, and the flags of its signature if it is an instantiation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Definition(u32),
    Instance(u32, u32),
}

/// Index of the first RuntimeFunction, RVA, sizes of the method and its body, number of RuntimeFunctions.
type Row = (u32, u32, [u32; 2], u32, Source);

#[test]
fn methods_are_where_they_are_known_to_be() {
    use Source::{Definition, Instance};

    let check = |set: ImageSet, name: &str, rows: &[Row]| {
        let images = named(set, &[name]);
        let image = Image::parse(&images[name], Layout::File).unwrap();
        let table = image.methods().unwrap();
        for (entry, start, [size, body_size], functions, source) in rows {
            let last = start + size - 1;
            let Some(Place::Method { method, part, offset }) = table.lookup(Rva(last.into())) else {
                panic!("{set} {name}: nothing at {last:x}")
            };
            let found_source = match method.source {
                MethodSource::Definition { rid, .. } => Definition(0x600_0000 | rid),
                MethodSource::Instance { token, signature } => {
                    let signature = image.instance(signature).unwrap();
                    assert_eq!(signature.method.value(), token, "{set} {name}");
                    Instance(token, signature.flags)
                }
            };
            let found: Row =
                (method.entry, method.start, [method.size, method.body_size], method.functions, found_source);
            assert_eq!(found, (*entry, *start, [*size, *body_size], *functions, *source), "{set} {name}");
            assert_eq!(offset, size - 1);
            assert_eq!(matches!(part, Part::Funclet(Some(_))), *functions > 1, "{set} {name} {start:x}");
        }
    };
    check(
        ImageSet::Net8,
        "System.Private.CoreLib",
        &[
            (1579, 0x13_ce40, [0xe7, 0xe7], 1, Definition(0x600_083f)),
            (1922, 0x14_8880, [0xb1, 0xb1], 1, Definition(0x600_0a33)),
            (335, 0x11_5ce0, [0x2cf, 0x2cf], 1, Definition(0x600_01c6)),
            (9588, 0x20_7840, [0x95, 0x95], 1, Definition(0x600_3560)),
            (10548, 0x22_1d00, [0x2a8, 0x2a8], 1, Definition(0x600_39a7)),
            (10780, 0x22_6b10, [0x334, 0x20f], 3, Definition(0x600_3b47)),
            (13944, 0x27_1780, [0xbe, 0xbe], 1, Definition(0x600_61cc)),
            (23703, 0x38_0130, [0x28, 0x28], 1, Instance(0x600_8373, 0x40)),
            (24318, 0x39_0080, [0x18d, 0x18d], 1, Instance(0x600_8283, 0x40)),
            (32592, 0x45_1420, [0x3c, 0x3c], 1, Instance(0x600_8373, 0x40)),
            (33872, 0x47_6490, [0x2d7, 0x2d7], 1, Instance(0x600_8285, 0x40)),
            (34462, 0x49_e2a0, [0xf, 0xf], 1, Instance(0x600_01b6, 0x4)),
            (21802, 0x35_5a60, [0x1b, 0x1b], 1, Instance(0x600_1bd1, 0x40)),
        ],
    );
    check(
        ImageSet::Net8,
        "System.Linq",
        &[
            (46, 0x1_ad00, [0xa, 0xa], 1, Definition(0x600_0114)),
            (615, 0x2_6720, [0xe5, 0xe5], 1, Instance(0x600_0287, 0x40)),
            (1188, 0x3_6150, [0xe6, 0xbd], 2, Instance(0x600_0040, 0x4)),
            (1413, 0x3_d280, [0x1ce, 0x1ce], 1, Instance(0x600_014d, 0x4)),
        ],
    );
    check(
        ImageSet::Net3,
        "System.Private.CoreLib",
        &[
            (1781, 0x3c_9400, [0x9c, 0x9c], 1, Definition(0x600_06c8)),
            (7770, 0x48_9410, [0x2d1, 0x25b], 3, Definition(0x600_1f52)),
            (19306, 0x5e_7260, [0x3c1, 0x3c1], 1, Instance(0x600_51b1, 0x40)),
        ],
    );
    check(
        ImageSet::Net9Loose,
        "System.Private.CoreLib",
        &[
            (1633, 0x15_1c20, [0xe9, 0xe9], 1, Definition(0x600_0896)),
            (1989, 0x15_db00, [0xa8, 0xa8], 1, Definition(0x600_0a97)),
            (11574, 0x25_3770, [0x2d4, 0x2d4], 1, Definition(0x600_3f5e)),
            (41907, 0x52_2640, [0x3c, 0x3c], 1, Instance(0x600_9618, 0x40)),
        ],
    );
    check(
        ImageSet::Net10Compressed,
        "System.Private.CoreLib",
        &[
            (1719, 0x15_7560, [0xec, 0xec], 1, Definition(0x600_08ef)),
            (2079, 0x16_3070, [0xa8, 0xa8], 1, Definition(0x600_0af3)),
            (44929, 0x55_7910, [0x3b, 0x3b], 1, Instance(0x600_a17c, 0x40)),
        ],
    );
    check(
        ImageSet::Net8Arm64,
        "System.Private.CoreLib",
        &[
            (1760, 0x15_e1b0, [0x130, 0x130], 1, Definition(0x600_0840)),
            (2104, 0x16_eaf0, [0x110, 0x110], 1, Definition(0x600_0a34)),
            (32776, 0x5b_72a0, [0x6c, 0x6c], 1, Instance(0x600_8334, 0x40)),
            (34056, 0x5e_d180, [0x3e4, 0x3e4], 1, Instance(0x600_8244, 0x40)),
        ],
    );
    check(ImageSet::Net8Arm64, "System.Linq", &[(1414, 0x4_dfd0, [0x2c8, 0x2c8], 1, Instance(0x600_014d, 0x4))]);
}
