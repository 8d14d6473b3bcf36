//! Any bytes as the signature of an instance and as that of its method, beside an assembly of a few types.

#![no_main]

use libfuzzer_sys::fuzz_target;
use strata_clrimage::metadata::Metadata;
use strata_clrimage::{Assemblies, Names};
use strata_testkit::image::metadata::{
    Assembly, MemberReference, MethodDefinition, Parent, Scope, TypeDefinition, TypeReference,
};
use strata_testkit::image::signature::Type;

/// Whatever assembly is asked for, it is this one.
struct Same<'d>(Metadata<'d>);

impl<'d> Assemblies<'d> for Same<'d> {
    fn find(&self, _: &str) -> Option<Metadata<'d>> {
        Some(self.0)
    }
}

fn assembly(signature: &[u8]) -> Assembly {
    let method = MethodDefinition {
        name: "Method".into(),
        signature: signature.to_vec(),
        parameters: vec!["A".into(), "B".into()],
    };
    let outer = TypeDefinition {
        namespace: "Space".into(),
        name: "Outer`1".into(),
        parameters: vec!["T".into()],
        methods: vec![method],
        ..TypeDefinition::default()
    };
    let inner = TypeDefinition { name: "Inner".into(), enclosing: Some(2), ..TypeDefinition::default() };
    let reference = |scope| TypeReference { scope, namespace: "Other".into(), name: "Type".into() };
    Assembly {
        name: "Assembly".into(),
        types: vec![outer, inner],
        references: vec!["Other".into()],
        type_references: vec![reference(Scope::Assembly(1)), reference(Scope::Type(1))],
        members: vec![MemberReference {
            parent: Parent::Specification(1),
            name: "Member".into(),
            signature: signature.to_vec(),
        }],
        specifications: vec![Type::Raw(signature.to_vec())],
        ..Assembly::default()
    }
}

fuzz_target!(|bytes: &[u8]| {
    let Some((length, bytes)) = bytes.split_first() else { return };
    let Some((instance, signature)) = bytes.split_at_checked(usize::from(*length)) else { return };
    let metadata = assembly(signature).bytes();
    let metadata = Metadata::parse(&metadata).expect("what was built is read");
    let others = Same(metadata);
    // The three ways to number modules, of an image and of a composite one.
    for (own, format) in [(Some(metadata), (9, 1)), (Some(metadata), (6, 2)), (None, (9, 1))] {
        let names = Names::from_metadata(own, Some(metadata), format, &others);
        let Ok(name) = names.of_signature(instance) else { continue };
        let _ = (name.runtime_style(), name.event_style(), name.map_style());
        let _ = (name.type_arguments(), name.marks().count());
    }
});
