//! Single images: what other readers found in them, and what lies between methods.

use strata_address::Rva;
use strata_clrimage::{Image, Layout, MethodTable, Part, Place};
use strata_testkit::live::ImageSet;

use crate::frameworks::{Totals, entries};
use crate::images::{mapped, named};

/// A checksum over the ranges of all entry points.
fn checksum(table: &MethodTable) -> u32 {
    let mut crc = flate2::Crc::new();
    for ((start, size), _) in entries(table) {
        crc.update(format!("{start:X} {size:X}\n").as_bytes());
    }
    crc.sum()
}

/// Bytes of code, padding and constants left out.
fn code_bytes(table: &MethodTable) -> usize {
    let is_code = |rva: &u32| {
        let place = table.lookup(Rva((*rva).into()));
        matches!(place, Some(Place::Method { part: Part::Body | Part::Funclet(_), .. }))
    };
    table.methods().iter().map(|method| (method.start..method.start + method.size).filter(is_code).count()).sum()
}

fn table(file: &[u8]) -> MethodTable {
    Image::parse(file, Layout::File).unwrap().methods().unwrap()
}

#[test]
fn images_have_the_ranges_that_are_known() {
    let check = |set: ImageSet, rows: &[(&str, Totals, usize, [u32; 2], u32)]| {
        let names: Vec<&str> = rows.iter().map(|(name, ..)| *name).collect();
        let images = named(set, &names);
        for (name, totals, code, [first, end], crc) in rows {
            let file = &images[*name];
            let table = table(file);
            assert_eq!(Totals::of(&table), *totals, "{set} {name}");
            assert_eq!(code_bytes(&table), *code, "{set} {name}");
            let (begin, last) = (table.methods().first().unwrap(), table.methods().last().unwrap());
            assert_eq!([begin.start, last.start + last.size], [*first, *end], "{set} {name}");
            assert_eq!(checksum(&table), *crc, "{set} {name}");

            let memory = mapped(file);
            let image = Image::parse(&memory, Layout::Memory).unwrap();
            let as_mapped = image.methods().unwrap();
            assert_eq!(as_mapped.methods(), table.methods(), "{set} {name}");
            assert_eq!(as_mapped.thunks(), table.thunks(), "{set} {name}");
            assert_eq!(as_mapped.problems(), [], "{set} {name}");
            assert_eq!(image.identity(), Image::parse(file, Layout::File).unwrap().identity(), "{set} {name}");
        }
    };
    let core = "System.Private.CoreLib";
    let totals = |definitions, instances, functions, methods| Totals { definitions, instances, functions, methods };
    check(
        ImageSet::Net3,
        &[
            (core, totals(16233, 12192, 29855, 28330), 3_397_638, [0x38_9190, 0x6f_c34e], 0x5748_3fb3),
            ("System.Linq", totals(83, 902, 1164, 985), 142_656, [0x4_68c0, 0x6_b240], 0x8b7c_c887),
        ],
    );
    check(
        ImageSet::Net8,
        &[
            (core, totals(19590, 16355, 37544, 35945), 4_060_709, [0x10_a520, 0x52_ef26], 0xafa1_623a),
            ("System.Linq", totals(79, 1338, 1552, 1417), 152_919, [0x1_a230, 0x4_2183], 0xe262_ab45),
            ("System.Text.Json", totals(2111, 954, 3233, 3065), 452_378, [0x2_e2e0, 0xa_29ae], 0xbb5d_2ffc),
            ("System.Console", totals(352, 1, 402, 353), 49_204, [0x1_50d0, 0x2_1a6b], 0xf5fd_38e7),
        ],
    );
    check(
        ImageSet::Net9Loose,
        &[
            (core, totals(20769, 24767, 47301, 45536), 4_949_746, [0x11_a7c0, 0x62_8d35], 0xf923_0e02),
            ("System.Linq", totals(72, 1409, 1679, 1481), 209_306, [0x1_dbd0, 0x5_36f3], 0x6a5f_7691),
        ],
    );
    check(
        ImageSet::Net10Compressed,
        &[
            (core, totals(21581, 27075, 50483, 48656), 5_148_793, [0x11_e270, 0x66_2015], 0x5317_eb7c),
            ("System.Text.Json", totals(2518, 1897, 4677, 4415), 615_001, [0x3_6820, 0xd_510e], 0xd077_2fb5),
        ],
    );
    check(
        ImageSet::Net8Arm64,
        &[
            (core, totals(19902, 16224, 37725, 36126), 5_846_932, [0x10_ca60, 0x6d_d5a0], 0x6f7e_b100),
            ("System.Linq", totals(80, 1338, 1553, 1418), 232_420, [0x1_a870, 0x5_55f0], 0xf2d2_a280),
        ],
    );
}

#[test]
fn sections_are_as_known() {
    let check = |set: ImageSet, name: &str, image_size: u32, expected: [(&str, [u32; 4]); 3]| {
        let images = named(set, &[name]);
        let image = Image::parse(&images[name], Layout::File).unwrap();
        let sections: Vec<(String, [u32; 4])> = image
            .pe()
            .sections()
            .map(|section| {
                let name = String::from_utf8_lossy(&section.name).trim_end_matches('\0').to_owned();
                let places = [section.virtual_address, section.virtual_size, section.file_offset, section.file_size];
                assert_eq!(section.is_executable, name == ".text");
                let rva = image.pe().rva_of_file_offset(section.file_offset.into());
                assert_eq!(rva, Some(Rva(section.virtual_address.into())));
                (name, places)
            })
            .collect();
        let expected: Vec<(String, [u32; 4])> =
            expected.into_iter().map(|(name, places)| (name.to_owned(), places)).collect();
        assert_eq!((image.pe().image_size(), sections), (image_size, expected), "{set} {name}");
    };
    check(
        ImageSet::Net3,
        "System.Private.CoreLib",
        0x8e_b600,
        [
            (".data", [0x1_0200, 0x2_2ed0, 0x200, 0x2_3000]),
            (".text", [0x4_3200, 0x89_1643, 0x2_3200, 0x89_1800]),
            (".reloc", [0x8e_4a00, 0x6bb4, 0x8b_4a00, 0x6c00]),
        ],
    );
    check(
        ImageSet::Net8,
        "System.Private.CoreLib",
        0xc7_ce00,
        [
            (".text", [0x1_0200, 0x93_e77c, 0x200, 0x93_e800]),
            (".data", [0x96_ea00, 0x2e_430a, 0x93_ea00, 0x2e_4400]),
            (".reloc", [0xc7_2e00, 0xa000, 0xc2_2e00, 0xa000]),
        ],
    );
    check(
        ImageSet::Net8,
        "System.Linq",
        0xc_ee00,
        [
            (".text", [0x1_0200, 0x5_865c, 0x200, 0x5_8800]),
            (".data", [0x8_8a00, 0x2_52b1, 0x5_8a00, 0x2_5400]),
            (".reloc", [0xc_de00, 0xef0, 0x7_de00, 0x1000]),
        ],
    );
    check(
        ImageSet::Net9Loose,
        "System.Private.CoreLib",
        0xe7_6400,
        [
            (".text", [0x1_0200, 0xab_ba8c, 0x200, 0xab_bc00]),
            (".data", [0xae_be00, 0x35_f34e, 0xab_be00, 0x35_f400]),
            (".reloc", [0xe6_b200, 0xb0cc, 0xe1_b200, 0xb200]),
        ],
    );
    check(
        ImageSet::Net10Compressed,
        "System.Private.CoreLib",
        0xf2_8c00,
        [
            (".text", [0x1_0200, 0xb4_c064, 0x200, 0xb4_c200]),
            (".data", [0xb7_c400, 0x38_12bf, 0xb4_c400, 0x38_1400]),
            (".reloc", [0xf1_d800, 0xb3f4, 0xec_d800, 0xb400]),
        ],
    );
    check(
        ImageSet::Net8Arm64,
        "System.Private.CoreLib",
        0xdd_8400,
        [
            (".text", [0x1_0200, 0xad_bba8, 0x200, 0xad_bc00]),
            (".data", [0xb0_be00, 0x2a_2da5, 0xad_be00, 0x2a_2e00]),
            (".reloc", [0xdc_ec00, 0x96e4, 0xd7_ec00, 0x9800]),
        ],
    );
}

#[test]
fn code_between_methods_is_labelled() {
    let check = |set: ImageSet, name: &str, expected: &[(u32, &str)]| {
        let images = named(set, &[name]);
        let table = table(&images[name]);
        let found: Vec<(u32, String)> = table.thunks().iter().map(|thunk| (thunk.start, thunk.to_string())).collect();
        let expected: Vec<(u32, String)> =
            expected.iter().map(|(start, label)| (*start, (*label).to_owned())).collect();
        assert_eq!(found, expected, "{set} {name}");
    };
    let core = "System.Private.CoreLib";
    check(
        ImageSet::Net8,
        core,
        &[
            (0x53_a868, "[R2R helper jump: PersonalityRoutine]"),
            (0x53_a870, "[R2R helper jump: PersonalityRoutineFilterFunclet]"),
            (0x53_a878, "[R2R delay-load: DelayLoad_Helper_Obj]"),
            (0x53_a888, "[R2R delay-load: DelayLoad_Helper]"),
            (0x53_a898, "[R2R delay-load: DelayLoad_Helper_Obj]"),
            (0x53_a8a8, "[R2R delay-load: DelayLoad_Helper_ObjObj]"),
            (0x53_a8b8, "[R2R delay-load: DelayLoad_MethodCall]"),
            (0x53_a8c8, "[R2R delay-load: DelayLoad_MethodCall]"),
            (0x53_a8d8, "[R2R delay-load: DelayLoad_MethodCall]"),
        ],
    );
    check(
        ImageSet::Net3,
        core,
        &[
            (0x4_39bb, "[R2R helper jump: PersonalityRoutine]"),
            (0x4_39c1, "[R2R helper jump: PersonalityRoutineFilterFunclet]"),
            (0x4_39c7, "[R2R delay-load: DelayLoad_Helper]"),
            (0x4_39d7, "[R2R helper jump: RngChkFail]"),
            (0x4_39dd, "[R2R helper jump: Throw]"),
            (0x4_39e3, "[R2R helper jump: FailFast]"),
            (0x4_39e9, "[R2R helper jump: Overflow]"),
            (0x4_39ef, "[R2R delay-load: GetString]"),
            (0x4_39fc, "[R2R delay-load: DelayLoad_Helper_ObjObj]"),
            (0x4_3a0c, "[R2R delay-load: DelayLoad_Helper_Obj]"),
            (0x4_3a1c, "[R2R helper jump: Rethrow]"),
            (0x4_3a22, "[R2R delay-load: DelayLoad_MethodCall]"),
            (0x4_3a32, "[R2R delay-load: DelayLoad_MethodCall]"),
        ],
    );
    check(
        ImageSet::Net8Arm64,
        core,
        &[
            (0x6e_8e98, "[R2R helper jump: PersonalityRoutine]"),
            (0x6e_8eac, "[R2R helper jump: PersonalityRoutineFilterFunclet]"),
            (0x6e_8ec0, "[R2R delay-load: DelayLoad_Helper_Obj]"),
            (0x6e_8ee8, "[R2R delay-load: DelayLoad_Helper]"),
            (0x6e_8f10, "[R2R delay-load: DelayLoad_Helper_Obj]"),
            (0x6e_8f38, "[R2R delay-load: DelayLoad_Helper_ObjObj]"),
            (0x6e_8f60, "[R2R delay-load: DelayLoad_MethodCall]"),
            (0x6e_8f88, "[R2R delay-load: DelayLoad_MethodCall]"),
        ],
    );
}

#[test]
fn every_byte_of_every_method_is_found() {
    for set in [ImageSet::Net3, ImageSet::Net8, ImageSet::Net8Arm64] {
        let images = named(set, &["System.Private.CoreLib"]);
        let table = table(&images["System.Private.CoreLib"]);
        let mut methods = table.methods().iter().peekable();
        while let Some(method) = methods.next() {
            let end = method.start + method.size;
            let next = methods.peek().map_or(end, |next| next.start);
            let at = |rva: u32| match table.lookup(Rva(rva.into())) {
                Some(Place::Method { method: found, part, offset }) => {
                    assert_eq!((found.start, offset), (method.start, rva - method.start), "{set} {rva:x}");
                    part
                }
                other => panic!("{set} {rva:x}: {other:?}"),
            };
            assert_eq!(at(method.start), Part::Body);
            assert_eq!(at(method.start + method.body_size - 1), Part::Body);
            let is_whole = method.functions == 1;
            assert_eq!(matches!(at(end - 1), Part::Funclet(Some(_))), !is_whole, "{set} {method:x?}");
            (end..next).for_each(|rva| assert_eq!(at(rva), Part::Gap));
        }
        assert_eq!(table.lookup(Rva(0)), None);
        assert_eq!(table.lookup(Rva(u64::MAX)), None);
        assert_eq!(table.lookup(Rva((table.methods()[0].start - 1).into())), None);
    }
}
