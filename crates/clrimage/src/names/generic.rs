//! The type arguments that an instance was made with.

use super::spelling::element;
use crate::Error;
use crate::bytes::Cursor;
use crate::r2r::TypeSkipper;

/// Type arguments: how many, and their signatures one after the other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arguments<'d> {
    pub(super) count: u32,
    pub(super) types: &'d [u8],
}

impl<'d> Arguments<'d> {
    /// The arguments of the instance of a generic type that a type signature is of.
    pub(super) fn of_type(signature: &'d [u8]) -> Result<Option<Self>, Error> {
        let mut cursor = Cursor::new(signature, "type signature");
        let mut element = cursor.u8()? & element::MASK;
        if element == element::OTHER_MODULE {
            cursor.compressed()?;
            element = cursor.u8()? & element::MASK;
        }
        if element != element::GENERIC_INSTANCE {
            return Ok(None);
        }
        TypeSkipper::default().taken(&mut cursor, 1)?;
        Ok(Some(Self { count: cursor.compressed()?, types: cursor.rest() }))
    }

    /// The signature of argument `number`, from 0.
    pub(super) fn get(&self, number: u32) -> Option<Cursor<'d>> {
        let mut cursor = Cursor::new(self.types, "type argument");
        if number >= self.count {
            return None;
        }
        TypeSkipper::default().taken(&mut cursor, number).ok()?;
        Some(cursor)
    }
}
