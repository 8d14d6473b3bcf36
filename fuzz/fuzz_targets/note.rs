//! Any bytes as the note of a sample.

#![no_main]

use libfuzzer_sys::fuzz_target;
use strata_stack::note;

fuzz_target!(|bytes: &[u8]| {
    if let Some(read) = note::decode(bytes) {
        let mut again = Vec::new();
        note::encode(read.end, read.found(), &mut again);
        let same = note::decode(&again).expect("what was written is read");
        assert_eq!(same.end, read.end);
        assert!(same.found().eq(read.found()));
    }
});
