//! Finding the separate debug file of an image, and making sure that it is the right one.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use memchr::memchr;
use object::Endianness;
use object::read::elf::FileHeader;

use super::BuildId;
use super::image::Image;
use crate::files::{FileBytes, FilePath, Files};

const DEBUG_ROOT: &str = "/usr/lib/debug";

/// A debug file that belongs to the image.
pub(super) struct DebugFile {
    pub(super) path: PathBuf,
    pub(super) bytes: FileBytes,
}

/// The first file, in the order in which debuggers look, that exists and belongs to the image at `path`.
pub(super) fn find<E: FileHeader<Endian = Endianness>>(
    image: &Image<'_, E>,
    build_id: Option<&BuildId>,
    path: &FilePath,
    files: &dyn Files,
) -> Option<DebugFile> {
    let by_build_id = build_id.and_then(build_id_path).map(|path| (path, None));
    let link =
        image.section_named(b".gnu_debuglink").and_then(|section| DebugLink::parse(image.data(section)?, image.endian));
    let by_link = link.iter().flat_map(|link| link.places(path.path()).map(|place| (place, Some(link.crc))));
    by_build_id.into_iter().chain(by_link).find_map(|(place, crc)| {
        let bytes = files.read(&path.neighbour(&place)).ok()?;
        belongs::<E>(&bytes, build_id, crc).then_some(DebugFile { path: place, bytes })
    })
}

/// The build ids decide when both files have one; otherwise the checksum that came with the link.
fn belongs<E: FileHeader<Endian = Endianness>>(bytes: &[u8], build_id: Option<&BuildId>, crc: Option<u32>) -> bool {
    let Ok(other) = Image::<E>::parse(bytes, &mut Vec::new()) else { return false };
    match (build_id, other.build_id()) {
        (Some(wanted), Some(found)) => *wanted == found,
        _ => crc.is_some_and(|crc| crc == crc32(bytes)),
    }
}

fn build_id_path(build_id: &BuildId) -> Option<PathBuf> {
    let hex = build_id.to_string();
    let (first, rest) = hex.split_at_checked(2)?;
    (!rest.is_empty()).then(|| format!("{DEBUG_ROOT}/.build-id/{first}/{rest}.debug").into())
}

/// The content of `.gnu_debuglink`: a file name, padding to four bytes, and the checksum of that file.
struct DebugLink<'d> {
    name: &'d Path,
    crc: u32,
}

impl<'d> DebugLink<'d> {
    fn parse(data: &'d [u8], endian: Endianness) -> Option<Self> {
        let name = data.get(..memchr(0, data)?)?;
        let crc_at = name.len().checked_add(1)?.checked_next_multiple_of(4)?;
        let crc: [u8; 4] = data.get(crc_at..)?.first_chunk().copied()?;
        let crc = match endian {
            Endianness::Little => u32::from_le_bytes(crc),
            Endianness::Big => u32::from_be_bytes(crc),
        };
        // Only a plain name: a link must not lead out of the directories where debug files lie.
        let plain = !name.is_empty() && !name.contains(&b'/') && name != b"." && name != b"..";
        plain.then(|| Self { name: Path::new(OsStr::from_bytes(name)), crc })
    }

    fn places(&self, image: &Path) -> impl Iterator<Item = PathBuf> {
        let directory = image.parent().unwrap_or(Path::new("/"));
        let below_root = Path::new(DEBUG_ROOT).join(directory.strip_prefix("/").unwrap_or(directory));
        [directory.join(self.name), directory.join(".debug").join(self.name), below_root.join(self.name)]
            .into_iter()
            .filter(move |place| place != image)
    }
}

/// CRC-32 as in `.gnu_debuglink` and `.xz` (polynomial of ISO 3309, reflected).
pub(super) fn crc32(bytes: &[u8]) -> u32 {
    const TABLE: [u32; 256] = crc32_table();
    !bytes.iter().fold(!0_u32, |crc, byte| {
        let index = usize::from(crc.to_le_bytes()[0] ^ byte);
        TABLE.get(index).copied().unwrap_or(0) ^ (crc >> 8)
    })
}

#[expect(clippy::indexing_slicing, clippy::arithmetic_side_effects, reason = "run by the compiler, which checks both")]
const fn crc32_table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut index = 0;
    while index < 256 {
        let mut value = index as u32;
        let mut bit = 0;
        while bit < 8 {
            value = if value & 1 == 0 { value >> 1 } else { (value >> 1) ^ 0xedb8_8320 };
            bit += 1;
        }
        table[index] = value;
        index += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crc32_of_the_usual_check_string() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    }

    #[test]
    fn a_link_leads_to_the_usual_places_and_nowhere_else() {
        let data = b"libx.debug\0\0\x78\x56\x34\x12";
        let link = DebugLink::parse(data, Endianness::Little).unwrap();
        assert_eq!(link.crc, 0x1234_5678);
        let places: Vec<PathBuf> = link.places(Path::new("/opt/lib/libx.so")).collect();
        let wanted = ["/opt/lib/libx.debug", "/opt/lib/.debug/libx.debug", "/usr/lib/debug/opt/lib/libx.debug"];
        assert_eq!(places, wanted.map(PathBuf::from));
        for bad in
            [&b"../../x\0\0\0\0\0"[..], b"..\0\0\0\0\0\0", b"\0\0\0\0\0\0\0\0", b"name", b"", b"name\0\0\0\0\0\0"]
        {
            assert!(DebugLink::parse(bad, Endianness::Little).is_none(), "{bad:?}");
        }
    }
}
