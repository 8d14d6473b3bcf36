//! Prints how long the symbols of each file take to read and how much memory they hold:
//! `cargo run --release -p strata-resolve --example symbol_tables -- /lib/x86_64-linux-gnu/libc.so.6 /proc/kallsyms`.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use strata_resolve::elf::ElfSymbols;
use strata_resolve::files::{FilePath, Files, HostFiles};
use strata_resolve::kernel::{KernelKnobs, KernelSymbols};

fn main() {
    for path in std::env::args().skip(1) {
        match measure(&path) {
            Ok(line) => println!("{path}: {line}"),
            Err(reason) => println!("{path}: {reason}"),
        }
    }
}

fn measure(path: &str) -> Result<String, String> {
    let files = HostFiles::default();
    let named = FilePath::on_host(path);
    let begin = Instant::now();
    let bytes = files.read(&named).map_err(|error| error.to_string())?;
    let reading = begin.elapsed();
    if path.ends_with("kallsyms") {
        let (symbols, parsing) = best_of(|| KernelSymbols::parse_kallsyms(&bytes, KernelKnobs::default()));
        let symbols = symbols.map_err(|error| error.to_string())?;
        return Ok(format!(
            "{} bytes read in {reading:.1?}, parsed in {parsing:.1?}; {} functions in {} bytes",
            bytes.len(),
            symbols.len(),
            symbols.memory()
        ));
    }
    let (alone, parsing) = best_of(|| ElfSymbols::parse(&bytes));
    let alone = alone.map_err(|error| error.to_string())?;
    let (full, with_debug) = best_of(|| ElfSymbols::parse_with_debug_files(&bytes, &named, &files));
    let full = full.map_err(|error| error.to_string())?;
    Ok(format!(
        "{} bytes read in {reading:.1?}; alone: {parsing:.1?}, {}, {} bytes; with debug file {:?}: {with_debug:.1?}, {}, \
         {} bytes; problems {:?}",
        bytes.len(),
        by_source(&alone),
        alone.memory(),
        full.debug_file(),
        by_source(&full),
        full.memory(),
        full.problems(),
    ))
}

fn by_source(symbols: &ElfSymbols) -> String {
    let mut counts = BTreeMap::new();
    for symbol in symbols.symbols() {
        *counts.entry(symbol.source).or_insert(0) += 1;
    }
    format!("{counts:?}")
}

/// The last result and the shortest of five times.
fn best_of<T>(mut work: impl FnMut() -> T) -> (T, Duration) {
    let mut best = Duration::MAX;
    let mut round = || {
        let begin = Instant::now();
        let result = work();
        best = best.min(begin.elapsed());
        result
    };
    let mut result = round();
    for _ in 0..4 {
        result = round();
    }
    (result, best)
}
