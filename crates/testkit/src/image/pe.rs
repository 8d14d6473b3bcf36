//! PE32+ files laid out as the ReadyToRun compiler lays them out: sections whose addresses are not their file offsets.

use std::collections::BTreeMap;

/// Machine of Linux on amd64: 0x8664 and the mark of Linux.
pub const LINUX_AMD64: u16 = 0x8664 ^ 0x7b79;
/// Machine of Linux on arm64.
pub const LINUX_ARM64: u16 = 0xaa64 ^ 0x7b79;
/// Machine of assemblies that hold IL only.
pub const ANY: u16 = 0x014c;

/// Section of code.
pub const CODE: u32 = 0x6000_0020;
/// Section of data.
pub const DATA: u32 = 0xc000_0040;
/// Section of relocations.
pub const RELOCATIONS: u32 = 0x4200_0040;

/// Where an image would like to lie.
pub const IMAGE_BASE: u64 = 0x1_8000_0000;

const HEADERS: usize = 0x200;
const ALIGNMENT: usize = 0x200;
const NT_HEADER: usize = 0x80;

/// A PE file that grows.
#[derive(Clone, Debug)]
pub struct Pe {
    /// Machine as the file has it.
    pub machine: u16,
    /// Timestamp.
    pub timestamp: u32,
    /// Data directories by number: address and size.
    pub directories: BTreeMap<usize, (u32, u32)>,
    sections: Vec<Section>,
}

#[derive(Clone, Debug)]
struct Section {
    name: String,
    characteristics: u32,
    address: usize,
    offset: usize,
    content: Vec<u8>,
}

impl Section {
    fn size_in_file(&self) -> usize {
        self.content.len().next_multiple_of(ALIGNMENT)
    }
}

impl Pe {
    /// A file without sections.
    pub fn new(machine: u16) -> Self {
        Self { machine, timestamp: 0x1234_5678, directories: BTreeMap::new(), sections: Vec::new() }
    }

    /// Begins a section; the low 16 bits of its address are those of its file offset, as the compiler has it.
    pub fn section(&mut self, name: &str, characteristics: u32) {
        let offset = self.sections.last().map_or(HEADERS, |last| last.offset + last.size_in_file());
        let address = offset + 0x1_0000 + 0x2_0000 * self.sections.len();
        self.sections.push(Section { name: name.into(), characteristics, address, offset, content: Vec::new() });
    }

    fn last(&mut self) -> &mut Section {
        self.sections.last_mut().expect("a section was begun")
    }

    /// Address of the next byte.
    pub fn here(&mut self) -> u32 {
        let section = self.last();
        (section.address + section.content.len()) as u32
    }

    /// Adds bytes and gives their address.
    pub fn put(&mut self, bytes: &[u8]) -> u32 {
        let here = self.here();
        self.last().content.extend(bytes);
        here
    }

    /// Fills up with a byte to a multiple of `alignment` of the address.
    pub fn align(&mut self, alignment: u32, filler: u8) {
        while !self.here().is_multiple_of(alignment) {
            self.put(&[filler]);
        }
    }

    /// Writes over bytes that are there.
    pub fn patch(&mut self, address: u32, bytes: &[u8]) {
        let address = address as usize;
        let section =
            self.sections.iter_mut().rfind(|section| section.address <= address).expect("an address in a section");
        let start = address - section.address;
        section.content[start..start + bytes.len()].copy_from_slice(bytes);
    }

    /// File offset of an address in a section.
    pub fn file_offset(&self, address: u32) -> u32 {
        let section = self.sections.iter().rfind(|section| section.address <= address as usize);
        section.map_or(address, |section| address - section.address as u32 + section.offset as u32)
    }

    /// Size of the image in memory.
    pub fn image_size(&self) -> usize {
        self.sections.last().map_or(HEADERS, |last| (last.address + last.content.len()).next_multiple_of(ALIGNMENT))
    }

    fn headers(&self) -> Vec<u8> {
        let mut out = vec![0; NT_HEADER];
        out[..2].copy_from_slice(b"MZ");
        out[0x3c..0x40].copy_from_slice(&(NT_HEADER as u32).to_le_bytes());
        out.extend(b"PE\0\0");
        let short = |out: &mut Vec<u8>, values: &[u16]| values.iter().for_each(|value| out.extend(value.to_le_bytes()));
        let long = |out: &mut Vec<u8>, values: &[u32]| values.iter().for_each(|value| out.extend(value.to_le_bytes()));
        short(&mut out, &[self.machine, self.sections.len() as u16]);
        long(&mut out, &[self.timestamp, 0, 0]);
        short(&mut out, &[240, 0x2022]);
        // Optional header: magic and linker version, sizes, entry point, base of code.
        short(&mut out, &[0x20b, 0x000b]);
        let first = self.sections.first().map_or(0, |section| section.address as u32);
        long(&mut out, &[0, 0, 0, 0, first]);
        out.extend(IMAGE_BASE.to_le_bytes());
        long(&mut out, &[ALIGNMENT as u32, ALIGNMENT as u32]);
        short(&mut out, &[4, 0, 0, 0, 4, 0]);
        long(&mut out, &[0, self.image_size() as u32, HEADERS as u32, 0]);
        short(&mut out, &[3, 0x8160]);
        for size in [0x10_0000_u64, 0x1000, 0x10_0000, 0x1000] {
            out.extend(size.to_le_bytes());
        }
        long(&mut out, &[0, 16]);
        for number in 0..16 {
            let (address, size) = self.directories.get(&number).copied().unwrap_or_default();
            long(&mut out, &[address, size]);
        }
        for section in &self.sections {
            let mut name = section.name.clone().into_bytes();
            name.resize(8, 0);
            out.extend(name);
            let (address, offset) = (section.address as u32, section.offset as u32);
            long(&mut out, &[section.content.len() as u32, address, section.size_in_file() as u32, offset, 0, 0, 0]);
            long(&mut out, &[section.characteristics]);
        }
        assert!(out.len() <= HEADERS, "headers fit");
        out.resize(HEADERS, 0);
        out
    }

    /// The bytes of the file.
    pub fn file(&self) -> Vec<u8> {
        let mut out = self.headers();
        for section in &self.sections {
            out.resize(section.offset, 0);
            out.extend(&section.content);
        }
        out.resize(out.len().next_multiple_of(ALIGNMENT), 0);
        out
    }

    /// The bytes as they lie in memory: each at its address.
    pub fn memory(&self) -> Vec<u8> {
        let mut out = self.headers();
        for section in &self.sections {
            out.resize(section.address, 0);
            out.extend(&section.content);
        }
        out.resize(self.image_size(), 0);
        out
    }

    /// Adds an export directory with one name, and gives it to the headers.
    pub fn export(&mut self, name: &str, address: u32) {
        self.align(4, 0);
        let start = self.here();
        let functions = start + 40;
        let (names, ordinals, text) = (functions + 4, functions + 8, functions + 12);
        let library = text + name.len() as u32 + 1;
        let mut out = Vec::new();
        for value in [0, 0, 0, library, 1, 1, 1, functions, names, ordinals, address, text, 0] {
            out.extend(u32::to_le_bytes(value));
        }
        // The ordinal takes two of the last four bytes; names may begin at any byte.
        out.extend(name.as_bytes());
        out.extend(b"\0composite.dll\0");
        self.put(&out);
        self.directories.insert(0, (start, out.len() as u32));
    }
}

/// The 72 bytes of a CLI header: flags, and the places of metadata and ReadyToRun header.
pub fn cli_header(flags: u32, metadata: (u32, u32), native: (u32, u32)) -> Vec<u8> {
    let mut out = 72_u32.to_le_bytes().to_vec();
    out.extend([2, 0, 5, 0]);
    for value in [metadata.0, metadata.1, flags, 0] {
        out.extend(value.to_le_bytes());
    }
    out.resize(64, 0);
    out.extend(native.0.to_le_bytes());
    out.extend(native.1.to_le_bytes());
    out
}
