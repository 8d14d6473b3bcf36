//! Files that lie: each gives an error or fewer methods, at once.

mod mutations;
mod pieces;
mod tables;

use std::time::{Duration, Instant};

use strata_address::Rva;
use strata_clrimage::bundle::{self, Bundle};
use strata_clrimage::debug_directory::DebugDirectory;
use strata_clrimage::metadata::{Metadata, Table, Token};
use strata_clrimage::pdb::Pdb;
use strata_clrimage::{DebugInfo, Image, Layout, MethodSource, MethodTable, NoAssemblies, ProblemKind};
use strata_testkit::image::{self, Changes, Kind, samples};

/// Longer than anything takes, even on a busy machine; a loop that does not end takes longer.
const AT_ONCE: Duration = Duration::from_secs(20);

/// Asks everything that can be asked of bytes; gives how many methods there are.
fn ask(bytes: &[u8], layout: Layout) -> usize {
    let start = Instant::now();
    let found = Image::parse(bytes, layout).map_or(0, |image| ask_image(&image, bytes.len()));
    if let Ok(Some(bundle)) = Bundle::find(bytes) {
        assert!(bundle.entries().len() <= bytes.len() / 18);
        bundle.entries().iter().for_each(|entry| drop(bundle::content(bytes, entry)));
    }
    let time = start.elapsed();
    assert!(time < AT_ONCE, "{time:?}");
    found
}

fn ask_image(image: &Image<'_>, length: usize) -> usize {
    image.metadata().into_iter().for_each(|metadata| ask_metadata(metadata, length));
    if let Ok(Some(manifest)) = image.manifest() {
        ask_metadata(&manifest, length);
    }
    for index in 0..image.component_count().min(100) {
        if let Ok(component) = image.component(index) {
            component.metadata.iter().for_each(|metadata| ask_metadata(metadata, length));
        }
    }
    let (_, _) = (image.identity(), image.owner_composite());
    if let Ok(Some(directory)) = DebugDirectory::read(image.pe()) {
        let (_, _) = (directory.code_view(), directory.ready_to_run_map());
        if let Ok(Some(pdb)) = directory.embedded_pdb() {
            ask_pdb(&pdb);
        }
    }
    let Ok(table) = image.methods() else { return 0 };
    ask_names(image, &table);
    ask_methods(image, &table, length)
}

/// The names of some of the methods, and the maps of the same.
fn ask_names(image: &Image<'_>, table: &MethodTable) {
    let names = image.names(&NoAssemblies);
    let maps = DebugInfo::read(image).ok().flatten();
    let methods = table.methods();
    for method in methods.iter().step_by(methods.len() / 50 + 1) {
        for source in [method.source].into_iter().chain(table.aliases(method).take(3)) {
            let Ok(name) = names.name(&source) else { continue };
            let (_, _, _) = (name.runtime_style(), name.event_style(), name.map_style());
            let (_, _) = (name.type_arguments(), name.marks().count());
        }
        let _ = maps.map(|maps| (maps.map(method.entry), maps.il_offset(method.entry, method.body_size)));
    }
}

fn ask_methods(image: &Image<'_>, table: &MethodTable, length: usize) -> usize {
    let methods = table.methods();
    assert!(table.function_count() <= length / 8);
    assert!(methods.len() <= table.function_count());
    assert!(table.thunks().len() <= length);
    assert!(methods.is_sorted_by_key(|method| method.start));
    assert!(table.problems().len() <= 16);
    let mut aliases = 0;
    for method in methods {
        assert!(u64::from(method.start) + u64::from(method.size) <= 1 << 32);
        assert!(method.body_size <= method.size);
        aliases += table.aliases(method).count();
        table.lookup(Rva(method.start.into()));
        table.lookup(Rva((method.start.wrapping_add(method.size)).into()));
        if let MethodSource::Instance { signature, .. } = method.source {
            assert!(image.instance(signature).is_ok());
        }
    }
    assert!(aliases <= length);
    for rva in (0..0x10_0000).step_by(0xfff) {
        table.lookup(Rva(rva));
    }
    methods.len()
}

fn ask_metadata(metadata: &Metadata<'_>, length: usize) {
    let (_, _, _) = (metadata.mvid(), metadata.assembly_name(), metadata.module_name());
    for table in [Table::TYPE_DEF, Table::METHOD_DEF, Table::TYPE_REF, Table::TYPE_SPEC, Table::ASSEMBLY_REF] {
        assert!(metadata.count(table) as usize <= length);
    }
    let last = metadata.method_count();
    for row in (0..60).chain([last.saturating_sub(1), last, last.wrapping_add(1), u32::MAX]) {
        let (_, _, _) = (metadata.method(row), metadata.owner_of_method(row), metadata.enclosing_type(row));
        let (_, _, _) = (metadata.type_definition(row), metadata.type_reference(row), metadata.type_specification(row));
        let (_, _) = (metadata.assembly_reference(row), metadata.module_reference(row));
        let (_, _) =
            (metadata.member_reference(row), metadata.type_variable(Token { table: Table::TYPE_DEF, rid: row }, 0));
    }
}

fn ask_pdb(bytes: &[u8]) {
    let Ok(pdb) = Pdb::parse(bytes) else { return };
    for row in (0..20).chain([u32::MAX]) {
        let (_, _, _) = (pdb.document(row), pdb.line(row, 0), pdb.line(row, u32::MAX));
    }
    let _ = pdb.source_link();
}

/// What is said of bytes: an error of the headers or of the list of code, or how many methods there are and what was wrong.
fn said_of(bytes: &[u8]) -> String {
    let table = Image::parse(bytes, Layout::File).and_then(|image| image.methods());
    let problems = |table: MethodTable| {
        let kinds: Vec<ProblemKind> = table.problems().iter().map(|problem| problem.kind).collect();
        format!("{} methods, {kinds:?}", table.methods().len())
    };
    table.map_or_else(|error| error.to_string(), problems)
}

fn said_with(place: [(u32, (u32, u32)); 1]) -> String {
    let changes = Changes { place: place.into(), ..Changes::default() };
    said_of(&image::Image { changes, ..samples::single() }.build().file)
}

#[test]
fn a_cut_image() {
    let built = samples::single().build();
    let check = |length: usize, expected: &str| assert_eq!(said_of(&built.file[..length]), expected, "{length:#x}");
    check(1, "not a PE file at offset 0x0");
    check(0x30, "PE header is cut off at offset 0x3c");
    check(0x82, "PE header is cut off at offset 0x80");
    check(0x1f0, "PE header is cut off at offset 0x188");
    check(0x210, "CLI header is cut off at offset 0x200");
    check(0x400, "metadata is cut off at offset 0x378");
    let functions = built.offsets[&102];
    check(functions + 4, &format!("RuntimeFunctions is cut off at offset {functions:#x}"));
    check(built.offsets[&103] + 1, "0 methods, [TableUnreadable, FirstFunctionUnowned]");
    check(built.offsets[&109] + 1, "22 methods, [TableUnreadable, FuncletUnexplained]");
}

#[test]
fn a_text_and_an_empty_file() {
    assert_eq!(said_of(b"This is a text.\n"), "not a PE file at offset 0x0");
    assert_eq!(said_of(&b"MZ is how this text begins. ".repeat(100)), "PE header is cut off at offset 0x6f682073");
    assert_eq!(said_of(&[0; 4096]), "not a PE file at offset 0x0");
    assert_eq!(said_of(b""), "not a PE file at offset 0x0");
}

#[test]
fn headers_that_claim_two_gigabytes() {
    let built = samples::single().build();
    let mut file = built.file.clone();
    // Size in memory and in the file of all three sections, and the size of the image: the first section claims all.
    for section in 0..3 {
        let row = 0x188 + section * 40;
        file[row + 8..row + 12].copy_from_slice(&0x7fff_ffff_u32.to_le_bytes());
        file[row + 16..row + 20].copy_from_slice(&0x7fff_ffff_u32.to_le_bytes());
    }
    file[0xd0..0xd4].fill(0xff);
    assert_eq!(said_of(&file), format!("RuntimeFunctions is cut off at offset {:#x}", file.len()));
    let functions = built.offsets[&102];
    let place = (built.sections[&102].0, 0x7fff_fff8);
    assert_eq!(said_with([(102, place)]), format!("RuntimeFunctions is cut off at offset {functions:#x}"));
}

#[test]
fn files_that_are_no_precompiled_images() {
    let check = |kind, is_assembly| {
        let built = image::Image::of_kind(kind).build();
        assert_eq!(said_of(&built.file), "0 methods, []");
        let image = Image::parse(&built.file, Layout::File).unwrap();
        assert_eq!((image.metadata().is_some(), image.ready_to_run().is_some()), (is_assembly, false));
    };
    check(Kind::Native, false);
    check(Kind::IlOnly(samples::library().bytes()), true);
    let unknown = image::Image { machine: 0x1234, ..samples::single() }.build();
    let functions = unknown.offsets[&102];
    assert_eq!(said_of(&unknown.file), format!("not an image for a known machine at offset {functions:#x}"));
}

#[test]
fn tables_that_point_outside() {
    let outside = (0xffff_0000, 120);
    let length = samples::single().build().file.len();
    assert_eq!(said_with([(102, outside)]), format!("RuntimeFunctions is cut off at offset {length:#x}"));
    assert_eq!(said_with([(103, outside)]), "4 methods, [TableUnreadable, FirstFunctionUnowned]");
    assert_eq!(said_with([(109, outside)]), "22 methods, [TableUnreadable, FuncletUnexplained]");
    assert_eq!(said_with([(104, outside)]), "26 methods, [TableUnreadable]");
    assert_eq!(said_with([(120, outside)]), "26 methods, [TableUnreadable]");
}
