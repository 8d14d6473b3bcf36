//! Any bytes as a precompiled image: no panic, every native map is sorted, and a place is found in it as in the image.

#![no_main]

use libfuzzer_sys::fuzz_target;
use strata_clrimage::{DebugInfo, Image, Layout, il_offset};

fuzz_target!(|bytes: &[u8]| {
    for layout in [Layout::File, Layout::Memory] {
        let Ok(image) = Image::parse(bytes, layout) else { continue };
        let Ok(Some(debug_info)) = DebugInfo::read(&image) else { continue };
        for entry in 0..256 {
            let Ok(Some(map)) = debug_info.map(entry) else { continue };
            // A row takes at least three bits of packed numbers.
            assert!(map.len() <= bytes.len() * 8 / 3);
            assert!(map.is_sorted_by_key(|row| row.native_offset));
            let last = map.last().map_or(0, |row| row.native_offset);
            for offset in [0, last / 2, last.saturating_sub(1), last, u32::MAX] {
                assert_eq!(debug_info.il_offset(entry, offset), Ok(il_offset(&map, offset)));
            }
        }
    }
});
