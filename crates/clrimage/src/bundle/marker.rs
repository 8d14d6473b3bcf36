//! Finding a bundle's manifest: 32 bytes in the host's data, behind the file offset of the manifest.

use memchr::memmem;

/// SHA-256 of the text ".net core bundle" and a newline.
const MARKER: [u8; 32] = [
    0x8b, 0x12, 0x02, 0xb9, 0x6a, 0x61, 0x20, 0x38, 0x72, 0x7b, 0x93, 0x02, 0x14, 0xd7, 0xa0, 0x32, 0x13, 0xf5, 0xb9,
    0xe6, 0xef, 0xae, 0x33, 0x18, 0xee, 0x3b, 0x2d, 0xce, 0x24, 0xb3, 0x6a, 0xae,
];

/// Hosts have it within their first 12 MiB.
const SEARCHED: usize = 128 << 20;

/// Every bundle seen has one; more are looked at because a reader of bundles may itself be inside of one.
const MOST_MARKERS: usize = 8;

/// Where manifests may be: nonzero file offsets inside of `executable`, in the order of their markers.
pub(super) fn manifest_offsets(executable: &[u8]) -> impl Iterator<Item = usize> {
    let searched = executable.get(..SEARCHED).unwrap_or(executable);
    memmem::find_iter(searched, &MARKER).take(MOST_MARKERS).filter_map(|marker| {
        let field = executable.get(marker.checked_sub(8)?..marker)?;
        let offset = usize::try_from(u64::from_le_bytes(field.try_into().ok()?)).ok()?;
        (offset != 0 && offset < executable.len()).then_some(offset)
    })
}
