//! Any bytes as an executable with a bundle: no panic, nothing inflates to another size than it claims, and the file
//! found for an offset holds it.

#![no_main]

use libfuzzer_sys::fuzz_target;
use strata_clrimage::bundle::{self, Bundle};

fuzz_target!(|bytes: &[u8]| {
    let Ok(Some(bundle)) = Bundle::find(bytes) else { return };
    for entry in bundle.entries().iter().take(64) {
        assert!(entry.offset + entry.stored_size() <= bytes.len() as u64);
        if let Ok(content) = bundle::content(bytes, entry) {
            assert_eq!(content.len() as u64, entry.size);
        }
        for offset in [entry.offset, entry.offset + entry.stored_size()] {
            if let Some(found) = bundle.entry_at(offset) {
                assert!(found.offset <= offset && offset - found.offset < found.stored_size());
            }
        }
    }
});
