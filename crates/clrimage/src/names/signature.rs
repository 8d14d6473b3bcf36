//! The beginning of a method's signature.

use super::spelling::Spelling;
use super::writer::Writer;
use crate::Error;
use crate::bytes::Cursor;

/// The beginning of a method's signature (ECMA-335 II.23.2.1); the types of its result and parameters follow.
#[derive(Clone, Copy, Debug)]
pub(super) struct SignatureHead {
    /// Calling convention and flags.
    pub(super) convention: u8,
    /// How many parameters.
    pub(super) parameters: u32,
}

impl SignatureHead {
    pub(super) fn parse(cursor: &mut Cursor<'_>) -> Result<Self, Error> {
        let convention = cursor.u8()?;
        if convention & 0x10 != 0 {
            cursor.compressed()?;
        }
        Ok(Self { convention, parameters: cursor.compressed()? })
    }
}

impl Writer<'_, '_, '_> {
    /// What a signature says of itself before its types.
    pub(super) fn write_convention(&mut self, head: &SignatureHead) {
        for (flag, word) in [(0x20, "instance "), (0x40, "explicit ")] {
            if head.convention & flag != 0 {
                self.text.push_str(word);
            }
        }
        if head.convention & 0x10 != 0 && self.spelling == Spelling::Event {
            self.text.push_str("generic ");
        }
        self.text.push_str(self.spelling.convention(head.convention));
    }
}
