//! Whole frameworks: what holds for every image, and what other readers found in all of them together.

use strata_address::Rva;
use strata_clrimage::{Image, Layout, MethodSource, MethodTable, Place, SectionKind, ThunkKind};
use strata_testkit::live::ImageSet;

use crate::debug_info::{Maps, check_maps};
use crate::images::for_each;
use crate::lines::{SymbolMaps, check_debug_directory};
use crate::names::check_names;

/// What a table holds, in numbers.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    pub(crate) definitions: usize,
    pub(crate) instances: usize,
    pub(crate) functions: usize,
    pub(crate) methods: usize,
}

impl Totals {
    pub(crate) fn of(table: &MethodTable) -> Self {
        let mut totals = Self { functions: table.function_count(), methods: table.methods().len(), ..Self::default() };
        for (_, source) in entries(table) {
            match source {
                MethodSource::Definition { .. } => totals.definitions += 1,
                MethodSource::Instance { .. } => totals.instances += 1,
            }
        }
        totals
    }

    fn add(&mut self, other: &Self) {
        self.definitions += other.definitions;
        self.instances += other.instances;
        self.functions += other.functions;
        self.methods += other.methods;
    }
}

/// Every entry point, aliases included, with its method's start and size.
pub(crate) fn entries(table: &MethodTable) -> impl Iterator<Item = ((u32, u32), MethodSource)> + '_ {
    table.methods().iter().flat_map(|method| {
        let sources = std::iter::once(method.source).chain(table.aliases(method));
        sources.map(|source| ((method.start, method.size), source))
    })
}

/// Thunks follow each other to the end of their section, and each is known.
fn check_thunks(what: &str, image: &Image<'_>, table: &MethodTable) {
    let header = image.ready_to_run().map(|header| header.core());
    let section = header.and_then(|header| header.section(SectionKind::DelayLoadMethodCallThunks));
    let (Some(section), Some(first)) = (section, table.thunks().first()) else {
        return assert_eq!((section, table.thunks()), (None, [].as_slice()), "{what}");
    };
    assert!(first.start <= section.rva && first.kind == ThunkKind::Jump, "{what}");
    let mut next = first.start;
    for thunk in table.thunks() {
        assert_eq!(thunk.start, next, "{what}: {thunk}");
        assert!(thunk.helper.is_some(), "{what}: {thunk}");
        next += thunk.size;
        let place = table.lookup(Rva((next - 1).into()));
        assert_eq!(place, Some(Place::Thunk { thunk, offset: thunk.size - 1 }), "{what}");
    }
    assert_eq!(next, section.rva + section.size, "{what}");
}

/// What a framework has in all.
#[derive(Debug, Default, PartialEq, Eq)]
struct Found {
    precompiled: usize,
    with_code: usize,
    totals: Totals,
    maps: Maps,
}

/// Everything that holds for every image. Each framework is read in one test, as reading takes longer than looking.
fn look_at(set: ImageSet, symbol_maps: SymbolMaps) -> Found {
    let mut found = Found::default();
    for_each(set, |name, file| {
        let what = format!("{set} {name}");
        let image = Image::parse(file, Layout::File).unwrap_or_else(|error| panic!("{what}: {error}"));
        let table = image.methods().unwrap();
        assert!(table.problems().is_empty(), "{what}: {:?}", table.problems());
        check_thunks(&what, &image, &table);
        check_maps(&what, &image, &table, &mut found.maps);
        check_names(&what, &image, &table);
        check_debug_directory(name, &image, symbol_maps);
        found.precompiled += usize::from(image.ready_to_run().is_some());
        found.with_code += usize::from(table.function_count() != 0);
        found.totals.add(&Totals::of(&table));
    });
    found
}

/// Of precompiled images, how many there are and how many have code; of methods as the tables have them, how many there
/// are of each kind; and of native maps, how many methods have one and how many rows.
fn found(images: [usize; 2], [definitions, instances, functions, methods]: [usize; 4], maps: [usize; 3]) -> Found {
    let ([precompiled, with_code], [mapped, rows, strange]) = (images, maps);
    Found {
        precompiled,
        with_code,
        totals: Totals { definitions, instances, functions, methods },
        maps: Maps { methods: mapped, rows, strange },
    }
}

#[test]
fn net3() {
    let expected = found([163, 100], [84_974, 44_903, 138_252, 129_782], [129_606, 990_016, 0]);
    assert_eq!(look_at(ImageSet::Net3, SymbolMaps::None), expected);
}

// In those that follow, five rows are of methods of `Unsafe`, whose IL the precompiler replaces.

#[test]
fn net8() {
    let expected = found([89, 89], [78_333, 38_875, 126_855, 117_208], [117_208, 1_030_134, 5]);
    assert_eq!(look_at(ImageSet::Net8, SymbolMaps::All), expected);
}

#[test]
fn net8_arm64() {
    let expected = found([89, 89], [79_266, 38_747, 127_674, 118_013], [118_013, 1_031_590, 5]);
    assert_eq!(look_at(ImageSet::Net8Arm64, SymbolMaps::All), expected);
}

#[test]
fn net9_loose() {
    let expected = found([197, 194], [118_645, 53_797, 186_855, 172_442], [172_442, 1_405_512, 5]);
    assert_eq!(look_at(ImageSet::Net9Loose, SymbolMaps::All), expected);
}

#[test]
fn net10_compressed() {
    let expected = found([92, 92], [83_463, 53_571, 148_195, 137_034], [137_034, 1_124_301, 5]);
    assert_eq!(look_at(ImageSet::Net10Compressed, SymbolMaps::All), expected);
}

#[test]
fn net10_mac() {
    // The map is not written for macOS.
    let expected = found([92, 92], [83_310, 53_520, 147_456, 136_830], [136_830, 1_111_936, 5]);
    assert_eq!(look_at(ImageSet::Net10Mac, SymbolMaps::None), expected);
}

#[test]
fn net10_trimmed() {
    assert_eq!(look_at(ImageSet::Net10Trimmed, SymbolMaps::None), Found::default());
}

/// Frameworks of which no other reader has told anything.
fn with_methods(set: ImageSet, symbol_maps: SymbolMaps) {
    let found = look_at(set, symbol_maps);
    assert!(found.totals.methods > 50_000 && found.maps.methods == found.totals.methods, "{set}: {found:?}");
}

#[test]
fn net8_single_28() {
    with_methods(ImageSet::Net8Single28, SymbolMaps::All);
}

#[test]
fn net8_single_30() {
    with_methods(ImageSet::Net8Single30, SymbolMaps::All);
}

#[test]
fn net9() {
    // Some libraries in its folder are not its own.
    with_methods(ImageSet::Net9, SymbolMaps::Some);
}

#[test]
fn net10() {
    with_methods(ImageSet::Net10, SymbolMaps::All);
}
