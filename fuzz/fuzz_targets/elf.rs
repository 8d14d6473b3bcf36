//! Any bytes as an ELF image: no panic, and every function found holds the address that was asked for.

#![no_main]

use libfuzzer_sys::fuzz_target;
use strata_address::Rva;
use strata_resolve::elf::ElfSymbols;

fuzz_target!(|bytes: &[u8]| {
    let Ok(symbols) = ElfSymbols::parse(bytes) else { return };
    for symbol in symbols.symbols() {
        if let Some(found) = symbols.lookup(symbol.start) {
            assert!(found.start <= symbol.start);
            assert!(symbol.start.0 - found.start.0 < found.size);
        }
    }
    let _ = symbols.lookup(Rva(u64::MAX));
    for offset in 0..64 {
        let _ = symbols.layout().rva_of_file_offset(offset << 10);
    }
});
