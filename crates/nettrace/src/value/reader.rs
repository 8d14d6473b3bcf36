//! Reading one value.

use super::composite::{Array, Object};
use super::list::List;
use super::scalar::{DateTime, Decimal};
use super::{NamedNumber, Value};
use crate::cursor::Cursor;
use crate::event::Guid;
use crate::fields::FieldType;
use crate::problem::Damage;
use crate::stack::PointerSize;
use crate::text::{Utf8, Utf16};

/// How often what is being read can stand in the payload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Place {
    /// Once, because the definition names it.
    Once,
    /// As often as an array says: it has to take bytes, or counts would be work without bytes.
    InArray,
}

/// A position in a payload.
#[derive(Clone, Copy)]
pub(super) struct Reader<'a> {
    payload: &'a [u8],
    cursor: Cursor<'a>,
    pointer_size: PointerSize,
    place: Place,
    /// Bytes elsewhere in the payload that fields so far have led to.
    located: u32,
}

impl<'a> Reader<'a> {
    pub(super) fn new(payload: &'a [u8], pointer_size: PointerSize) -> Self {
        Self { payload, cursor: Cursor::new(payload), pointer_size, place: Place::Once, located: 0 }
    }

    /// Bytes from the start of the payload.
    pub(super) fn position(&self) -> usize {
        self.cursor.position()
    }

    pub(super) fn place(&self) -> Place {
        self.place
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.cursor.is_empty()
    }

    /// The same position, for an element.
    pub(super) fn in_array(self) -> Self {
        Self { place: Place::InArray, ..self }
    }

    /// Goes on to the next multiple of the size of a pointer from `start` on.
    pub(super) fn align(&mut self, start: usize) -> Result<(), Damage> {
        let distance = self.position().saturating_sub(start);
        let padding = distance.wrapping_neg() & self.pointer_size.bytes().saturating_sub(1);
        self.cursor.take(padding).map(drop)
    }

    pub(super) fn value(&mut self, field_type: &'a FieldType) -> Result<Value<'a>, Damage> {
        let cursor = &mut self.cursor;
        Ok(match field_type {
            FieldType::Object(fields) => {
                let object = Object::new(List::new(fields, *self));
                *self = object.end()?;
                Value::Object(object)
            }
            FieldType::Boolean => Value::Boolean(cursor.u32()? != 0),
            FieldType::Boolean8 => Value::Boolean(cursor.u8()? != 0),
            FieldType::Char => Value::Char(cursor.u16()?),
            FieldType::SByte => Value::Signed(i8::from_le_bytes(*cursor.array()?).into()),
            FieldType::Byte => Value::Unsigned(cursor.u8()?.into()),
            FieldType::Int16 => Value::Signed(i16::from_le_bytes(*cursor.array()?).into()),
            FieldType::UInt16 => Value::Unsigned(cursor.u16()?.into()),
            FieldType::Int32 => Value::Signed(i32::from_le_bytes(*cursor.array()?).into()),
            FieldType::UInt32 => Value::Unsigned(cursor.u32()?.into()),
            FieldType::Int64 => Value::Signed(i64::from_le_bytes(*cursor.array()?)),
            FieldType::UInt64 => Value::Unsigned(cursor.u64()?),
            FieldType::Single => Value::Single(f32::from_le_bytes(*cursor.array()?)),
            FieldType::Double => Value::Double(f64::from_le_bytes(*cursor.array()?)),
            FieldType::Decimal => Value::Decimal(Decimal::read(cursor)?),
            FieldType::DateTime => Value::DateTime(DateTime { ticks: cursor.u64()? }),
            FieldType::Guid => Value::Guid(Guid(*cursor.array()?)),
            FieldType::Text => Value::Utf16(Utf16::read(cursor)?),
            FieldType::NarrowText => Value::Utf8(Utf8::read(cursor)?),
            FieldType::Utf8Unit => Value::Utf8(Utf8::new(cursor.take(1)?)),
            FieldType::VarInt => Value::Signed(cursor.vari64()?),
            FieldType::VarUInt => Value::Unsigned(cursor.varu64()?),
            FieldType::Array(element) => {
                let count = usize::from(cursor.u16()?);
                self.array(element, count)?
            }
            FieldType::FixedArray(element, count) => self.array(element, usize::from(*count))?,
            FieldType::RelLoc(element) => {
                let located = cursor.u32()?;
                self.located(element, located, self.position())?
            }
            FieldType::DataLoc(element) => {
                let located = cursor.u32()?;
                self.located(element, located, 0)?
            }
            FieldType::Pointer => Value::Unsigned(self.pointer()?),
            FieldType::Hex(number) => Value::Hex(self.number(number)?),
            FieldType::Named(number, names) => Value::Named(NamedNumber::new(self.number(number)?, names)),
            // These are of use among other fields only.
            FieldType::AlignedPointer | FieldType::Counted(..) => return Err(Damage::BadSize),
        })
    }

    /// An unsigned number; what is signed or no number counts as damage.
    pub(super) fn number(&mut self, field_type: &'a FieldType) -> Result<u64, Damage> {
        match self.value(field_type)? {
            Value::Unsigned(number) => Ok(number),
            _ => Err(Damage::BadSize),
        }
    }

    pub(super) fn pointer(&mut self) -> Result<u64, Damage> {
        match self.pointer_size {
            PointerSize::Four => self.cursor.u32().map(u64::from),
            PointerSize::Eight => self.cursor.u64(),
        }
    }

    /// `count` elements, one after the other.
    pub(super) fn array(&mut self, element: &'a FieldType, count: usize) -> Result<Value<'a>, Damage> {
        let start = *self;
        if let Some(size) = size_of(element, self.pointer_size) {
            let bytes = self.cursor.take(count.checked_mul(size).ok_or(Damage::EndsEarly)?)?;
            if let Some(value) = run_of(element, bytes) {
                return Ok(value);
            }
        } else {
            let mut elements = self.in_array();
            for _ in 0..count {
                let before = elements.position();
                elements.value(element)?;
                if elements.position() == before {
                    return Err(Damage::BadSize);
                }
            }
            self.cursor = elements.cursor;
        }
        Ok(Value::Array(Array::new(element, count, start)))
    }

    /// Elements elsewhere in the payload: `located` has their bytes in its high half, and in its low half where they are
    /// from `base` on.
    fn located(&mut self, element: &'a FieldType, located: u32, base: usize) -> Result<Value<'a>, Damage> {
        // If these could stand in arrays or lead to each other, few bytes would describe endless values.
        let size = size_of(element, self.pointer_size).filter(|_| self.place == Place::Once).ok_or(Damage::BadSize)?;
        let (bytes, offset) = ((located >> 16) as usize, (located & 0xffff) as usize);
        // Many fields that lead to the same bytes would be endless values, too.
        self.located = self.located.saturating_add(located >> 16);
        if self.located as usize > self.payload.len() {
            return Err(Damage::BadSize);
        }
        let mut there = Self { cursor: Cursor::new(self.payload), ..*self };
        there.cursor.take(base.saturating_add(offset))?;
        if bytes.checked_rem(size) != Some(0) {
            return Err(Damage::BadSize);
        }
        there.array(element, bytes.checked_div(size).unwrap_or(0))
    }
}

/// Bytes of a type that always has the same size, or `None`.
fn size_of(field_type: &FieldType, pointer_size: PointerSize) -> Option<usize> {
    Some(match field_type {
        FieldType::SByte | FieldType::Byte | FieldType::Boolean8 | FieldType::Utf8Unit => 1,
        FieldType::Char | FieldType::Int16 | FieldType::UInt16 => 2,
        FieldType::Boolean | FieldType::Int32 | FieldType::UInt32 | FieldType::Single => 4,
        FieldType::Int64 | FieldType::UInt64 | FieldType::Double | FieldType::DateTime => 8,
        FieldType::Decimal | FieldType::Guid => 16,
        FieldType::Pointer => pointer_size.bytes(),
        FieldType::Hex(number) | FieldType::Named(number, _) => size_of(number, pointer_size)?,
        _ => return None,
    })
}

/// Elements that together are text or bytes.
fn run_of<'a>(element: &FieldType, bytes: &'a [u8]) -> Option<Value<'a>> {
    match element {
        FieldType::Char => Some(Value::Utf16(Utf16::new(bytes))),
        FieldType::Utf8Unit => Some(Value::Utf8(Utf8::new(bytes))),
        FieldType::Byte => Some(Value::Bytes(bytes)),
        _ => None,
    }
}
