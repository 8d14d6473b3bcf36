//! The tables of ECMA-335 (II.22): which columns each has, and how wide a column is.

/// How many tables there are; those that portable PDBs add come after them and are passed over.
pub(super) const TABLES: usize = 0x2d;

/// The number of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Table(pub u8);

/// The tables that names need.
impl Table {
    /// Module: the file itself.
    pub const MODULE: Self = Self(0x00);
    /// TypeRef: types of other modules.
    pub const TYPE_REF: Self = Self(0x01);
    /// TypeDef: types of this module.
    pub const TYPE_DEF: Self = Self(0x02);
    /// MethodPtr: the order of methods when it is not that of the rows.
    pub const METHOD_PTR: Self = Self(0x05);
    /// MethodDef: methods of this module.
    pub const METHOD_DEF: Self = Self(0x06);
    /// MemberRef: members of other modules and of instances.
    pub const MEMBER_REF: Self = Self(0x0a);
    /// ModuleRef: other modules.
    pub const MODULE_REF: Self = Self(0x1a);
    /// TypeSpec: types that need a signature.
    pub const TYPE_SPEC: Self = Self(0x1b);
    /// Assembly: the assembly itself.
    pub const ASSEMBLY: Self = Self(0x20);
    /// AssemblyRef: other assemblies.
    pub const ASSEMBLY_REF: Self = Self(0x23);
    /// NestedClass: which type is inside which.
    pub const NESTED_CLASS: Self = Self(0x29);
    /// GenericParam: type variables.
    pub const GENERIC_PARAM: Self = Self(0x2a);

    pub(super) fn index(self) -> usize {
        self.0.into()
    }
}

/// What a column holds, which decides its width.
#[derive(Clone, Copy, Debug)]
pub(super) enum Column {
    /// A number of so many bytes.
    Fixed(u8),
    /// An index into the string heap.
    String,
    /// An index into the GUID heap.
    Guid,
    /// An index into the blob heap.
    Blob,
    /// A row of a table.
    Row(u8),
    /// A row of one of several tables.
    Coded(Coded),
}

/// The kinds of indices that pick a table by their low bits.
#[derive(Clone, Copy, Debug)]
pub(super) enum Coded {
    TypeDefOrRef,
    HasConstant,
    HasFieldMarshal,
    HasDeclSecurity,
    MemberRefParent,
    HasSemantics,
    HasCustomAttribute,
    MethodDefOrRef,
    MemberForwarded,
    Implementation,
    CustomAttributeType,
    ResolutionScope,
    TypeOrMethodDef,
}

/// A tag that no table has.
const NONE: u8 = 0xff;

impl Coded {
    const ALL: [Self; 13] = [
        Self::TypeDefOrRef,
        Self::HasConstant,
        Self::HasFieldMarshal,
        Self::HasDeclSecurity,
        Self::MemberRefParent,
        Self::HasSemantics,
        Self::HasCustomAttribute,
        Self::MethodDefOrRef,
        Self::MemberForwarded,
        Self::Implementation,
        Self::CustomAttributeType,
        Self::ResolutionScope,
        Self::TypeOrMethodDef,
    ];

    /// The tables, by tag.
    pub(super) const fn tables(self) -> &'static [u8] {
        match self {
            Self::TypeDefOrRef => &[0x02, 0x01, 0x1b],
            Self::HasConstant => &[0x04, 0x08, 0x17],
            Self::HasFieldMarshal => &[0x04, 0x08],
            Self::HasDeclSecurity => &[0x02, 0x06, 0x20],
            Self::MemberRefParent => &[0x02, 0x01, 0x1a, 0x06, 0x1b],
            Self::HasSemantics => &[0x14, 0x17],
            Self::HasCustomAttribute => &[
                0x06, 0x04, 0x01, 0x02, 0x08, 0x09, 0x0a, 0x00, 0x0e, 0x17, 0x14, 0x11, 0x1a, 0x1b, 0x20, 0x23, 0x26,
                0x27, 0x28, 0x2a, 0x2c, 0x2b,
            ],
            Self::MethodDefOrRef => &[0x06, 0x0a],
            Self::MemberForwarded => &[0x04, 0x06],
            Self::Implementation => &[0x26, 0x23, 0x27],
            Self::CustomAttributeType => &[NONE, NONE, 0x06, 0x0a, NONE],
            Self::ResolutionScope => &[0x00, 0x1a, 0x23, 0x01],
            Self::TypeOrMethodDef => &[0x02, 0x06],
        }
    }

    /// How many low bits hold the tag.
    pub(super) const fn tag_bits(self) -> u32 {
        match self {
            Self::HasCustomAttribute => 5,
            Self::MemberRefParent | Self::CustomAttributeType => 3,
            Self::TypeDefOrRef
            | Self::HasConstant
            | Self::HasDeclSecurity
            | Self::Implementation
            | Self::ResolutionScope => 2,
            _ => 1,
        }
    }
}

/// The columns of each table, by its number.
pub(super) const COLUMNS: [&[Column]; TABLES] = {
    use Coded::*;
    use Column::{Blob as B, Coded as C, Fixed as F, Guid as G, Row as T, String as S};
    [
        /* 00 Module */ &[F(2), S, G, G, G],
        /* 01 TypeRef */ &[C(ResolutionScope), S, S],
        /* 02 TypeDef */ &[F(4), S, S, C(TypeDefOrRef), T(0x04), T(0x06)],
        /* 03 FieldPtr */ &[T(0x04)],
        /* 04 Field */ &[F(2), S, B],
        /* 05 MethodPtr */ &[T(0x06)],
        /* 06 MethodDef */ &[F(4), F(2), F(2), S, B, T(0x08)],
        /* 07 ParamPtr */ &[T(0x08)],
        /* 08 Param */ &[F(2), F(2), S],
        /* 09 InterfaceImpl */ &[T(0x02), C(TypeDefOrRef)],
        /* 0a MemberRef */ &[C(MemberRefParent), S, B],
        /* 0b Constant */ &[F(2), C(HasConstant), B],
        /* 0c CustomAttribute */ &[C(HasCustomAttribute), C(CustomAttributeType), B],
        /* 0d FieldMarshal */ &[C(HasFieldMarshal), B],
        /* 0e DeclSecurity */ &[F(2), C(HasDeclSecurity), B],
        /* 0f ClassLayout */ &[F(2), F(4), T(0x02)],
        /* 10 FieldLayout */ &[F(4), T(0x04)],
        /* 11 StandAloneSig */ &[B],
        /* 12 EventMap */ &[T(0x02), T(0x14)],
        /* 13 EventPtr */ &[T(0x14)],
        /* 14 Event */ &[F(2), S, C(TypeDefOrRef)],
        /* 15 PropertyMap */ &[T(0x02), T(0x17)],
        /* 16 PropertyPtr */ &[T(0x17)],
        /* 17 Property */ &[F(2), S, B],
        /* 18 MethodSemantics */ &[F(2), T(0x06), C(HasSemantics)],
        /* 19 MethodImpl */ &[T(0x02), C(MethodDefOrRef), C(MethodDefOrRef)],
        /* 1a ModuleRef */ &[S],
        /* 1b TypeSpec */ &[B],
        /* 1c ImplMap */ &[F(2), C(MemberForwarded), S, T(0x1a)],
        /* 1d FieldRVA */ &[F(4), T(0x04)],
        /* 1e ENCLog */ &[F(4), F(4)],
        /* 1f ENCMap */ &[F(4)],
        /* 20 Assembly */ &[F(4), F(2), F(2), F(2), F(2), F(4), B, S, S],
        /* 21 AssemblyProcessor */ &[F(4)],
        /* 22 AssemblyOS */ &[F(4), F(4), F(4)],
        /* 23 AssemblyRef */ &[F(2), F(2), F(2), F(2), F(4), B, S, S, B],
        /* 24 AssemblyRefProcessor */ &[F(4), T(0x23)],
        /* 25 AssemblyRefOS */ &[F(4), F(4), F(4), T(0x23)],
        /* 26 File */ &[F(4), S, B],
        /* 27 ExportedType */ &[F(4), F(4), S, S, C(Implementation)],
        /* 28 ManifestResource */ &[F(4), F(4), S, C(Implementation)],
        /* 29 NestedClass */ &[T(0x02), T(0x02)],
        /* 2a GenericParam */ &[F(2), F(2), C(TypeOrMethodDef), S],
        /* 2b MethodSpec */ &[C(MethodDefOrRef), B],
        /* 2c GenericParamConstraint */ &[T(0x2a), C(TypeDefOrRef)],
    ]
};

/// Which kinds of columns take four bytes instead of two: a bit for each.
#[derive(Clone, Copy, Debug)]
pub(super) struct Widths {
    heaps: u8,
    rows: u64,
    coded: u16,
}

impl Widths {
    /// The widths for the heap bits of the table stream's header and these row counts.
    pub(super) fn new(heaps: u8, counts: &[u32; TABLES]) -> Self {
        let count = |table: u8| counts.get(usize::from(table)).copied().unwrap_or(0);
        let mut rows = 0_u64;
        for (table, count) in counts.iter().enumerate() {
            rows |= u64::from(*count > 0xffff) << table;
        }
        let mut coded = 0_u16;
        for kind in Coded::ALL {
            let limit = 0x1_0000_u32 >> kind.tag_bits();
            coded |= u16::from(kind.tables().iter().any(|table| count(*table) >= limit)) << kind as u32;
        }
        Self { heaps, rows, coded }
    }

    /// Bytes of a column.
    pub(super) fn of(self, column: Column) -> u8 {
        let wide = match column {
            Column::Fixed(width) => return width,
            Column::String => self.heaps & 1 != 0,
            Column::Guid => self.heaps & 2 != 0,
            Column::Blob => self.heaps & 4 != 0,
            Column::Row(table) => self.rows >> table & 1 != 0,
            Column::Coded(kind) => self.coded >> kind as u32 & 1 != 0,
        };
        if wide { 4 } else { 2 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_in_the_order_of_their_numbers() {
        for (index, kind) in Coded::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, index);
            assert!(kind.tables().len() <= 1 << kind.tag_bits(), "{kind:?}");
        }
    }

    #[test]
    fn widths_change_at_their_limits() {
        let check = |table: Table, count, column, expected| {
            let mut counts = [0; TABLES];
            counts[table.index()] = count;
            assert_eq!(Widths::new(0, &counts).of(column), expected, "{table:?} {count:#x} {column:?}");
        };
        check(Table::METHOD_DEF, 0xffff, Column::Row(6), 2);
        check(Table::METHOD_DEF, 0x1_0000, Column::Row(6), 4);
        check(Table::METHOD_DEF, 0x7fff, Column::Coded(Coded::MethodDefOrRef), 2);
        check(Table::METHOD_DEF, 0x8000, Column::Coded(Coded::MethodDefOrRef), 4);
        check(Table::TYPE_SPEC, 0x4000, Column::Coded(Coded::TypeDefOrRef), 4);
        check(Table::TYPE_SPEC, 0x4000, Column::Coded(Coded::ResolutionScope), 2);
        check(Table::GENERIC_PARAM, 0x800, Column::Coded(Coded::HasCustomAttribute), 4);
        assert_eq!(Widths::new(5, &[0; TABLES]).of(Column::Blob), 4);
        assert_eq!(Widths::new(5, &[0; TABLES]).of(Column::Guid), 2);
    }
}
