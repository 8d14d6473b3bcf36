//! The files around the code: PE headers, debug directory, PDB, bundle.

use strata_address::Rva;
use strata_clrimage::bundle::{Bundle, EntryKind, content};
use strata_clrimage::debug_directory::DebugDirectory;
use strata_clrimage::pdb::{Pdb, PdbId, SourceLine};
use strata_clrimage::{Architecture, Directory, Layout, Pe, System};
use strata_testkit::image::bundle::{self, Storage};
use strata_testkit::image::debug_directory::Entry;
use strata_testkit::image::pdb::{self, Lines, Point};
use strata_testkit::image::samples::{self, Embedded};
use strata_testkit::image::{Built, Image, Kind, pe};

/// The same question of an image as a file and as mapped.
fn both(built: &Built, check: impl Fn(Pe<'_>)) {
    check(Pe::parse(&built.file, Layout::File).unwrap());
    check(Pe::parse(&built.memory, Layout::Memory).unwrap());
}

#[test]
fn headers_are_the_same_in_a_file_and_in_memory() {
    let check = |machine, architecture| {
        let built = Image { machine, ..samples::single() }.build();
        both(&built, |pe| {
            let machine = pe.machine().unwrap();
            assert_eq!((machine.architecture, machine.system), (architecture, System::Linux));
            assert_eq!(pe.image_size() as usize, built.memory.len());
            assert_eq!(pe.timestamp(), 0x1234_5678);
            assert_eq!(pe.headers().len(), 0x200);
            assert_eq!(pe.sections().count(), 3);
            let (rva, size) = built.sections[&102];
            assert_eq!(pe.directory(3), Some(Directory { rva, size }));
            let table = pe.bytes_at(rva, size + 4).unwrap();
            assert_eq!(table[..4], built.methods[0].start().to_le_bytes());
            assert_eq!(table[size as usize..], [0xff; 4]);
            let offset = built.offsets[&102] as u64;
            assert_eq!(pe.rva_of_file_offset(offset), Some(Rva(rva.into())));
            assert!(pe.bytes_at(rva, 0x7fff_ffff).is_err());
            assert!(pe.bytes_at(0x1_0000, 4).is_err(), "between headers and first section");
        });
    };
    check(pe::LINUX_AMD64, Architecture::Amd64);
    check(pe::LINUX_ARM64, Architecture::Arm64);
}

#[test]
fn kinds_of_image_are_told_apart() {
    let check = |image: Image, cli: Option<bool>, exported: bool| {
        both(&image.build(), |pe| {
            let header = pe.cli_header().unwrap();
            let native = header.map(|header| !header.managed_native_header.is_empty());
            assert_eq!((native, pe.export("RTR_HEADER").is_some()), (cli, exported));
            assert_eq!(pe.export("RTR_HEADE"), None);
        });
    };
    check(samples::single(), Some(true), false);
    check(samples::composite(Embedded::Yes), None, true);
    check(samples::component(), Some(true), false);
    check(Image::of_kind(Kind::IlOnly(samples::library().bytes())), Some(false), false);
    check(Image::of_kind(Kind::Native), None, false);
}

/// A PDB of two documents: the first method has lines in both directions and a hidden one, the second none.
fn lines() -> pdb::Pdb {
    let at = |il, range: [u32; 4]| Point { il, range: Some(range) };
    let points =
        vec![at(0, [10, 9, 10, 30]), Point { il: 3, range: None }, at(7, [300, 1, 302, 2]), at(200, [12, 5, 12, 6])];
    pdb::Pdb {
        id: *b"an id of twenty byte",
        documents: vec!["/_/src/A.cs".into(), "/_/src/deep/B.cs".into()],
        methods: vec![
            Lines { document: 2, points },
            Lines::default(),
            Lines { document: 1, points: vec![at(0, [1, 1, 1, 2])] },
        ],
        source_link: Some(r#"{"documents": {"/_/*": "https://example.org/raw/0/*"}}"#.into()),
    }
}

fn check_lines(bytes: &[u8]) {
    let pdb = Pdb::parse(bytes).unwrap();
    assert_eq!(pdb.id(), PdbId(*b"an id of twenty byte"));
    assert_eq!(pdb.method_count(), 3);
    assert_eq!(pdb.document(2).unwrap(), "/_/src/deep/B.cs");
    assert!(pdb.document(3).is_err());
    let url = pdb.source_link().unwrap().unwrap().url("/_/src/A.cs");
    assert_eq!(url.as_deref(), Some("https://example.org/raw/0/src/A.cs"));
    let check = |method, il, expected: Option<(u32, u32, u32)>| {
        let expected = expected.map(|(document, line, column)| SourceLine { document, line, column });
        assert_eq!(pdb.line(method, il).unwrap(), expected, "method {method}, offset {il}");
    };
    check(1, 0, Some((2, 10, 9)));
    check(1, 4, Some((2, 10, 9)));
    check(1, 7, Some((2, 300, 1)));
    check(1, 199, Some((2, 300, 1)));
    check(1, 5000, Some((2, 12, 5)));
    check(2, 0, None);
    check(3, 9, Some((1, 1, 1)));
    check(4, 0, None);
}

#[test]
fn lines_of_a_pdb() {
    check_lines(&lines().bytes());
}

#[test]
fn debug_directories() {
    let pdb = lines().bytes();
    let debug_directory = vec![
        Entry::Raw(2, (0, 0), b"RSDS0123456789abcdef\x02\0\0\0C:\\windows.pdb\0".to_vec()),
        Entry::CodeView([9; 16], 0x8765_4321, 1, "/_/obj/Library.pdb".into()),
        Entry::Reproducible,
        Entry::EmbeddedPdb(pdb.clone()),
        Entry::Checksum("SHA256".into(), vec![5; 32]),
        Entry::PerfMap([3; 16], "Library.ni.r2rmap".into()),
    ];
    both(&Image { debug_directory, ..samples::single() }.build(), |pe| {
        let directory = DebugDirectory::read(&pe).unwrap().unwrap();
        let view = directory.code_view().unwrap().unwrap();
        assert_eq!((view.path, view.file_name()), ("/_/obj/Library.pdb", "Library.pdb"));
        assert_eq!(directory.embedded_pdb().unwrap().unwrap(), pdb);
        check_lines(&directory.embedded_pdb().unwrap().unwrap());
        let map = directory.ready_to_run_map().unwrap().unwrap();
        assert_eq!((map.name, map.version, map.signature), ("Library.ni.r2rmap", 1, [3; 16]));
    });
    both(&samples::single().build(), |pe| assert!(DebugDirectory::read(&pe).unwrap().is_none()));
}

#[test]
fn bundles_of_each_version() {
    let library = samples::single().build().file;
    let entry = |path: &str, kind, content: &[u8], storage| bundle::Entry {
        path: path.into(),
        kind,
        content: content.to_vec(),
        storage,
    };
    let check = |version, alignment, storage| {
        let kind = |kind| if version == 1 { 0 } else { kind };
        let entries = vec![
            entry("Library.dll", kind(1), &library, storage),
            entry("sub/Library.resources.dll", kind(1), b"small", Storage::Stored),
            entry("app.deps.json", kind(3), b"{}", Storage::Stored),
            entry("app.runtimeconfig.json", kind(4), b"{ }", Storage::Stored),
            entry("empty", kind(2), b"", Storage::Stored),
            entry("Library.pdb", kind(5), &lines().bytes(), storage),
        ];
        let built = bundle::Bundle { version, alignment, entries: entries.clone() }.build();
        let found = Bundle::find(&built.file).unwrap().unwrap();
        assert_eq!((found.version().major, found.entries().len(), found.ignored()), (version, entries.len(), 0));
        for ((wanted, found_entry), (offset, length)) in entries.iter().zip(found.entries()).zip(&built.entries) {
            assert_eq!((&*found_entry.path, found_entry.offset), (&*wanted.path, *offset));
            assert_eq!((found_entry.size, found_entry.stored_size()), (wanted.content.len() as u64, *length));
            assert_eq!(content(&built.file, found_entry).unwrap(), wanted.content);
            if *length != 0 {
                assert_eq!(found.entry_at(offset + length - 1), Some(found_entry));
            }
        }
        let expected = if version == 1 { EntryKind::Unknown } else { EntryKind::Assembly };
        assert_eq!(found.entry("Library.dll").map(|entry| entry.kind), Some(expected));
        assert_eq!(found.entry_at(built.header), None);
    };
    check(1, 1, Storage::Stored);
    check(2, 16, Storage::Stored);
    check(6, 4096, Storage::Stored);
    check(6, 64, Storage::Deflated);
}
