//! The field list in a definition of version 6.

use super::attributes::read_text;
use crate::cursor::Cursor;
use crate::fields::{ARRAY, Field, FieldType, MAX_DEPTH, OBJECT, scalar};
use crate::problem::Damage;

/// Reads a list: `count`, then size, name and type of each field; the size lets fields grow.
pub(super) fn read_fields(cursor: &mut Cursor<'_>, depth: u32) -> Result<Vec<Field>, Damage> {
    let count = cursor.u16()?;
    // A field takes at least its size, the length of its name and a type code.
    if depth > MAX_DEPTH || usize::from(count).saturating_mul(4) > cursor.remaining() {
        return Err(Damage::BadSize);
    }
    let mut fields = Vec::new();
    for _ in 0..count {
        let size = cursor.u16()?;
        let mut field = Cursor::new(cursor.take(size.into())?);
        let name = read_text(&mut field)?.into();
        fields.push(Field { name, field_type: read_type(&mut field, depth)? });
    }
    Ok(fields)
}

fn read_type(cursor: &mut Cursor<'_>, depth: u32) -> Result<FieldType, Damage> {
    if depth > MAX_DEPTH {
        return Err(Damage::BadSize);
    }
    let deeper = depth.saturating_add(1);
    Ok(match u32::from(cursor.u8()?) {
        OBJECT => FieldType::Object(read_fields(cursor, deeper)?),
        ARRAY => FieldType::Array(read_element(cursor, deeper)?),
        20 => FieldType::VarInt,
        21 => FieldType::VarUInt,
        22 => FieldType::FixedArray(read_element(cursor, deeper)?, cursor.u16()?),
        23 => FieldType::Utf8Unit,
        24 => FieldType::RelLoc(read_located(cursor, deeper)?),
        25 => FieldType::DataLoc(read_located(cursor, deeper)?),
        26 => FieldType::Boolean8,
        code => scalar(code)?,
    })
}

/// The type of an array's elements. Elements of no bytes are refused: a payload could hold any number of them.
fn read_element(cursor: &mut Cursor<'_>, depth: u32) -> Result<Box<FieldType>, Damage> {
    let element = read_type(cursor, depth)?;
    if may_be_empty(&element) { Err(Damage::BadSize) } else { Ok(Box::new(element)) }
}

/// The type of elements that are somewhere else in the payload.
fn read_located(cursor: &mut Cursor<'_>, depth: u32) -> Result<Box<FieldType>, Damage> {
    let element = read_element(cursor, depth)?;
    if has_place(&element) { Ok(element) } else { Err(Damage::BadSize) }
}

fn may_be_empty(field_type: &FieldType) -> bool {
    match field_type {
        FieldType::Object(fields) => fields.iter().all(|field| may_be_empty(&field.field_type)),
        FieldType::FixedArray(_, count) => *count == 0,
        _ => false,
    }
}

/// Whether elements of this type can be somewhere else: the format wants a size that does not depend on the value. Nor can
/// they be in yet another place themselves, which would let a small payload be read over and over.
fn has_place(field_type: &FieldType) -> bool {
    match field_type {
        FieldType::Object(fields) => fields.iter().all(|field| has_place(&field.field_type)),
        FieldType::FixedArray(element, _) => has_place(element),
        FieldType::Array(_) | FieldType::Text | FieldType::RelLoc(_) | FieldType::DataLoc(_) => false,
        _ => true,
    }
}
