//! Where functions begin and end according to `.eh_frame`, for images without symbols.

use std::collections::HashMap;

use gimli::{BaseAddresses, CieOrFde, EhFrame, EhFrameHdr, EndianSlice, RunTimeEndian, UnwindSection};
use object::read::elf::{FileHeader, SectionHeader};
use object::{Endianness, elf};

use super::image::Image;
use super::{ElfPart, ElfProblem, Extent};

/// The function ranges in the unwind table, sorted by start, relative to the image base.
pub(super) fn functions<E: FileHeader<Endian = Endianness>>(
    image: &Image<'_, E>,
    problems: &mut Vec<ElfProblem>,
) -> Vec<Extent> {
    let Some(place) = Place::find(image) else { return Vec::new() };
    let mut found = Vec::new();
    if let Err((offset, error)) = collect(image, &place, &mut found) {
        let offset = place.file_offset.saturating_add(offset);
        problems.push(ElfProblem { part: ElfPart::UnwindTable, offset, reason: error.to_string() });
    }
    found.sort();
    found.dedup();
    found
}

struct Place<'d> {
    data: &'d [u8],
    address: u64,
    file_offset: u64,
}

impl<'d> Place<'d> {
    fn find<E: FileHeader<Endian = Endianness>>(image: &Image<'d, E>) -> Option<Self> {
        if let Some(section) = image.section_named(b".eh_frame") {
            return Some(Self {
                data: image.data(section)?,
                address: section.sh_addr(image.endian).into(),
                file_offset: section.sh_offset(image.endian).into(),
            });
        }
        // Without section headers the segment for the unwinder still leads there; the table ends itself with a zero.
        let (address, header) = image.segment_of_type(elf::PT_GNU_EH_FRAME)?;
        let bases = BaseAddresses::default().set_eh_frame_hdr(address);
        let header = EhFrameHdr::new(header, endian(image)).parse(&bases, address_size::<E>()).ok()?;
        let address = header.eh_frame_ptr().direct().ok()?;
        let data = image.loaded_from(address)?;
        let file_offset = data.as_ptr().addr().saturating_sub(image.bytes.as_ptr().addr());
        Some(Self { data, address, file_offset: u64::try_from(file_offset).unwrap_or(0) })
    }
}

fn endian<E: FileHeader<Endian = Endianness>>(image: &Image<'_, E>) -> RunTimeEndian {
    match image.endian {
        Endianness::Little => RunTimeEndian::Little,
        Endianness::Big => RunTimeEndian::Big,
    }
}

fn address_size<E: FileHeader<Endian = Endianness>>() -> u8 {
    if E::is_type_64_sized() { 8 } else { 4 }
}

/// Adds each entry's range; on damage gives the offset in the table and the error, and what came before stays.
fn collect<E: FileHeader<Endian = Endianness>>(
    image: &Image<'_, E>,
    place: &Place<'_>,
    found: &mut Vec<Extent>,
) -> Result<(), (u64, gimli::Error)> {
    let mut table = EhFrame::new(place.data, endian(image));
    table.set_address_size(address_size::<E>());
    let bases = BaseAddresses::default().set_eh_frame(place.address);
    // Thousands of entries share one head; each head is read once.
    let mut heads: HashMap<usize, gimli::CommonInformationEntry<EndianSlice<'_, RunTimeEndian>>> = HashMap::new();
    let mut entries = table.entries(&bases);
    let mut last_offset = 0_u64;
    while let Some(entry) = entries.next().map_err(|error| (last_offset, error))? {
        let CieOrFde::Fde(partial) = entry else { continue };
        last_offset = u64::try_from(partial.offset()).unwrap_or(u64::MAX);
        let parsed = partial.parse(|table, bases, offset| match heads.get(&offset.0) {
            Some(head) => Ok(head.clone()),
            None => {
                let head = table.cie_from_offset(bases, offset)?;
                heads.insert(offset.0, head.clone());
                Ok(head)
            }
        });
        // One bad entry does not hide the next: its length was sound.
        let Ok(entry) = parsed else { continue };
        // The entry of a signal trampoline begins one byte early so that an unadjusted return address finds it.
        let early = u64::from(entry.is_signal_trampoline());
        let Some(start) = image.relative(entry.initial_address()).and_then(|start| start.checked_add(early)) else {
            continue;
        };
        let range = Extent::sized(start, entry.len().saturating_sub(early));
        if !range.is_empty() {
            found.push(range);
        }
    }
    Ok(())
}
