//! The words that each spelling has for types.

/// How types are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spelling {
    /// Full names, as the runtime writes the owner of a method and its type arguments: `System.Int32`.
    Full,
    /// Signatures of perf maps and jitdumps: `int32`, `class [System.Runtime]System.Type`.
    Runtime,
    /// Signatures of events: `int32`, `class System.Type`.
    Event,
    /// Full names, as crossgen2's maps have them: like [`Spelling::Full`] but for spaces and variables.
    Map,
}

/// Element types of signatures (ECMA-335 II.23.1.16) and those that ReadyToRun adds.
pub(super) mod element {
    pub(crate) const POINTER: u8 = 0x0f;
    pub(crate) const REFERENCE: u8 = 0x10;
    pub(crate) const VALUE_TYPE: u8 = 0x11;
    pub(crate) const CLASS: u8 = 0x12;
    pub(crate) const TYPE_VARIABLE: u8 = 0x13;
    pub(crate) const ARRAY: u8 = 0x14;
    pub(crate) const GENERIC_INSTANCE: u8 = 0x15;
    pub(crate) const FUNCTION_POINTER: u8 = 0x1b;
    pub(crate) const VECTOR: u8 = 0x1d;
    pub(crate) const METHOD_VARIABLE: u8 = 0x1e;
    pub(crate) const REQUIRED_MODIFIER: u8 = 0x1f;
    pub(crate) const OPTIONAL_MODIFIER: u8 = 0x20;
    pub(crate) const NATIVE_VALUE_TYPE: u8 = 0x3d;
    pub(crate) const CANONICAL: u8 = 0x3e;
    pub(crate) const OTHER_MODULE: u8 = 0x3f;
    pub(crate) const SENTINEL: u8 = 0x41;
    pub(crate) const PINNED: u8 = 0x45;
    /// The bits that tell an element.
    pub(crate) const MASK: u8 = 0x7f;
}

impl Spelling {
    /// The word for a type that needs nothing but its element; none for other elements.
    pub(super) fn primitive(self, element: u8) -> Option<&'static str> {
        let [full, runtime, event] = match element {
            0x01 => ["System.Void", "void", "void"],
            0x02 => ["System.Boolean", "bool", "bool"],
            0x03 => ["System.Char", "char", "wchar"],
            0x04 => ["System.SByte", "int8", "int8"],
            0x05 => ["System.Byte", "uint8", "unsigned int8"],
            0x06 => ["System.Int16", "int16", "int16"],
            0x07 => ["System.UInt16", "uint16", "unsigned int16"],
            0x08 => ["System.Int32", "int32", "int32"],
            0x09 => ["System.UInt32", "uint32", "unsigned int32"],
            0x0a => ["System.Int64", "int64", "int64"],
            0x0b => ["System.UInt64", "uint64", "unsigned int64"],
            0x0c => ["System.Single", "float32", "float32"],
            0x0d => ["System.Double", "float64", "float64"],
            0x0e => ["System.String", "string", "class System.String"],
            0x16 => ["System.TypedReference", "typedref", "refany"],
            0x18 => ["System.IntPtr", "native int", "int"],
            0x19 => ["System.UIntPtr", "native uint", "unsigned int"],
            0x1c => ["System.Object", "object", "class System.Object"],
            element::CANONICAL => ["System.__Canon", "class System.__Canon", "class System.__Canon"],
            _ => return None,
        };
        Some(match self {
            Self::Full | Self::Map => full,
            Self::Runtime => runtime,
            Self::Event => event,
        })
    }

    /// Whether types have their full names only, without words around them.
    pub(super) const fn is_full(self) -> bool {
        matches!(self, Self::Full | Self::Map)
    }

    /// What comes before the name of a value type or class.
    pub(super) const fn kind(self, element: u8) -> &'static str {
        match (self, element == element::VALUE_TYPE) {
            (Self::Full | Self::Map, _) => "",
            (_, false) => "class ",
            (Self::Runtime, true) => "valuetype ",
            (Self::Event, true) => "value class ",
        }
    }

    /// What is between the arguments of a generic type, and around them.
    pub(super) const fn argument_marks(self) -> [&'static str; 3] {
        match self {
            Self::Full => ["[", ",", "]"],
            Self::Map => ["[", ", ", "]"],
            Self::Runtime | Self::Event => ["<", ",", ">"],
        }
    }

    /// The words for a calling convention: the low half of the first byte of a method's signature.
    pub(super) const fn convention(self, convention: u8) -> &'static str {
        match convention & 0xf {
            1 => "unmanaged cdecl ",
            2 => "unmanaged stdcall ",
            3 => "unmanaged thiscall ",
            4 => "unmanaged fastcall ",
            5 => "vararg ",
            // The words of events are older than this convention.
            9 if !matches!(self, Self::Event) => "unmanaged ",
            _ => "",
        }
    }
}
