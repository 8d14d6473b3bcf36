//! Stubs through which an image calls functions of other images, named after what they jump to.
//!
//! A stub jumps through a slot of the global offset table, and the relocation of that slot names the function. So the stubs'
//! few instructions are read: this holds for `.plt`, `.plt.sec` and `.plt.got` of all linkers alike, whatever their order.
//! Source: the processor supplements of the System V ABI for x86-64 and AArch64.

use object::elf;
use object::read::elf::{FileHeader, Rela, SectionHeader, Sym};
use object::{Endianness, U32};

use super::SymbolSource;
use super::candidate::{Candidate, name_at, strings_of};
use super::image::Image;
use crate::readable::{self, Binding};

/// Sections that hold stubs.
const STUB_SECTIONS: [&[u8]; 3] = [b".plt", b".plt.sec", b".plt.got"];

/// The stubs of the image; `known` are its symbols so far, sorted by start.
pub(super) fn stubs<'d, E: FileHeader<Endian = Endianness>>(
    image: &Image<'d, E>,
    known: &[Candidate<'d>],
) -> Result<Vec<Candidate<'d>>, String> {
    let read: fn(&[u8], u64) -> Vec<Stub> = match image.machine {
        elf::EM_X86_64 if E::is_type_64_sized() => x86_64,
        elf::EM_AARCH64 if E::is_type_64_sized() => aarch64,
        _ => return Ok(Vec::new()),
    };
    let sections = STUB_SECTIONS.iter().filter_map(|name| image.section_named(name));
    let code: Vec<(u64, &[u8])> =
        sections.filter_map(|section| Some((section.sh_addr(image.endian).into(), image.data(section)?))).collect();
    if code.is_empty() {
        return Ok(Vec::new());
    }
    let slots = Slots::of(image, known)?;
    let mut found = Vec::new();
    for (address, bytes) in code {
        for stub in read(bytes, address) {
            let Some(name) = slots.name(stub.target) else { continue };
            let Some(start) = image.relative(stub.start) else { continue };
            found.push(Candidate { start, size: stub.size, name, binding: Binding::Local, source: SymbolSource::Plt });
        }
    }
    Ok(found)
}

/// One stub: where it lies, and what it uses to find its function.
struct Stub {
    start: u64,
    size: u64,
    target: Target,
}

#[derive(Clone, Copy)]
enum Target {
    /// Stated address of the slot it jumps through.
    Slot(u64),
    /// Number of the relocation that it hands to the dynamic linker.
    Relocation(usize),
}

/// What the slots of the global offset table will hold.
struct Slots<'d> {
    /// Sorted by stated address of the slot.
    by_address: Vec<(u64, &'d [u8])>,
    /// In the order of `.rela.plt`; empty where the name is not known.
    by_relocation: Vec<&'d [u8]>,
}

impl<'d> Slots<'d> {
    fn of<E: FileHeader<Endian = Endianness>>(image: &Image<'d, E>, known: &[Candidate<'d>]) -> Result<Self, String> {
        let mut slots = Self { by_address: Vec::new(), by_relocation: Vec::new() };
        for section_name in [&b".rela.plt"[..], b".rela.dyn"] {
            let Some(section) = image.section_named(section_name) else { continue };
            let relocations = section.rela(image.endian, image.bytes).map_err(|error| error.to_string())?;
            let Some((relocations, table)) = relocations else { continue };
            let table = image.sections.get(table.0);
            let symbols = table.and_then(|table| table.data_as_array::<E::Sym, _>(image.endian, image.bytes).ok());
            let names = table.and_then(|table| strings_of(image, table));
            for relocation in relocations {
                let name = match Meaning::of(relocation.r_type(image.endian, false), image.machine) {
                    Meaning::Function => {
                        let number = usize::try_from(relocation.r_sym(image.endian, false)).ok();
                        let symbol = number.and_then(|number| symbols?.get(number));
                        symbol.and_then(|symbol| name_at(names?, symbol.st_name(image.endian)))
                    }
                    Meaning::Chosen => {
                        let resolver: i64 = relocation.r_addend(image.endian).into();
                        image.relative(resolver.cast_unsigned()).and_then(|resolver| name_of(known, resolver))
                    }
                    Meaning::Other => None,
                };
                let name = name.unwrap_or_default();
                if !name.is_empty() {
                    slots.by_address.push((relocation.r_offset(image.endian).into(), name));
                }
                if section_name == b".rela.plt" {
                    slots.by_relocation.push(name);
                }
            }
        }
        slots.by_address.sort();
        Ok(slots)
    }

    fn name(&self, target: Target) -> Option<&'d [u8]> {
        match target {
            Target::Slot(address) => {
                let at = self.by_address.binary_search_by_key(&address, |slot| slot.0).ok()?;
                self.by_address.get(at).map(|slot| slot.1)
            }
            Target::Relocation(number) => self.by_relocation.get(number).copied().filter(|name| !name.is_empty()),
        }
    }
}

/// What a relocation puts into its slot.
enum Meaning {
    /// The address of the function that it names.
    Function,
    /// What a function of this image chooses when the program starts.
    Chosen,
    Other,
}

impl Meaning {
    fn of(kind: elf::RelocationType, machine: elf::Machine) -> Self {
        match (machine, kind) {
            (elf::EM_X86_64, elf::R_X86_64_JUMP_SLOT | elf::R_X86_64_GLOB_DAT) => Self::Function,
            (elf::EM_AARCH64, elf::R_AARCH64_JUMP_SLOT | elf::R_AARCH64_GLOB_DAT) => Self::Function,
            (elf::EM_X86_64, elf::R_X86_64_IRELATIVE) => Self::Chosen,
            (elf::EM_AARCH64, elf::R_AARCH64_IRELATIVE) => Self::Chosen,
            _ => Self::Other,
        }
    }
}

fn name_of<'d>(known: &[Candidate<'d>], start: u64) -> Option<&'d [u8]> {
    let at = known.partition_point(|candidate| candidate.start < start);
    let same = known.get(at..)?.iter().take_while(|candidate| candidate.start == start);
    same.min_by(|left, right| readable::compare((left.name, left.binding), (right.name, right.binding)))
        .map(|candidate| candidate.name)
}

/// Stubs begin at multiples of this many bytes, of 8 in a `.plt.got` without branch marks.
const X86_64_STUB: usize = 16;

fn x86_64(bytes: &[u8], address: u64) -> Vec<Stub> {
    let mut found = Vec::new();
    let mut at = 0_usize;
    while let Some(stub) = bytes.get(at..).filter(|rest| rest.len() >= 6) {
        let start = address.saturating_add(u64::try_from(at).unwrap_or(u64::MAX));
        let target = x86_64_target(stub.get(..X86_64_STUB).unwrap_or(stub), start);
        // The short form: `jmp` and two bytes of nothing, so that the next stub begins after eight bytes.
        let short = stub.starts_with(&[0xff, 0x25]) && stub.get(6..8).is_some_and(|fill| fill == [0x66, 0x90]);
        let size = if short { 8 } else { X86_64_STUB };
        if let Some(target) = target {
            found.push(Stub { start, size: u64::try_from(size).unwrap_or(0), target });
        }
        at = at.saturating_add(size);
    }
    found
}

fn x86_64_target(stub: &[u8], start: u64) -> Option<Target> {
    let marked = stub.strip_prefix(&[0xf3, 0x0f, 0x1e, 0xfa]); // endbr64
    let body = marked.unwrap_or(stub);
    // `push $n`, then a jump to the head: the n-th relocation. A plain `.plt` jumps through its slot before that.
    if let Some(number) = body.strip_prefix(&[0x68]) {
        return Some(Target::Relocation(usize::try_from(little_endian_32(number)?).ok()?));
    }
    // `mov $n, %r11d` comes first in some linkers' stubs; `bnd` in older ones.
    let body = if body.starts_with(&[0x41, 0xbb]) { body.get(6..)? } else { body };
    let body = body.strip_prefix(&[0xf2]).unwrap_or(body);
    let distance = body.strip_prefix(&[0xff, 0x25])?; // jmp *distance(%rip)
    let after = stub.len().checked_sub(distance.len())?.checked_add(4)?;
    let after = start.checked_add(u64::try_from(after).ok()?)?;
    Some(Target::Slot(after.wrapping_add_signed(i64::from(little_endian_32(distance)?.cast_signed()))))
}

fn little_endian_32(bytes: &[u8]) -> Option<u32> {
    bytes.first_chunk().map(|word| u32::from_le_bytes(*word))
}

fn aarch64(bytes: &[u8], address: u64) -> Vec<Stub> {
    const BRANCH_MARK: u32 = 0xd503_245f; // bti c
    let count = bytes.len().checked_div(4).unwrap_or(0);
    let Ok((words, _)) = object::slice_from_bytes::<U32<Endianness>>(bytes, count) else { return Vec::new() };
    let word = |at: usize| words.get(at).map(|word| word.get(Endianness::Little));
    let mut found = Vec::new();
    for at in 0..words.len() {
        let (Some(page), Some(load)) = (word(at), word(at.saturating_add(1))) else { break };
        // adrp x16, page; ldr x17, [x16, #offset]
        if page & 0x9f00_001f != 0x9000_0010 || load & 0xffc0_03ff != 0xf940_0211 {
            continue;
        }
        let marked = at.checked_sub(1).and_then(word) == Some(BRANCH_MARK);
        let begin = at.saturating_sub(usize::from(marked));
        let here = address.saturating_add(u64::try_from(at).unwrap_or(0).saturating_mul(4));
        let pages = i64::from((((page >> 3) & 0x001f_fffc | (page >> 29) & 3) << 11).cast_signed() >> 11);
        let slot_page = (here & !0xfff).wrapping_add_signed(pages.saturating_mul(4096));
        let slot = slot_page.wrapping_add(u64::from((load >> 10) & 0xfff).saturating_mul(8));
        found.push(Stub {
            start: address.saturating_add(u64::try_from(begin).unwrap_or(0).saturating_mul(4)),
            size: 16_u64.saturating_add(if marked { 4 } else { 0 }),
            target: Target::Slot(slot),
        });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(read: fn(&[u8], u64) -> Vec<Stub>, code: &[u8], wanted: &[(u64, u64, u64)]) {
        let found: Vec<(u64, u64, u64)> = read(code, 0x40_0600)
            .into_iter()
            .map(|stub| match stub.target {
                Target::Slot(slot) => (stub.start, stub.size, slot),
                Target::Relocation(number) => panic!("relocation {number}"),
            })
            .collect();
        assert_eq!(found, wanted, "{code:x?}");
    }

    #[test]
    fn aarch64_stubs_lead_to_their_slots() {
        let code = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
        // adrp x16, 0x411000; ldr x17, [x16, #24]; add x16, x16, #24; br x17
        let plain = code(&[0xb000_0090, 0xf940_0e11, 0x9100_6210, 0xd61f_0220]);
        check(aarch64, &plain, &[(0x40_0600, 16, 0x41_1018)]);
        let marked = code(&[0xd503_245f, 0xb000_0090, 0xf940_0e11, 0x9100_6210, 0xd61f_0220, 0xd503_201f]);
        check(aarch64, &marked, &[(0x40_0600, 20, 0x41_1018)]);
        // One page below the code.
        check(aarch64, &code(&[0xf0ff_fff0, 0xf940_0e11]), &[(0x40_0600, 16, 0x3f_f018)]);
        check(aarch64, &code(&[0xf0ff_fff0]), &[]);
    }

    #[test]
    fn x86_64_short_stubs_follow_each_other_after_eight_bytes() {
        let code = [0xff, 0x25, 0xfa, 0x09, 0, 0, 0x66, 0x90, 0xff, 0x25, 0xfa, 0x09, 0, 0, 0x66, 0x90];
        check(x86_64, &code, &[(0x40_0600, 8, 0x40_1000), (0x40_0608, 8, 0x40_1008)]);
    }
}
