//! The .NET runtime's own libraries, which are stripped.

use std::path::PathBuf;

use strata_address::{Rva, Svma};
use strata_resolve::elf::{ElfSymbols, SymbolSource};
use strata_testkit::live::Runtime;

use crate::oracle;

/// The folder of the .NET 8 runtime.
pub(crate) fn dotnet_8() -> PathBuf {
    let framework = Runtime::Net8.framework().unwrap_or_else(|missing| panic!("{missing}"));
    framework.expect("the shared framework is a folder")
}

#[test]
fn the_unwind_table_names_the_code_of_stripped_runtime_libraries() {
    for name in ["libcoreclr.so", "libclrjit.so"] {
        let path = dotnet_8().join(name);
        let symbols = ElfSymbols::parse(&std::fs::read(&path).unwrap()).unwrap();
        assert_eq!(symbols.problems(), []);
        let base = symbols.layout().base();
        let (text, size) = oracle::section(&path, ".text");
        let text_end = text + size;
        let mut covered = 0;
        for (start, end) in
            oracle::unwind_ranges(&path).into_iter().filter(|(start, _)| (text..text_end).contains(start))
        {
            covered += end - start;
            for address in [start, end - 1] {
                let rva = Svma(address).relative_to(base).unwrap();
                let found = symbols.lookup(rva).unwrap_or_else(|| panic!("{name}: nothing at {address:#x}"));
                if found.source == SymbolSource::UnwindTable {
                    assert_eq!(found.name, format!("fun_{:x}", start - base.0), "{name} at {address:#x}");
                    assert_eq!((found.start.0, found.size), (start - base.0, end - start), "{name} at {address:#x}");
                } else {
                    assert_eq!(found.source, SymbolSource::SymbolTable, "{name} at {address:#x}");
                }
            }
        }
        let share = covered as f64 / size as f64;
        println!("{name}: {:.1} % of .text has a name", 100.0 * share);
        assert!(share > 0.9, "{name}: only {share}");
        let exported = if name == "libcoreclr.so" { "coreclr_initialize" } else { "jitStartup" };
        assert!(symbols.symbols().any(|symbol| symbol.name == exported && symbol.source == SymbolSource::SymbolTable));
        assert_eq!(symbols.lookup(Rva(u64::MAX)), None);
        // Headers come first in the image and are no code.
        assert_eq!(symbols.lookup(Rva(0)), None);
    }
}

#[test]
fn call_stubs_of_the_runtime_agree_with_objdump() {
    let path = dotnet_8().join("libcoreclr.so");
    let symbols = ElfSymbols::parse(&std::fs::read(&path).unwrap()).unwrap();
    let stubs = oracle::stubs(&path);
    assert!(stubs.len() > 200);
    for (address, name) in stubs {
        let found = symbols.lookup(Svma(address).relative_to(symbols.layout().base()).unwrap()).unwrap();
        assert_eq!((found.name, found.source), (name.as_str(), SymbolSource::Plt));
    }
}
