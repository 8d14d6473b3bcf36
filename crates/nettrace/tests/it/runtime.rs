//! Payloads of the runtime's own events.

use strata_address::{Avma, AvmaRange};
use strata_nettrace::runtime::{
    IlOffset, MethodEvent, MethodFlags, Occasion, PayloadError, RUNDOWN_PROVIDER, RUNTIME_PROVIDER, RuntimeEvent,
    SAMPLE_PROVIDER, SampleType, Sku, Tier,
};
use strata_nettrace::{Decoder, Item};
use strata_testkit::nettrace::{Blob, Blobs, Definition, Stream, utf16};

use crate::seen::event;

/// Passes what one payload decodes to on to `look`.
fn with<T>(
    provider: &str,
    id: u32,
    version: u32,
    payload: &[u8],
    look: impl Fn(Result<Option<RuntimeEvent<'_>>, PayloadError>) -> T,
) -> T {
    let blob = Blob { payload: payload.to_vec(), ..event(1, 1, 0) };
    let definition = Definition::native(1, provider, id, version);
    let stream = Stream::with_trace().metadata(&[definition]).events(&Blobs::compressed().with(blob)).end();
    let mut result = None;
    let mut sink = |item: Item<'_>| {
        if let Item::Event(event) = item {
            result = Some(look(RuntimeEvent::decode(&event)));
        }
    };
    Decoder::new().feed(&stream, &mut sink).expect("a good stream");
    result.expect("one event")
}

/// Looks at a payload as it is, with more bytes behind it, and as a later version; and sees that every shorter one is an
/// error with its numbers.
#[track_caller]
fn check(provider: &str, id: u32, versions: &[u32], payload: &[u8], look: impl Fn(RuntimeEvent<'_>)) {
    let seen =
        |result: Result<Option<RuntimeEvent<'_>>, PayloadError>| look(result.expect("long enough").expect("known"));
    let longer = [payload, &[0xee; 7]].concat();
    for version in versions {
        with(provider, id, *version, payload, seen);
        with(provider, id, *version, &longer, seen);
        for length in 0..payload.len() {
            let error = with(provider, id, *version, &payload[..length], |result| result.err());
            let error = error.unwrap_or_else(|| panic!("{length} of {} bytes are enough", payload.len()));
            assert_eq!((error.event_id, error.version, error.present), (id, *version, length));
        }
    }
}

fn bytes(parts: &[&[u8]]) -> Vec<u8> {
    parts.concat()
}

fn method_fixed(flags: u32) -> Vec<u8> {
    bytes(&[
        &0x7f00_0000_1111u64.to_le_bytes(),
        &0x7f00_0000_2222u64.to_le_bytes(),
        &0x7f00_0000_3000u64.to_le_bytes(),
        &0x40u32.to_le_bytes(),
        &0x0600_0123u32.to_le_bytes(),
        &flags.to_le_bytes(),
    ])
}

const JITTED_TIER1: u32 = 0x8 | (4 << 7);
const CLR: [u8; 2] = [9, 0];

fn is_the_method(method: &MethodEvent<'_>, verbose: bool, code_version: u64) {
    assert_eq!((method.method_id, method.module_id), (0x7f00_0000_1111, 0x7f00_0000_2222));
    assert_eq!(method.range(), AvmaRange::sized(Avma(0x7f00_0000_3000), 0x40));
    assert_eq!((method.token, method.code_version), (0x0600_0123, code_version));
    assert_eq!(method.flags.tier(), Tier::OptimizedTier1);
    let names =
        method.names.map(|names| (names.namespace.to_string(), names.name.to_string(), names.signature.to_string()));
    let expected = ("My.Type`1[System.Int32]".into(), "Größe".into(), "instance void  (int32)".into());
    assert_eq!(names, verbose.then_some(expected));
}

#[test]
fn methods() {
    use Occasion::{Load, RundownEnd, RundownStart, Unload};
    let names = bytes(&[&utf16("My.Type`1[System.Int32]"), &utf16("Größe"), &utf16("instance void  (int32)")]);
    let events = [
        (RUNTIME_PROVIDER, [141, 143], Load),
        (RUNTIME_PROVIDER, [142, 144], Unload),
        (RUNDOWN_PROVIDER, [141, 143], RundownStart),
        (RUNDOWN_PROVIDER, [142, 144], RundownEnd),
    ];
    for (provider, [short, verbose], occasion) in events {
        for (id, names) in [(short, &[][..]), (verbose, &names[..])] {
            let v0 = bytes(&[&method_fixed(JITTED_TIER1), names]);
            let v1 = bytes(&[&v0, &CLR]);
            let v2 = bytes(&[&v1, &77u64.to_le_bytes()]);
            let look = |code_version| {
                move |event: RuntimeEvent<'_>| {
                    let RuntimeEvent::Method(found, method) = event else { panic!("{event:?}") };
                    assert_eq!(found, occasion);
                    is_the_method(&method, id == verbose, code_version);
                }
            };
            check(provider, id, &[0], &v0, look(0));
            check(provider, id, &[1], &v1, look(0));
            check(provider, id, &[2, 9], &v2, look(77));
        }
    }
}

#[test]
fn a_jit_helper_may_have_only_a_name() {
    for clr in [[0, 0], [9, 0], [0x41, 0x42]] {
        let payload = bytes(&[&method_fixed(0x18), &utf16("JIT_WriteBarrier"), &clr]);
        with(RUNTIME_PROVIDER, 143, 1, &payload, |event| {
            let Ok(Some(RuntimeEvent::Method(Occasion::Load, method))) = event else { panic!("{event:?}") };
            let names = method.names.expect("a name");
            assert!(method.flags.is_jit_helper());
            assert_eq!(names.name.to_string(), "JIT_WriteBarrier");
            assert!(names.namespace.is_empty() && names.signature.is_empty());
        });
        // Other methods have all three.
        let payload = bytes(&[&method_fixed(JITTED_TIER1), &utf16("Lonely"), &clr]);
        assert!(with(RUNTIME_PROVIDER, 143, 1, &payload, |event| event.is_err()));
    }
}

#[test]
fn tiers_and_flags() {
    let cases = [
        (0, Tier::ReadyToRun, "ReadyToRun"),
        (2 << 7, Tier::ReadyToRun, "ReadyToRun"),
        (0x8, Tier::Unknown, "Unknown"),
        (0x8 | (1 << 7), Tier::MinOptJitted, "MinOptJitted"),
        (0x8 | (2 << 7), Tier::Optimized, "Optimized"),
        (0x8 | (3 << 7), Tier::QuickJitted, "QuickJitted"),
        (0x8 | (4 << 7), Tier::OptimizedTier1, "OptimizedTier1"),
        (0x8 | (5 << 7), Tier::OptimizedTier1Osr, "OptimizedTier1OSR"),
        (0x8 | (6 << 7), Tier::QuickJittedInstrumented, "QuickJittedInstrumented"),
        (0xffff_ffff, Tier::OptimizedTier1Instrumented, "OptimizedTier1Instrumented"),
    ];
    for (flags, tier, spelled) in cases {
        assert_eq!((MethodFlags(flags).tier(), MethodFlags(flags).tier().to_string()), (tier, spelled.to_string()));
    }
    let flags = MethodFlags(0x1000_0007);
    assert!(flags.is_dynamic() && flags.is_generic() && flags.has_shared_generic_code() && flags.is_cold());
    assert!(!flags.is_jitted() && !flags.is_jit_helper());
    assert!(!MethodFlags(0x2000_0000).is_cold());
}

#[test]
fn il_maps() {
    let fixed = |code_version: u64, count: u16| {
        bytes(&[&5u64.to_le_bytes(), &code_version.to_le_bytes(), &[0], &count.to_le_bytes()])
    };
    let il: Vec<u8> = [0xffff_fffeu32, 0, 7, u32::MAX, 0xffff_fffd].iter().flat_map(|at| at.to_le_bytes()).collect();
    let native: Vec<u8> = [0u32, 4, 0x20, 0x18, 0x30].iter().flat_map(|at| at.to_le_bytes()).collect();
    let entries = [
        (0, IlOffset::Prolog),
        (4, IlOffset::At(0)),
        (0x20, IlOffset::At(7)),
        (0x18, IlOffset::None),
        (0x30, IlOffset::Epilog),
    ];
    use Occasion::{Load, RundownEnd, RundownStart};
    for (provider, id, occasion) in
        [(RUNTIME_PROVIDER, 190, Load), (RUNDOWN_PROVIDER, 149, RundownStart), (RUNDOWN_PROVIDER, 150, RundownEnd)]
    {
        let v0 = bytes(&[&fixed(3, 5), &il, &native, &CLR]);
        let v1 = bytes(&[&v0, &9u64.to_le_bytes()]);
        for (versions, payload) in [(&[0][..], &v0), (&[1, 4], &v1)] {
            check(provider, id, versions, payload, |event| {
                let RuntimeEvent::MethodIlMap(found, map) = event else { panic!("{event:?}") };
                assert_eq!((found, map.method_id, map.code_version), (occasion, 5, 3));
                assert_eq!((map.len(), map.is_empty()), (5, false));
                assert_eq!(map.entries().collect::<Vec<_>>(), entries);
            });
        }
        let empty = bytes(&[&fixed(0, 0), &CLR]);
        check(provider, id, &[0], &empty, |event| {
            let RuntimeEvent::MethodIlMap(_, map) = event else { panic!("{event:?}") };
            assert!(map.is_empty() && map.entries().next().is_none());
        });
    }
}

#[test]
fn jitting_started() {
    let strings = bytes(&[&utf16("N.T"), &utf16("M"), &utf16("void  ()")]);
    let fixed = bytes(&[&5u64.to_le_bytes(), &6u64.to_le_bytes(), &7u32.to_le_bytes(), &8u32.to_le_bytes(), &strings]);
    check(RUNTIME_PROVIDER, 145, &[0, 1, 2], &fixed, |event| {
        let RuntimeEvent::JittingStarted(method) = event else { panic!("{event:?}") };
        assert_eq!((method.method_id, method.module_id, method.token, method.il_size), (5, 6, 7, 8));
        assert_eq!((method.names.namespace.to_string(), method.names.name.to_string()), ("N.T".into(), "M".into()));
    });
}

#[test]
fn modules() {
    use Occasion::{Load, RundownEnd, RundownStart, Unload};
    let fixed = bytes(&[&1u64.to_le_bytes(), &2u64.to_le_bytes(), &0x28u32.to_le_bytes(), &[0; 4]]);
    let v0 = bytes(&[&fixed, &utf16("/app/a.dll"), &utf16("")]);
    let v1 = bytes(&[&v0, &CLR]);
    let pdb = |byte: u8, path| bytes(&[&[byte; 16], &3u32.to_le_bytes(), &utf16(path)]);
    let v2 = bytes(&[&v1, &pdb(0xab, "a.pdb"), &pdb(0, "")]);
    let v3 = bytes(&[&v2, &utf16("c0ffee")]);
    let events = [
        (RUNTIME_PROVIDER, 152, Load),
        (RUNTIME_PROVIDER, 153, Unload),
        (RUNDOWN_PROVIDER, 153, RundownStart),
        (RUNDOWN_PROVIDER, 154, RundownEnd),
    ];
    for (provider, id, occasion) in events {
        for (versions, payload, pdbs, build_id) in [
            (&[0][..], &v0, false, None),
            (&[1], &v1, false, None),
            (&[2], &v2, true, None),
            (&[3, 9], &v3, true, Some("c0ffee")),
        ] {
            check(provider, id, versions, payload, |event| {
                let RuntimeEvent::Module(found, module) = event else { panic!("{event:?}") };
                assert_eq!((found, module.module_id, module.assembly_id), (occasion, 1, 2));
                assert!(module.flags.is_ready_to_run() && module.flags.is_manifest() && !module.flags.is_dynamic());
                assert_eq!(module.il_path.to_string(), "/app/a.dll");
                assert!(module.native_path.is_empty());
                assert_eq!(module.managed_pdb.is_some(), pdbs);
                if let (Some(managed), Some(native)) = (module.managed_pdb, module.native_pdb) {
                    assert_eq!(managed.signature.to_string(), "abababab-abab-abab-abab-abababababab");
                    assert_eq!((managed.age, managed.build_path.to_string()), (3, "a.pdb".into()));
                    assert_eq!(native.signature.0, [0; 16]);
                }
                assert_eq!(module.native_build_id.map(|id| id.to_string()), build_id.map(str::to_string));
            });
        }
    }
    let domain = bytes(&[&1u64.to_le_bytes(), &2u64.to_le_bytes(), &3u64.to_le_bytes(), &fixed[16..], &v0[24..]]);
    for (provider, id, occasion) in
        [(RUNTIME_PROVIDER, 151, Load), (RUNDOWN_PROVIDER, 151, RundownStart), (RUNDOWN_PROVIDER, 152, RundownEnd)]
    {
        check(provider, id, &[1, 5], &domain, |event| {
            let RuntimeEvent::DomainModule(found, module) = event else { panic!("{event:?}") };
            assert_eq!((found, module.module_id, module.assembly_id, module.domain_id), (occasion, 1, 2, 3));
            assert_eq!((module.flags.0, module.il_path.to_string()), (0x28, "/app/a.dll".into()));
        });
    }
}

#[test]
fn assemblies() {
    use Occasion::{Load, RundownEnd, RundownStart, Unload};
    let name = "App, Version=1.0.0.0, Culture=neutral, PublicKeyToken=null";
    let numbers = bytes(&[&1u64.to_le_bytes(), &2u64.to_le_bytes(), &3u64.to_le_bytes(), &0x18u32.to_le_bytes()]);
    let payload = bytes(&[&numbers, &utf16(name)]);
    for (provider, id, occasion) in [
        (RUNTIME_PROVIDER, 154, Load),
        (RUNTIME_PROVIDER, 155, Unload),
        (RUNDOWN_PROVIDER, 155, RundownStart),
        (RUNDOWN_PROVIDER, 156, RundownEnd),
    ] {
        check(provider, id, &[1, 4], &payload, |event| {
            let RuntimeEvent::Assembly(found, assembly) = event else { panic!("{event:?}") };
            assert_eq!((found, assembly.assembly_id, assembly.domain_id, assembly.binding_id), (occasion, 1, 2, 3));
            let flags = assembly.flags;
            assert!(flags.is_ready_to_run() && flags.is_collectible() && !flags.is_dynamic());
            assert_eq!(assembly.full_name.to_string(), name);
        });
    }
}

#[test]
fn the_runtime_itself() {
    let versions: Vec<u8> = [2u16, 10, 0, 8, 1, 10, 1, 2, 3].iter().flat_map(|number| number.to_le_bytes()).collect();
    let payload = bytes(&[
        &CLR,
        &versions,
        &0x1001u32.to_le_bytes(),
        &[2],
        &utf16("dotnet app.dll"),
        &[0; 16],
        &utf16("/usr/lib/libcoreclr.so"),
    ]);
    for (provider, occasion) in [(RUNTIME_PROVIDER, Occasion::Load), (RUNDOWN_PROVIDER, Occasion::RundownEnd)] {
        check(provider, 187, &[0, 3], &payload, |event| {
            let RuntimeEvent::Information(found, information) = event else { panic!("{event:?}") };
            assert_eq!((found, information.sku), (occasion, Sku::CORE_CLR));
            assert_eq!(information.library_version.to_string(), "10.0.8.1");
            assert_eq!(information.version.to_string(), "10.1.2.3");
            assert_eq!((information.startup_flags, information.startup_mode), (0x1001, 2));
            assert_eq!(information.command_line.to_string(), "dotnet app.dll");
            assert_eq!(information.runtime_path.to_string(), "/usr/lib/libcoreclr.so");
        });
    }
}

#[test]
fn samples_and_marks_of_the_rundown() {
    let types =
        [(0, SampleType::Error), (1, SampleType::External), (2, SampleType::Managed), (9, SampleType::Other(9))];
    for (number, expected) in types {
        check(SAMPLE_PROVIDER, 0, &[0, 1], &u32::to_le_bytes(number), |event| {
            assert_eq!(event, RuntimeEvent::Sample(expected));
        });
    }
    let marks = [
        (145, RuntimeEvent::RundownComplete(Occasion::RundownStart)),
        (146, RuntimeEvent::RundownComplete(Occasion::RundownEnd)),
        (147, RuntimeEvent::RundownInit(Occasion::RundownStart)),
        (148, RuntimeEvent::RundownInit(Occasion::RundownEnd)),
    ];
    for (id, expected) in marks {
        check(RUNDOWN_PROVIDER, id, &[0, 1], &[], |event| assert_eq!(event, expected));
    }
}

#[test]
fn ids_mean_something_only_with_their_provider() {
    let payload = [0; 200];
    for (provider, id) in [("Microsoft-Windows-DotNETRuntimePrivate", 143), ("My-Source", 0), (RUNTIME_PROVIDER, 1)] {
        assert_eq!(with(provider, id, 0, &payload, |event| event.map(|event| event.is_some())), Ok(false));
    }
    let error = with(RUNTIME_PROVIDER, 141, 2, &[1, 2, 3], |event| event.unwrap_err().to_string());
    assert!(error.starts_with("payload of runtime event 141 version 2 at byte "), "{error}");
    assert!(error.ends_with("ends inside a field (it has 3 bytes)"), "{error}");
}
