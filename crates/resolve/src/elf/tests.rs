use super::*;
use crate::readable::Binding;

/// Start, size, name, source.
type Row = (u64, u64, &'static str, SymbolSource);

fn table(symbols: &[Row], unwind: &[(u64, u64)], code: &[(u64, u64)]) -> Table {
    let mut candidates: Vec<Candidate<'_>> = symbols
        .iter()
        .map(|&(start, size, name, source)| Candidate {
            start,
            size,
            name: name.as_bytes(),
            binding: Binding::Global,
            source,
        })
        .collect();
    candidates.sort_by_key(|candidate| candidate.start);
    let extents = |ranges: &[(u64, u64)]| ranges.iter().map(|&(start, end)| Extent { start, end }).collect::<Vec<_>>();
    let mut problems = Vec::new();
    let table = Table::build(&candidates, &extents(unwind), &extents(code), 1 << 20, &mut problems);
    assert_eq!(problems, []);
    table
}

/// Compares what is found at each of 0, 4, 8, ... with `wanted`, one name for each address, `-` for none.
fn check(symbols: &[Row], unwind: &[(u64, u64)], wanted: &str) {
    let table = table(symbols, unwind, &[(8, 48)]);
    let found: Vec<&str> = (0..13).map(|at| table.lookup(at * 4).map_or("-", |symbol| symbol.name)).collect();
    assert_eq!(found.join(" "), wanted, "for {symbols:?} and {unwind:?}");
}

const OWN: SymbolSource = SymbolSource::SymbolTable;
const STUB: SymbolSource = SymbolSource::Plt;

#[test]
fn no_gap_is_bridged() {
    check(&[], &[], "- - - - - - - - - - - - -");
    check(&[(8, 8, "a", OWN), (32, 8, "b", OWN)], &[], "- - a a - - - - b b - - -");
    // Outside the code a symbol is none, and its end is cut.
    check(&[(0, 8, "a", OWN), (40, 100, "b", OWN)], &[], "- - - - - - - - - - b b -");
}

#[test]
fn the_innermost_function_has_the_code() {
    check(
        &[(8, 32, "outer", OWN), (16, 8, "inner", OWN)],
        &[],
        "- - outer outer inner inner outer outer outer outer - - -",
    );
    check(&[(8, 16, "a", OWN), (16, 16, "b", OWN)], &[], "- - a a b b b b - - - - -");
    check(&[(8, 16, "long", OWN), (8, 8, "short", OWN)], &[], "- - short short long long - - - - - - -");
}

#[test]
fn a_symbol_without_a_size_reaches_to_what_follows() {
    check(&[(8, 0, "a", OWN), (20, 0, "b", OWN)], &[], "- - a a a b b b b b b b -");
    check(&[(8, 0, "a", OWN), (32, 4, "b", OWN)], &[(8, 16)], "- - a a - - - - b - - - -");
    // Inside a function it is a label.
    check(&[(8, 16, "a", OWN), (12, 0, "label", OWN)], &[], "- - a a a a - - - - - - -");
    check(&[(8, 0, "a", OWN), (12, 0, "label", OWN)], &[(8, 24)], "- - a a a a - - - - - - -");
    // One that states its size wins over one that does not.
    check(&[(8, 0, "a", OWN), (8, 8, "sized", OWN)], &[], "- - sized sized - - - - - - - - -");
}

#[test]
fn the_unwind_table_names_only_what_no_symbol_covers() {
    check(&[], &[(8, 16), (24, 32)], "- - fun_8 fun_8 - - fun_18 fun_18 - - - - -");
    check(&[(8, 8, "a", OWN)], &[(8, 16), (16, 24)], "- - a a fun_10 fun_10 - - - - - - -");
    check(&[(16, 8, "a", OWN)], &[(8, 40)], "- - fun_8 fun_8 a a fun_8 fun_8 fun_8 fun_8 - - -");
    // The symbol begins with the entry and says too small a size: the rest is its own.
    check(&[(8, 4, "a", OWN)], &[(8, 16)], "- - a a - - - - - - - - -");
    // A stub does not own the rest of its section.
    check(&[(8, 4, "a", STUB)], &[(8, 16)], "- - a@plt fun_8 - - - - - - - - -");
    // Entries that overlap, and one outside the code.
    check(&[], &[(0, 8), (8, 20), (12, 28)], "- - fun_8 fun_8 fun_8 fun_c fun_c - - - - - -");
}

#[test]
fn names_past_the_limit_are_counted_as_lost() {
    let candidates =
        [8, 16, 24].map(|start| Candidate { start, size: 8, name: b"four", binding: Binding::Global, source: OWN });
    let mut problems = Vec::new();
    let table = Table::build(&candidates, &[], &[Extent { start: 0, end: 100 }], 8, &mut problems);
    assert_eq!(table.symbols().count(), 2);
    assert_eq!(problems.len(), 1);
    assert_eq!((problems[0].part, problems[0].reason.as_str()), (ElfPart::Names, "1 functions do not fit"));
}

#[test]
fn a_file_offset_leads_to_the_segment_that_holds_the_byte() {
    // The layout of lld: code begins in the page where the headers end, and both pages are mapped.
    let image = {
        let mut bytes = vec![0_u8; 0x1000];
        bytes[..16].copy_from_slice(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0");
        bytes[16..20].copy_from_slice(&[3, 0, 62, 0]);
        bytes[32..40].copy_from_slice(&64_u64.to_le_bytes());
        bytes[54..58].copy_from_slice(&[56, 0, 2, 0]);
        for (at, flags, offset, address, size) in
            [(64, 4_u32, 0_u64, 0x200000_u64, 0x5b4_u64), (120, 5, 0x5c0, 0x2015c0, 0x200)]
        {
            bytes[at..at + 4].copy_from_slice(&1_u32.to_le_bytes());
            bytes[at + 4..at + 8].copy_from_slice(&flags.to_le_bytes());
            for (place, value) in [(8, offset), (16, address), (32, size), (40, size)] {
                bytes[at + place..at + place + 8].copy_from_slice(&value.to_le_bytes());
            }
        }
        ElfSymbols::parse(&bytes).unwrap()
    };
    let layout = image.layout();
    assert_eq!((layout.base(), layout.segments().len()), (Svma(0x200000), 2));
    for (offset, wanted) in
        [(0x5d0, Some(0x15d0)), (0x100, Some(0x100)), (0x5bc, Some(0x15bc)), (0x7f0, Some(0x17f0)), (0x1000, None)]
    {
        assert_eq!(layout.rva_of_file_offset(offset), wanted.map(Rva), "{offset:#x}");
    }
    assert_eq!(layout.rva_of_svma(Svma(0x2015c0)), Some(Rva(0x15c0)));
    assert_eq!(layout.rva_of_svma(Svma(0x1000)), None);
}
