//! Images that are cut short, altered or made to hurt.

use std::sync::OnceLock;

use proptest::prelude::*;
use strata_address::Rva;
use strata_resolve::elf::{ElfError, ElfSymbols};

use crate::programs::{build_c, build_with_mini_debug_info};

/// Small images that have every part the parser reads.
fn images() -> &'static [Vec<u8>] {
    static IMAGES: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    IMAGES.get_or_init(|| {
        let read = |path: &std::path::Path| std::fs::read(path).unwrap();
        let plain = read(&build_c(&["-pie", "-g0"]).program);
        let mini = read(&build_with_mini_debug_info(&["-no-pie"], "crc64").program);
        vec![plain, mini]
    })
}

/// Must not panic; whatever it finds must hold the address that was asked for.
fn survive(bytes: &[u8]) {
    let Ok(symbols) = ElfSymbols::parse(bytes) else { return };
    let mut count = 0;
    for symbol in symbols.symbols() {
        count += symbol.name.len();
        assert!(symbol.size > 0, "{symbol:?}");
        let middle = Rva(symbol.start.0.saturating_add(symbol.size / 2));
        if let Some(found) = symbols.lookup(middle) {
            assert!(found.start <= middle && middle.0 - found.start.0 < found.size, "{found:?} at {middle}");
        }
    }
    assert!(count <= 8 * bytes.len() + (64 << 20), "more names than the file can hold");
    for offset in (0..bytes.len() as u64).step_by(997) {
        let _ = symbols.layout().rva_of_file_offset(offset).and_then(|rva| symbols.lookup(rva));
    }
}

#[test]
fn any_prefix_of_an_image_is_survived() {
    for image in images() {
        for length in (0..512).chain((512..image.len()).step_by(61)) {
            survive(&image[..length.min(image.len())]);
        }
    }
}

#[test]
fn what_is_no_image_is_told() {
    assert_eq!(ElfSymbols::parse(b"").unwrap_err(), ElfError::NotElf);
    assert_eq!(ElfSymbols::parse(b"#!/bin/sh\n").unwrap_err(), ElfError::NotElf);
    assert!(matches!(ElfSymbols::parse(b"\x7fELF").unwrap_err(), ElfError::Header { .. }));
    assert!(matches!(ElfSymbols::parse(&images()[0][..100]).unwrap_err(), ElfError::ProgramHeaders { offset: 64, .. }));
}

/// A section to be laid into a crafted image.
struct Part {
    name: &'static str,
    kind: u32,
    flags: u64,
    address: u64,
    /// Number of the section that holds its names.
    link: u32,
    content: Vec<u8>,
}

/// A 64-bit image of one large code segment and these sections, numbered from 1; their names come last.
fn crafted(mut parts: Vec<Part>) -> Vec<u8> {
    let mut names = vec![0];
    let name_offsets: Vec<u32> = parts
        .iter()
        .map(|part| {
            let offset = names.len() as u32;
            names.extend(part.name.as_bytes());
            names.push(0);
            offset
        })
        .collect();
    parts.push(Part { name: "", kind: 3, flags: 0, address: 0, link: 0, content: names });
    let mut bytes = vec![0; 120];
    let mut headers = vec![0; 64];
    for (part, name) in parts.iter().zip(name_offsets.into_iter().chain([0])) {
        headers.extend([name.to_le_bytes(), part.kind.to_le_bytes()].concat());
        let (offset, size) = (bytes.len() as u64, part.content.len() as u64);
        headers.extend([part.flags, part.address, offset, size].map(u64::to_le_bytes).concat());
        headers.extend(part.link.to_le_bytes());
        headers.extend([0; 20]);
        bytes.extend(&part.content);
    }
    let headers_at = bytes.len() as u64;
    bytes.extend(&headers);
    let count = parts.len() as u16;
    bytes[..16].copy_from_slice(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0");
    bytes[16..20].copy_from_slice(&[3, 0, 62, 0]);
    bytes[32..40].copy_from_slice(&64_u64.to_le_bytes());
    bytes[40..48].copy_from_slice(&headers_at.to_le_bytes());
    bytes[54..64].copy_from_slice(&[56, 1, 64, count + 1, count].map(u16::to_le_bytes).concat());
    bytes[64..72].copy_from_slice(&[1, 0, 0, 0, 5, 0, 0, 0]);
    for place in [64 + 32, 64 + 40] {
        bytes[place..place + 8].copy_from_slice(&(1_u64 << 30).to_le_bytes());
    }
    bytes
}

fn symbol(name: u32, start: u64, size: u64) -> Vec<u8> {
    [&name.to_le_bytes()[..], &[0x12, 0, 1, 0], &start.to_le_bytes(), &size.to_le_bytes()].concat()
}

fn with_symbols(symbols: Vec<u8>, names: Vec<u8>) -> Vec<u8> {
    crafted(vec![
        Part { name: ".text", kind: 1, flags: 6, address: 0x1000, link: 0, content: vec![0xcc; 4 << 20] },
        Part { name: ".symtab", kind: 2, flags: 0, address: 0, link: 3, content: symbols },
        Part { name: ".strtab", kind: 3, flags: 0, address: 0, link: 0, content: names },
    ])
}

/// The limits must hold for images whose parts are all sound but meant to make work or memory explode.
#[test]
fn images_that_are_made_to_hurt_cost_little() {
    let sound = with_symbols(symbol(1, 0x1010, 16), b"\0fine\0".to_vec());
    let found = ElfSymbols::parse(&sound).unwrap();
    assert_eq!(found.problems(), []);
    assert_eq!(found.lookup(Rva(0x1018)).map(|symbol| symbol.name), Some("fine"));

    let begin = std::time::Instant::now();
    // Each of 100,000 names is the tail of one very long one.
    let long = [vec![b'x'; 1 << 20], vec![0]].concat();
    let tails = (0..100_000_u32).flat_map(|n| symbol((1 << 20) - 16_000 - n % 16, 0x1000 + u64::from(n) * 16, 16));
    let image = with_symbols(tails.collect(), long.clone());
    let found = ElfSymbols::parse(&image).unwrap();
    assert!(found.memory() < 8 * image.len(), "{} bytes for an image of {}", found.memory(), image.len());
    assert!(!found.problems().is_empty(), "names were left out without a word");

    // All names without an end, all at one place, each inside the other, each without a size.
    let endless = (0..100_000_u32).flat_map(|n| symbol(n, 0x1000, 16)).collect();
    survive(&with_symbols(endless, vec![b'x'; 1 << 20]));
    let equal = (0..100_000).flat_map(|_| symbol((1 << 20) - 16_000, 0x1000, 16)).collect();
    survive(&with_symbols(equal, long));
    let nested = (0..100_000_u64).flat_map(|n| symbol(1, 0x1000 + n, (200_000 - n) * 2)).collect();
    survive(&with_symbols(nested, b"\0n\0".to_vec()));
    let nested_same_start = (0..100_000_u64).flat_map(|n| symbol(1, 0x1000, n + 1)).collect();
    survive(&with_symbols(nested_same_start, b"\0n\0".to_vec()));
    let sizeless = (0..100_000_u64).flat_map(|n| symbol(1, 0x1000 + n, 0)).collect();
    survive(&with_symbols(sizeless, b"\0n\0".to_vec()));

    // 60,000 sections of notes over one large run of notes that are no build id.
    let notes: Vec<u8> = [[1_u8, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0]; 1 << 16].concat();
    let mut image = crafted(vec![Part { name: "note", kind: 7, flags: 0, address: 0, link: 0, content: notes }]);
    let headers = u64::from_le_bytes(image[40..48].try_into().unwrap()) as usize;
    let note: Vec<u8> = image[headers + 64..headers + 128].to_vec();
    let names: Vec<u8> = image[headers + 128..headers + 192].to_vec();
    image.truncate(headers + 64);
    for _ in 0..60_000 {
        image.extend(&note);
    }
    image.extend(&names);
    image[60..62].copy_from_slice(&60_002_u16.to_le_bytes());
    image[62..64].copy_from_slice(&60_001_u16.to_le_bytes());
    survive(&image);
    // Hours if any of them is quadratic; the bound leaves room for the slowest machine.
    assert!(begin.elapsed() < std::time::Duration::from_secs(120), "{:?}", begin.elapsed());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn altered_bytes_are_survived(which in 0..2_usize, edits in prop::collection::vec((any::<u32>(), any::<u8>()), 1..40)) {
        let mut image = images()[which].clone();
        for (at, byte) in edits {
            let at = at as usize % image.len();
            image[at] = byte;
        }
        survive(&image);
    }

    /// Headers decide the most, and random places hardly ever hit them.
    #[test]
    fn altered_headers_are_survived(which in 0..2_usize, words in prop::collection::vec((any::<u16>(), any::<u64>(), any::<bool>()), 1..6)) {
        let mut image = images()[which].clone();
        let sections = u64::from_le_bytes(image[0x28..0x30].try_into().unwrap()) as usize;
        for (place, value, in_sections) in words {
            let (from, length) = if in_sections { (sections, image.len() - sections) } else { (0, 1024) };
            let at = from + (usize::from(place) * 8) % (length - 8);
            let value = if place % 3 == 0 { value % 0x10000 } else { value };
            image[at..at + 8].copy_from_slice(&value.to_le_bytes());
        }
        survive(&image);
    }

    #[test]
    fn altered_unwind_tables_and_symbols_are_survived(which in 0..2_usize, edits in prop::collection::vec((any::<u32>(), any::<u8>()), 1..20)) {
        let mut image = images()[which].clone();
        // Where the parser reads most of what it reads: everything that is no code.
        let places: Vec<usize> = (0x300..0x1000).chain(0x2000..image.len()).collect();
        for (at, byte) in edits {
            image[places[at as usize % places.len()]] = byte;
        }
        survive(&image);
    }
}
