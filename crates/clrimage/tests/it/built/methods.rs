//! Where methods are: every kind of image, of each machine, as a file and as mapped.

use strata_address::Rva;
use strata_clrimage::{Handler, Image, Layout, MethodSource, MethodTable, MethodToken, Part, Place, ProblemKind};
use strata_testkit::image::code::{FuncletKind, Method, Name, Placed};
use strata_testkit::image::samples::{self, Embedded};
use strata_testkit::image::signature::{self, Instance, Type};
use strata_testkit::image::{self, Changes, pe};

/// Builds the image, checks every answer about it that its lists tell, and gives what was wrong in the reader's eyes.
fn check(wanted: &image::Image) -> Vec<ProblemKind> {
    let built = wanted.build();
    let problems = [(&built.file, Layout::File), (&built.memory, Layout::Memory)].map(|(bytes, layout)| {
        let image = Image::parse(bytes, layout).unwrap();
        let table = image.methods().unwrap();
        let named = |(method, _): &(&Method, &Placed)| !method.names.is_empty();
        let methods: Vec<(&Method, &Placed)> = wanted.methods.iter().zip(&built.methods).filter(named).collect();
        assert_eq!(table.methods().len(), methods.len());
        for (method, placed) in methods {
            check_method(&image, &table, method, placed);
        }
        assert_eq!(table.lookup(Rva(0)), None);
        assert_eq!(table.lookup(Rva(built.methods.first().map_or(0, |first| first.start() - 1).into())), None);
        assert_eq!(table.lookup(Rva(u64::MAX)), None);
        for thunk in &built.thunks {
            for rva in [thunk.start, thunk.start + 3] {
                let place = table.lookup(Rva(rva.into()));
                assert!(matches!(place, Some(Place::Thunk { .. })), "{rva:#x}: {place:?}");
            }
        }
        table.problems().iter().map(|problem| problem.kind).collect::<Vec<ProblemKind>>()
    });
    assert_eq!(problems[0], problems[1]);
    problems[0].clone()
}

fn check_method(image: &Image<'_>, table: &MethodTable, method: &Method, placed: &Placed) {
    let found = table.methods().iter().find(|found| found.entry == placed.entry).unwrap();
    assert_eq!((found.start, found.size, found.body_size), (placed.start(), placed.size(), method.body));
    let cold = placed.cold.first().zip(placed.cold.last()).map(|(first, last)| (first.start, last.end() - first.start));
    assert_eq!(found.cold.map(|cold| (cold.start, cold.size)), cold);
    let mut sources: Vec<MethodSource> = [found.source].into_iter().chain(table.aliases(found)).collect();
    assert!(sources.is_sorted());
    for name in &method.names {
        let position = sources.iter().position(|source| same(image, *source, name));
        sources.remove(position.unwrap_or_else(|| panic!("{name:?} in {sources:?}")));
    }
    assert_eq!(sources, []);
    let look = |rva: u32, part: Part, offset: u32| {
        let place = table.lookup(Rva(rva.into()));
        assert_eq!(place, Some(Place::Method { method: found, part, offset }), "{rva:#x}");
    };
    let start = placed.start();
    let parts = [Part::Body]
        .into_iter()
        .chain(method.funclets.iter().map(|funclet| Part::Funclet(Some(handler(funclet.kind)))));
    for (function, part) in placed.hot.iter().zip(parts) {
        look(function.start, part, function.start - start);
        look(function.end() - 1, part, function.end() - 1 - start);
    }
    for function in &placed.cold {
        let continued = |rva: u32| placed.size() + rva - placed.cold[0].start;
        look(function.start, Part::Cold, continued(function.start));
        look(function.end() - 1, Part::Cold, continued(function.end() - 1));
    }
    if method.literals > 0 {
        look(start + placed.size(), Part::Gap, placed.size());
    }
}

fn handler(kind: FuncletKind) -> Handler {
    match kind {
        FuncletKind::Catch | FuncletKind::Filtered => Handler::Catch,
        FuncletKind::Finally => Handler::Finally,
        FuncletKind::Fault => Handler::Fault,
        FuncletKind::Filter => Handler::Filter,
    }
}

/// Whether the reader's source is the name that was written.
fn same(image: &Image<'_>, source: MethodSource, name: &Name) -> bool {
    match (source, name) {
        (MethodSource::Definition { component, rid }, Name::Definition(wanted, row)) => {
            (component as usize, rid) == (*wanted, *row)
        }
        (MethodSource::Instance { signature, .. }, Name::Instance(instance)) => {
            let found = image.instance(signature).unwrap();
            let method = match instance.method {
                signature::Method::Definition(row) => MethodToken::Definition(row),
                signature::Method::Member(row) => MethodToken::Reference(row),
                signature::Method::Slot(_) => return false,
            };
            let bytes = |kind: &Option<Type>| kind.as_ref().map(Type::bytes);
            let arguments: Vec<u8> = instance.arguments.iter().flat_map(Type::bytes).collect();
            let (count, argument_bytes) = found.arguments.unwrap_or_default();
            (found.method, found.module) == (method, instance.module)
                && found.owner.map(<[u8]>::to_vec) == bytes(&instance.owner)
                && (count as usize, argument_bytes) == (instance.arguments.len(), &arguments[..])
                && found.flags & 0x303 == instance.flags
        }
        _ => false,
    }
}

/// The same for images without any damage.
fn check_sound(wanted: &image::Image) {
    assert_eq!(check(wanted), []);
}

#[test]
fn each_machine_version_and_kind() {
    for machine in [pe::LINUX_AMD64, pe::LINUX_ARM64] {
        for version in [(3, 1), (5, 4), (6, 2), (6, 3), (9, 1), (16, 0), (17, 1), (25, 0), (u16::MAX, u16::MAX)] {
            check_sound(&image::Image { machine, version, ..samples::single() });
        }
        check_sound(&image::Image { machine, ..samples::hot_cold() });
    }
    for flags in [0, 0x3, 0x4b, 0xfdf, 0xffff_ffdf] {
        check_sound(&image::Image { flags, ..samples::single() });
    }
    check_sound(&samples::composite(Embedded::Yes));
    check_sound(&samples::composite(Embedded::No));
}

#[test]
fn many_methods_in_wide_tables() {
    let mut image = samples::single();
    image.methods = (1..2000).step_by(2).map(|row| samples::definition(row, 16)).collect();
    image.methods.extend((1..1500).map(|row| {
        let arguments = vec![Type::Primitive((row % 12 + 2) as u8)];
        samples::instance(Instance { arguments, ..Instance::of(row) }, 32)
    }));
    check_sound(&image);
}

#[test]
fn thunks_tell_their_helpers() {
    for machine in [pe::LINUX_AMD64, pe::LINUX_ARM64] {
        let built = image::Image { machine, ..samples::single() }.build();
        let table = Image::parse(&built.file, Layout::File).unwrap().methods().unwrap();
        let found: Vec<(u32, String)> = table.thunks().iter().map(|thunk| (thunk.start, thunk.to_string())).collect();
        let starts = built.thunks.iter().map(|thunk| thunk.start);
        let labels = [
            "[R2R helper jump: PersonalityRoutine]",
            "[R2R helper jump: PersonalityRoutineFilterFunclet]",
            "[R2R delay-load: DelayLoad_Helper]",
            "[R2R delay-load: DelayLoad_MethodCall]",
            "[R2R delay-load: DelayLoad_MethodCall]",
        ];
        let expected: Vec<(u32, String)> = starts.zip(labels.map(str::to_owned)).collect();
        assert_eq!(found, expected, "{machine:#x}");
    }
}

#[test]
fn the_last_hot_method_ends_before_the_cold_parts() {
    let mut image = samples::hot_cold();
    // The last in the order of code has no cold part of its own.
    image.methods.last_mut().unwrap().cold.clear();
    check_sound(&image);
    let built = image.build();
    let table = Image::parse(&built.file, Layout::File).unwrap().methods().unwrap();
    let last = table.methods().last().unwrap();
    assert_eq!((last.functions, last.size, last.cold), (1, 16, None));
}

#[test]
fn several_entries_for_the_same_code() {
    let mut image = samples::single();
    let echo = Instance { arguments: vec![Type::INT], ..Instance::of(samples::ECHO) };
    image.methods[0].names.extend([Name::Definition(0, 4), Name::Instance(echo)]);
    check_sound(&image);
    // The same instance twice over.
    let last = image.methods.len() - 1;
    let name = image.methods[last].names[0].clone();
    image.methods[last].names.push(name);
    let built = image.build();
    let table = Image::parse(&built.file, Layout::File).unwrap().methods().unwrap();
    assert_eq!(table.methods().len(), image.methods.len());
}

#[test]
fn code_that_no_entry_owns_belongs_to_the_method_before() {
    let mut image = samples::single();
    image.methods[4].names.clear();
    let built = image.build();
    let table = Image::parse(&built.file, Layout::File).unwrap().methods().unwrap();
    let place = table.lookup(Rva(built.methods[4].start().into()));
    let Some(Place::Method { method, part: Part::Funclet(None), .. }) = place else { panic!("{place:?}") };
    assert_eq!(method.start, built.methods[3].start());
    assert_eq!(table.problems()[0].kind, ProblemKind::FuncletUnexplained);
}

#[test]
fn images_without_some_tables() {
    let without = |absent: &[u32]| {
        let changes = Changes { absent: absent.to_vec(), ..Changes::default() };
        let built = image::Image { changes, ..samples::single() }.build();
        Image::parse(&built.file, Layout::File).unwrap().methods().map(|table| table.methods().len())
    };
    assert_eq!(without(&[102, 103, 109]).unwrap_or_default(), 0, "type forwarders have no code");
    assert_eq!(without(&[109]).unwrap(), 22);
    assert_eq!(without(&[103]).unwrap(), 4);
    assert_eq!(without(&[100, 101, 104, 105, 106, 112]).unwrap(), 26);
    let empty = image::Image { methods: Vec::new(), ..samples::single() };
    check_sound(&empty);
    let none = |image: image::Image| {
        let built = image.build();
        let table = Image::parse(&built.file, Layout::File).unwrap().methods().unwrap();
        assert_eq!((table.methods(), table.lookup(Rva(0x1_0300))), (&[][..], None));
    };
    none(samples::component());
    none(image::Image::of_kind(image::Kind::IlOnly(samples::library().bytes())));
    none(image::Image::of_kind(image::Kind::Native));
}

#[test]
fn every_form_of_signature() {
    let owner = samples::of(samples::BOX, Type::INT);
    let nested = (0..20).fold(Type::CANON, |inner, _| samples::of(samples::BOX, inner));
    let array = Type::Array(Box::new(Type::INT), 2, vec![3], vec![0, 7]);
    let forms = [
        Instance { flags: 0x1, owner: Some(owner.clone()), ..Instance::of(samples::PUT) },
        Instance { flags: 0x2, arguments: vec![Type::CANON], ..Instance::of(samples::ECHO) },
        Instance { flags: 0x100, ..Instance::of(1) },
        Instance { flags: 0x300, owner: Some(owner.clone()), ..Instance::of(samples::GET) },
        Instance { module: Some(2), owner: Some(owner.clone()), ..Instance::of(0xff_ffff) },
        Instance { module: Some(300), method: signature::Method::Member(2), ..Instance::of(0) },
        Instance { constrained: Some(samples::POINT), ..Instance::of(2) },
        Instance {
            flags: 0x303,
            module: Some(0),
            owner: Some(nested),
            method: signature::Method::Member(1),
            arguments: vec![
                array,
                Type::Pointer(Box::new(Type::Reference(Box::new(Type::VOID)))),
                Type::Vector(Box::new(Type::Variable(9))),
                Type::Function(vec![0x10, 1, 2, 1, 0x1e, 0, 8]),
                Type::Modified(signature::Modifier::Required, signature::Token::Reference(1), Box::new(Type::INT)),
                Type::Modified(signature::Modifier::Optional, signature::Token::Specification(1), Box::new(Type::INT)),
                Type::NativeValue(Box::new(samples::POINT)),
                Type::InModule(70_000, Box::new(Type::OBJECT)),
            ],
            constrained: Some(Type::InModule(1, Box::new(samples::POINT))),
        },
    ];
    let mut image = samples::single();
    image.methods.extend(forms.map(|form| samples::instance(form, 64)));
    check_sound(&image);
}

#[test]
fn entries_that_cannot_be_are_dropped_and_counted() {
    let with = |name: Name, fixups: &[u8]| {
        let mut image = samples::single();
        let method = &mut image.methods[4];
        method.names = vec![name];
        method.fixups = image::code::Fixups::Raw(fixups.to_vec());
        let built = image.build();
        let table = Image::parse(&built.file, Layout::File).unwrap().methods().unwrap();
        assert_eq!(table.methods().len(), image.methods.len() - 1);
        table.problems().iter().map(|problem| (problem.kind, problem.count)).collect::<Vec<_>>()
    };
    let unexplained = (ProblemKind::FuncletUnexplained, 1);
    let definition = || Name::Definition(0, 9);
    let lost = (ProblemKind::EntryWithoutCode, 1);
    assert_eq!(with(definition(), &image::encode::native(2000 << 1)), [lost, unexplained]);
    assert_eq!(with(definition(), &image::encode::native(u32::MAX - 1)), [lost, unexplained]);
    let unreadable = (ProblemKind::EntryUnreadable, 1);
    assert_eq!(with(definition(), &[0x1f]), [unreadable, unexplained]);
    let slot = Instance { method: signature::Method::Slot(4), ..Instance::of(0) };
    assert_eq!(with(Name::Instance(slot), &[0]), [unreadable, unexplained]);
    let ngen = Instance { owner: Some(Type::Primitive(0x3b)), ..Instance::of(1) };
    assert_eq!(with(Name::Instance(ngen), &[0]), [unreadable, unexplained]);
}
