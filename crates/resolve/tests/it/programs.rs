//! Small programs, built in many ways, that say themselves where their functions lie.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use strata_address::Rva;
use strata_resolve::demangle::demangle;
use strata_resolve::elf::{ElfSymbols, SymbolSource};
use strata_resolve::files::{FileBytes, FileError, FileOrigin, FilePath, Files};
use tempfile::TempDir;

use crate::oracle::output;

const C_SOURCE: &str = r#"
#include <stdio.h>
__attribute__((noinline)) static int hidden(int x) { for (int i = 0; i < x; i++) x ^= i * 3; return x; }
__attribute__((noinline)) int shown(int x) { return hidden(x) + 1; }
extern __typeof__(shown) __attribute__((alias("shown"))) __shown_internal;
int main(int argc, char **argv) {
    printf("hidden %p\nshown %p\nmain %p\n", (void *)hidden, (void *)shown, (void *)main);
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512];
    while (fgets(line, sizeof line, maps)) printf("map %s", line);
    return shown(argc) == 77;
}
"#;

const RUST_SOURCE: &str = r#"
#[inline(never)]
fn hidden(x: u64) -> u64 { (0..x).fold(x, |a, b| a ^ std::hint::black_box(b * 3)) }
mod inner {
    pub struct Wheel(pub u64);
    impl Wheel {
        #[inline(never)]
        pub fn turn(&self) -> u64 { super::hidden(self.0) + 1 }
    }
}
fn main() {
    println!("hidden {:p}", hidden as fn(u64) -> u64);
    println!("inner::Wheel::turn {:p}", inner::Wheel::turn as fn(&inner::Wheel) -> u64);
    let wheel = inner::Wheel(std::env::args().count() as u64);
    for line in std::fs::read_to_string("/proc/self/maps").unwrap().lines() { println!("map {line}"); }
    std::hint::black_box(wheel.turn());
}
"#;

pub(crate) struct Built {
    _folder: TempDir,
    pub(crate) program: PathBuf,
}

impl Built {
    fn beside(&self, name: &str) -> String {
        self.program.with_file_name(name).to_str().unwrap().to_owned()
    }

    fn path(&self) -> &str {
        self.program.to_str().unwrap()
    }

    fn symbols(&self) -> ElfSymbols {
        ElfSymbols::parse(&std::fs::read(&self.program).unwrap()).unwrap()
    }
}

pub(crate) fn build_c(arguments: &[&str]) -> Built {
    let folder = TempDir::new().unwrap();
    let source = folder.path().join("prog.c");
    std::fs::write(&source, C_SOURCE).unwrap();
    let program = folder.path().join("prog");
    let common = ["-O1", "-g", source.to_str().unwrap(), "-o", program.to_str().unwrap()];
    output("gcc", &[&common, arguments].concat());
    Built { _folder: folder, program }
}

fn build_rust(arguments: &[&str]) -> Built {
    let folder = TempDir::new().unwrap();
    let source = folder.path().join("prog.rs");
    std::fs::write(&source, RUST_SOURCE).unwrap();
    let program = folder.path().join("prog");
    let common = ["-O", "--edition=2024", source.to_str().unwrap(), "-o", program.to_str().unwrap()];
    output("rustc", &[&common, arguments].concat());
    Built { _folder: folder, program }
}

/// Runs the program and gives, for each function that it names, where that lies according to the image's layout and the
/// program's own mappings.
fn placed(built: &Built, symbols: &ElfSymbols) -> HashMap<String, Rva> {
    let result = Command::new(&built.program).output().unwrap();
    assert!(result.status.success());
    let text = String::from_utf8(result.stdout).unwrap();
    let own = built.program.canonicalize().unwrap();
    let hex = |digits: &str| u64::from_str_radix(digits, 16).unwrap();
    let mut mappings = Vec::new();
    let mut functions = Vec::new();
    for line in text.lines() {
        let fields: Vec<&str> = line.split_whitespace().collect();
        match fields[..] {
            ["map", range, _, offset, _, _, path] if Path::new(path) == own => {
                let (start, end) = range.split_once('-').unwrap();
                mappings.push((hex(start), hex(end), hex(offset)));
            }
            ["map", ..] => {}
            [name, address] => functions.push((name.to_owned(), hex(address.trim_start_matches("0x")))),
            _ => panic!("{line}"),
        }
    }
    let place = |address: u64| {
        let (start, _, offset) = mappings.iter().find(|(start, end, _)| (*start..*end).contains(&address)).unwrap();
        symbols.layout().rva_of_file_offset(address - start + offset).unwrap()
    };
    functions.into_iter().map(|(name, address)| (name, place(address))).collect()
}

/// Looks each function up at its start, and at its last byte.
fn check_names(built: &Built, symbols: &ElfSymbols, source: SymbolSource) {
    let placed = placed(built, symbols);
    assert!(placed.len() >= 2);
    for (name, rva) in placed {
        let found = symbols.lookup(rva).unwrap_or_else(|| panic!("{name} is not found at {rva}"));
        // Rust's newer mangling tells a method from a function: `<prog::inner::Wheel>::turn`.
        let readable = demangle(found.name).replace(['<', '>'], "");
        assert_eq!(readable.strip_prefix("prog::").unwrap_or(&readable), name);
        assert_eq!((found.start, found.source), (rva, source), "{name}");
        assert!(found.size > 4, "{found:?}");
        assert_eq!(symbols.lookup(Rva(rva.0 + found.size - 1)), Some(found));
    }
}

#[test]
fn functions_of_c_programs_have_their_names() {
    for arguments in [
        &["-pie"][..],
        &["-no-pie"],
        &["-static"],
        &["-static-pie"],
        &["-no-pie", "-Wl,-Ttext-segment=0x10000000"],
        &["-fuse-ld=gold"],
        &["-pie", "-Wl,-z,noseparate-code"],
        &["-pie", "-fcf-protection=full", "-Wl,-z,ibtplt"],
    ] {
        let built = build_c(arguments);
        check_names(&built, &built.symbols(), SymbolSource::SymbolTable);
    }
}

#[test]
fn functions_of_rust_programs_have_their_names() {
    for arguments in [
        &["-Crelocation-model=pie"][..],
        &["-Crelocation-model=static"],
        &["-Csymbol-mangling-version=v0"],
        &["-Clink-self-contained=-linker", "-Clinker-features=-lld"],
    ] {
        let built = build_rust(arguments);
        check_names(&built, &built.symbols(), SymbolSource::SymbolTable);
    }
}

#[test]
fn call_stubs_are_named_after_what_they_call() {
    for arguments in [
        &["-no-pie"][..],
        &["-pie", "-Wl,-z,lazy"],
        &["-pie", "-Wl,-z,now"],
        &["-pie", "-fcf-protection=full", "-Wl,-z,ibtplt,-z,lazy"],
        &["-fuse-ld=gold", "-Wl,-z,lazy"],
    ] {
        let built = build_c(arguments);
        let symbols = built.symbols();
        let base = symbols.layout().base().0;
        let stubs = crate::oracle::stubs(&built.program);
        assert!(stubs.iter().any(|(_, name)| name == "fopen@plt"), "{arguments:?}: {stubs:?}");
        for (address, name) in stubs {
            let found = symbols.lookup(Rva(address - base)).unwrap();
            assert_eq!((found.name, found.source), (name.as_str(), SymbolSource::Plt), "{arguments:?}");
        }
    }
}

#[test]
fn a_stripped_program_has_names_by_place() {
    for arguments in [&["-pie"][..], &["-no-pie"]] {
        let built = build_c(arguments);
        output("strip", &["--strip-all", built.path()]);
        let symbols = built.symbols();
        for (name, rva) in placed(&built, &symbols) {
            let found = symbols.lookup(rva).unwrap();
            let wanted = format!("fun_{:x}", rva.0);
            assert_eq!((found.name, found.source), (wanted.as_str(), SymbolSource::UnwindTable), "{name}");
        }
    }
}

#[test]
fn without_section_headers_the_segments_lead_to_the_unwind_table() {
    let built = build_c(&["-pie"]);
    output("strip", &["--strip-all", built.path()]);
    let mut bytes = std::fs::read(&built.program).unwrap();
    let whole = ElfSymbols::parse(&bytes).unwrap();
    // e_shoff, then e_shentsize, e_shnum and e_shstrndx.
    bytes[0x28..0x30].fill(0);
    bytes[0x3a..0x40].fill(0);
    let bare = ElfSymbols::parse(&bytes).unwrap();
    assert_eq!(bare.problems(), []);
    assert_eq!(bare.build_id(), whole.build_id());
    for (name, rva) in placed(&built, &whole) {
        assert_eq!(bare.lookup(rva).unwrap().start, rva, "{name}");
        assert_eq!(bare.lookup(rva), whole.lookup(rva), "{name}");
    }
}

/// As the GDB manual says: the functions that `.dynsym` lacks, compressed.
pub(crate) fn build_with_mini_debug_info(arguments: &[&str], check: &str) -> Built {
    let built = build_c(arguments);
    let names = |flag: &[&str]| {
        let text = output("nm", &[flag, &["--format=posix", "--defined-only", built.path()]].concat());
        let names: Vec<String> = text.lines().map(|line| line.split(' ').next().unwrap().to_owned()).collect();
        names
    };
    let dynamic = names(&["-D"]);
    let keep: Vec<String> = names(&[]).into_iter().filter(|name| !dynamic.contains(name)).collect();
    std::fs::write(built.beside("keep"), keep.join("\n")).unwrap();
    let (debug, mini) = (built.beside("debug"), built.beside("mini"));
    output("objcopy", &["--only-keep-debug", built.path(), &debug]);
    let keep_symbols = format!("--keep-symbols={}", built.beside("keep"));
    output("objcopy", &["-S", "--remove-section", ".comment", &keep_symbols, &debug, &mini]);
    output("strip", &["--strip-all", "-R", ".comment", built.path()]);
    output("xz", &[&format!("--check={check}"), &mini]);
    output("objcopy", &["--add-section", &format!(".gnu_debugdata={mini}.xz"), built.path()]);
    built
}

#[test]
fn mini_debug_information_names_a_stripped_program() {
    for check in ["crc64", "crc32", "none", "sha256"] {
        let built = build_with_mini_debug_info(&["-pie"], check);
        let symbols = built.symbols();
        assert_eq!(symbols.problems(), []);
        check_names(&built, &symbols, SymbolSource::MiniDebugInfo);
    }
}

/// Files by path, as a recording would hand them over.
struct Given(HashMap<PathBuf, Vec<u8>>);

impl Files for Given {
    fn read(&self, path: &FilePath) -> Result<FileBytes, FileError> {
        let bytes = self.0.get(path.path()).ok_or_else(|| FileError::NotFound { path: path.path().to_owned() })?;
        Ok(FileBytes::new(bytes.clone(), FileOrigin::Given))
    }
}

/// The program stripped, with a link to its debug file, and that debug file's bytes.
fn build_with_debug_file(arguments: &[&str]) -> (Built, Vec<u8>) {
    let built = build_c(arguments);
    let debug = built.beside("prog.debug");
    output("objcopy", &["--only-keep-debug", built.path(), &debug]);
    output("strip", &["--strip-all", built.path()]);
    output("objcopy", &[&format!("--add-gnu-debuglink={debug}"), built.path()]);
    let bytes = std::fs::read(&debug).unwrap();
    std::fs::remove_file(debug).unwrap();
    (built, bytes)
}

fn check_debug_file(built: &Built, place: &str, debug: &[u8], used: bool) {
    let files = Given(HashMap::from([(place.into(), debug.to_vec())]));
    let bytes = std::fs::read(&built.program).unwrap();
    let path = FilePath::in_process(1, "/opt/app/prog");
    let symbols = ElfSymbols::parse_with_debug_files(&bytes, &path, &files).unwrap();
    assert_eq!(symbols.debug_file(), used.then_some(Path::new(place)), "{place}");
    if used {
        check_names(built, &symbols, SymbolSource::DebugFile);
    } else {
        let placed = placed(built, &symbols);
        assert_eq!(symbols.lookup(placed["hidden"]).unwrap().source, SymbolSource::UnwindTable);
    }
}

#[test]
fn a_debug_file_is_used_only_if_it_belongs_to_the_program() {
    let (built, debug) = build_with_debug_file(&["-pie", "-Wl,--build-id=sha1"]);
    let build_id = built.symbols().build_id().unwrap().to_string();
    let by_id = format!("/usr/lib/debug/.build-id/{}/{}.debug", &build_id[..2], &build_id[2..]);
    let (other, other_debug) = build_with_debug_file(&["-pie", "-Wl,--build-id=sha1", "-O3"]);
    assert_ne!(built.symbols().build_id(), other.symbols().build_id());
    for place in [&by_id, "/opt/app/prog.debug", "/opt/app/.debug/prog.debug", "/usr/lib/debug/opt/app/prog.debug"] {
        check_debug_file(&built, place, &debug, true);
        check_debug_file(&built, place, &other_debug, false);
        check_debug_file(&built, place, b"nonsense", false);
    }
    check_debug_file(&built, "/elsewhere/prog.debug", &debug, false);

    let (built, debug) = build_with_debug_file(&["-no-pie", "-Wl,--build-id=none"]);
    assert_eq!(built.symbols().build_id(), None);
    let mut changed = debug.clone();
    *changed.last_mut().unwrap() ^= 1;
    check_debug_file(&built, "/opt/app/prog.debug", &debug, true);
    check_debug_file(&built, "/opt/app/prog.debug", &changed, false);
}

#[test]
fn images_of_32_bits_are_read() {
    let folder = TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let source = ".globl _start\n.type _start,@function\n_start: nop\nnop\n.size _start,.-_start\n\
                  untyped: nop\nnop\nnop\nret\n.section .text.other,\"ax\"\n.type f,@function\nf: ret\n.size f,1\n";
    std::fs::write(at("s"), source).unwrap();
    output("as", &["--32", "-o", &at("o"), &at("s")]);
    output("ld", &["-m", "elf_i386", "-o", &at("program"), &at("o")]);
    let program = folder.path().join("program");
    let symbols = ElfSymbols::parse(&std::fs::read(&program).unwrap()).unwrap();
    let (text, _) = crate::oracle::section(&program, ".text");
    let base = symbols.layout().base().0;
    for (offset, name, start) in [(0, "_start", 0), (1, "_start", 0), (2, "untyped", 2), (5, "untyped", 2)] {
        let found = symbols.lookup(Rva(text + offset - base)).unwrap();
        assert_eq!((found.name, found.start), (name, Rva(text + start - base)));
    }
    assert!(symbols.symbols().any(|symbol| symbol.name == "f" && symbol.size == 1));
}
