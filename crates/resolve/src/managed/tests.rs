use super::*;
use proptest::prelude::*;
use strata_address::Avma;
use strata_nettrace::runtime::RUNTIME_PROVIDER;
use strata_testkit::nettrace::{Blob, Blobs, Definition, Stream, utf16};

const MS: u64 = 1_000_000;

fn range(start: u64) -> AvmaRange {
    AvmaRange::sized(Avma(start), 0x40).unwrap()
}

fn event(name: &str, start: u64, (what, at): (What, u64), source: NameSource) -> BodyEvent {
    let method_id = name.bytes().fold(0, |id, byte| id * 256 + u64::from(byte));
    let method = Method {
        name: name.to_owned(),
        module: None,
        kind: CodeKind::Jit(Tier::QuickJitted),
        source,
        home: Home::Memory,
        il: Il::default(),
    };
    BodyEvent { range: range(start), method_id, module_id: 0, at: Timestamp(at * MS), what, method }
}

/// The names at one address at these milliseconds.
fn check(events: Vec<BodyEvent>, expected: &[(u64, Option<&str>)]) {
    let code = ManagedReader { events, ..ManagedReader::default() }.finish();
    for (at, name) in expected {
        let method = code.look_up(Avma(0x1010), Timestamp(at * MS)).0;
        assert_eq!(method.map(|method| method.name.as_str()), *name, "after {at} ms");
    }
}

#[test]
fn a_body_keeps_its_name_until_another_is_born_in_its_place() {
    use NameSource::{JitEvent, Rundown, Snapshot};
    use What::{Born, Listed};
    let a = |what, at, source| event("A", 0x1000, (what, at), source);
    let b = |what, at, source| event("B", 0x1000, (what, at), source);
    check(
        vec![b(Born, 5_000, JitEvent), a(Listed, 5, Snapshot)],
        &[(1, Some("A")), (10, Some("A")), (5_000, Some("B")), (9_000, Some("B"))],
    );
    // The list at the end tells of B once more, and of A never: B is still not from before its birth.
    check(vec![b(Born, 5_000, JitEvent), b(Listed, 9_000, Rundown)], &[(10, None), (5_000, Some("B"))]);
    check(
        vec![b(Born, 5_000, JitEvent), b(Listed, 9_000, Rundown), a(Listed, 5, Snapshot), a(Listed, 9_000, Rundown)],
        &[(10, Some("A")), (5_000, Some("B")), (9_000, Some("B"))],
    );
    // Without any birth the list at the beginning knows better what was there before than the one at the end.
    check(
        vec![b(Listed, 9_900, Rundown), a(Listed, 5, Snapshot)],
        &[(1, Some("A")), (10, Some("A")), (9_000, Some("A"))],
    );
    check(vec![b(Listed, 9_900, JitEvent), a(Listed, 5, Snapshot)], &[(10, Some("A"))]);
}

#[test]
fn a_body_that_was_told_of_twice_is_one() {
    use NameSource::{JitEvent, Rundown, Snapshot};
    use What::{Born, Gone, Listed};
    let a = |what, at, source| event("A", 0x1000, (what, at), source);
    let sources = |events: Vec<BodyEvent>| {
        let code = ManagedReader { events, ..ManagedReader::default() }.finish();
        code.methods.iter().map(|method| method.source).collect::<Vec<_>>()
    };
    assert_eq!(sources(vec![a(Born, 10, JitEvent), a(Listed, 20, Snapshot), a(Listed, 9_000, Rundown)]), [JitEvent]);
    assert_eq!(sources(vec![a(Listed, 20, Snapshot), a(Listed, 9_000, Rundown)]), [Snapshot]);
    // The list has it a moment before its birth is told of: it is no older than that.
    let early = || vec![a(Listed, 2_000, Snapshot), a(Born, 2_100, JitEvent)];
    assert_eq!(sources(early()), [JitEvent]);
    check(early(), &[(1_000, None), (1_500, Some("A")), (3_000, Some("A"))]);
    // After its death the next in its place is another, though it has the same id.
    let again =
        || vec![a(Born, 10, JitEvent), a(Gone, 20, JitEvent), a(Born, 5_000, JitEvent), a(Gone, 6_000, JitEvent)];
    assert_eq!(sources(again()), [JitEvent, JitEvent]);
    check(again(), &[(10, Some("A")), (20, None), (5_000, Some("A")), (5_999, Some("A")), (6_000, None)]);
    // The birth of the second was lost.
    let lost = vec![a(Born, 10, JitEvent), a(Gone, 20, JitEvent), a(Gone, 6_000, JitEvent)];
    check(lost, &[(19, Some("A")), (20, Some("A")), (5_999, Some("A")), (6_000, None)]);
}

#[test]
fn events_of_several_threads_may_be_in_any_order() {
    use NameSource::JitEvent;
    use What::{Born, Gone};
    let events = || {
        [
            event("A", 0x1000, (Born, 10), JitEvent),
            event("A", 0x1000, (Gone, 2_000), JitEvent),
            event("B", 0x1000, (Born, 4_000), JitEvent),
            event("B", 0x1000, (Gone, 6_000), JitEvent),
        ]
    };
    let expected = [(10, Some("A")), (2_000, None), (4_000, Some("B")), (5_999, Some("B")), (6_000, None)];
    check(events().into_iter().collect(), &expected);
    check(events().into_iter().rev().collect(), &expected);
    // The death of a body is told of when another has its place.
    let late = vec![
        event("A", 0x1000, (Born, 10), JitEvent),
        event("B", 0x1000, (Born, 2_000), JitEvent),
        event("A", 0x1000, (Gone, 2_001), JitEvent),
    ];
    check(late, &[(1_999, Some("A")), (2_000, Some("B")), (2_002, Some("B"))]);
}

#[test]
fn another_program_under_the_same_number_has_none_of_the_code() {
    let code = |listed| {
        let listed = event("A", 0x1000, (What::Listed, listed), NameSource::Snapshot);
        let born = event("B", 0x1000, (What::Born, 8_000), NameSource::JitEvent);
        ManagedReader { events: vec![listed, born], ..ManagedReader::default() }.finish()
    };
    let name = |code: &ManagedCode, at: u64| {
        code.look_up(Avma(0x1010), Timestamp(at * MS)).0.map(|method| method.name.clone())
    };

    let mut attached = code(6);
    assert_eq!(name(&attached, 10).as_deref(), Some("A"));
    attached.end(Timestamp(20 * MS));
    assert_eq!(name(&attached, 20), None);
    assert_eq!(name(&attached, 8_000).as_deref(), Some("B"), "what is born later is there");

    let mut launched = code(31);
    launched.end(Timestamp(20 * MS));
    assert_eq!(name(&launched, 20).as_deref(), Some("A"), "the runtime began after the program did");
}

/// What a runtime did with a few places in its memory, one step each 400 ms: each step makes a body in a place, or takes it away.
fn bodies_of(steps: &[u64]) -> Vec<(String, u64, u64, Option<u64>)> {
    let mut bodies: Vec<(String, u64, u64, Option<u64>)> = Vec::new();
    for (place, step) in steps.iter().zip(1_u64..) {
        let at = step * 400;
        match bodies.iter_mut().find(|(_, start, _, died)| *start == 0x1000 * (place + 1) && died.is_none()) {
            Some((.., died)) => *died = Some(at),
            None => bodies.push((format!("M{step}"), 0x1000 * (place + 1), at, None)),
        }
    }
    bodies
}

proptest! {
    /// Who attaches while a program makes and unloads code, takes a snapshot later and a list at the end, has a name for all
    /// code that is there from then on, and no other one.
    #[test]
    fn all_code_since_the_stream_began_has_its_name(
        (steps, shuffle) in prop::collection::vec(0..3_u64, 1..30).prop_flat_map(|steps| {
            let events = (0..4 * steps.len()).collect::<Vec<_>>();
            (Just(steps), Just(events).prop_shuffle())
        }),
        began in 0..30_u64,
        until_snapshot in 0..5_u64,
    ) {
        let bodies = bodies_of(&steps);
        let end = (steps.len() as u64 + 1) * 400;
        let began = (began * 400 + 100).min(end);
        let snapshot = began + until_snapshot * 400;
        let mut events = Vec::new();
        for (name, start, born, died) in &bodies {
            let mut tell = |what, at, source| events.push(event(name, *start, (what, at), source));
            let is_there = |at| *born < at && died.is_none_or(|died| at < died);
            if *born > began {
                tell(What::Born, *born, NameSource::JitEvent);
            }
            if let Some(died) = died.filter(|died| *died > began) {
                tell(What::Gone, died, NameSource::JitEvent);
            }
            for (at, source) in [(snapshot, NameSource::Snapshot), (end + 1, NameSource::Rundown)] {
                if is_there(at) {
                    tell(What::Listed, at, source);
                }
            }
        }
        // Events come from several threads and two streams.
        let mut events: Vec<_> = events.into_iter().zip(shuffle).collect();
        events.sort_by_key(|(_, place)| *place);
        let events = events.into_iter().map(|(event, _)| event).collect();
        let code = ManagedReader { events, ..ManagedReader::default() }.finish();
        for at in (began..end + 1_000).step_by(100) {
            for start in [0x1000, 0x2000, 0x3000] {
                let name = code.look_up(Avma(start + 0x10), Timestamp(at * MS)).0.map(|method| &method.name);
                let there = bodies.iter().find(|(_, place, born, died)| {
                    *place == start && *born <= at && died.is_none_or(|died| at < died)
                });
                let next = bodies.iter().find(|(_, place, born, _)| *place == start && *born > at && born - at <= 1_000);
                match there {
                    Some((there, ..)) => prop_assert_eq!(name, Some(there), "at {}", at),
                    None => prop_assert!(name.is_none() || name == next.map(|(name, ..)| name), "{:?} at {}", name, at),
                }
            }
        }
    }
}

/// A load event of version 2, brief or with its name.
fn load(method_id: u64, start: u64, name: Option<&str>) -> Vec<u8> {
    let mut bytes = method_id.to_le_bytes().to_vec();
    bytes.extend(0_u64.to_le_bytes());
    bytes.extend(start.to_le_bytes());
    bytes.extend(0x40_u32.to_le_bytes());
    bytes.extend(0x0600_0005_u32.to_le_bytes());
    bytes.extend(8_u32.to_le_bytes());
    for text in name.map(|name| ["N.T", name, "void ()"]).into_iter().flatten() {
        bytes.extend(utf16(text));
    }
    bytes.extend([0; 2]);
    bytes.extend([0; 8]);
    bytes
}

/// A map of a body with one row.
fn il_map(method_id: u64, code_version: u64, il_offset: u32) -> Vec<u8> {
    let mut bytes = method_id.to_le_bytes().to_vec();
    bytes.extend(code_version.to_le_bytes());
    bytes.extend([0, 1, 0]);
    bytes.extend(il_offset.to_le_bytes());
    bytes.extend(0_u32.to_le_bytes());
    bytes.extend([0; 10]);
    bytes
}

#[test]
fn maps_find_their_bodies_by_thread_and_neighbourhood() {
    use strata_nettrace::runtime::RUNDOWN_PROVIDER;
    let definitions = [
        Definition::native(1, RUNTIME_PROVIDER, 143, 2),
        Definition::native(2, RUNTIME_PROVIDER, 190, 1),
        Definition::native(3, RUNDOWN_PROVIDER, 144, 2),
        Definition::native(4, RUNDOWN_PROVIDER, 150, 1),
    ];
    let events = [
        // Two threads compile at once; each map follows the body on its own thread.
        (9, 1, load(1, 0x1000, Some("A"))),
        (8, 1, load(2, 0x2000, Some("B"))),
        (9, 2, il_map(1, 0, 11)),
        (8, 2, il_map(2, 0, 22)),
        // The event of the second body of A was dropped: its map is not the first body's.
        (9, 1, load(1, 0x3000, Some("A"))),
        (9, 2, il_map(1, 7, 33)),
        // In lists the map comes first.
        (9, 4, il_map(4, 0, 44)),
        (9, 3, load(4, 0x4000, Some("D"))),
        (9, 3, load(5, 0x5000, Some("E"))),
        // The body was dropped that this map was for.
        (9, 4, il_map(6, 0, 66)),
        (9, 3, load(7, 0x7000, Some("G"))),
    ];
    let blobs = events.into_iter().fold((Blobs::compressed(), [0; 10]), |(blobs, mut sequence), event| {
        let (thread, metadata, payload) = event;
        sequence[usize::try_from(thread).unwrap()] += 1;
        let sequence_number = sequence[usize::try_from(thread).unwrap()];
        let blob = Blob {
            metadata,
            payload,
            sequence: sequence_number,
            capture_thread: thread,
            time: 2_000,
            ..Blob::default()
        };
        (blobs.with(blob), sequence)
    });
    let stream = Stream::with_trace().metadata(&definitions).events(&blobs.0).end();
    let mut reader = ManagedReader::default();
    reader.read("dotnet-1-live.nettrace", StreamKind::Live, &stream, 0);
    let code = reader.finish();
    assert_eq!((code.damage.len(), code.missing), (0, Missing { unpaired_maps: 2, ..Missing::default() }));
    let il = |start: u64| {
        let method = code.look_up(Avma(start + 0x10), Timestamp(3_000)).0.unwrap();
        assert_eq!((method.il.start, method.il.token), (Avma(start), 0x0600_0005));
        let (row, map, native_offset) = method.il.place(Avma(start + 0x10))?;
        assert_eq!((row, native_offset), (5, 0x10));
        Some(map[0].il_offset)
    };
    use strata_clrimage::IlOffset::Offset;
    let found = [0x1000, 0x2000, 0x3000, 0x4000, 0x5000, 0x7000].map(il);
    assert_eq!(found, [Some(Offset(11)), Some(Offset(22)), None, Some(Offset(44)), None, None]);
}

#[test]
fn events_that_tell_no_name_are_counted() {
    let definitions =
        [Definition::native(1, RUNTIME_PROVIDER, 141, 2), Definition::native(2, RUNTIME_PROVIDER, 143, 2)];
    let mut whole = load(1, 0x1000, Some("A"));
    let events = [
        (1, load(1, 0x1000, None)),
        (2, whole.clone()),
        (1, load(2, 0x2000, None)),
        (1, load(2, 0x2000, None)),
        (2, whole.split_off(30)),
    ];
    let blobs = events.into_iter().zip(1..).fold(Blobs::compressed(), |blobs, ((metadata, payload), sequence)| {
        blobs.with(Blob { metadata, payload, sequence, capture_thread: 9, time: 2_000, ..Blob::default() })
    });
    let stream = Stream::with_trace().metadata(&definitions).events(&blobs).end();
    let mut reader = ManagedReader::default();
    reader.read("dotnet-1-live.nettrace", StreamKind::Live, &stream, 500);
    let code = reader.finish();
    assert_eq!(code.damage, []);
    assert_eq!(code.missing, Missing { undecodable: 1, nameless: 1, ..Missing::default() });
    // On the recorder's clock it came at 1,500.
    let (method, until) = code.look_up(Avma(0x1010), Timestamp(1_499));
    assert_eq!((method.map(|method| method.name.as_str()), until), (Some("N.T.A()"), Timestamp(1_500)));
}

#[test]
fn a_map_at_the_end_of_a_stream_is_not_of_a_body_in_the_next() {
    use strata_nettrace::runtime::RUNDOWN_PROVIDER;
    let definitions =
        [Definition::native(3, RUNDOWN_PROVIDER, 144, 2), Definition::native(4, RUNDOWN_PROVIDER, 150, 1)];
    let stream = |metadata, payload| {
        let blob = Blob { metadata, payload, sequence: 1, capture_thread: 9, time: 2_000, ..Blob::default() };
        Stream::with_trace().metadata(&definitions).events(&Blobs::compressed().with(blob)).end()
    };
    let mut reader = ManagedReader::default();
    reader.read("first", StreamKind::Attach, &stream(4, il_map(1, 0, 11)), 0);
    reader.read("second", StreamKind::Live, &stream(3, load(1, 0x1000, Some("A"))), 0);
    let code = reader.finish();
    assert_eq!(code.missing, Missing { unpaired_maps: 1, ..Missing::default() });
    assert_eq!(code.methods[0].il.map, None);
}

#[test]
fn a_body_is_of_the_module_that_its_id_meant_at_its_time() {
    let module = |path: &str| ModuleFile { path: path.into(), pdb: None };
    let mut reader = ManagedReader {
        events: vec![
            event("Early", 0x1000, (What::Born, 1), NameSource::JitEvent),
            event("First", 0x2000, (What::Born, 15), NameSource::JitEvent),
            event("Second", 0x3000, (What::Born, 20), NameSource::JitEvent),
        ],
        ..ManagedReader::default()
    };
    reader.modules.told(0, Timestamp(20 * MS), module("second.dll"));
    reader.modules.told(0, Timestamp(10 * MS), module("first.dll"));
    reader.modules.told(1, Timestamp(16 * MS), module("other.dll"));
    let code = reader.finish();
    let paths = code.methods.iter().map(|method| method.module.as_ref().map(|module| &*module.path));
    assert_eq!(paths.collect::<Vec<_>>(), [Some("first.dll"), Some("first.dll"), Some("second.dll")]);
    assert_eq!(code.methods.len(), 3);
}
