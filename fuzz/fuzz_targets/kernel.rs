//! Any text as the kernel's symbol list.

#![no_main]

use libfuzzer_sys::fuzz_target;
use strata_address::Avma;
use strata_resolve::kernel::{KernelKnobs, KernelSymbols};

fuzz_target!(|input: (&[u8], u64)| {
    let (text, address) = input;
    if let Ok(symbols) = KernelSymbols::parse_kallsyms(text, KernelKnobs::default())
        && let Some(symbol) = symbols.lookup(Avma(address))
    {
        assert!(symbol.start <= Avma(address));
    }
});
