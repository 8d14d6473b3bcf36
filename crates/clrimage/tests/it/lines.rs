//! Source lines: of the workload `Lines`, whose lines are known, of a PDB that came with a program, and of images put
//! together.

use std::path::{Path, PathBuf};

use strata_clrimage::debug_directory::DebugDirectory;
use strata_clrimage::metadata::Metadata;
use strata_clrimage::pdb::{Pdb, SourceLine};
use strata_clrimage::{DebugInfo, IlOffset, Image, Layout, NativeMapping, Pe, source_line};
use strata_testkit::image::code::{Method, Name};
use strata_testkit::image::debug_directory::Entry;
use strata_testkit::image::debug_info::{Bound, Debug};
use strata_testkit::image::metadata::Assembly;
use strata_testkit::image::pdb as built;
use strata_testkit::live;

/// The line of a workload's source that ends with a mark.
fn marked(source: &str, mark: &str) -> u32 {
    let found = source.lines().position(|line| line.ends_with(&format!("// <{mark}>")));
    u32::try_from(found.unwrap_or_else(|| panic!("no line with {mark}"))).unwrap() + 1
}

fn method(image: &[u8], name: &str) -> u32 {
    let pe = Pe::parse(image, Layout::File).unwrap();
    let place = pe.cli_header().unwrap().unwrap().metadata;
    let metadata = Metadata::parse(pe.bytes_at(place.rva, place.size).unwrap()).unwrap();
    (1..=metadata.method_count()).find(|rid| metadata.method(*rid).unwrap().name == name).unwrap()
}

/// Document and line of every IL offset of a method, without repetitions.
fn lines(pdb: &Pdb<'_>, method: u32) -> Vec<(String, u32)> {
    let line = |il| pdb.line(method, il).unwrap().unwrap();
    let mut lines: Vec<(String, u32)> =
        (0..200).map(line).map(|line| (pdb.document(line.document).unwrap(), line.line)).collect();
    lines.dedup();
    lines
}

fn workload() -> (PathBuf, Vec<u8>, String) {
    let path = live::workload("Lines").unwrap();
    let image = std::fs::read(&path).unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workloads/Lines.cs");
    (path, image, std::fs::read_to_string(source).unwrap())
}

fn check_lines(image: &[u8], pdb: &[u8], source: &str) {
    let pe = Pe::parse(image, Layout::File).unwrap();
    let directory = DebugDirectory::read(&pe).unwrap().unwrap();
    let code_view = directory.code_view().unwrap().unwrap();
    assert_eq!(code_view.file_name(), "Lines.pdb");
    assert_eq!(directory.ready_to_run_map().unwrap(), None);
    let pdb = Pdb::parse(pdb).unwrap();
    assert_eq!(pdb.id(), code_view.pdb_id());

    let check = |name: &str, expected: &[(&str, u32)]| {
        let expected: Vec<(String, u32)> = expected.iter().map(|(file, line)| (format!("/_/{file}"), *line)).collect();
        assert_eq!(lines(&pdb, method(image, name)), expected, "{name}");
    };
    let line = |mark| ("Lines.cs", marked(source, mark));
    // The optimising compiler has no code for the braces, and puts the condition of a loop behind its body.
    check(
        "Busy",
        &[line("busy-start"), line("busy-loop"), line("busy-divide"), line("busy-loop"), line("busy-return")],
    );
    check("Generated", &[line("generated-start"), ("Other.cs", 7), line("generated-return")]);
    let in_items = lines(&pdb, method(image, "MoveNext"));
    assert!(in_items.contains(&("/_/Lines.cs".into(), marked(source, "yield"))), "{in_items:?}");
    assert_eq!(pdb.line(method(image, ".ctor"), 0), Ok(None), "the iterator's own constructor has no source");

    let link = pdb.source_link().unwrap().unwrap();
    let url = link.url(&pdb.document(1).unwrap());
    assert_eq!(url.as_deref(), Some("https://example.org/strata/workloads/Lines.cs"));
}

#[test]
fn a_pdb_beside_its_image() {
    let (path, image, source) = workload();
    check_lines(&image, &std::fs::read(path.with_extension("pdb")).unwrap(), &source);
    let pe = Pe::parse(&image, Layout::File).unwrap();
    assert_eq!(DebugDirectory::read(&pe).unwrap().unwrap().embedded_pdb(), Ok(None));
}

#[test]
fn a_pdb_inside_its_image() {
    let (path, _, source) = workload();
    let image = std::fs::read(path.with_file_name("embedded").join("Lines.dll")).unwrap();
    let pe = Pe::parse(&image, Layout::File).unwrap();
    let pdb = DebugDirectory::read(&pe).unwrap().unwrap().embedded_pdb().unwrap().unwrap();
    check_lines(&image, &pdb, &source);
}

#[test]
fn a_pdb_that_came_with_its_program() {
    let folder = live::folder().join("roslyn");
    let image = std::fs::read(folder.join("Azure.Generator.dll")).expect("run `cargo xtask targets roslyn`");
    let bytes = std::fs::read(folder.join("Azure.Generator.pdb")).unwrap();
    let pe = Pe::parse(&image, Layout::File).unwrap();
    let pdb = Pdb::parse(&bytes).unwrap();
    let code_view = DebugDirectory::read(&pe).unwrap().unwrap().code_view().unwrap().unwrap();
    assert_eq!(code_view.pdb_id(), pdb.id());
    let documents: Vec<String> = (1..).map_while(|row| pdb.document(row).ok()).collect();
    assert!(documents.iter().all(|path| path.ends_with(".cs")), "{documents:?}");
    let with_source = (1..=pdb.method_count()).filter(|method| pdb.line(*method, 0).unwrap().is_some()).count();
    let found = (documents.len(), pdb.method_count(), with_source);
    assert_eq!(found, (72, 1133, 766));
    let link = pdb.source_link().unwrap().unwrap();
    assert_eq!(documents.iter().filter_map(|path| link.url(path)).count(), 72, "{documents:?}");
}

/// Which precompiled images of a framework say what map of symbols belongs to them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SymbolMaps {
    All,
    Some,
    None,
}

/// What an image of a framework says of its PDB and of its map.
pub(crate) fn check_debug_directory(file: &str, image: &Image<'_>, symbol_maps: SymbolMaps) {
    let Some(directory) = DebugDirectory::read(image.pe()).unwrap() else { return };
    let code_view = directory.code_view().unwrap();
    if let Some(embedded) = directory.embedded_pdb().unwrap() {
        assert_eq!(Pdb::parse(&embedded).unwrap().id(), code_view.unwrap().pdb_id(), "{file}");
    }
    let map = directory.ready_to_run_map().unwrap();
    let is_precompiled = image.ready_to_run().is_some();
    assert!(is_precompiled || map.is_none(), "{file}");
    match symbol_maps {
        SymbolMaps::All => assert_eq!(map.is_some(), is_precompiled, "{file}"),
        SymbolMaps::Some => {}
        SymbolMaps::None => assert_eq!(map, None, "{file}"),
    }
    if let Some(map) = map {
        assert_eq!((map.version, map.name), (1, &*file.replace(".dll", ".ni.r2rmap")));
    }
}

fn point(il: u32, line: u32) -> built::Point {
    built::Point { il, range: Some([line, 5, line, 20]) }
}

#[test]
fn a_precompiled_method_from_address_to_line() {
    let pdb = built::Pdb {
        id: std::array::from_fn(|index| index as u8),
        documents: vec!["/src/a.cs".into(), "b.cs".into()],
        methods: vec![
            built::Lines::default(),
            built::Lines {
                document: 2,
                points: vec![point(0, 10), point(4, 12), built::Point { il: 8, range: None }, point(12, 11)],
            },
        ],
        source_link: Some(r#"{"documents":{"/src/*":"https://h/*"}}"#.into()),
    };
    let rows = [(0, -2), (4, 0), (8, 4), (12, 8), (16, -1), (20, 12), (24, -3)];
    let bounds = rows.map(|(native, il)| Bound { native, il, flags: 0 });
    let mut guid = [0; 16];
    guid.copy_from_slice(&pdb.id[..16]);
    let built = strata_testkit::image::Image {
        methods: vec![Method {
            names: vec![Name::Definition(0, 2)],
            body: 32,
            debug: Debug::Map(bounds.to_vec()),
            ..Method::default()
        }],
        debug_directory: vec![
            Entry::Reproducible,
            Entry::CodeView(guid, u32::from_le_bytes([16, 17, 18, 19]), 1, r"C:\src\obj\a.pdb".into()),
            Entry::EmbeddedPdb(pdb.bytes()),
            Entry::Checksum("SHA256".into(), vec![1; 32]),
            Entry::PerfMap([9; 16], "a.ni.r2rmap".into()),
        ],
        ..strata_testkit::image::Image::single(Assembly::default().bytes())
    }
    .build();
    for (bytes, layout) in [(&built.file, Layout::File), (&built.memory, Layout::Memory)] {
        let image = Image::parse(bytes, layout).unwrap();
        let directory = DebugDirectory::read(image.pe()).unwrap().unwrap();
        let code_view = directory.code_view().unwrap().unwrap();
        assert_eq!(code_view.file_name(), "a.pdb");
        assert_eq!(code_view.pdb_id().to_string(), "03020100-0504-0706-0809-0a0b0c0d0e0f-13121110");
        assert_eq!(directory.ready_to_run_map().unwrap().unwrap().signature, [9; 16]);
        let inflated = directory.embedded_pdb().unwrap().unwrap();
        let pdb = Pdb::parse(&inflated).unwrap();
        assert_eq!(pdb.id(), code_view.pdb_id());
        assert_eq!((pdb.document(1), pdb.document(2)), (Ok("/src/a.cs".into()), Ok("b.cs".into())));
        assert!(pdb.document(0).is_err() && pdb.document(3).is_err());
        let link = pdb.source_link().unwrap().unwrap();
        assert_eq!(link.url("/src/a.cs").as_deref(), Some("https://h/a.cs"));

        let map = DebugInfo::read(&image).unwrap().unwrap().map(built.methods[0].entry).unwrap().unwrap();
        let check = |offset, line| {
            let expected = Some(SourceLine { document: 2, line, column: 5 });
            assert_eq!(source_line(&pdb, 2, &map, offset), Ok(expected), "{offset}");
        };
        check(0, 10);
        check(4, 10);
        check(8, 12);
        // Hidden, and what came from nothing in particular.
        check(12, 12);
        check(16, 12);
        check(20, 11);
        check(24, 11);
        check(31, 11);
        assert_eq!(source_line(&pdb, 1, &map, 4), Ok(None), "a method without source");
        assert_eq!(source_line(&pdb, 3, &map, 4), Ok(None), "no such method");
        assert_eq!(source_line(&pdb, 2, &map[4..5], 99), Ok(None), "nothing in particular");
    }
}

#[test]
fn a_map_that_the_runtime_told() {
    let pdb = built::Pdb {
        documents: vec!["a.cs".into()],
        methods: vec![built::Lines { document: 1, points: vec![built::Point { il: 0, range: None }, point(6, 3)] }],
        ..built::Pdb::default()
    }
    .bytes();
    let pdb = Pdb::parse(&pdb).unwrap();
    let row = |native_offset, il| NativeMapping { native_offset, il_offset: IlOffset::Offset(il) };
    let map = [row(5, 0), row(9, 6)];
    let line = |offset| source_line(&pdb, 1, &map, offset).unwrap().map(|line| line.line);
    // What is hidden in front of the first line counts to it.
    assert_eq!([4, 5, 9].map(line), [None, Some(3), Some(3)]);
}

#[test]
fn cut_pdbs_are_errors_or_have_fewer_lines() {
    let (path, ..) = workload();
    let bytes = std::fs::read(path.with_extension("pdb")).unwrap();
    for end in 0..bytes.len() {
        let Ok(pdb) = Pdb::parse(&bytes[..end]) else { continue };
        for method in 1..=pdb.method_count() {
            let _ = pdb.line(method, u32::MAX);
        }
    }
    assert!(Pdb::parse(b"Microsoft C/C++ MSF 7.00\r\n").is_err());
}
