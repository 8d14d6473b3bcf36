//! Assemblies that were put together for tests of names.

use strata_clrimage::Assemblies;
use strata_clrimage::metadata::Metadata;
use strata_testkit::image::metadata::{
    Assembly, MemberReference, MethodDefinition, Parent, Scope, TypeDefinition, TypeReference, method_signature,
};
use strata_testkit::image::signature::{Modifier, Token, Type};

/// Rows of its types.
pub(crate) const OPEN: u32 = 2;
pub(crate) const INNER: u32 = 3;
pub(crate) const POINT: u32 = 4;

pub(crate) fn method(
    name: &str,
    convention: u8,
    result: Type,
    parameters: &[Type],
    variables: &[&str],
) -> MethodDefinition {
    let generic = if variables.is_empty() { 0 } else { 0x10 };
    MethodDefinition {
        name: name.into(),
        signature: method_signature(convention | generic, variables.len() as u32, &result, parameters),
        parameters: variables.iter().map(|name| (*name).to_owned()).collect(),
    }
}

pub(crate) fn boxed(inner: Type) -> Box<Type> {
    Box::new(inner)
}

pub(crate) fn open_of(argument: Type) -> Type {
    Type::Instance(boxed(Type::Class(Token::Definition(OPEN))), vec![argument])
}

/// An assembly with every form of type in its signatures; seven methods.
pub(crate) fn shop() -> Assembly {
    let inner_reference = Type::Value(Token::Reference(2));
    let cube = Type::Array(boxed(Type::INT), 3, vec![], vec![]);
    let line = Type::Array(boxed(Type::STRING), 1, vec![5], vec![0]);
    let pointer = Type::Function(method_signature(0, 0, &Type::INT, &[Type::Primitive(0x19), Type::OBJECT]));
    let native = Type::Function(method_signature(1, 0, &Type::VOID, &[Type::Primitive(0x03)]));
    let modified = |modifier, inner| Type::Modified(modifier, Token::Reference(1), boxed(inner));
    let in_parameter = modified(Modifier::Required, Type::Reference(boxed(Type::Value(Token::Definition(POINT)))));
    let types = vec![
        TypeDefinition {
            namespace: "Shop".into(),
            name: "Open`1".into(),
            parameters: vec!["T".into()],
            methods: vec![
                method("Add", 0x20, Type::VOID, &[Type::Variable(0), open_of(Type::Variable(0))], &[]),
                method("Map", 0x20, Type::MethodVariable(0), &[Type::Vector(boxed(Type::Variable(0)))], &["U"]),
            ],
            ..TypeDefinition::default()
        },
        TypeDefinition {
            name: "Inner".into(),
            enclosing: Some(OPEN),
            parameters: vec!["T".into()],
            methods: vec![
                method("Take", 0, inner_reference, &[Type::Class(Token::Definition(INNER))], &[]),
                method("Arrays", 0, cube, &[line], &[]),
            ],
            ..TypeDefinition::default()
        },
        TypeDefinition {
            namespace: "Shop".into(),
            name: "Point".into(),
            methods: vec![
                method("Pointers", 0, pointer, &[native, Type::Pointer(boxed(Type::VOID))], &[]),
                method("Modified", 0x60, in_parameter, &[modified(Modifier::Optional, Type::BOOL)], &[]),
                method("Pair", 0, Type::VOID, &[Type::MethodVariable(1), Type::MethodVariable(0)], &["A", "B"]),
            ],
            ..TypeDefinition::default()
        },
    ];
    Assembly {
        name: "Shop".into(),
        mvid: [7; 16],
        types,
        references: vec!["Base".into(), "Unused".into()],
        type_references: vec![
            TypeReference { scope: Scope::Assembly(1), namespace: "Base".into(), name: "Outer".into() },
            TypeReference { scope: Scope::Type(1), namespace: String::new(), name: "Nested".into() },
        ],
        members: vec![
            MemberReference {
                parent: Parent::Reference(2),
                name: "Elsewhere".into(),
                signature: method_signature(0x20, 0, &Type::VOID, &[]),
            },
            MemberReference {
                parent: Parent::Specification(1),
                name: "OfInstance".into(),
                signature: method_signature(0x20, 0, &Type::Variable(0), &[]),
            },
        ],
        specifications: vec![open_of(Type::INT)],
        ..Assembly::default()
    }
}

/// An assembly with one type that has one method.
pub(crate) fn small(name: &str, references: &[&str]) -> Assembly {
    Assembly {
        name: name.into(),
        mvid: [name.len() as u8; 16],
        types: vec![TypeDefinition {
            namespace: name.into(),
            name: format!("{name}Type"),
            methods: vec![method("Run", 0, Type::VOID, &[Type::STRING], &[])],
            ..TypeDefinition::default()
        }],
        references: references.iter().map(|name| (*name).to_owned()).collect(),
        ..Assembly::default()
    }
}

pub(crate) struct Known<'d>(pub(crate) Vec<Metadata<'d>>);

impl<'d> Assemblies<'d> for Known<'d> {
    fn find(&self, simple_name: &str) -> Option<Metadata<'d>> {
        self.0.iter().find(|metadata| metadata.assembly_name() == Some(simple_name)).copied()
    }
}
