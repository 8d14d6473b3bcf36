use super::*;

const TEXT: &[u8] = b"0000000000000000 A fixed_percpu_data
ffffffff81000000 T srso_alias_untrain_ret
ffffffff81000000 T _stext
ffffffff81000000 t startup
ffffffff81000040 t do_one_initcall
ffffffff81000100 W arch_thing
ffffffff81001000 T _etext
ffffffff81800000 R __start_rodata
ffffffffc0000000 t nf_hook\t[nf_tables]
ffffffffc0000010 T nft_do_chain\t[nf_tables]
ffffffffc0100000 t bpf_prog_1234_f\t[bpf]
";

fn symbols() -> KernelSymbols {
    KernelSymbols::parse_kallsyms(TEXT, KernelKnobs::default()).unwrap()
}

fn check(address: u64, wanted: Option<(&str, Option<&str>, u64)>) {
    let symbols = symbols();
    let found = symbols.lookup(Avma(address)).map(|symbol| (symbol.name, symbol.module, symbol.start.0));
    assert_eq!(found, wanted, "at {address:#x}");
}

#[test]
fn an_address_is_named_up_to_the_next_symbol() {
    check(0, None);
    check(0xffff_ffff_80ff_ffff, None);
    check(0xffff_ffff_8100_0000, Some(("srso_alias_untrain_ret", None, 0xffff_ffff_8100_0000)));
    check(0xffff_ffff_8100_003f, Some(("srso_alias_untrain_ret", None, 0xffff_ffff_8100_0000)));
    check(0xffff_ffff_8100_0040, Some(("do_one_initcall", None, 0xffff_ffff_8100_0040)));
    check(0xffff_ffff_8100_0fff, Some(("arch_thing", None, 0xffff_ffff_8100_0100)));
    check(0xffff_ffff_8180_0000, None);
    check(0xffff_ffff_c000_000f, Some(("nf_hook", Some("nf_tables"), 0xffff_ffff_c000_0000)));
    check(0xffff_ffff_c000_0010, Some(("nft_do_chain", Some("nf_tables"), 0xffff_ffff_c000_0010)));
    check(0xffff_ffff_c000_4011, None);
    check(0xffff_ffff_c010_0000, Some(("bpf_prog_1234_f", Some("bpf"), 0xffff_ffff_c010_0000)));
    check(u64::MAX, None);
}

#[test]
fn hidden_addresses_name_the_knob() {
    let text = b"0000000000000000 T _stext\n0000000000000000 t do_one_initcall\n";
    let knobs = KernelKnobs { kptr_restrict: Some(1), perf_event_paranoid: None };
    let error = KernelSymbols::parse_kallsyms(text, knobs).unwrap_err();
    assert_eq!(error, KernelHidden::AddressesHidden { knobs });
    assert_eq!(
        error.to_string(),
        "kernel addresses are hidden: kernel.kptr_restrict = 1, kernel.perf_event_paranoid = unknown"
    );
    assert_eq!(KernelSymbols::parse_kallsyms(b"", knobs).unwrap_err(), KernelHidden::NoSymbols);
    assert_eq!(KernelSymbols::parse_kallsyms(b"12 d data\n", knobs).unwrap_err(), KernelHidden::NoSymbols);
}

#[test]
fn a_bad_line_is_told_by_its_offset() {
    let text = b"ffffffff81000000 T one\nnonsense\n";
    let symbols = KernelSymbols::parse_kallsyms(text, KernelKnobs::default()).unwrap();
    assert_eq!(symbols.malformed(), MalformedLines { count: 1, first_offset: Some(23) });
    assert!(symbols.lookup(Avma(0xffff_ffff_8100_0000)).is_some());
    let error = KernelSymbols::parse_kallsyms(b"\nnonsense\n", KernelKnobs::default()).unwrap_err();
    assert_eq!(error, KernelHidden::Malformed { offset: 1 });
}

proptest::proptest! {
    #[test]
    fn mutated_text_is_survived(at in 0..TEXT.len(), byte: u8, cut in 0..TEXT.len(), address: u64) {
        let mut text = TEXT.to_vec();
        text[at] = byte;
        for text in [&text[..], &text[..cut]] {
            let Ok(symbols) = KernelSymbols::parse_kallsyms(text, KernelKnobs::default()) else { continue };
            if let Some(symbol) = symbols.lookup(Avma(address)) {
                proptest::prop_assert!(symbol.start.0 <= address && address - symbol.start.0 < symbol.size);
            }
        }
    }
}
