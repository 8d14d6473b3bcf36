//! Any bytes, in any chunks: no panic, and the same items and summary as all at once.

#![no_main]

#[path = "../shared/nettrace.rs"]
mod shared;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((&size, bytes)) = data.split_first() else { return };
    assert_eq!(shared::decode(bytes, size.into()), shared::decode(bytes, usize::MAX));
});
