//! Payloads as named values.
//!
//! [`Event::fields`](crate::Event::fields) reads a payload field by field, as the event's definition says or, for the
//! runtime's own events, as this crate knows. Values borrow from the payload: nothing is copied and nothing is allocated.
//!
//! Payloads are hostile. The work for one event is bounded by the size of its definition plus its bytes times the depth of
//! nesting: what stands in an array has to take bytes, and what stands elsewhere in the payload ([`FieldType::DataLoc`]) can
//! neither nest nor stand in an array, and is altogether no longer than the payload.
//!
//! [`FieldType::DataLoc`]: crate::FieldType::DataLoc

mod composite;
mod list;
mod named;
mod payload;
mod reader;
mod scalar;
#[cfg(test)]
mod tests;

use core::fmt;

pub use composite::{Array, Object};
pub use named::{NamedNumber, Names};
pub use payload::{FieldsOfPayload, Fit};
pub use scalar::{DateTime, Decimal};

pub(crate) use named::NamesStyle;

use crate::event::Guid;
use crate::text::{Utf8, Utf16};

/// A value in a payload.
///
/// `Display` gives it as plain text; text of the traced program comes as it is, so that control characters have to be
/// escaped by whoever shows it. Inside of arrays and objects text is quoted and escaped.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub enum Value<'a> {
    /// True or false.
    Boolean(bool),
    /// One UTF-16 code unit, which can be half of a character.
    Char(u16),
    /// A signed number of any width.
    Signed(i64),
    /// An unsigned number of any width.
    Unsigned(u64),
    /// An address, id or token: an unsigned number that people read in hexadecimal.
    Hex(u64),
    /// A number whose values or bits have names.
    Named(NamedNumber),
    /// A 32-bit floating point number.
    Single(f32),
    /// A 64-bit floating point number.
    Double(f64),
    /// A decimal number.
    Decimal(Decimal),
    /// A time.
    DateTime(DateTime),
    /// A GUID.
    Guid(Guid),
    /// UTF-16 text: terminated text, or an array of code units.
    Utf16(Utf16<'a>),
    /// 8-bit text, UTF-8 if the writer keeps its word.
    Utf8(Utf8<'a>),
    /// An array of bytes.
    Bytes(&'a [u8]),
    /// An array of anything else.
    Array(Array<'a>),
    /// Values with names.
    Object(Object<'a>),
}

impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Boolean(value) => value.fmt(f),
            Self::Char(unit) => char::from_u32(u32::from(*unit)).unwrap_or(char::REPLACEMENT_CHARACTER).fmt(f),
            Self::Signed(value) => value.fmt(f),
            Self::Unsigned(value) => value.fmt(f),
            Self::Hex(value) => write!(f, "{value:#x}"),
            Self::Named(value) => value.fmt(f),
            Self::Single(value) => value.fmt(f),
            Self::Double(value) => value.fmt(f),
            Self::Decimal(value) => value.fmt(f),
            Self::DateTime(value) => value.fmt(f),
            Self::Guid(value) => value.fmt(f),
            Self::Utf16(text) => text.fmt(f),
            Self::Utf8(text) => text.fmt(f),
            Self::Bytes(bytes) => {
                f.write_str("0x")?;
                bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
            Self::Array(array) => array.fmt(f),
            Self::Object(object) => object.fmt(f),
        }
    }
}

/// A value that stands among others: text has quotes, so that it ends where it ends.
struct Quoted<'a>(Value<'a>);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Value::Char(_) | Value::Utf16(_) | Value::Utf8(_) => write!(f, "{:?}", self.0.to_string()),
            other => other.fmt(f),
        }
    }
}
