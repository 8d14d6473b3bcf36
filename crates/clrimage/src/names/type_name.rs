//! Writes the names of types that have rows in metadata.

use super::NameError;
use super::spelling::Spelling;
use super::writer::{Here, Writer};
use crate::bytes::Cursor;
use crate::metadata::{Metadata, Table, Token};
use crate::{Error, ErrorKind};

impl<'d> Writer<'_, '_, 'd> {
    /// Writes the type of a row.
    pub(super) fn token(&mut self, token: Token, module: Option<&Metadata<'d>>, depth: u32) -> Result<(), NameError> {
        self.count_one(depth)?;
        let module = module.ok_or(NameError::NoModule { index: 0 })?;
        let deeper = depth.saturating_add(1);
        match token.table {
            Table::TYPE_DEF => self.definition(token.rid, module, deeper),
            Table::TYPE_REF => self.reference(token.rid, module, deeper),
            Table::TYPE_SPEC => {
                let mut cursor = Cursor::new(module.type_specification(token.rid)?, "type signature");
                self.nested(&mut cursor, Here::new(Some(module)), deeper)
            }
            Table(table) => {
                Err(Error { kind: ErrorKind::Impossible { what: "table of a type", value: table.into() }, offset: 0 }
                    .into())
            }
        }
    }

    fn definition(&mut self, rid: u32, module: &Metadata<'d>, depth: u32) -> Result<(), NameError> {
        self.count_one(depth)?;
        let found = module.type_definition(rid)?;
        if self.spelling != Spelling::Event
            && let Some(enclosing) = module.enclosing_type(rid)
        {
            self.definition(enclosing, module, depth.saturating_add(1))?;
            self.inside();
        }
        self.named(found.namespace, found.name);
        Ok(())
    }

    fn reference(&mut self, rid: u32, module: &Metadata<'d>, depth: u32) -> Result<(), NameError> {
        self.count_one(depth)?;
        let found = module.type_reference(rid)?;
        match (self.spelling, found.scope.table) {
            (Spelling::Event, _) => {}
            (_, Table::TYPE_REF) if found.scope.rid != 0 => {
                self.reference(found.scope.rid, module, depth.saturating_add(1))?;
                self.inside();
            }
            (Spelling::Runtime, Table::ASSEMBLY_REF) if found.scope.rid != 0 => {
                self.text.push('[');
                self.text.push_str(module.assembly_reference(found.scope.rid)?);
                self.text.push(']');
            }
            _ => {}
        }
        self.named(found.namespace, found.name);
        Ok(())
    }

    fn inside(&mut self) {
        self.text.push(if self.spelling.is_full() { '+' } else { '/' });
    }

    fn named(&mut self, namespace: &str, name: &str) {
        if !namespace.is_empty() {
            self.text.push_str(namespace);
            self.text.push('.');
        }
        self.text.push_str(name);
    }
}
