//! Metadata of an assembly from plain lists of types, methods and references.

use super::signature::Type;
use super::tables::Tables;

/// An assembly.
#[derive(Clone, Debug, Default)]
pub struct Assembly {
    /// Simple name.
    pub name: String,
    /// Module version id, as its bytes lie in the file.
    pub mvid: [u8; 16],
    /// Types; row 1 is always `<Module>` and need not be listed, so the first one has row 2.
    pub types: Vec<TypeDefinition>,
    /// Simple names of the assemblies referred to.
    pub references: Vec<String>,
    /// Types of other assemblies.
    pub type_references: Vec<TypeReference>,
    /// Members of other types.
    pub members: Vec<MemberReference>,
    /// Signatures of constructed types.
    pub specifications: Vec<Type>,
    /// Names of other modules.
    pub modules: Vec<String>,
    /// Heaps whose indices have four bytes though they are small: 1 `#Strings`, 2 `#GUID`, 4 `#Blob`.
    pub wide_heaps: u8,
    /// So many empty rows more, by table number, so that indices need four bytes.
    pub empty_rows: Vec<(u8, usize)>,
}

/// A type of the assembly.
#[derive(Clone, Debug, Default)]
pub struct TypeDefinition {
    /// Namespace, empty for nested types.
    pub namespace: String,
    /// Name, with its arity mark.
    pub name: String,
    /// Row of the type around it.
    pub enclosing: Option<u32>,
    /// Names of its generic parameters.
    pub parameters: Vec<String>,
    /// Its methods.
    pub methods: Vec<MethodDefinition>,
}

/// A method of a type.
#[derive(Clone, Debug, Default)]
pub struct MethodDefinition {
    /// Name.
    pub name: String,
    /// Signature blob; see [`method_signature`].
    pub signature: Vec<u8>,
    /// Names of its generic parameters.
    pub parameters: Vec<String>,
}

/// A type of another assembly or module.
#[derive(Clone, Debug)]
pub struct TypeReference {
    /// Where it is.
    pub scope: Scope,
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
}

/// Where a type that is referred to lies.
#[derive(Clone, Copy, Debug)]
pub enum Scope {
    /// This module.
    Module,
    /// The ModuleRef of this row.
    ModuleReference(u32),
    /// The AssemblyRef of this row.
    Assembly(u32),
    /// Inside the TypeRef of this row.
    Type(u32),
}

/// A member of a type that may lie elsewhere.
#[derive(Clone, Debug)]
pub struct MemberReference {
    /// The type it belongs to.
    pub parent: Parent,
    /// Name.
    pub name: String,
    /// Signature blob.
    pub signature: Vec<u8>,
}

/// What a member that is referred to belongs to, by row.
#[derive(Clone, Copy, Debug)]
pub enum Parent {
    /// TypeDef.
    Definition(u32),
    /// TypeRef.
    Reference(u32),
    /// ModuleRef.
    Module(u32),
    /// TypeSpec.
    Specification(u32),
}

/// A method signature blob: calling convention byte, generic parameter count if it has bit 0x10, result, parameters.
pub fn method_signature(convention: u8, generic: u32, result: &Type, parameters: &[Type]) -> Vec<u8> {
    let mut out = vec![convention];
    if convention & 0x10 != 0 {
        out.extend(super::encode::compressed(generic));
    }
    out.extend(super::encode::compressed(parameters.len() as u32));
    out.extend(result.bytes());
    out.extend(parameters.iter().flat_map(Type::bytes));
    out
}

impl MethodDefinition {
    /// A method without result and parameters.
    pub fn simple(name: &str) -> Self {
        let signature = method_signature(0, 0, &Type::VOID, &[]);
        Self { name: name.into(), signature, parameters: Vec::new() }
    }
}

impl Assembly {
    /// The metadata blob.
    pub fn bytes(&self) -> Vec<u8> {
        self.tables().bytes()
    }

    /// The tables, to be changed before they are written.
    pub fn tables(&self) -> Tables {
        let mut out = Tables::default();
        out.wide_heaps = self.wide_heaps;
        let name = out.string(&format!("{}.dll", self.name));
        let mvid = out.guid(self.mvid);
        out.row(0x00, &[0, name, mvid, 0, 0]);
        let name = out.string("<Module>");
        out.row(0x02, &[0, name, 0, 0, 1, 1]);
        for definition in &self.types {
            put_type(&mut out, definition);
        }
        put_generic_parameters(&mut out, &self.types);
        if !self.name.is_empty() {
            let name = out.string(&self.name);
            out.row(0x20, &[0x8004, 1, 0, 0, 0, 0, 0, name, 0]);
        }
        self.put_references(&mut out);
        self.empty_rows.iter().for_each(|(table, count)| out.empty_rows(*table, *count));
        out
    }

    fn put_references(&self, out: &mut Tables) {
        for name in &self.references {
            let name = out.string(name);
            out.row(0x23, &[1, 0, 0, 0, 0, 0, name, 0, 0]);
        }
        for reference in &self.type_references {
            let scope = match reference.scope {
                Scope::Module => 1 << 2,
                Scope::ModuleReference(row) => row << 2 | 1,
                Scope::Assembly(row) => row << 2 | 2,
                Scope::Type(row) => row << 2 | 3,
            };
            let (name, namespace) = (out.string(&reference.name), out.string(&reference.namespace));
            out.row(0x01, &[scope, name, namespace]);
        }
        for member in &self.members {
            let parent = match member.parent {
                Parent::Definition(row) => row << 3,
                Parent::Reference(row) => row << 3 | 1,
                Parent::Module(row) => row << 3 | 2,
                Parent::Specification(row) => row << 3 | 4,
            };
            let (name, signature) = (out.string(&member.name), out.blob(&member.signature));
            out.row(0x0a, &[parent, name, signature]);
        }
        for specification in &self.specifications {
            let signature = out.blob(&specification.bytes());
            out.row(0x1b, &[signature]);
        }
        for module in &self.modules {
            let name = out.string(module);
            out.row(0x1a, &[name]);
        }
    }
}

fn put_type(out: &mut Tables, definition: &TypeDefinition) {
    let (name, namespace) = (out.string(&definition.name), out.string(&definition.namespace));
    let first_method = out.count(0x06) + 1;
    let flags = if definition.enclosing.is_some() { 2 } else { 1 };
    let row = out.row(0x02, &[flags, name, namespace, 0, 1, first_method]);
    if let Some(enclosing) = definition.enclosing {
        out.row(0x29, &[row, enclosing]);
    }
    for method in &definition.methods {
        let (name, signature) = (out.string(&method.name), out.blob(&method.signature));
        out.row(0x06, &[0, 0, 0x96, name, signature, 1]);
    }
}

/// Generic parameters have an order of their own: by owner, and an owner's tag is its lowest bit.
fn put_generic_parameters(out: &mut Tables, types: &[TypeDefinition]) {
    let methods = types.iter().flat_map(|definition| &definition.methods);
    let owners = (2_u32..).zip(types).map(|(row, definition)| (row << 1, &definition.parameters));
    let mut owners: Vec<(u32, &Vec<String>)> =
        owners.chain((1_u32..).zip(methods).map(|(row, method)| (row << 1 | 1, &method.parameters))).collect();
    owners.sort_by_key(|(owner, _)| *owner);
    for (owner, parameters) in owners {
        for (number, parameter) in (0..).zip(parameters) {
            let name = out.string(parameter);
            out.row(0x2a, &[number, 0, owner, name]);
        }
    }
}
