//! Typed readers of the rows that names are made of.

use super::Metadata;
use super::layout::{Coded, Table};
use super::tables::{Token, decode};
use crate::{Error, ErrorKind};

/// A type of this module (TypeDef).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TypeDefinition<'d> {
    /// Its name, with the number of type variables after a grave accent.
    pub name: &'d str,
    /// Its namespace; empty for types inside types.
    pub namespace: &'d str,
}

/// A type of another module (TypeRef).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TypeReference<'d> {
    /// Its name, with the number of type variables after a grave accent.
    pub name: &'d str,
    /// Its namespace; empty for types inside types.
    pub namespace: &'d str,
    /// The type it is inside (TypeRef), or the assembly or module that has it.
    pub scope: Token,
}

/// A method of this module (MethodDef).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MethodDefinition<'d> {
    /// Its name.
    pub name: &'d str,
    /// Its signature (ECMA-335 II.23.2.1).
    pub signature: &'d [u8],
    /// RVA of its IL; 0 when it has none.
    pub il: u32,
}

/// A member of another module or of an instance (MemberRef).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemberReference<'d> {
    /// The type that has it, or a module or method.
    pub parent: Token,
    /// Its name.
    pub name: &'d str,
    /// Its signature (ECMA-335 II.23.2.2).
    pub signature: &'d [u8],
}

impl<'d> Metadata<'d> {
    /// Row `rid` of TypeDef.
    ///
    /// # Errors
    /// There is no such row, or its names are damaged.
    pub fn type_definition(&self, rid: u32) -> Result<TypeDefinition<'d>, Error> {
        let row = self.tables.row(Table::TYPE_DEF, rid)?;
        Ok(TypeDefinition { name: self.strings.string(row.value(1))?, namespace: self.strings.string(row.value(2))? })
    }

    /// Row `rid` of TypeRef.
    ///
    /// # Errors
    /// There is no such row, or its scope or names are damaged.
    pub fn type_reference(&self, rid: u32) -> Result<TypeReference<'d>, Error> {
        let row = self.tables.row(Table::TYPE_REF, rid)?;
        Ok(TypeReference {
            name: self.strings.string(row.value(1))?,
            namespace: self.strings.string(row.value(2))?,
            scope: row.token(0, Coded::ResolutionScope)?,
        })
    }

    /// Row `rid` of MethodDef.
    ///
    /// # Errors
    /// There is no such row, or its name or signature is damaged.
    pub fn method(&self, rid: u32) -> Result<MethodDefinition<'d>, Error> {
        let row = self.tables.row(Table::METHOD_DEF, rid)?;
        Ok(MethodDefinition {
            name: self.strings.string(row.value(3))?,
            signature: self.blobs.blob(row.value(4))?,
            il: row.value(0),
        })
    }

    /// Row `rid` of MemberRef.
    ///
    /// # Errors
    /// There is no such row, or its parent, name or signature is damaged.
    pub fn member_reference(&self, rid: u32) -> Result<MemberReference<'d>, Error> {
        let row = self.tables.row(Table::MEMBER_REF, rid)?;
        Ok(MemberReference {
            parent: row.token(0, Coded::MemberRefParent)?,
            name: self.strings.string(row.value(1))?,
            signature: self.blobs.blob(row.value(2))?,
        })
    }

    /// The type signature (ECMA-335 II.23.2.14) in row `rid` of TypeSpec.
    ///
    /// # Errors
    /// There is no such row, or its signature is damaged.
    pub fn type_specification(&self, rid: u32) -> Result<&'d [u8], Error> {
        self.blobs.blob(self.tables.row(Table::TYPE_SPEC, rid)?.value(0))
    }

    /// The simple name of the assembly in row `rid` of AssemblyRef.
    ///
    /// # Errors
    /// There is no such row, or its name is damaged.
    pub fn assembly_reference(&self, rid: u32) -> Result<&'d str, Error> {
        self.strings.string(self.tables.row(Table::ASSEMBLY_REF, rid)?.value(6))
    }

    /// The file name of the module in row `rid` of ModuleRef.
    ///
    /// # Errors
    /// There is no such row, or its name is damaged.
    pub fn module_reference(&self, rid: u32) -> Result<&'d str, Error> {
        self.strings.string(self.tables.row(Table::MODULE_REF, rid)?.value(0))
    }

    /// The TypeDef row of the type that has a method.
    ///
    /// # Errors
    /// There is no such method, or no type has it.
    pub fn owner_of_method(&self, rid: u32) -> Result<u32, Error> {
        self.tables.row(Table::METHOD_DEF, rid)?;
        let position = if self.tables.count(Table::METHOD_PTR) == 0 {
            Some(rid)
        } else {
            self.tables.column(Table::METHOD_PTR, 0).find(rid)
        };
        let first_methods = self.tables.column(Table::TYPE_DEF, 5);
        position
            .and_then(|position| first_methods.lower_bound(position.saturating_add(1)).checked_sub(1))
            .filter(|owner| *owner != 0)
            .ok_or(Error {
                kind: ErrorKind::Impossible { what: "method without a type", value: rid.into() },
                offset: 0,
            })
    }

    /// The TypeDef row of the type that TypeDef row `rid` is inside.
    pub fn enclosing_type(&self, rid: u32) -> Option<u32> {
        let nested = self.tables.column(Table::NESTED_CLASS, 0);
        let is_wanted = |row: &u32| nested.get(*row) == Some(rid);
        let row = Some(nested.lower_bound(rid)).filter(is_wanted);
        let row = row.or_else(|| self.tables.scan(Table::NESTED_CLASS, is_wanted))?;
        self.tables.column(Table::NESTED_CLASS, 1).get(row)
    }

    /// The name of a type variable of a type (TypeDef) or method (MethodDef), by its number from 0.
    pub fn type_variable(&self, owner: Token, number: u32) -> Option<&'d str> {
        let owners = self.tables.column(Table::GENERIC_PARAM, 2);
        let numbers = self.tables.column(Table::GENERIC_PARAM, 0);
        let wanted = |rid: &u32| {
            numbers.get(*rid) == Some(number)
                && owners.get(*rid).and_then(|value| decode(Coded::TypeOrMethodDef, value)) == Some(owner)
        };
        let tag = if owner.table == Table::METHOD_DEF { 1 } else { 0 };
        let first = owners.lower_bound(owner.rid.wrapping_shl(1) | tag);
        let rid = Some(first.saturating_add(number)).filter(wanted);
        let rid = rid.or_else(|| self.tables.scan(Table::GENERIC_PARAM, wanted))?;
        self.strings.string(self.tables.row(Table::GENERIC_PARAM, rid).ok()?.value(3)).ok()
    }
}
