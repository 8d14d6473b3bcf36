//! Libraries and the kernel of the machine that runs the test.

use std::collections::BTreeMap;
use std::path::Path;

use strata_address::{Avma, Svma};
use strata_resolve::elf::{ElfSymbols, SymbolSource};
use strata_resolve::files::{FilePath, Files, HostFiles};
use strata_resolve::kernel::{KernelHidden, KernelKnobs, KernelSymbols};

use crate::oracle::{self, Listed, Random};

/// Compares 20,000 look-ups in `.text` with the symbols that `readelf` lists in `files`.
fn check(symbols: &ElfSymbols, image: &Path, files: &[&Path]) {
    let listed: Vec<Listed> = files.iter().flat_map(|file| oracle::functions(file)).collect();
    let unwind = oracle::unwind_ranges(image);
    let (text, size) = oracle::section(image, ".text");
    let base = symbols.layout().base();
    let mut random = Random::new();
    let (mut named, mut unnamed, mut synthetic) = (0, 0, 0);
    for _ in 0..20_000 {
        let address = text + random.below(size);
        let found = symbols.lookup(Svma(address).relative_to(base).unwrap());
        let holding: Vec<&Listed> =
            listed.iter().filter(|symbol| symbol.start <= address && address - symbol.start < symbol.size).collect();
        let context = || format!("{} at {address:#x}: {found:?}, of {holding:?}", image.display());
        if let Some(innermost) = holding.iter().map(|symbol| symbol.start).max() {
            let found = found.unwrap_or_else(|| panic!("{}", context()));
            assert_eq!(found.start, Svma(innermost).relative_to(base).unwrap(), "{}", context());
            assert!(holding.iter().any(|symbol| symbol.name == found.name), "{}", context());
            assert!(found.source < SymbolSource::Plt, "{}", context());
            named += 1;
        } else if let Some(found) = found {
            // Nothing states a size here: the unwind table holds the address, or a symbol without a size does.
            let in_unwind = unwind.iter().any(|(start, end)| (*start..*end).contains(&address));
            let start = base.0 + found.start.0;
            let sizeless = listed.iter().any(|symbol| symbol.start == start && symbol.size == 0);
            let untyped = found.source != SymbolSource::UnwindTable;
            assert!(in_unwind || sizeless || untyped, "{}", context());
            synthetic += 1;
        } else {
            assert!(!unwind.iter().any(|(start, end)| (*start..*end).contains(&address)), "{}", context());
            unnamed += 1;
        }
    }
    println!("{}: {named} by symbol, {synthetic} by unwind entry, {unnamed} in no function", image.display());
    assert!(named + synthetic > 15_000, "{}: {named} + {synthetic} of 20,000 named", image.display());
}

fn system_library(name: &str) -> String {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let loaded = maps.split_whitespace().find(|word| word.ends_with(name));
    loaded.unwrap_or_else(|| panic!("this test does not use {name}")).to_owned()
}

#[test]
fn exported_functions_agree_with_readelf() {
    for name in ["libc.so.6", "libgcc_s.so.1"] {
        let path = system_library(name);
        let bytes = HostFiles::default().read(&FilePath::on_host(&path)).unwrap();
        let symbols = ElfSymbols::parse(&bytes).unwrap();
        assert_eq!(symbols.problems(), []);
        check(&symbols, Path::new(&path), &[Path::new(&path)]);
    }
}

#[test]
fn a_debug_file_of_the_machine_is_used_if_it_is_there() {
    let path = system_library("libc.so.6");
    let named = FilePath::on_host(&path);
    let bytes = HostFiles::default().read(&named).unwrap();
    let symbols = ElfSymbols::parse_with_debug_files(&bytes, &named, &HostFiles::default()).unwrap();
    let notes = oracle::output("readelf", &["-nW", &path]);
    let build_id = notes.lines().find_map(|line| Some(line.split_once("Build ID: ")?.1.trim())).unwrap();
    assert_eq!(symbols.build_id().unwrap().to_string(), build_id);
    let expected = format!("/usr/lib/debug/.build-id/{}/{}.debug", &build_id[..2], &build_id[2..]);
    if Path::new(&expected).exists() {
        assert_eq!(symbols.debug_file(), Some(Path::new(&expected)));
        check(&symbols, Path::new(&path), &[Path::new(&path), Path::new(&expected)]);
    } else {
        assert_eq!(symbols.debug_file(), None);
        check(&symbols, Path::new(&path), &[Path::new(&path)]);
    }
}

#[test]
fn exported_functions_agree_with_nm() {
    let path = system_library("libc.so.6");
    let bytes = HostFiles::default().read(&FilePath::on_host(&path)).unwrap();
    let symbols = ElfSymbols::parse(&bytes).unwrap();
    let mut by_address: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    for line in oracle::output("nm", &["-D", "--defined-only", "-n", &path]).lines() {
        let fields: Vec<&str> = line.split_whitespace().collect();
        if let [address, "T" | "t" | "W" | "i", name] = fields[..] {
            let name = name.split('@').next().unwrap().to_owned();
            by_address.entry(u64::from_str_radix(address, 16).unwrap()).or_default().push(name);
        }
    }
    assert!(by_address.len() > 1000);
    for (address, names) in by_address {
        let found = symbols.lookup(Svma(address).relative_to(symbols.layout().base()).unwrap()).unwrap();
        assert!(names.iter().any(|name| name == found.name), "{address:#x}: {found:?}, of {names:?}");
    }
}

#[test]
fn call_stubs_agree_with_objdump() {
    let mut compared = 0;
    for path in [system_library("libc.so.6"), system_library("libgcc_s.so.1"), "/usr/bin/readelf".to_owned()] {
        let path = std::fs::canonicalize(path).unwrap();
        let symbols = ElfSymbols::parse(&std::fs::read(&path).unwrap()).unwrap();
        for (address, name) in oracle::stubs(&path) {
            let found = symbols.lookup(Svma(address).relative_to(symbols.layout().base()).unwrap());
            let found = found.unwrap_or_else(|| panic!("{}: nothing at {address:#x}, {name}", path.display()));
            assert_eq!((found.name, found.source), (name.as_str(), SymbolSource::Plt), "{}", path.display());
            compared += 1;
        }
    }
    assert!(compared > 50, "only {compared} stubs");
}

#[test]
fn kernel_functions_agree_with_the_kernels_list() {
    let text = HostFiles::default().read(&FilePath::on_host("/proc/kallsyms")).unwrap();
    let knob = |name: &str| std::fs::read_to_string(name).ok().and_then(|value| value.trim().parse().ok());
    let knobs = KernelKnobs {
        kptr_restrict: knob("/proc/sys/kernel/kptr_restrict"),
        perf_event_paranoid: knob("/proc/sys/kernel/perf_event_paranoid"),
    };
    let symbols = match KernelSymbols::parse_kallsyms(&text, knobs) {
        Ok(symbols) => symbols,
        Err(hidden) => {
            // Right only if the list really shows nothing.
            assert!(matches!(hidden, KernelHidden::AddressesHidden { .. } | KernelHidden::NoSymbols), "{hidden}");
            let shown = String::from_utf8_lossy(&text).lines().any(|line| !line.starts_with("0000000000000000"));
            assert!(!shown, "{hidden}, but addresses are shown");
            return;
        }
    };
    assert_eq!(symbols.malformed().count, 0);
    let mut by_address: BTreeMap<u64, Vec<(String, Option<String>)>> = BTreeMap::new();
    for line in String::from_utf8_lossy(&text).lines() {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let (address, name, module) = match fields[..] {
            [address, "t" | "T" | "w" | "W" | "i", name] => (address, name, None),
            [address, "t" | "T" | "w" | "W" | "i", name, module] => {
                (address, name, Some(module.trim_matches(['[', ']']).to_owned()))
            }
            _ => continue,
        };
        let address = u64::from_str_radix(address, 16).unwrap();
        by_address.entry(address).or_default().push((name.to_owned(), module));
    }
    assert_eq!(symbols.len(), by_address.len());
    let mut inside = 0;
    let mut starts = by_address.keys().skip(1).copied();
    for (address, names) in &by_address {
        for lookup in [*address, address + 3] {
            if starts.clone().next().is_some_and(|next| lookup >= next) {
                continue;
            }
            let Some(found) = symbols.lookup(Avma(lookup)) else {
                assert_ne!(lookup, *address, "{names:?}");
                continue;
            };
            let found = (found.name.to_owned(), found.module.map(str::to_owned));
            assert!(names.contains(&found), "{lookup:#x}: {found:?}, of {names:?}");
            inside += 1;
        }
        starts.next();
    }
    assert!(inside > by_address.len());
    assert_eq!(symbols.lookup(Avma(0x1000)), None);
}

/// The kernel's own library has no file: its bytes come from memory.
#[test]
fn the_image_that_the_kernel_maps_is_read_from_memory() {
    use std::os::unix::fs::FileExt;
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let Some(line) = maps.lines().find(|line| line.ends_with("[vdso]")) else { return };
    let (start, end) = line.split_once(' ').unwrap().0.split_once('-').unwrap();
    let hex = |digits| u64::from_str_radix(digits, 16).unwrap();
    let mut bytes = vec![0; (hex(end) - hex(start)) as usize];
    std::fs::File::open("/proc/self/mem").unwrap().read_exact_at(&mut bytes, hex(start)).unwrap();
    let symbols = ElfSymbols::parse(&bytes).unwrap();
    let readable: Vec<&str> = symbols.symbols().map(|symbol| symbol.name).collect();
    assert!(readable.iter().any(|name| name.ends_with("clock_gettime")), "{readable:?}");
}
