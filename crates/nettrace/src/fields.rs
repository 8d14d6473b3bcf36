//! The field list in an event's definition.

use crate::cursor::Cursor;
use crate::problem::Damage;
use crate::text::Utf16;
use crate::value::Names;

/// What a definition says about the payload of its events.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Fields {
    /// These fields, packed, in this order. Empty for the runtime's own events, whose fields are not in the stream (see
    /// [`crate::runtime`]).
    Known(Vec<Field>),
    /// The list could not be read: the payload is bytes without meaning.
    Opaque,
}

/// One field of a payload.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Field {
    /// Its name.
    pub name: Box<str>,
    /// Its type.
    pub field_type: FieldType,
}

/// Type of a field; all scalars are little-endian and packed.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum FieldType {
    /// Nested fields, one after the other.
    Object(Vec<Field>),
    /// 4 bytes, 0 is false.
    Boolean,
    /// One UTF-16 code unit.
    Char,
    /// 1 byte, signed.
    SByte,
    /// 1 byte.
    Byte,
    /// 2 bytes, signed.
    Int16,
    /// 2 bytes.
    UInt16,
    /// 4 bytes, signed.
    Int32,
    /// 4 bytes.
    UInt32,
    /// 8 bytes, signed.
    Int64,
    /// 8 bytes.
    UInt64,
    /// 4 bytes of IEEE 754.
    Single,
    /// 8 bytes of IEEE 754.
    Double,
    /// 16 bytes.
    Decimal,
    /// 8 bytes: 100 ns steps since 1601.
    DateTime,
    /// 16 bytes.
    Guid,
    /// UTF-16 with a terminating zero unit.
    Text,
    /// A two-byte count, then that many elements.
    Array(Box<FieldType>),
    /// LEB128 of at most 64 bits, signed by zig-zag: 0, -1, 1, -2, ... (version 6).
    VarInt,
    /// LEB128 of at most 64 bits (version 6).
    VarUInt,
    /// Exactly this many elements, without a count (version 6).
    FixedArray(Box<FieldType>, u16),
    /// One UTF-8 code unit (version 6).
    Utf8Unit,
    /// 4 bytes that say where the elements are: size in bytes in the high half, and in the low half their place, counted
    /// from the end of these 4 bytes (version 6).
    RelLoc(Box<FieldType>),
    /// 4 bytes that say where the elements are: size in bytes in the high half, and in the low half their place, counted
    /// from the start of the payload (version 6).
    DataLoc(Box<FieldType>),
    /// 1 byte, 0 is false (version 6).
    Boolean8,
    /// 8-bit characters with a terminating zero byte. This one and all that follow are in the runtime's own events only, and
    /// no stream states them.
    NarrowText,
    /// A number as wide as a pointer of the traced process.
    Pointer,
    /// The same, at the next multiple of its size from the start of the object it is in.
    AlignedPointer,
    /// An unsigned number that people read in hexadecimal.
    Hex(Box<FieldType>),
    /// An unsigned number whose values or bits have names.
    Named(Box<FieldType>, &'static Names),
    /// As many elements as the earlier field of this index in the same list says.
    Counted(Box<FieldType>, usize),
}

/// Deeper nesting than this is hostile: event sources nest one or two levels.
pub(crate) const MAX_DEPTH: u32 = 16;

pub(crate) const OBJECT: u32 = 1;
pub(crate) const ARRAY: u32 = 19;

/// The list of version 4: `count`, then type and name of each field.
pub(crate) fn read_v1(cursor: &mut Cursor<'_>, depth: u32) -> Result<Vec<Field>, Damage> {
    let count = count_of_fields(cursor, depth)?;
    let mut fields = Vec::new();
    for _ in 0..count {
        let code = cursor.u32()?;
        let field_type = match code {
            OBJECT => FieldType::Object(read_v1(cursor, depth.saturating_add(1))?),
            _ => scalar(code)?,
        };
        fields.push(Field { name: Utf16::read(cursor)?.to_string().into(), field_type });
    }
    Ok(fields)
}

/// The list of version 5: `count`, then size, name and type of each field; the size lets fields grow.
pub(crate) fn read_v2(cursor: &mut Cursor<'_>, depth: u32) -> Result<Vec<Field>, Damage> {
    let count = count_of_fields(cursor, depth)?;
    let mut fields = Vec::new();
    for _ in 0..count {
        let size = cursor.u32()?;
        let content = cursor.take((size as usize).checked_sub(4).ok_or(Damage::BadSize)?)?;
        let mut field = Cursor::new(content);
        let name = Utf16::read(&mut field)?.to_string().into();
        fields.push(Field { name, field_type: type_v2(&mut field, depth)? });
    }
    Ok(fields)
}

fn type_v2(cursor: &mut Cursor<'_>, depth: u32) -> Result<FieldType, Damage> {
    if depth > MAX_DEPTH {
        return Err(Damage::BadSize);
    }
    match cursor.u32()? {
        OBJECT => Ok(FieldType::Object(read_v2(cursor, depth.saturating_add(1))?)),
        ARRAY => Ok(FieldType::Array(Box::new(type_v2(cursor, depth.saturating_add(1))?))),
        code => scalar(code),
    }
}

fn count_of_fields(cursor: &mut Cursor<'_>, depth: u32) -> Result<u32, Damage> {
    let count = cursor.u32()?;
    // A field takes at least a type code and the terminator of its name.
    if depth > MAX_DEPTH || u64::from(count).saturating_mul(6) > cursor.remaining() as u64 {
        return Err(Damage::BadSize);
    }
    Ok(count)
}

/// The types of all versions that take nothing to describe but their code.
pub(crate) fn scalar(code: u32) -> Result<FieldType, Damage> {
    Ok(match code {
        3 => FieldType::Boolean,
        4 => FieldType::Char,
        5 => FieldType::SByte,
        6 => FieldType::Byte,
        7 => FieldType::Int16,
        8 => FieldType::UInt16,
        9 => FieldType::Int32,
        10 => FieldType::UInt32,
        11 => FieldType::Int64,
        12 => FieldType::UInt64,
        13 => FieldType::Single,
        14 => FieldType::Double,
        15 => FieldType::Decimal,
        16 => FieldType::DateTime,
        17 => FieldType::Guid,
        18 => FieldType::Text,
        _ => return Err(Damage::BadSize),
    })
}
