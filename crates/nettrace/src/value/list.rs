//! Reading the values of a list of fields.

use super::Value;
use super::reader::{Place, Reader};
use crate::fields::{Field, FieldType};
use crate::problem::Damage;

/// A list of fields and how far it has been read.
#[derive(Clone, Copy)]
pub(super) struct List<'a> {
    fields: &'a [Field],
    next: usize,
    start: Reader<'a>,
    reader: Reader<'a>,
}

impl<'a> List<'a> {
    pub(super) fn new(fields: &'a [Field], start: Reader<'a>) -> Self {
        Self { fields, next: 0, start, reader: start }
    }

    /// Where the next field begins.
    pub(super) fn reader(&self) -> Reader<'a> {
        self.reader
    }

    pub(super) fn remaining(&self) -> usize {
        self.fields.len().saturating_sub(self.next)
    }

    /// The next field; a field that does not fit stays the next one.
    pub(super) fn next(&mut self) -> Option<Result<(&'a str, Value<'a>), Damage>> {
        let field = self.fields.get(self.next)?;
        let mut reader = self.reader;
        let value = match self.value(&field.field_type, &mut reader) {
            Ok(value) => value,
            Err(damage) => return Some(Err(damage)),
        };
        self.reader = reader;
        self.next = self.next.saturating_add(1);
        Some(Ok((&field.name, value)))
    }

    fn value(&self, field_type: &'a FieldType, reader: &mut Reader<'a>) -> Result<Value<'a>, Damage> {
        match field_type {
            FieldType::Counted(element, index) => reader.array(element, self.count(*index)?),
            FieldType::AlignedPointer => {
                reader.align(self.start.position())?;
                reader.pointer().map(Value::Unsigned)
            }
            _ => {
                let value = reader.value(field_type)?;
                if self.start.place() == Place::InArray && reader.position() == self.reader.position() {
                    return Err(Damage::BadSize);
                }
                Ok(value)
            }
        }
    }

    /// The number in the field of this index, which is before the next one.
    fn count(&self, index: usize) -> Result<usize, Damage> {
        let mut list = Self { fields: self.fields.get(..self.next).unwrap_or_default(), ..*self };
        (list.next, list.reader) = (0, list.start);
        for _ in 0..index {
            list.next().ok_or(Damage::BadSize)??;
        }
        match list.next().ok_or(Damage::BadSize)?? {
            (_, Value::Unsigned(count)) => usize::try_from(count).map_err(|_| Damage::EndsEarly),
            _ => Err(Damage::BadSize),
        }
    }
}
