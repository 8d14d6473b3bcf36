//! Signatures of instantiated methods: found apart here, and read only when a name is wanted.

use crate::bytes::Cursor;
use crate::{Error, ErrorKind};

use super::entry_point;

/// How deep types may be nested.
const DEEPEST: u32 = 64;

/// Types in one signature; compilers stay far below, and a signature is gone through for each method.
const MOST_TYPES: u32 = 1024;

/// Which method an instantiation is of and with which type arguments, before any of its types is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InstanceSignature<'d> {
    /// The flags of the format; [`Mark`](crate::Mark) has some of them.
    pub flags: u32,
    /// The module that the token belongs to, when it is not the owner's.
    pub module: Option<u32>,
    /// The type signature of the owner, when the token alone does not tell it.
    pub owner: Option<&'d [u8]>,
    /// The method.
    pub method: MethodToken,
    /// How many type arguments the method itself has, and their type signatures one after the other.
    pub arguments: Option<(u32, &'d [u8])>,
}

/// A row of the metadata that stands for a method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MethodToken {
    /// Row of `MethodDef`, from 1.
    Definition(u32),
    /// Row of `MemberRef`, from 1.
    Reference(u32),
}

impl MethodToken {
    /// The token as the runtime writes it: table and row.
    pub const fn value(self) -> u32 {
        match self {
            Self::Definition(rid) => 0x0600_0000 | rid,
            Self::Reference(rid) => 0x0a00_0000 | rid,
        }
    }
}

impl<'d> InstanceSignature<'d> {
    /// Reads a signature; afterwards the cursor is at the entry point that follows.
    ///
    /// # Errors
    /// When it is cut off, or holds what cannot stand in one.
    pub(crate) fn parse(cursor: &mut Cursor<'d>) -> Result<Self, Error> {
        let start = *cursor;
        let flags = cursor.compressed()?;
        let mut types = TypeSkipper::default();
        let module = optional(flags & 0x80, || cursor.compressed())?;
        let owner = optional(flags & 0x40, || types.taken(cursor, 1))?;
        if flags & 0x8 != 0 {
            return Err(start.error(ErrorKind::Impossible { what: "flags of a method", value: flags.into() }));
        }
        let row_place = *cursor;
        let rid = cursor.compressed()?;
        if rid > 0xff_ffff {
            return Err(row_place.error(ErrorKind::Impossible { what: "row of a method", value: rid.into() }));
        }
        let method = if flags & 0x10 != 0 { MethodToken::Reference(rid) } else { MethodToken::Definition(rid) };
        let arguments = optional(flags & 0x4, || {
            let count = cursor.compressed()?;
            types.taken(cursor, count).map(|bytes| (count, bytes))
        })?;
        // The constraint of a call.
        optional(flags & 0x20, || types.taken(cursor, 1))?;
        Ok(Self { flags, module, owner, method, arguments })
    }

    /// Reads a signature and the index of the RuntimeFunction that is given behind it, where the cursor stays.
    pub(crate) fn with_function(cursor: &mut Cursor<'d>) -> Result<(Self, u32), Error> {
        let signature = Self::parse(cursor)?;
        Ok((signature, entry_point::function_index(*cursor)?))
    }
}

fn optional<T>(flag: u32, read: impl FnOnce() -> Result<T, Error>) -> Result<Option<T>, Error> {
    if flag == 0 { Ok(None) } else { read().map(Some) }
}

/// Passes over the type signatures of one method, and counts them: together they are not more than 1024.
#[derive(Default)]
pub(crate) struct TypeSkipper {
    seen: u32,
}

impl TypeSkipper {
    /// The bytes of the next `count` types.
    pub(crate) fn taken<'d>(&mut self, cursor: &mut Cursor<'d>, count: u32) -> Result<&'d [u8], Error> {
        let start = *cursor;
        self.skip(cursor, count, 0)?;
        let length = cursor.offset().saturating_sub(start.offset());
        Ok(start.rest().get(..length).unwrap_or_default())
    }

    fn skip(&mut self, cursor: &mut Cursor<'_>, count: u32, depth: u32) -> Result<(), Error> {
        (0..count).try_for_each(|_| self.skip_one(cursor, depth))
    }

    fn skip_one(&mut self, cursor: &mut Cursor<'_>, depth: u32) -> Result<(), Error> {
        self.seen = self.seen.saturating_add(1);
        if depth > DEEPEST || self.seen > MOST_TYPES {
            return Err(cursor.error(ErrorKind::TooDeep { what: "type signature" }));
        }
        let deeper = depth.saturating_add(1);
        let start = *cursor;
        match cursor.u8()? & 0x7f {
            // Primitive types, `System.__Canon`.
            0x01..=0x0e | 0x16 | 0x18 | 0x19 | 0x1c | 0x3e => Ok(()),
            // Pointer, reference, vector, sentinel, pinned, native value type.
            0x0f | 0x10 | 0x1d | 0x41 | 0x45 | 0x3d => self.skip_one(cursor, deeper),
            // Value type, class, type and method variable: one number.
            0x11 | 0x12 | 0x13 | 0x1e => cursor.compressed().map(drop),
            // Modifiers, type of another module: one number and the type.
            0x1f | 0x20 | 0x3f => {
                cursor.compressed()?;
                self.skip_one(cursor, deeper)
            }
            0x14 => {
                self.skip_one(cursor, deeper)?;
                cursor.compressed()?;
                skip_numbers(cursor)?;
                skip_numbers(cursor)
            }
            0x15 => {
                self.skip_one(cursor, deeper)?;
                let count = cursor.compressed()?;
                self.skip(cursor, count, deeper)
            }
            0x1b => self.skip_method(cursor, deeper),
            element => Err(start.error(ErrorKind::Impossible { what: "element of a type", value: element.into() })),
        }
    }

    /// The signature of a function pointer: return type and parameters.
    fn skip_method(&mut self, cursor: &mut Cursor<'_>, depth: u32) -> Result<(), Error> {
        let convention = cursor.u8()?;
        if convention & 0x10 != 0 {
            cursor.compressed()?;
        }
        let parameters = cursor.compressed()?;
        self.skip(cursor, parameters.saturating_add(1), depth)
    }
}

/// A count and that many numbers.
fn skip_numbers(cursor: &mut Cursor<'_>) -> Result<(), Error> {
    let count = cursor.compressed()?;
    (0..count).try_for_each(|_| cursor.compressed().map(drop))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_and_the_entry_point_behind_them() {
        let check = |bytes: &[u8], token, function, owner: Option<&[u8]>, arguments: Option<(u32, &[u8])>| {
            let (signature, found) = InstanceSignature::with_function(&mut Cursor::new(bytes, "test")).unwrap();
            assert_eq!((signature.method.value(), found), (token, function), "{bytes:x?}");
            assert_eq!((signature.owner, signature.arguments), (owner, arguments), "{bytes:x?}");
        };
        check(
            &[0x40, 0x15, 0x12, 0xa5, 0x08, 0x01, 0x3e, 0xc0, 0x00, 0x83, 0x73, 0x03, 0xf5, 0x07],
            0x0600_8373,
            32592,
            Some(&[0x15, 0x12, 0xa5, 0x08, 0x01, 0x3e]),
            None,
        );
        check(&[0x04, 0x81, 0xb6, 0x01, 0x02, 0xe3, 0x69, 0x08, 0x02], 0x0600_01b6, 34462, None, Some((1, &[0x02])));
        check(
            &[
                0x44, 0x15, 0x12, 0xa2, 0x5c, 0x01, 0x3e, 0xc0, 0x00, 0x7d, 0xe6, 0x01, 0x11, 0x81, 0x04, 0xb3, 0x69,
                0x08,
            ],
            0x0600_7de6,
            34459,
            Some(&[0x15, 0x12, 0xa2, 0x5c, 0x01, 0x3e]),
            Some((1, &[0x11, 0x81, 0x04])),
        );
        // Another module, a reference, a constraint: an array of function pointers.
        let constraint = [0x14, 0x1b, 0x00, 0x01, 0x01, 0x0f, 0x08, 0x02, 0x01, 0x05, 0x00];
        let mut bytes = vec![0x80, 0xb0, 0x07, 0x12];
        bytes.extend(constraint);
        bytes.push(0x0c);
        let (signature, function) = InstanceSignature::with_function(&mut Cursor::new(&bytes, "test")).unwrap();
        assert_eq!((signature.module, signature.method, function), (Some(7), MethodToken::Reference(0x12), 3));
    }

    #[test]
    fn damaged_signatures() {
        let check = |bytes: &[u8], expected: ErrorKind| {
            let error = InstanceSignature::with_function(&mut Cursor::new(bytes, "signature")).unwrap_err();
            assert_eq!(error.kind, expected, "{bytes:x?}");
        };
        check(&[], ErrorKind::Cut { what: "signature" });
        check(&[0x40, 0x15], ErrorKind::Cut { what: "signature" });
        check(&[0x08, 1, 2], ErrorKind::Impossible { what: "flags of a method", value: 8 });
        check(&[0x40, 0x3b, 2], ErrorKind::Impossible { what: "element of a type", value: 0x3b });
        let mut deep = vec![0x40];
        deep.extend([0x1d; 100]);
        check(&deep, ErrorKind::TooDeep { what: "type signature" });
        let mut wide = vec![0x04, 1, 0xc0, 0, 0x10, 0];
        wide.extend([0x02; 5000]);
        check(&wide, ErrorKind::TooDeep { what: "type signature" });
    }
}
