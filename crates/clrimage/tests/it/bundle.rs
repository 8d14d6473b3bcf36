//! Real single-file bundles: stored, compressed, of several machines and systems.

use std::io::Write;
use std::process::{Command, Stdio};

use strata_clrimage::bundle::{Bundle, EntryKind, Version, content};
use strata_clrimage::{Image, Layout};
use strata_testkit::image::bundle::{self as built, Storage};
use strata_testkit::live::{ImageSet, Images};

/// Entries, and how many of them are assemblies, precompiled assemblies, and compressed.
#[derive(Debug, PartialEq, Eq)]
struct Counts(usize, usize, usize, usize);

#[test]
fn every_file_of_every_bundle_is_read() {
    let check = |set: ImageSet, counts| {
        let Ok(Images::SingleFile(path)) = set.images() else { panic!("{set} is not a single file") };
        let file = std::fs::read(path).unwrap();
        let bundle = Bundle::find(&file).unwrap().unwrap();
        assert_eq!(bundle.version(), Version { major: 6, minor: 0 }, "{set}");
        assert_eq!((bundle.ignored(), bundle.is_extracted()), (0, false), "{set}");
        let mut found = Counts(bundle.entries().len(), 0, 0, 0);
        for entry in bundle.entries() {
            let bytes = content(&file, entry).unwrap();
            assert_eq!(bytes.len() as u64, entry.size, "{set} {}", entry.path);
            assert_eq!(bundle.entry(&entry.path), Some(entry));
            found.3 += usize::from(entry.compressed_size.is_some());
            if entry.kind == EntryKind::Assembly {
                let image = Image::parse(&bytes, Layout::File).unwrap();
                assert!(image.pe().cli_header().unwrap().is_some(), "{set} {}", entry.path);
                found.1 += 1;
                found.2 += usize::from(image.ready_to_run().is_some());
            }
            for offset in [entry.offset, entry.offset + entry.stored_size() / 2] {
                let expected = (entry.stored_size() != 0).then_some(entry);
                assert_eq!(bundle.entry_at(offset), expected, "{set} {}", entry.path);
            }
        }
        assert_eq!(found, counts, "{set}");
        // The host's own code is no one's, and neither is the manifest at the end.
        assert_eq!((bundle.entry_at(0x1000), bundle.entry_at(file.len() as u64 - 1)), (None, None), "{set}");
    };
    check(ImageSet::Net8Single28, Counts(191, 189, 89, 0));
    check(ImageSet::Net8Single30, Counts(266, 264, 89, 0));
    check(ImageSet::Net8Arm64, Counts(191, 189, 89, 0));
    check(ImageSet::Net10, Counts(338, 336, 230, 0));
    check(ImageSet::Net10Compressed, Counts(239, 233, 92, 236));
    check(ImageSet::Net10Mac, Counts(238, 233, 92, 235));
    check(ImageSet::Net10Trimmed, Counts(336, 325, 0, 0));
}

#[test]
fn images_are_the_ones_that_were_published() {
    let check = |set: ImageSet, expected: &[(&str, u64, &str)]| {
        let Ok(Images::SingleFile(path)) = set.images() else { panic!("{set} is not a single file") };
        let file = std::fs::read(path).unwrap();
        let bundle = Bundle::find(&file).unwrap().unwrap();
        for (name, size, hash) in expected {
            let entry = bundle.entry(name).unwrap();
            assert_eq!(entry.size, *size, "{set} {name}");
            let found = sha256(&content(&file, entry).unwrap());
            assert!(found.starts_with(hash), "{set} {name}: {found}");
        }
    };
    check(
        ImageSet::Net10Compressed,
        &[
            ("System.Private.CoreLib.dll", 15_577_896, "11a0f23df9fbb128"),
            ("System.Text.Json.dll", 1_882_920, "14eedb06fd8e45bf"),
        ],
    );
    check(
        ImageSet::Net8Arm64,
        &[
            ("System.Private.CoreLib.dll", 14_199_592, "6c8e63c01ba04df1"),
            ("System.Linq.dll", 603_432, "ad9f5f40487d54d8"),
        ],
    );
}

#[test]
fn a_bundle_put_together_from_the_description() {
    let check = |version, storage| {
        let entry = |path: &str, kind, content: &[u8]| built::Entry {
            path: path.into(),
            kind,
            content: content.into(),
            storage,
        };
        let entries = vec![
            entry("a.dll", 1, b"assembly assembly assembly"),
            entry("sub/lib.so", 2, b""),
            entry("a.deps.json", 3, b"{}"),
            entry("a.pdb", 5, &[7; 100_000]),
        ];
        let whole = built::Bundle { version, alignment: 64, entries: entries.clone() }.build();
        let bundle = Bundle::find(&whole.file).unwrap().unwrap();
        assert_eq!(bundle.version().major, version);
        assert_eq!(bundle.entries().len(), entries.len());
        for ((entry, expected), (offset, stored)) in bundle.entries().iter().zip(&entries).zip(&whole.entries) {
            assert_eq!((&*entry.path, entry.offset, entry.stored_size()), (&*expected.path, *offset, *stored));
            assert_eq!(content(&whole.file, entry).unwrap(), expected.content);
        }
        assert_eq!(bundle.entry("a.pdb").unwrap().kind, EntryKind::Symbols);
    };
    check(1, Storage::Stored);
    check(2, Storage::Stored);
    check(6, Storage::Stored);
    check(6, Storage::Deflated);
}

/// By the program of the same name, as hexadecimal digits.
fn sha256(bytes: &[u8]) -> String {
    let mut program =
        Command::new("sha256sum").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("sha256sum runs");
    program.stdin.take().unwrap().write_all(bytes).unwrap();
    String::from_utf8(program.wait_with_output().unwrap().stdout).unwrap()
}
