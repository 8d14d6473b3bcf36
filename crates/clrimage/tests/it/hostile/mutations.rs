//! Files that were cut, and files with wrong bytes at places chosen by a fixed seed.

use strata_clrimage::Layout;
use strata_testkit::image::pe;
use strata_testkit::image::samples::{self, Embedded};
use strata_testkit::image::{Image, bundle};
use strata_testkit::live::{ImageSet, Images};

use super::ask;

/// A sequence of numbers that looks random and is always the same.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % below
    }
}

/// Changes a few bytes, to values that break things.
fn damage(bytes: &mut [u8], numbers: &mut Numbers) {
    for _ in 0..=numbers.next(6) {
        let at = numbers.next(bytes.len());
        let value = [0, 1, 0x7f, 0x80, 0xff, numbers.next(256) as u8][numbers.next(6)];
        let length = [1, 1, 1, 2, 4][numbers.next(5)].min(bytes.len() - at);
        bytes[at..at + length].fill(value);
    }
}

fn real(name: &str) -> Vec<u8> {
    let Images::Loose(files) = ImageSet::Net8.images().unwrap() else { unreachable!() };
    std::fs::read(files.iter().find(|file| file.ends_with(name)).unwrap()).unwrap()
}

fn built() -> Vec<(Vec<u8>, Layout)> {
    let arm64 = Image { machine: pe::LINUX_ARM64, ..samples::hot_cold() };
    let images = [samples::single(), arm64, samples::composite(Embedded::Yes), samples::component()];
    let images: Vec<_> = images.iter().map(Image::build).collect();
    let memory = (images[0].memory.clone(), Layout::Memory);
    images.into_iter().map(|image| (image.file, Layout::File)).chain([memory]).collect()
}

#[test]
fn built_images_cut_anywhere() {
    for (bytes, layout) in built() {
        let whole = ask(&bytes, layout);
        // In memory most bytes lie between the sections and mean nothing.
        let step = if layout == Layout::Memory { 53 } else { 1 };
        for length in (0..bytes.len()).step_by(step) {
            assert!(ask(&bytes[..length], layout) <= whole, "{length}");
        }
    }
}

#[test]
fn a_real_image_cut_at_some_places() {
    let bytes = real("System.Private.CoreLib.dll");
    let whole = ask(&bytes, Layout::File);
    assert_eq!(whole, 35945);
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    let anywhere: Vec<usize> = (0..30).map(|_| numbers.next(bytes.len())).collect();
    let in_headers = (0..0x400).step_by(37);
    for length in in_headers.chain(anywhere) {
        assert!(ask(&bytes[..length], Layout::File) <= whole, "{length}");
    }
}

#[test]
fn built_images_with_wrong_bytes() {
    let mut numbers = Numbers(1);
    for (bytes, layout) in built() {
        let whole = ask(&bytes, layout);
        // Where something is: in memory the sections are far apart.
        let pieces: Vec<usize> =
            bytes.chunks(64).enumerate().filter(|(_, piece)| **piece != [0; 64]).map(|it| it.0).collect();
        let mut hurt = 0;
        for _ in 0..1500 {
            let mut bytes = bytes.clone();
            for _ in 0..3 {
                let piece = pieces[numbers.next(pieces.len())] * 64;
                damage(&mut bytes[piece..piece + 64], &mut numbers);
            }
            let left = ask(&bytes, layout);
            hurt += usize::from(left != whole && left != 0);
        }
        // The damage reaches the tables, and not only the headers.
        assert!(whole == 0 || hurt > 150, "{hurt}");
    }
}

#[test]
fn bundles_with_wrong_bytes() {
    let entry = |path: &str, storage| bundle::Entry {
        path: path.into(),
        kind: 1,
        content: samples::component().build().file,
        storage,
    };
    let entries = vec![entry("a.dll", bundle::Storage::Stored), entry("b.dll", bundle::Storage::Deflated)];
    let bytes = bundle::Bundle { version: 6, alignment: 64, entries }.build();
    let mut numbers = Numbers(2);
    for _ in 0..2000 {
        let mut file = bytes.file.clone();
        let start = [0x100, bytes.header as usize][numbers.next(2)];
        damage(&mut file[start..], &mut numbers);
        ask(&file, Layout::File);
    }
    for length in 0..bytes.file.len() {
        ask(&bytes.file[..length], Layout::File);
    }
}

#[test]
fn a_real_image_with_wrong_bytes() {
    let bytes = real("System.Console.dll");
    assert_eq!(ask(&bytes, Layout::File), 353);
    let mut numbers = Numbers(3);
    for round in 0..600 {
        let mut bytes = bytes.clone();
        // Headers now and then: they are few bytes and matter most.
        let end = if round % 3 == 0 { 0x400 } else { bytes.len() };
        damage(&mut bytes[..end], &mut numbers);
        ask(&bytes, Layout::File);
    }
}
