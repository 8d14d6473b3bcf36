//! Small images that have everything the formats know: what tests and fuzzers begin with.

use super::code::{Fixups, Funclet, FuncletKind, Method, Name};
use super::debug_info::{Bound, Debug};
use super::metadata::{
    Assembly, MemberReference, MethodDefinition, Parent, Scope, TypeDefinition, TypeReference, method_signature,
};
use super::signature::{Instance, Token, Type};
use super::{Component, Image, Kind};

/// Module version id of [`library`].
pub const LIBRARY_MVID: [u8; 16] = *b"library's module";
/// Module version id of [`other`].
pub const OTHER_MVID: [u8; 16] = *b"an other module!";

/// Row of `Sample.Plain.Echo<T>` in the methods of [`library`].
pub const ECHO: u32 = 4;
/// Row of ``Sample.Box`1.Put``.
pub const PUT: u32 = 5;
/// Row of ``Sample.Box`1.Get``.
pub const GET: u32 = 6;
/// Row of ``Sample.Box`1+Pair`2.Swap``.
pub const SWAP: u32 = 8;
/// Row of `Other.Thing.Make<T>` in the methods of [`other`].
pub const MAKE: u32 = 2;
/// Row of ``Other.Bag`1.Add``.
pub const ADD: u32 = 3;

/// TypeDef of ``Sample.Box`1`` in [`library`].
pub const BOX: Type = Type::Class(Token::Definition(3));
/// TypeDef of the value type `Sample.Point` in [`library`].
pub const POINT: Type = Type::Value(Token::Definition(6));
/// TypeDef of ``Other.Bag`1`` in [`other`].
pub const BAG: Type = Type::Class(Token::Definition(3));

fn method(name: &str, convention: u8, result: Type, parameters: &[Type]) -> MethodDefinition {
    let signature = method_signature(convention, 0, &result, parameters);
    MethodDefinition { name: name.into(), signature, parameters: Vec::new() }
}

fn generic(name: &str, parameter: &str) -> MethodDefinition {
    let signature = method_signature(0x10, 1, &Type::MethodVariable(0), &[Type::MethodVariable(0)]);
    MethodDefinition { name: name.into(), signature, parameters: vec![parameter.into()] }
}

fn typed(namespace: &str, name: &str, parameters: &[&str], methods: Vec<MethodDefinition>) -> TypeDefinition {
    let parameters = parameters.iter().map(|parameter| parameter.to_string()).collect();
    TypeDefinition { namespace: namespace.into(), name: name.into(), enclosing: None, parameters, methods }
}

fn inside(enclosing: u32, name: &str, parameters: &[&str], methods: Vec<MethodDefinition>) -> TypeDefinition {
    TypeDefinition { enclosing: Some(enclosing), ..typed("", name, parameters, methods) }
}

/// An assembly with plain, generic and nested types, and references to others.
///
/// Methods 1 to 3 are `.ctor`, `Run` and `Guard` of `Sample.Plain`, 7 is `Work` of `Sample.Plain+Inner`, 9 is `Length` of
/// `Sample.Point`; 10 to 59 are `M10` to `M59` of `Sample.Many`.
pub fn library() -> Assembly {
    let many = (10..60).map(|row| MethodDefinition::simple(&format!("M{row}"))).collect();
    let reference =
        |scope, namespace: &str, name: &str| TypeReference { scope, namespace: namespace.into(), name: name.into() };
    let text_and_numbers = [Type::STRING, Type::Vector(Box::new(Type::INT))];
    Assembly {
        name: "Library".into(),
        mvid: LIBRARY_MVID,
        types: vec![
            typed(
                "Sample",
                "Plain",
                &[],
                vec![
                    method(".ctor", 0x20, Type::VOID, &[]),
                    method("Run", 0, Type::INT, &text_and_numbers),
                    method("Guard", 0x20, Type::VOID, &[Type::Reference(Box::new(POINT))]),
                    generic("Echo", "T"),
                ],
            ),
            typed(
                "Sample",
                "Box`1",
                &["T"],
                vec![
                    method("Put", 0x20, Type::VOID, &[Type::Variable(0)]),
                    method("Get", 0x20, Type::Variable(0), &[]),
                ],
            ),
            inside(2, "Inner", &[], vec![method("Work", 0, Type::Class(Token::Reference(3)), &[])]),
            inside(3, "Pair`2", &["T", "U"], vec![method("Swap", 0x20, Type::VOID, &[Type::Variable(1)])]),
            typed("Sample", "Point", &[], vec![method("Length", 0x20, Type::Primitive(0x0d), &[])]),
            typed("Sample", "Many", &[], many),
        ],
        references: vec!["System.Runtime".into(), "Other".into()],
        type_references: vec![
            reference(Scope::Assembly(1), "System", "Object"),
            reference(Scope::Assembly(2), "Other", "Thing"),
            reference(Scope::Type(2), "", "Part"),
            reference(Scope::Assembly(1), "System.Collections.Generic", "List`1"),
            reference(Scope::ModuleReference(1), "Native", "Handle"),
        ],
        members: vec![
            MemberReference { parent: Parent::Reference(2), name: "Do".into(), signature: vec![0, 0, 1] },
            MemberReference { parent: Parent::Specification(1), name: "Get".into(), signature: vec![0x20, 0, 0x13, 0] },
        ],
        specifications: vec![Type::Instance(Box::new(BOX), vec![Type::INT])],
        modules: vec!["native.so".into()],
        ..Assembly::default()
    }
}

/// Another assembly, called `Other`; its method 1 is `Do` of `Other.Thing`.
pub fn other() -> Assembly {
    let add = method("Add", 0x20, Type::VOID, &[Type::Variable(0)]);
    Assembly {
        name: "Other".into(),
        mvid: OTHER_MVID,
        types: vec![
            typed("Other", "Thing", &[], vec![MethodDefinition::simple("Do"), generic("Make", "U")]),
            typed("Other", "Bag`1", &["E"], vec![add]),
            inside(2, "Part", &[], vec![MethodDefinition::simple("Piece")]),
        ],
        ..Assembly::default()
    }
}

/// Code of a length, named by a row of the first component.
pub fn definition(row: u32, body: u32) -> Method {
    Method { names: vec![Name::Definition(0, row)], body, ..Method::default() }
}

/// Code of a length, named by a generic instance.
pub fn instance(instance: Instance, body: u32) -> Method {
    Method { names: vec![Name::Instance(instance)], body, ..Method::default() }
}

/// A generic type with one argument.
pub fn of(generic: Type, argument: Type) -> Type {
    Type::Instance(Box::new(generic), vec![argument])
}

/// Rows of a map of native to IL offsets.
pub fn bounds(rows: &[(u32, i32)]) -> Debug {
    Debug::Map(rows.iter().map(|(native, il)| Bound { native: *native, il: *il, flags: 2 }).collect())
}

/// The methods of [`single`]: definitions with gaps between their rows, then instances; some with funclets, fixups and maps.
pub fn methods() -> Vec<Method> {
    let funclet = |length, kind| Funclet { length, kind };
    let guard = vec![
        funclet(20, FuncletKind::Catch),
        funclet(8, FuncletKind::Finally),
        funclet(12, FuncletKind::Filter),
        funclet(16, FuncletKind::Filtered),
        funclet(4, FuncletKind::Fault),
    ];
    let fixups = super::encode::nibbles(&[1, 2, 1, 0, 0]);
    let mut all = vec![
        Method {
            fixups: Fixups::Own(fixups),
            debug: bounds(&[(0, -2), (4, 0), (20, 7), (40, -3)]),
            ..definition(1, 48)
        },
        Method { fixups: Fixups::Of(0), debug: Debug::Of(0), ..definition(2, 100) },
        Method { funclets: guard, debug: bounds(&[(0, 0), (300, 40)]), ..definition(3, 64) },
        Method { literals: 24, ..definition(7, 12) },
        definition(9, 36),
    ];
    all.extend((10..60).step_by(3).map(|row| definition(row, row * 4)));
    let put = Instance { owner: Some(of(BOX, Type::INT)), ..Instance::of(PUT) };
    let get = Instance { owner: Some(of(BOX, Type::CANON)), ..Instance::of(GET) };
    let echo = Instance { arguments: vec![Type::CANON], ..Instance::of(ECHO) };
    let pair = Type::Instance(Box::new(Type::Class(Token::Definition(5))), vec![POINT, Type::STRING]);
    let swap = Instance { owner: Some(pair), ..Instance::of(SWAP) };
    let catch = vec![funclet(24, FuncletKind::Catch)];
    all.extend([
        Method { fixups: Fixups::Own(vec![0x11, 0x02]), debug: bounds(&[(0, 0)]), ..instance(put, 40) },
        Method { fixups: Fixups::Of(all.len()), ..instance(get, 28) },
        Method { funclets: catch, ..instance(echo, 60) },
        instance(swap, 16),
    ]);
    all
}

/// An image of [`library`] alone.
pub fn single() -> Image {
    Image { methods: methods(), ..Image::single(library().bytes()) }
}

/// The same with methods in two parts: the second definition, the third, which has funclets, and the last instance.
pub fn hot_cold() -> Image {
    let mut image = single();
    let last = image.methods.len() - 1;
    for (method, cold) in [(1, vec![32]), (2, vec![16, 24]), (last, vec![44])] {
        image.methods[method].cold = cold;
    }
    image
}

/// A composite image of [`library`] and [`other`] of version 9.1, with their metadata or without it.
///
/// Methods in the order of their code: rows 1, 2 and 9 of the first, row 1 of the second, then instances of `Box`1.Put` over a
/// type of the second, and of `Bag`1.Add`.
pub fn composite(metadata: Embedded) -> Image {
    let component = |assembly: Assembly| Component {
        embedded: (metadata == Embedded::Yes).then(|| assembly.bytes()),
        name: assembly.name,
        mvid: assembly.mvid,
    };
    let here = |module, kind| Type::InModule(module, Box::new(kind));
    let thing = here(3, Type::Class(Token::Definition(2)));
    let put = Instance { owner: Some(of(here(2, BOX), thing)), ..Instance::of(PUT) };
    let add = Instance { owner: Some(of(here(3, BAG), Type::INT)), ..Instance::of(ADD) };
    let elsewhere = Method { names: vec![Name::Definition(1, 1)], ..definition(1, 52) };
    let methods =
        vec![definition(1, 48), definition(2, 20), definition(9, 33), elsewhere, instance(put, 24), instance(add, 80)];
    let flags = if metadata == Embedded::Yes { 0x13 } else { 0x03 };
    let kind = Kind::Composite(vec![component(library()), component(other())]);
    Image { methods, flags, ..Image::of_kind(kind) }
}

/// Whether a composite image has the metadata of its components inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Embedded {
    /// It has.
    Yes,
    /// It has not: the components' files have it.
    No,
}

/// The file of [`library`] beside a composite image.
pub fn component() -> Image {
    Image { flags: 0x20, ..Image::of_kind(Kind::Component(library().bytes(), "framework-r2r.dll".into())) }
}
