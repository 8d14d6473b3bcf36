//! Signatures of types and of methods in the table of instances.

use super::encode::compressed;

/// A type as signatures have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Type {
    /// An element byte with nothing after it.
    Primitive(u8),
    /// Pointer.
    Pointer(Box<Type>),
    /// Reference to a place.
    Reference(Box<Type>),
    /// Value type, by coded token.
    Value(Token),
    /// Class, by coded token.
    Class(Token),
    /// Generic parameter of the type.
    Variable(u32),
    /// Generic parameter of the method.
    MethodVariable(u32),
    /// Array of a rank, with its sizes and lower bounds.
    Array(Box<Type>, u32, Vec<u32>, Vec<u32>),
    /// Generic type with its arguments.
    Instance(Box<Type>, Vec<Type>),
    /// Function pointer, by method signature.
    Function(Vec<u8>),
    /// Array of one dimension from zero.
    Vector(Box<Type>),
    /// Type with a modifier: whether it is required, and which.
    Modified(Modifier, Token, Box<Type>),
    /// Native form of a value type.
    NativeValue(Box<Type>),
    /// Type in the module of this index.
    InModule(u32, Box<Type>),
    /// Bytes as they are.
    Raw(Vec<u8>),
}

/// Whether a modifier must be understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Modifier {
    /// It must be.
    Required,
    /// It need not be.
    Optional,
}

/// A row of one of the three tables of types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Token {
    /// TypeDef.
    Definition(u32),
    /// TypeRef.
    Reference(u32),
    /// TypeSpec.
    Specification(u32),
}

impl Token {
    fn bytes(self) -> Vec<u8> {
        compressed(match self {
            Self::Definition(row) => row << 2,
            Self::Reference(row) => row << 2 | 1,
            Self::Specification(row) => row << 2 | 2,
        })
    }
}

impl Type {
    /// No result.
    pub const VOID: Self = Self::Primitive(0x01);
    /// `bool`.
    pub const BOOL: Self = Self::Primitive(0x02);
    /// `int`.
    pub const INT: Self = Self::Primitive(0x08);
    /// `string`.
    pub const STRING: Self = Self::Primitive(0x0e);
    /// `object`.
    pub const OBJECT: Self = Self::Primitive(0x1c);
    /// Any reference type, in shared code.
    pub const CANON: Self = Self::Primitive(0x3e);

    /// The bytes of the signature.
    pub fn bytes(&self) -> Vec<u8> {
        let one = |element: u8, inner: &Self| [vec![element], inner.bytes()].concat();
        let counted = |numbers: &[u32]| -> Vec<u8> {
            let all = [&[numbers.len() as u32], numbers].concat();
            all.into_iter().flat_map(compressed).collect()
        };
        match self {
            Self::Primitive(element) => vec![*element],
            Self::Pointer(inner) => one(0x0f, inner),
            Self::Reference(inner) => one(0x10, inner),
            Self::Value(token) => [vec![0x11], token.bytes()].concat(),
            Self::Class(token) => [vec![0x12], token.bytes()].concat(),
            Self::Variable(index) => [vec![0x13], compressed(*index)].concat(),
            Self::MethodVariable(index) => [vec![0x1e], compressed(*index)].concat(),
            Self::Array(inner, rank, sizes, bounds) => {
                [one(0x14, inner), compressed(*rank), counted(sizes), counted(bounds)].concat()
            }
            Self::Instance(inner, arguments) => {
                [one(0x15, inner), compressed(arguments.len() as u32), all(arguments)].concat()
            }
            Self::Function(signature) => [vec![0x1b], signature.clone()].concat(),
            Self::Vector(inner) => one(0x1d, inner),
            Self::Modified(Modifier::Required, token, inner) => [vec![0x1f], token.bytes(), inner.bytes()].concat(),
            Self::Modified(Modifier::Optional, token, inner) => [vec![0x20], token.bytes(), inner.bytes()].concat(),
            Self::NativeValue(inner) => one(0x3d, inner),
            Self::InModule(module, inner) => [vec![0x3f], compressed(*module), inner.bytes()].concat(),
            Self::Raw(bytes) => bytes.clone(),
        }
    }
}

fn all(types: &[Type]) -> Vec<u8> {
    types.iter().flat_map(Type::bytes).collect()
}

/// A method in the table of instances; flags follow from what is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    /// Flags besides those that follow: 1 unboxing, 2 instantiating, 0x100 asynchronous variant, 0x200 thunk that drops a result.
    pub flags: u32,
    /// Module whose tables the token is in.
    pub module: Option<u32>,
    /// The type it belongs to.
    pub owner: Option<Type>,
    /// Which method.
    pub method: Method,
    /// Arguments of a generic method.
    pub arguments: Vec<Type>,
    /// Type that a call is constrained to.
    pub constrained: Option<Type>,
}

/// How a signature names its method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// By MethodDef row.
    Definition(u32),
    /// By MemberRef row.
    Member(u32),
    /// By slot.
    Slot(u32),
}

impl Instance {
    /// A method by its row and nothing else.
    pub fn of(row: u32) -> Self {
        let method = Method::Definition(row);
        Self { flags: 0, module: None, owner: None, method, arguments: Vec::new(), constrained: None }
    }

    /// The bytes of the signature.
    pub fn bytes(&self) -> Vec<u8> {
        let (kind, number) = match self.method {
            Method::Definition(row) => (0, row),
            Method::Member(row) => (0x10, row),
            Method::Slot(slot) => (0x08, slot),
        };
        let arguments = if self.arguments.is_empty() { 0 } else { 0x04 };
        let constrained = if self.constrained.is_some() { 0x20 } else { 0 };
        let owner = if self.owner.is_some() { 0x40 } else { 0 };
        let module = if self.module.is_some() { 0x80 } else { 0 };
        let mut out = compressed(self.flags | kind | arguments | constrained | owner | module);
        out.extend(self.module.map(compressed).unwrap_or_default());
        out.extend(self.owner.as_ref().map(Type::bytes).unwrap_or_default());
        out.extend(compressed(number));
        if !self.arguments.is_empty() {
            out.extend(compressed(self.arguments.len() as u32));
            out.extend(all(&self.arguments));
        }
        out.extend(self.constrained.as_ref().map(Type::bytes).unwrap_or_default());
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_of_the_format() {
        let list = Type::Instance(Box::new(Type::Class(Token::Definition(0x942))), vec![Type::CANON]);
        let add = Instance { owner: Some(list), ..Instance::of(0x8373) };
        assert_eq!(add.bytes(), [0x40, 0x15, 0x12, 0xa5, 0x08, 0x01, 0x3e, 0xc0, 0x00, 0x83, 0x73]);
        let empty = Instance { arguments: vec![Type::BOOL], ..Instance::of(0x1b6) };
        assert_eq!(empty.bytes(), [0x04, 0x81, 0xb6, 0x01, 0x02]);
        let overridden = Instance { module: Some(3), ..Instance::of(1) };
        assert_eq!(overridden.bytes(), [0x80, 0x80, 3, 1]);
    }
}
