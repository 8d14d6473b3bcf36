//! Names in composite images and across modules, and every form of signature.

use strata_clrimage::metadata::Metadata;
use strata_clrimage::{Assemblies, EventName, Image, Layout, Mark, MethodName, NameError};
use strata_testkit::image::code::{Fixups, Method, Name};
use strata_testkit::image::metadata::Assembly;
use strata_testkit::image::samples::{self, ADD, BAG, BOX, ECHO, Embedded, GET, MAKE, POINT, PUT};
use strata_testkit::image::signature::{self, Instance, Modifier, Token, Type};
use strata_testkit::image::{self, Changes, Kind};

/// Assemblies by name, as they would be found beside an image.
struct Beside(Vec<(String, Vec<u8>)>);

impl Beside {
    fn of(assemblies: &[Assembly]) -> Self {
        Self(assemblies.iter().map(|assembly| (assembly.name.clone(), assembly.bytes())).collect())
    }
}

impl<'d> Assemblies<'d> for &'d Beside {
    fn find(&self, simple_name: &str) -> Option<Metadata<'d>> {
        let (_, bytes) = self.0.iter().find(|(name, _)| name == simple_name)?;
        Metadata::parse(bytes).ok()
    }
}

/// Gives to `check` the name of the method in each place of the image's list.
fn names(wanted: &image::Image, beside: &Beside, check: impl Fn(usize, Result<MethodName<'_, '_>, NameError>)) {
    let built = wanted.build();
    for (bytes, layout) in [(&built.file, Layout::File), (&built.memory, Layout::Memory)] {
        let image = Image::parse(bytes, layout).unwrap();
        let table = image.methods().unwrap();
        let others = &beside;
        let names = image.names(others);
        for (index, placed) in built.methods.iter().enumerate() {
            let method = table.methods().iter().find(|method| method.entry == placed.entry).unwrap();
            check(index, names.name(&method.source));
        }
    }
}

/// The name in the runtime's style, or why there is none.
fn text(name: Result<MethodName<'_, '_>, NameError>) -> String {
    name.and_then(|name| name.runtime_style()).unwrap_or_else(|error| error.to_string())
}

fn check_texts(image: &image::Image, beside: &Beside, expected: &[&str]) {
    assert_eq!(image.methods.len(), expected.len());
    names(image, beside, |index, name| assert_eq!(text(name), expected[index], "{index}"));
}

/// The names of instances in an image of [`samples::library`].
fn check_instances(image: &image::Image, beside: &Beside, instances: &[(Instance, &str)]) {
    let methods: Vec<Method> = instances.iter().map(|(instance, _)| samples::instance(instance.clone(), 16)).collect();
    let expected: Vec<&str> = instances.iter().map(|(_, expected)| *expected).collect();
    check_texts(&image::Image { methods, ..image.clone() }, beside, &expected);
}

fn module(index: u32, kind: Type) -> Type {
    Type::InModule(index, Box::new(kind))
}

#[test]
fn definitions_and_instances_of_one_assembly() {
    let mut image = samples::single();
    image.methods.retain(|method| !matches!(method.names[..], [Name::Definition(_, 10..)]));
    image.methods.iter_mut().for_each(|method| method.fixups = Fixups::None);
    let none = Beside::of(&[]);
    check_texts(
        &image,
        &none,
        &[
            "instance void [Library] Sample.Plain::.ctor()",
            "int32 [Library] Sample.Plain::Run(string,int32[])",
            "instance void [Library] Sample.Plain::Guard(valuetype Sample.Point&)",
            "class [Other]Other.Thing/Part [Library] Sample.Plain+Inner::Work()",
            "instance float64 [Library] Sample.Point::Length()",
            "instance void [Library] Sample.Box`1[System.Int32]::Put(!0)",
            "instance !0 [Library] Sample.Box`1[System.__Canon]::Get()",
            "!!0 [Library] Sample.Plain::Echo(!!0)",
            "instance void [Library] Sample.Box`1+Pair`2[Sample.Point,System.String]::Swap(!1)",
        ],
    );
    let maps = [
        "Sample.Plain::.ctor()",
        "System.Int32 Sample.Plain::Run(System.String, System.Int32[])",
        "Sample.Plain::Guard(Sample.Point&)",
        "Other.Thing+Part Sample.Plain+Inner::Work()",
        "System.Double Sample.Point::Length()",
        "Sample.Box`1[System.Int32]::Put(System.Int32)",
        "System.__Canon Sample.Box`1[System.__Canon]::Get()",
        "System.__Canon Sample.Plain::Echo(System.__Canon)",
        "Sample.Box`1+Pair`2[Sample.Point, System.String]::Swap(System.String)",
    ];
    let events = [
        ("Sample.Plain", ".ctor", "instance void  ()"),
        ("Sample.Plain", "Run", "int32  (class System.String,int32[])"),
        ("Sample.Plain", "Guard", "instance void  (value class Sample.Point&)"),
        ("Sample.Plain+Inner", "Work", "class Part  ()"),
        ("Sample.Point", "Length", "instance float64  ()"),
        ("Sample.Box`1[System.Int32]", "Put", "instance void  (!0)"),
        ("Sample.Box`1[System.__Canon]", "Get", "instance !0  ()"),
        ("Sample.Plain", "Echo", "generic !!0  (!!0)"),
        ("Sample.Box`1+Pair`2[Sample.Point,System.String]", "Swap", "instance void  (!1)"),
    ];
    names(&image, &none, |index, name| {
        let name = name.unwrap();
        assert_eq!(name.map_style().unwrap(), maps[index]);
        let (namespace, own_name, signature) = events[index];
        let event = EventName { namespace: namespace.into(), name: own_name.into(), signature: signature.into() };
        assert_eq!(name.event_style().unwrap(), event);
        let arguments = if index == 7 { vec!["System.__Canon".to_owned()] } else { Vec::new() };
        assert_eq!(name.type_arguments().unwrap(), arguments);
    });
}

#[test]
fn marks_of_stubs_and_variants() {
    let check = |flags, expected: &[Mark]| {
        let methods = vec![samples::instance(Instance { flags, ..Instance::of(1) }, 16)];
        names(&image::Image { methods, ..samples::single() }, &Beside::of(&[]), |_, name| {
            let name = name.unwrap();
            assert_eq!(name.marks().collect::<Vec<Mark>>(), expected);
            assert_eq!(name.runtime_style().unwrap(), "instance void [Library] Sample.Plain::.ctor()");
        });
    };
    check(0, &[]);
    check(0x1, &[Mark::UnboxingStub]);
    check(0x2, &[Mark::InstantiatingStub]);
    check(0x100, &[Mark::AsyncVariant]);
    check(0x200, &[Mark::ReturnDroppingAsyncThunk]);
    check(0x301, &[Mark::UnboxingStub, Mark::AsyncVariant, Mark::ReturnDroppingAsyncThunk]);
}

#[test]
fn types_of_every_form() {
    let check = |kind: Type, expected: &str| {
        let of_type =
            samples::instance(Instance { owner: Some(samples::of(BOX, kind.clone())), ..Instance::of(GET) }, 16);
        let arguments = vec![kind.clone()];
        let of_method = Instance { arguments, constrained: Some(kind), ..Instance::of(ECHO) };
        let methods = vec![of_type, samples::instance(of_method, 16)];
        names(&image::Image { methods, ..samples::single() }, &Beside::of(&[samples::other()]), |index, name| {
            let name = name.unwrap();
            if index == 0 {
                let text = format!("instance !0 [Library] Sample.Box`1[{expected}]::Get()");
                assert_eq!(name.runtime_style().unwrap(), text);
            } else {
                assert_eq!(name.type_arguments().unwrap(), [expected]);
            }
        });
    };
    let boxed = Box::new;
    for (element, name) in [
        (0x02, "System.Boolean"),
        (0x03, "System.Char"),
        (0x04, "System.SByte"),
        (0x05, "System.Byte"),
        (0x06, "System.Int16"),
        (0x07, "System.UInt16"),
        (0x08, "System.Int32"),
        (0x09, "System.UInt32"),
        (0x0a, "System.Int64"),
        (0x0b, "System.UInt64"),
        (0x0c, "System.Single"),
        (0x0d, "System.Double"),
        (0x0e, "System.String"),
        (0x16, "System.TypedReference"),
        (0x18, "System.IntPtr"),
        (0x19, "System.UIntPtr"),
        (0x1c, "System.Object"),
        (0x3e, "System.__Canon"),
    ] {
        check(Type::Primitive(element), name);
    }
    check(Type::Vector(boxed(Type::Vector(boxed(Type::INT)))), "System.Int32[][]");
    check(Type::Array(boxed(POINT), 3, vec![1], vec![0, 4]), "Sample.Point[,,]");
    check(Type::Pointer(boxed(Type::Pointer(boxed(Type::VOID)))), "System.Void**");
    check(Type::Reference(boxed(Type::STRING)), "System.String&");
    check(samples::of(BOX, samples::of(BOX, POINT)), "Sample.Box`1[Sample.Box`1[Sample.Point]]");
    check(Type::Class(Token::Reference(1)), "System.Object");
    check(Type::Class(Token::Reference(3)), "Other.Thing+Part");
    check(Type::Class(Token::Reference(5)), "Native.Handle");
    check(Type::Class(Token::Specification(1)), "Sample.Box`1[System.Int32]");
    check(Type::Class(Token::Definition(5)), "Sample.Box`1+Pair`2");
    check(module(2, Type::Class(Token::Definition(4))), "Other.Thing+Part");
    // Arguments are of the module outside, not of the one that the generic type is in.
    check(samples::of(module(2, BAG), POINT), "Other.Bag`1[Sample.Point]");
    check(module(2, samples::of(BAG, POINT)), "Other.Bag`1[Sample.Point]");
}

#[test]
fn function_pointers_and_modifiers_have_some_name() {
    let boxed = Box::new;
    for kind in [
        Type::Function(vec![0x00, 1, 0x08, 0x0e]),
        Type::Function(vec![0x10, 1, 2, 1, 0x1e, 0, 8]),
        Type::Function(vec![0x05, 2, 0x08, 0x0e, 0x41, 0x0e]),
        Type::Modified(Modifier::Required, Token::Reference(1), boxed(Type::INT)),
        Type::Modified(Modifier::Optional, Token::Specification(1), boxed(Type::INT)),
        Type::NativeValue(boxed(POINT)),
        Type::Variable(7),
        Type::MethodVariable(9),
    ] {
        let owner = Some(samples::of(BOX, kind.clone()));
        let methods = vec![samples::instance(Instance { owner, ..Instance::of(PUT) }, 16)];
        names(&image::Image { methods, ..samples::single() }, &Beside::of(&[]), |_, name| {
            let name = name.unwrap();
            assert!(name.runtime_style().is_ok() && name.map_style().is_ok() && name.event_style().is_ok(), "{kind:?}");
        });
    }
}

/// [`samples::other`] under another name, with `More` in front of the names of its types.
fn extra(name: &str) -> Assembly {
    let mut assembly = Assembly { name: name.into(), ..samples::other() };
    for definition in &mut assembly.types {
        definition.name = format!("{name}{}", definition.name);
    }
    assembly
}

/// An image of [`samples::library`], which refers to two assemblies, with a manifest of its own types that refers to more.
fn with_manifest(version: (u16, u16), references: &[&str]) -> image::Image {
    let references = references.iter().map(|name| name.to_string()).collect();
    let manifest = Assembly { references, ..extra("Manifest") };
    let content = [(112, manifest.bytes())].into();
    image::Image { version, changes: Changes { content, ..Changes::default() }, ..samples::single() }
}

fn make(index: u32) -> Instance {
    Instance { module: Some(index), arguments: vec![Type::INT], ..Instance::of(MAKE) }
}

#[test]
fn modules_by_number() {
    let beside = Beside::of(&[samples::other(), extra("First"), extra("Second")]);
    let references = ["First", "Second"];
    let everywhere = [
        (make(2), "!!0 [Other] Other.Thing::Make(!!0)"),
        (make(1), "the metadata of System.Runtime is needed"),
        (make(70), "no module 70"),
        (Instance { module: Some(0), ..Instance::of(9) }, "instance float64 [Library] Sample.Point::Length()"),
        (
            Instance { module: Some(2), owner: Some(samples::of(BAG, Type::INT)), ..Instance::of(ADD) },
            "instance void [Other] Other.Bag`1[System.Int32]::Add(!0)",
        ),
        (
            Instance { owner: Some(samples::of(module(2, BAG), POINT)), ..Instance::of(ADD) },
            "instance void [Other] Other.Bag`1[Sample.Point]::Add(!0)",
        ),
        (
            Instance { owner: Some(module(2, Type::Class(Token::Definition(4)))), ..Instance::of(4) },
            "void [Other] Other.Thing+Part::Piece()",
        ),
        (
            Instance { module: Some(0), method: signature::Method::Member(1), ..Instance::of(0) },
            "void [Library] Other.Thing::Do()",
        ),
        (
            Instance { module: Some(0), method: signature::Method::Member(2), ..Instance::of(0) },
            "instance !0 [Library] Sample.Box`1[System.Int32]::Get()",
        ),
    ];
    for version in [(9, 1), (6, 3), (16, 0), (25, 0), (6, 2), (5, 4), (3, 1)] {
        check_instances(&with_manifest(version, &references), &beside, &everywhere);
    }
    // The manifest itself has the next number from 6.3 on.
    for version in [(6, 3), (9, 1), (25, 0)] {
        let numbered = [
            (make(3), "!!0 [Manifest] Other.ManifestThing::Make(!!0)"),
            (make(4), "!!0 [First] Other.FirstThing::Make(!!0)"),
            (make(5), "!!0 [Second] Other.SecondThing::Make(!!0)"),
            (make(6), "no module 6"),
        ];
        check_instances(&with_manifest(version, &references), &beside, &numbered);
    }
    for version in [(3, 1), (5, 4), (6, 2)] {
        let numbered = [
            (make(3), "!!0 [First] Other.FirstThing::Make(!!0)"),
            (make(4), "!!0 [Second] Other.SecondThing::Make(!!0)"),
            (make(6), "no module 6"),
        ];
        check_instances(&with_manifest(version, &references), &beside, &numbered);
        // One more than there are rows can only be the other rule's number.
        check_instances(
            &with_manifest(version, &["First"]),
            &beside,
            &[(make(4), "!!0 [First] Other.FirstThing::Make(!!0)")],
        );
    }
}

#[test]
fn types_of_a_signature_are_of_the_module_it_names() {
    let inner = samples::of(BAG, Type::Class(Token::Definition(4)));
    let owned = Instance { module: Some(2), owner: Some(inner), ..Instance::of(ADD) };
    // The method's own arguments are of the image.
    let argument = Instance { module: Some(2), arguments: vec![POINT], ..Instance::of(MAKE) };
    let methods = vec![samples::instance(owned, 16), samples::instance(argument, 16)];
    names(&image::Image { methods, ..samples::single() }, &Beside::of(&[samples::other()]), |index, name| {
        let name = name.unwrap();
        if index == 0 {
            let text = "instance void [Other] Other.Bag`1[Other.Thing+Part]::Add(!0)";
            assert_eq!(name.runtime_style().unwrap(), text);
        } else {
            assert_eq!(name.type_arguments().unwrap(), ["Sample.Point"]);
        }
    });
}

const COMPOSITE: [&str; 6] = [
    "instance void [Library] Sample.Plain::.ctor()",
    "int32 [Library] Sample.Plain::Run(string,int32[])",
    "instance float64 [Library] Sample.Point::Length()",
    "void [Other] Other.Thing::Do()",
    "instance void [Library] Sample.Box`1[Other.Thing]::Put(!0)",
    "instance void [Other] Other.Bag`1[System.Int32]::Add(!0)",
];

#[test]
fn composite_images() {
    let both = Beside::of(&[samples::library(), samples::other()]);
    let none = Beside::of(&[]);
    check_texts(&samples::composite(Embedded::Yes), &none, &COMPOSITE);
    check_texts(&samples::composite(Embedded::No), &both, &COMPOSITE);
    let library = "the metadata of Library is needed";
    let other = "the metadata of Other is needed";
    check_texts(&samples::composite(Embedded::No), &none, &[library, library, library, other, library, other]);
}

#[test]
fn a_composite_image_of_the_older_numbers() {
    let mut image = samples::composite(Embedded::Yes);
    image.version = (5, 4);
    let owner = samples::of(module(1, BOX), module(2, Type::Class(Token::Definition(2))));
    let put = Instance { owner: Some(owner), ..Instance::of(PUT) };
    image.methods[4] = samples::instance(put, 24);
    image.methods[5] =
        samples::instance(Instance { owner: Some(samples::of(module(2, BAG), Type::INT)), ..Instance::of(ADD) }, 80);
    check_texts(&image, &Beside::of(&[]), &COMPOSITE);
}

#[test]
fn assemblies_of_another_build_give_no_names() {
    // The same name, but not what was compiled.
    let rebuilt = Assembly { mvid: [9; 16], ..samples::other() };
    let beside = Beside::of(&[samples::library(), rebuilt]);
    let other = "the metadata of Other is needed";
    let mut expected = COMPOSITE;
    expected[3] = other;
    expected[5] = other;
    names(&samples::composite(Embedded::No), &beside, |index, name| match index {
        // Only the name of a type argument is of the other assembly.
        4 => assert!(name.and_then(|name| name.runtime_style()).is_err()),
        _ => assert_eq!(text(name), expected[index], "{index}"),
    });
    // Without an identity in the image, what is found is taken.
    let mut image = samples::composite(Embedded::No);
    let Kind::Composite(components) = &mut image.kind else { unreachable!() };
    components[1].mvid = [0; 16];
    check_texts(&image, &beside, &COMPOSITE);
}
