//! Names from metadata and signatures that were put together: forms that the images of runtimes do not have.

use strata_clrimage::metadata::{Metadata, Table, Token as Row};
use strata_clrimage::{Image, Layout, Mark, MethodSource, NameError, Names, NoAssemblies};
use strata_testkit::image::metadata::{Assembly, MethodDefinition};
use strata_testkit::image::signature::{Instance, Method, Token, Type};
use strata_testkit::image::tables::root;
use strata_testkit::image::{self, Component, Kind};

use crate::made_assemblies::{INNER, Known, OPEN, POINT, boxed, method, open_of, shop, small};

#[test]
fn definitions_in_every_style() {
    let bytes = shop().bytes();
    let names = Names::from_metadata(Some(Metadata::parse(&bytes).unwrap()), None, (9, 1), &NoAssemblies);
    let check = |rid, runtime: &str, event: [&str; 3], map: &str| {
        let name = names.name(&MethodSource::Definition { component: 0, rid }).unwrap();
        let found = name.event_style().unwrap();
        assert_eq!(name.runtime_style().unwrap(), runtime);
        assert_eq!([&*found.namespace, &*found.name, &*found.signature], event);
        assert_eq!(name.map_style().unwrap(), map);
        assert_eq!(name.token(), Some(0x0600_0000 | rid));
    };
    check(
        1,
        "instance void [Shop] Shop.Open`1::Add(!0,class Shop.Open`1<!0>)",
        ["Shop.Open`1", "Add", "instance void  (!0,class Shop.Open`1<!0>)"],
        "Shop.Open`1::Add(!T, Shop.Open`1[!T])",
    );
    check(
        2,
        "instance !!0 [Shop] Shop.Open`1::Map(!0[])",
        ["Shop.Open`1", "Map", "instance generic !!0  (!0[])"],
        "!!U Shop.Open`1::Map(!T[])",
    );
    check(
        3,
        "valuetype [Base]Base.Outer/Nested [Shop] Shop.Open`1+Inner::Take(class Shop.Open`1/Inner)",
        ["Shop.Open`1+Inner", "Take", "value class Nested  (class Inner)"],
        "Base.Outer+Nested Shop.Open`1+Inner::Take(Shop.Open`1+Inner)",
    );
    check(
        4,
        "int32[,,] [Shop] Shop.Open`1+Inner::Arrays(string[])",
        ["Shop.Open`1+Inner", "Arrays", "int32[,,]  (class System.String[])"],
        "System.Int32[,,] Shop.Open`1+Inner::Arrays(System.String[*])",
    );
    check(
        5,
        "method int32 *(native uint,object) [Shop] Shop.Point::Pointers(method unmanaged cdecl void *(char),void*)",
        [
            "Shop.Point",
            "Pointers",
            "fnptr int32(unsigned int,class System.Object)  (fnptr unmanaged cdecl void(wchar),void*)",
        ],
        "System.Int32 (System.UIntPtr, System.Object) Shop.Point::Pointers(System.Void (System.Char), System.Void*)",
    );
    check(
        6,
        "instance explicit valuetype Shop.Point& modreq([Base]Base.Outer) [Shop] Shop.Point::Modified(bool modopt([Base]Base.Outer))",
        [
            "Shop.Point",
            "Modified",
            "instance explicit required_modifier Base.Outer value class Shop.Point&  (optional_modifier Base.Outer bool)",
        ],
        "Shop.Point& Shop.Point::Modified(System.Boolean)",
    );
    check(
        7,
        "void [Shop] Shop.Point::Pair(!!1,!!0)",
        ["Shop.Point", "Pair", "generic void  (!!1,!!0)"],
        "Shop.Point::Pair(!!B, !!A)",
    );
}

#[test]
fn instances_of_the_own_assembly() {
    let bytes = shop().bytes();
    let own = || Some(Metadata::parse(&bytes).unwrap());
    let check = |instance: Instance, runtime: &str, map: &str, arguments: &[&str]| {
        let signature = instance.bytes();
        let names = Names::from_metadata(own(), None, (9, 1), &NoAssemblies);
        let name = names.of_signature(&signature).unwrap();
        assert_eq!(name.runtime_style().unwrap(), runtime);
        assert_eq!(name.map_style().unwrap(), map);
        assert_eq!(name.type_arguments().unwrap(), arguments);
    };
    let point = Type::Value(Token::Definition(POINT));
    check(
        Instance { owner: Some(open_of(open_of(Type::CANON))), ..Instance::of(1) },
        "instance void [Shop] Shop.Open`1[Shop.Open`1[System.__Canon]]::Add(!0,class Shop.Open`1<!0>)",
        "Shop.Open`1[Shop.Open`1[System.__Canon]]::Add(Shop.Open`1[System.__Canon], Shop.Open`1[Shop.Open`1[System.__Canon]])",
        &[],
    );
    check(
        Instance {
            owner: Some(open_of(Type::Array(boxed(point.clone()), 1, vec![], vec![]))),
            arguments: vec![Type::Vector(boxed(Type::Primitive(0x18)))],
            ..Instance::of(2)
        },
        "instance !!0 [Shop] Shop.Open`1[Shop.Point[*]]::Map(!0[])",
        "System.IntPtr[] Shop.Open`1[Shop.Point[*]]::Map(Shop.Point[*][])",
        &["System.IntPtr[]"],
    );
    check(
        Instance { arguments: vec![Type::BOOL, Type::NativeValue(boxed(point.clone()))], ..Instance::of(7) },
        "void [Shop] Shop.Point::Pair(!!1,!!0)",
        "Shop.Point::Pair(Shop.Point, System.Boolean)",
        &["System.Boolean", "Shop.Point"],
    );
    check(
        Instance { method: Method::Member(1), ..Instance::of(0) },
        "instance void [Shop] Base.Outer+Nested::Elsewhere()",
        "Base.Outer+Nested::Elsewhere()",
        &[],
    );
    check(
        Instance { method: Method::Member(2), ..Instance::of(0) },
        "instance !0 [Shop] Shop.Open`1[System.Int32]::OfInstance()",
        "!0 Shop.Open`1[System.Int32]::OfInstance()",
        &[],
    );

    let marked = Instance { flags: 0x303, constrained: Some(open_of(point)), ..Instance::of(7) };
    let signature = marked.bytes();
    let names = Names::from_metadata(own(), None, (9, 1), &NoAssemblies);
    let marked = names.of_signature(&signature).unwrap();
    let all = [Mark::UnboxingStub, Mark::InstantiatingStub, Mark::AsyncVariant, Mark::ReturnDroppingAsyncThunk];
    assert!(marked.marks().eq(all));
}

#[test]
fn modules_by_number() {
    let (own, base) = (shop().bytes(), small("Base", &[]).bytes());
    let (other, manifest) = (small("Other", &[]).bytes(), small("Manifest", &["Other", "Base"]).bytes());
    let parse = |bytes| Metadata::parse(bytes).unwrap();
    let known = Known(vec![parse(&base), parse(&other)]);
    let check = |format, module, expected: Result<&str, NameError>| {
        let names = Names::from_metadata(Some(parse(&own)), Some(parse(&manifest)), format, &known);
        let here = Type::Class(Token::Definition(2));
        let there = Type::InModule(module, boxed(here.clone()));
        // Owner in another module, by its signature alone; arguments stay in the image's own.
        let by_owner = Instance { owner: Some(there.clone()), ..Instance::of(1) }.bytes();
        let by_flag =
            Instance { module: Some(module), owner: Some(here.clone()), arguments: vec![here], ..Instance::of(1) }
                .bytes();
        let style = |signature| names.of_signature(signature).and_then(|name| name.runtime_style());
        let expected = expected.map(str::to_owned);
        assert_eq!(style(&by_flag), expected, "{format:?} {module}");
        assert_eq!(style(&by_owner), expected, "{format:?} {module}");
        if expected.is_ok() {
            let arguments = names.of_signature(&by_flag).unwrap().type_arguments().unwrap();
            assert_eq!(arguments, ["Shop.Open`1"], "{format:?} {module}");
        }
        let inside = Instance { owner: Some(open_of(there)), ..Instance::of(1) }.bytes();
        assert_eq!(style(&inside).is_ok(), expected.is_ok(), "{format:?} {module}");
    };
    let base = "void [Base] Base.BaseType::Run(string)";
    let other = "void [Other] Other.OtherType::Run(string)";
    let manifest = "void [Manifest] Manifest.ManifestType::Run(string)";
    check((9, 1), 1, Ok(base));
    check((9, 1), 2, Err(NameError::NoAssembly { name: "Unused".into() }));
    check((9, 1), 3, Ok(manifest));
    check((9, 1), 4, Ok(other));
    check((9, 1), 5, Ok(base));
    check((9, 1), 6, Err(NameError::NoModule { index: 6 }));
    // Before 6.3 the manifest's references follow at once, or one place later: one of the two is there.
    check((6, 2), 3, Ok(other));
    check((6, 2), 4, Ok(base));
    check((6, 2), 5, Ok(base));
    check((6, 2), 6, Err(NameError::NoModule { index: 6 }));

    // The generic type is in another module, its arguments are not.
    let names = Names::from_metadata(Some(parse(&own)), None, (9, 1), &known);
    let there = Type::InModule(1, boxed(Type::Class(Token::Definition(2))));
    let mixed = Type::Instance(boxed(there), vec![Type::Value(Token::Definition(POINT))]);
    let signature = Instance { owner: Some(mixed), ..Instance::of(1) }.bytes();
    let name = names.of_signature(&signature).unwrap().runtime_style().unwrap();
    assert_eq!(name, "void [Base] Base.BaseType[Shop.Point]::Run(string)");
}

#[test]
fn methods_of_a_composite_image() {
    let (first, second) = (small("First", &[]), small("Second", &[]));
    let (first_bytes, second_bytes) = (first.bytes(), second.bytes());
    let core_library = small("System.Private.CoreLib", &[]).bytes();
    let component = |assembly: &Assembly, embedded: Option<&Vec<u8>>| Component {
        name: assembly.name.clone(),
        mvid: assembly.mvid,
        embedded: embedded.cloned(),
    };
    let kind = Kind::Composite(vec![component(&first, Some(&first_bytes)), component(&second, None)]);
    let built = image::Image::of_kind(kind).build();
    let image = Image::parse(&built.file, Layout::File).unwrap();

    let definition = |component| MethodSource::Definition { component, rid: 1 };
    let style = |others: &Known<'_>, component| {
        image.names(others).name(&definition(component)).and_then(|name| name.runtime_style())
    };
    let none = Known(Vec::new());
    assert_eq!(style(&none, 0).as_deref(), Ok("void [First] First.FirstType::Run(string)"));
    assert_eq!(style(&none, 1), Err(NameError::NoAssembly { name: "Second".into() }));
    assert_eq!(style(&none, 2), Err(NameError::NoModule { index: 2 }));
    let beside = Known(vec![Metadata::parse(&second_bytes).unwrap(), Metadata::parse(&core_library).unwrap()]);
    assert_eq!(style(&beside, 1).as_deref(), Ok("void [Second] Second.SecondType::Run(string)"));
    // Another build of the same assembly does not do.
    let rebuilt = Assembly { mvid: [99; 16], ..small("Second", &[]) }.bytes();
    let rebuilt = Known(vec![Metadata::parse(&rebuilt).unwrap()]);
    assert_eq!(style(&rebuilt, 1), Err(NameError::NoAssembly { name: "Second".into() }));

    // Tokens need a module; primitive types are in the core library.
    let here = Type::Class(Token::Definition(2));
    let check = |owner: Type, expected: Result<&str, NameError>| {
        let signature = Instance { owner: Some(owner), ..Instance::of(1) }.bytes();
        let names = image.names(&beside);
        let found = names.of_signature(&signature).and_then(|name| name.runtime_style());
        assert_eq!(found, expected.map(str::to_owned));
    };
    check(Type::InModule(2, boxed(here.clone())), Ok("void [First] First.FirstType::Run(string)"));
    check(Type::InModule(3, boxed(here.clone())), Ok("void [Second] Second.SecondType::Run(string)"));
    check(Type::INT, Ok("void [System.Private.CoreLib] System.Int32::Run(string)"));
    check(here, Err(NameError::NoModule { index: 0 }));
}

#[test]
fn what_cannot_be_named_is_an_error() {
    let mut assembly = shop();
    let point = &mut assembly.types[2];
    let deep = vec![0x1d; 100];
    point.methods.push(method("Deep", 0, Type::Raw(deep), &[], &[]));
    point.methods.push(MethodDefinition { signature: Vec::new(), ..MethodDefinition::simple("Cut") });
    point.methods.push(method("Missing", 0, Type::Class(Token::Definition(77)), &[], &[]));
    point.methods.push(method("Loop", 0, Type::Class(Token::Specification(2)), &[], &[]));
    point.methods.push(method("Bomb", 0, Type::Class(Token::Specification(3)), &[], &[]));
    let specification = |row| Type::Class(Token::Specification(row));
    assembly.specifications.push(specification(2));
    assembly.specifications.push(Type::Instance(boxed(Type::OBJECT), vec![specification(4); 100]));
    assembly.specifications.push(Type::Instance(boxed(Type::OBJECT), vec![specification(5); 100]));
    assembly.specifications.push(Type::Instance(boxed(Type::OBJECT), vec![Type::STRING; 100]));
    let bytes = assembly.bytes();
    let own = Metadata::parse(&bytes).unwrap();
    let names = Names::from_metadata(Some(own), None, (9, 1), &NoAssemblies);
    let check = |rid, expected: &str| {
        let found = names.name(&MethodSource::Definition { component: 0, rid });
        let error = found.and_then(|name| name.event_style()).unwrap_err().to_string();
        assert!(error.contains(expected), "{rid}: {error}");
    };
    check(0, "impossible row number: 0x0");
    check(own.method_count() + 1, "impossible row number");
    check(8, "type is nested too deep");
    check(9, "method signature is cut off");
    check(10, "impossible row number: 0x4d");
    check(11, "type is nested too deep");
    check(12, "the name is too long");
    for signature in [&[][..], &[0x40], &[0x00, 0x7f], &[0x10, 0x09], &[0x40, 0x3b, 1], &[0x80, 0x80, 9, 1]] {
        assert!(names.of_signature(signature).is_err(), "{signature:x?}");
    }
    let instance = MethodSource::Instance { token: 0x0600_0001, signature: 0 };
    assert_eq!(names.name(&instance).unwrap_err(), NameError::NoModule { index: 0 });
}

#[test]
fn methods_out_of_order() {
    // Two types with a method each, which MethodPtr lists from the last to the first; only the stream `#-` has that table.
    let counted = [2_u32; 3].map(u32::to_le_bytes).concat();
    let types = [1_u16, 2].map(|first| [0, 0, 0, 0, 0, 0, first].map(u16::to_le_bytes).concat()).concat();
    let order = [2_u16, 1].map(u16::to_le_bytes).concat();
    let present = (1_u64 << 2 | 1 << 5 | 1 << 6).to_le_bytes();
    let tables = [&[0, 0, 0, 0, 2, 0, 0, 1], &present[..], &[0; 8], &counted, &types, &order, &[0; 28]].concat();
    let bytes = root(&[("#-", tables), ("#Unknown", vec![1])]);
    let own = Metadata::parse(&bytes).unwrap();
    assert_eq!((own.owner_of_method(1).unwrap(), own.owner_of_method(2).unwrap()), (2, 1));
    assert_eq!((own.enclosing_type(1), own.mvid(), own.assembly_name()), (None, None, None));
    assert_eq!(own.method(1).unwrap().name, "");
}

/// Everything that names are made of, for every row and a little beyond.
fn read_all(bytes: &[u8], signature: &[u8]) {
    let Ok(own) = Metadata::parse(bytes) else { return };
    let known = Known(vec![own]);
    for format in [(9, 1), (6, 2)] {
        let names = Names::from_metadata(Some(own), Some(own), format, &known);
        let definitions = (0..=own.method_count() + 1).map(|rid| MethodSource::Definition { component: 0, rid });
        let all = definitions.take(20).map(|source| names.name(&source)).chain([names.of_signature(signature)]);
        for name in all.flatten() {
            let _ = (name.runtime_style(), name.event_style(), name.map_style());
            let _ = name.type_arguments();
        }
    }
}

proptest::proptest! {
    #[test]
    fn damaged_metadata_is_no_panic(changes in proptest::collection::vec((0..2000_usize, 0..=255_u8), 1..6)) {
        let mut bytes = shop().bytes();
        let length = bytes.len();
        for (at, value) in changes {
            bytes[at % length] = value;
        }
        read_all(&bytes, &[]);
    }

    #[test]
    fn any_signature_is_no_panic(signature in proptest::collection::vec(0..=255_u8, 0..40)) {
        let mut assembly = shop();
        assembly.types[2].methods[0].signature = signature.clone();
        assembly.specifications[0] = Type::Raw(signature.clone());
        read_all(&assembly.bytes(), &signature);
    }
}

#[test]
fn metadata_with_wide_and_narrow_columns() {
    let check = |wide_heaps, empty_rows: &[(u8, usize)]| {
        let bytes = Assembly { wide_heaps, empty_rows: empty_rows.to_vec(), ..shop() }.bytes();
        let own = Metadata::parse(&bytes).unwrap();
        assert_eq!((own.assembly_name(), own.module_name()), (Some("Shop"), Some("Shop.dll")));
        assert_eq!(own.mvid().unwrap().to_string(), "07070707-0707-0707-0707-070707070707");
        assert_eq!(own.assembly_reference(2).unwrap(), "Unused");
        assert_eq!((own.owner_of_method(3).unwrap(), own.enclosing_type(INNER)), (INNER, Some(OPEN)));
        assert_eq!((own.owner_of_method(7).unwrap(), own.enclosing_type(OPEN)), (POINT, None));
        let variable = |table, rid, number| own.type_variable(Row { table, rid }, number);
        assert_eq!(variable(Table::TYPE_DEF, OPEN, 0), Some("T"));
        assert_eq!(variable(Table::METHOD_DEF, 7, 1), Some("B"));
        assert_eq!(variable(Table::METHOD_DEF, 7, 2), None);
        for length in 0..bytes.len().min(2000) {
            // Cut anywhere, it is damaged or it is not, but nothing panics.
            let _ = Metadata::parse(&bytes[..length]).map(|own| (own.method(7), own.owner_of_method(7)));
        }
    };
    check(0, &[]);
    check(7, &[]);
    check(2, &[(0x08, 0x1_0000), (0x1b, 0x4000)]);
    check(0, &[(0x23, 0x4000)]);
}
