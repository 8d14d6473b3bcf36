//! The runtime's own events as named values: every event and version of the reference.

use std::collections::{BTreeMap, BTreeSet};

use strata_nettrace::runtime::{MethodEvent, ModuleEvent, RuntimeEvent, described_events};
use strata_nettrace::{Decoder, Event, Fit, Item, Value};
use strata_testkit::nettrace::{Blob, Blobs, Definition, Stream, Trace, utf16};

use crate::seen::event;

const PROVIDERS: [(&str, &str); 6] = [
    ("R", "Microsoft-Windows-DotNETRuntime"),
    ("D", "Microsoft-Windows-DotNETRuntimeRundown"),
    ("P", "Microsoft-Windows-DotNETRuntimePrivate"),
    ("S", "Microsoft-DotNETCore-SampleProfiler"),
    ("E", "Microsoft-DotNETCore-EventPipe"),
    ("N", "Microsoft-Diagnostics-DiagnosticSource"),
];

/// A payload as the file beside this one has it.
#[derive(Clone, Default)]
struct Golden {
    provider: &'static str,
    id: u32,
    name: &'static str,
    version: u32,
    payload: Vec<u8>,
    /// Values in their order, with brackets and braces around those of arrays and objects.
    shown: Vec<String>,
}

/// One payload of every event and version, for a process with pointers of this size.
fn goldens(pointer_size: usize) -> Vec<Golden> {
    let lines = include_str!("payloads.txt").lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.flat_map(|line| golden(line, pointer_size)).collect()
}

fn golden(line: &'static str, pointer_size: usize) -> Vec<Golden> {
    let mut words = line.split(' ');
    let mut next = || words.next().expect("a whole line");
    let (provider, id, name) = (next(), next().parse().unwrap(), next());
    let provider = PROVIDERS.iter().find(|(letter, _)| *letter == provider).unwrap().1;
    let mut all: Vec<Golden> = Vec::new();
    for word in words {
        if let Some(Ok(version)) = word.strip_prefix('v').map(str::parse) {
            let before = all.last().cloned().unwrap_or(Golden { provider, id, name, ..Golden::default() });
            all.push(Golden { version, ..before });
        } else {
            add_value(all.last_mut().unwrap(), word, pointer_size);
        }
    }
    all
}

fn add_value(golden: &mut Golden, word: &str, pointer_size: usize) {
    let Golden { payload, shown, .. } = golden;
    let (value, field_type) = word.rsplit_once(':').unwrap_or(("", word));
    let (field_type, name) = field_type.split_once('=').unwrap_or((field_type, ""));
    let integer = || match value.strip_prefix("0x") {
        Some(digits) => i128::from_str_radix(digits, 16).unwrap(),
        None => value.parse().unwrap(),
    };
    let mut number = |size: usize| payload.extend(&integer().to_le_bytes()[..size]);
    match field_type {
        "[" | "]" | "{" | "}" => return shown.push(word.into()),
        "pad" if pointer_size == 8 => return payload.extend([0xaa; 4]),
        "pad" => return,
        "u16.count" => return number(2),
        "c" => {
            payload.extend([9, 0]);
            return shown.push("9".into());
        }
        "guid" => {
            payload.extend(1..=16);
            return shown.push("04030201-0605-0807-090a-0b0c0d0e0f10".into());
        }
        "u8" => number(1),
        "u16" => number(2),
        "u32" | "i32" => number(4),
        "u64" | "i64" => number(8),
        "ptr" => number(pointer_size),
        "f64" => payload.extend(value.parse::<f64>().unwrap().to_le_bytes()),
        "str" => payload.extend(utf16(value)),
        "astr" => payload.extend([value.as_bytes(), &[0]].concat()),
        "bytes" => {
            let digits = (0..value.len()).step_by(2).map(|at| &value[at..at + 2]);
            payload.extend(digits.map(|digits| u8::from_str_radix(digits, 16).unwrap()));
            return shown.push(format!("0x{value}"));
        }
        other => panic!("no type {other} in {word}"),
    }
    shown.push(if name.is_empty() { value.into() } else { name.replace('|', " | ") });
}

/// The values of a payload as the goldens have them.
fn show(value: &Value<'_>, shown: &mut Vec<String>) {
    match value {
        Value::Array(array) => {
            shown.push("[".into());
            array.iter().for_each(|element| show(&element, shown));
            shown.push("]".into());
        }
        Value::Object(object) => {
            shown.push("{".into());
            for (name, value) in object.iter() {
                assert!(!name.is_empty());
                show(&value, shown);
            }
            shown.push("}".into());
        }
        other => shown.push(other.to_string()),
    }
}

/// Passes one event with this payload on to `look`.
fn with<T>(golden: &Golden, version: u32, pointer_size: usize, payload: &[u8], look: impl Fn(Event<'_>) -> T) -> T {
    let blob = Blob { payload: payload.to_vec(), ..event(1, 1, 0) };
    let mut definition = Definition::native(1, golden.provider, golden.id, version);
    if golden.provider == PROVIDERS[5].1 {
        definition.name = golden.name.into();
    }
    let trace = Trace { pointer_size: pointer_size as u32, ..Trace::default() };
    let stream = Stream::new().trace(trace).metadata(&[definition]).events(&Blobs::compressed().with(blob)).end();
    let mut result = None;
    let mut sink = |item: Item<'_>| {
        if let Item::Event(event) = item {
            result = Some(look(event));
        }
    };
    Decoder::new().feed(&stream, &mut sink).expect("a good stream");
    result.expect("one event")
}

fn values(event: &Event<'_>) -> (Vec<String>, Fit) {
    let mut shown = Vec::new();
    let mut fields = event.fields();
    let mut names = BTreeSet::new();
    for (name, value) in &mut fields {
        assert!(!name.is_empty() && names.insert(name), "{name}");
        show(&value, &mut shown);
    }
    assert_eq!(fields.bytes(), event.payload);
    (shown, fields.fit())
}

#[test]
fn every_event_and_version_of_the_reference() {
    for pointer_size in [4, 8] {
        for golden in goldens(pointer_size) {
            let Golden { id, name, version, payload, shown, .. } = &golden;
            let place = format!("{name} ({id}) version {version} with pointers of {pointer_size} bytes");
            let read = |version, payload: &[u8]| with(&golden, version, pointer_size, payload, |event| values(&event));
            assert_eq!(read(*version, payload), (shown.clone(), Fit::Whole), "{place}");
            with(&golden, *version, pointer_size, payload, |event| {
                assert_eq!(event.metadata.display_name(), *name, "{place}");
            });
            let longer = [payload, &[0xee; 7][..]].concat();
            assert_eq!(read(*version, &longer), (shown.clone(), Fit::Longer { at: payload.len() }), "{place}");
            for length in 0..payload.len() {
                let (found, fit) = read(*version, &payload[..length]);
                let Fit::Short { at } = fit else {
                    panic!("{place}: {fit:?} with {length} bytes of {}", payload.len())
                };
                assert!(at <= length && shown.starts_with(&found), "{place}: {found:?} in {length} bytes");
            }
        }
    }
}

#[test]
fn newer_versions_are_read_as_the_newest_known_one() {
    let mut newest: BTreeMap<_, Golden> = BTreeMap::new();
    for golden in goldens(8) {
        newest.insert((golden.provider, golden.id), golden);
    }
    for golden in newest.values() {
        let longer = [&golden.payload, &[1, 2, 3, 4][..]].concat();
        let read = with(golden, 9, 8, &longer, |event| values(&event));
        assert_eq!(read, (golden.shown.clone(), Fit::Longer { at: golden.payload.len() }), "{}", golden.name);
    }
}

#[test]
fn the_reference_and_the_table_have_the_same_events() {
    let mut table: Vec<_> = described_events().map(|(provider, _, name, version)| (provider, name, version)).collect();
    let mut reference: Vec<_> =
        goldens(8).iter().map(|golden| (golden.provider, golden.name, golden.version)).collect();
    table.sort_unstable();
    reference.sort_unstable();
    assert_eq!(table, reference);
    assert_eq!(table.len(), 204);
}

#[test]
fn what_nothing_describes_is_opaque_and_has_a_name_all_the_same() {
    let unknown = Golden { provider: PROVIDERS[0].1, id: 9999, ..Golden::default() };
    let read = |version, payload: &[u8]| {
        with(&unknown, version, 8, payload, |event| (values(&event), event.metadata.display_name().into_owned()))
    };
    assert_eq!(read(0, &[1, 2]), ((vec![], Fit::Opaque), "Event(9999)".into()));
    assert_eq!(read(0, &[]), ((vec![], Fit::Whole), "Event(9999)".into()));
    // A version before the first known one had other fields.
    let old = Golden { provider: PROVIDERS[0].1, id: 1, ..Golden::default() };
    let read = with(&old, 0, 8, &[0; 8], |event| (values(&event), event.metadata.display_name().into_owned()));
    assert_eq!(read, ((vec![], Fit::Opaque), "Event(1)".into()));
}

#[test]
fn a_jit_helper_may_have_only_a_name() {
    for (clr, shown) in [([0, 0], "0"), ([9, 0], "9"), ([0x41, 0x42], "16961")] {
        let fixed = [&[1; 24][..], &64u32.to_le_bytes(), &[0; 4], &0x18u32.to_le_bytes()].concat();
        let payload = [&fixed, &utf16("JIT_WriteBarrier")[..], &clr].concat();
        let helper = Golden { provider: PROVIDERS[0].1, id: 143, ..Golden::default() };
        let (names, fit) = with(&helper, 1, 8, &payload, |event| {
            let fields = event.fields();
            (fields.clone().skip(5).map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>(), fields.fit())
        });
        let expected =
            ["MethodFlags=Jitted | JitHelper", "MethodName=JIT_WriteBarrier", &format!("ClrInstanceID={shown}")];
        assert_eq!((&names[..], fit), (&expected.map(String::from)[..], Fit::Whole));
    }
}

/// What the typed event says, under the names of the described one.
fn typed(event: &RuntimeEvent<'_>) -> Vec<(&'static str, String)> {
    let hex = |number: u64| format!("{number:#x}");
    let method = |method: &MethodEvent<'_>| {
        let mut all = vec![
            ("MethodID", hex(method.method_id)),
            ("ModuleID", hex(method.module_id)),
            ("MethodStartAddress", hex(method.start.0)),
            ("MethodSize", method.size.to_string()),
            ("MethodToken", hex(method.token.into())),
        ];
        let names = method.names.map(|names| (names.namespace, names.name, names.signature));
        if let Some((namespace, name, signature)) = names {
            all.push(("MethodNamespace", namespace.to_string()));
            all.push(("MethodName", name.to_string()));
            all.push(("MethodSignature", signature.to_string()));
        }
        if method.code_version != 0 {
            all.push(("ReJITID", method.code_version.to_string()));
        }
        all
    };
    let module = |module: &ModuleEvent<'_>| {
        let mut all = vec![
            ("ModuleID", hex(module.module_id)),
            ("AssemblyID", hex(module.assembly_id)),
            ("ModuleILPath", module.il_path.to_string()),
            ("ModuleNativePath", module.native_path.to_string()),
        ];
        if let (Some(managed), Some(native)) = (module.managed_pdb, module.native_pdb) {
            all.push(("ManagedPdbSignature", managed.signature.to_string()));
            all.push(("ManagedPdbAge", managed.age.to_string()));
            all.push(("ManagedPdbBuildPath", managed.build_path.to_string()));
            all.push(("NativePdbBuildPath", native.build_path.to_string()));
        }
        all.extend(module.native_build_id.map(|id| ("NativeBuildID", id.to_string())));
        all
    };
    match event {
        RuntimeEvent::Method(_, event) => method(event),
        RuntimeEvent::MethodIlMap(_, map) => vec![
            ("MethodID", hex(map.method_id)),
            ("ReJITID", map.code_version.to_string()),
            ("CountOfMapEntries", map.len().to_string()),
            ("NativeOffsets", format!("{:?}", map.entries().map(|(native, _)| native).collect::<Vec<_>>())),
        ],
        RuntimeEvent::JittingStarted(method) => vec![
            ("MethodID", hex(method.method_id)),
            ("ModuleID", hex(method.module_id)),
            ("MethodToken", hex(method.token.into())),
            ("MethodILSize", method.il_size.to_string()),
            ("MethodName", method.names.name.to_string()),
        ],
        RuntimeEvent::Module(_, event) => module(event),
        RuntimeEvent::DomainModule(_, event) => vec![
            ("ModuleID", hex(event.module_id)),
            ("AppDomainID", hex(event.domain_id)),
            ("ModuleILPath", event.il_path.to_string()),
        ],
        RuntimeEvent::Assembly(_, event) => vec![
            ("AssemblyID", hex(event.assembly_id)),
            ("AppDomainID", hex(event.domain_id)),
            ("BindingID", event.binding_id.to_string()),
            ("FullyQualifiedAssemblyName", event.full_name.to_string()),
        ],
        RuntimeEvent::Information(_, event) => vec![
            ("VMMajorVersion", event.version.major.to_string()),
            ("VMQfeNumber", event.version.revision.to_string()),
            ("BclBuildNumber", event.library_version.build.to_string()),
            ("CommandLine", event.command_line.to_string()),
            ("RuntimeDllPath", event.runtime_path.to_string()),
        ],
        RuntimeEvent::Sample(kind) => vec![("Type", format!("{kind:?}"))],
        RuntimeEvent::EntryPoint(event) => vec![
            ("MethodID", hex(event.method_id)),
            ("MethodNamespace", event.names.namespace.to_string()),
            ("MethodName", event.names.name.to_string()),
            ("MethodSignature", event.names.signature.to_string()),
            ("EntryPoint", hex(event.start.0)),
        ],
        RuntimeEvent::Process(process) => vec![("CommandLine", process.command_line.to_string())],
        RuntimeEvent::RundownInit(_) | RuntimeEvent::RundownComplete(_) => vec![],
        other => panic!("new kind of event: {other:?}"),
    }
}

#[test]
fn types_and_descriptions_say_the_same() {
    let mut typed_events = 0;
    for golden in goldens(8) {
        for version in [golden.version, golden.version + 6] {
            let payload = [&golden.payload, &[0; 64][..]].concat();
            with(&golden, version, 8, &payload, |event| {
                let Ok(Some(known)) = RuntimeEvent::decode(&event) else { return };
                let described: BTreeMap<_, _> = event.fields().map(|(name, value)| (name, value.to_string())).collect();
                for (name, value) in typed(&known) {
                    assert_eq!(described.get(name), Some(&value), "{name} of {}", golden.name);
                }
            });
        }
        typed_events += u32::from(with(&golden, golden.version, 8, &golden.payload, |event| {
            RuntimeEvent::decode(&event).expect("as long as described").is_some()
        }));
    }
    assert_eq!(typed_events, 60);
}
