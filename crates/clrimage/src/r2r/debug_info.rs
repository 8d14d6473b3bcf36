//! Native to IL offsets of precompiled methods (section 105).
//!
//! Layout: a sparse array by the index of a method's first RuntimeFunction. An element begins with a native integer: zero
//! when a blob follows, else how far in front of the element a blob is that several methods share. A blob begins with two
//! nibble numbers, the sizes of the map and of what is known of variables; from major 17 on a zero first means that six
//! sizes follow. The map then begins at the next byte.

use super::NativeArray;
use super::bits::Bits;
use crate::bytes::{Cursor, Nibbles};
use crate::{Error, ErrorKind, IlOffset, Image, NativeMapping, SectionKind};

/// The native maps of an image's methods; cheap to make.
#[derive(Clone, Copy, Debug)]
pub struct DebugInfo<'d> {
    maps: NativeArray<'d>,
    major: u16,
}

impl<'d> DebugInfo<'d> {
    /// The native maps of an image, or `None` when it has none.
    ///
    /// # Errors
    /// The table is not in the image or its index is cut off.
    pub fn read(image: &Image<'d>) -> Result<Option<Self>, Error> {
        let Some(header) = image.ready_to_run() else { return Ok(None) };
        let Some(place) = header.core().section(SectionKind::DebugInfo) else { return Ok(None) };
        let maps = NativeArray::parse(image.pe(), place, "debug information")?;
        Ok(Some(Self { maps, major: header.version().0 }))
    }

    /// The whole map of the method whose first RuntimeFunction is `entry`, sorted by native offset; `None` when it has
    /// none.
    ///
    /// # Errors
    /// The method's map is damaged.
    pub fn map(&self, entry: u32) -> Result<Option<Vec<NativeMapping>>, Error> {
        // Nothing is allocated by a count: a row is kept once it was read.
        self.rows(entry)?.map(Iterator::collect).transpose()
    }

    /// What the code at a native offset of a method was made from; see [`crate::il_offset`], which is the same for a
    /// whole map.
    ///
    /// # Errors
    /// The method's map is damaged in front of the place.
    pub fn il_offset(&self, entry: u32, native_offset: u32) -> Result<Option<IlOffset>, Error> {
        let mut found = None;
        for row in self.rows(entry)?.into_iter().flatten() {
            let row = row?;
            if row.native_offset > native_offset {
                break;
            }
            found = Some(row.il_offset);
        }
        Ok(found)
    }

    fn rows(&self, entry: u32) -> Result<Option<Rows<'d>>, Error> {
        let Some(element) = self.maps.get(entry)? else { return Ok(None) };
        let mut blob = element;
        let back = blob.native()?;
        if back != 0 {
            let impossible = ErrorKind::Impossible { what: "shared debug information", value: back.into() };
            let start = usize::try_from(back).ok().and_then(|back| element.offset().checked_sub(back));
            blob = element.at(start.ok_or_else(|| element.error(impossible))?);
        }
        Rows::read(map_of(blob, self.major)?, self.major).map(Some)
    }
}

/// The bytes of the map in a blob.
fn map_of(blob: Cursor<'_>, major: u16) -> Result<Cursor<'_>, Error> {
    let mut sizes = Nibbles::new(blob);
    let mut size = sizes.number()?;
    let mut others = 1;
    if size == 0 && major >= 17 {
        size = sizes.number()?;
        others = 5;
    }
    for _ in 0..others {
        sizes.number()?;
    }
    sizes.aligned().part(usize::try_from(size).unwrap_or(usize::MAX))
}

/// The rows of a map; ends after an error.
#[derive(Clone, Debug)]
struct Rows<'d> {
    form: Form<'d>,
    left: u32,
    native_offset: u32,
}

/// How rows are written: how far the native offset is from the one before, the IL offset and three, flags.
#[derive(Clone, Debug)]
enum Form<'d> {
    /// Up to major 15: numbers of nibbles.
    Nibbles(Nibbles<'d>),
    /// From major 16 on: numbers of so many bits, of which the flags come first.
    Packed { bits: Bits<'d>, flags: u32, native: u32, il: u32 },
}

impl<'d> Rows<'d> {
    fn read(map: Cursor<'d>, major: u16) -> Result<Self, Error> {
        let mut numbers = Nibbles::new(map);
        if map.is_at_end() {
            return Ok(Self { form: Form::Nibbles(numbers), left: 0, native_offset: 0 });
        }
        let left = numbers.number()?;
        if major <= 15 {
            return Ok(Self { form: Form::Nibbles(numbers), left, native_offset: 0 });
        }
        let mut width = || {
            let bits = numbers.number()?;
            let kind = ErrorKind::Impossible { what: "width of a native map", value: bits.into() };
            bits.checked_add(1).filter(|bits| *bits <= u32::BITS).ok_or_else(|| map.error(kind))
        };
        let (native, il) = (width()?, width()?);
        let flags = if major == 16 { 2 } else { 3 };
        let bits = Bits::new(numbers.aligned());
        Ok(Self { form: Form::Packed { bits, flags, native, il }, left, native_offset: 0 })
    }

    fn row(&mut self) -> Result<NativeMapping, Error> {
        let (distance, il) = match &mut self.form {
            Form::Nibbles(numbers) => {
                let row = (numbers.number()?, numbers.number()?);
                numbers.number()?;
                row
            }
            Form::Packed { bits, flags, native, il } => {
                bits.take(*flags)?;
                (bits.take(*native)?, bits.take(*il)?)
            }
        };
        let impossible = || {
            let kind = ErrorKind::Impossible { what: "native offset", value: distance.into() };
            self.form.cursor().error(kind)
        };
        self.native_offset = self.native_offset.checked_add(distance).ok_or_else(impossible)?;
        Ok(NativeMapping { native_offset: self.native_offset, il_offset: il_offset(il) })
    }
}

/// The meaning of an IL offset and three.
const fn il_offset(number: u32) -> IlOffset {
    match number {
        0 => IlOffset::Epilog,
        1 => IlOffset::Prolog,
        2 => IlOffset::NoMapping,
        number => IlOffset::Offset(number.saturating_sub(3)),
    }
}

impl Iterator for Rows<'_> {
    type Item = Result<NativeMapping, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let row = self.row();
        if row.is_err() {
            self.left = 0;
        }
        Some(row)
    }
}

impl<'d> Form<'d> {
    const fn cursor(&self) -> Cursor<'d> {
        match self {
            Self::Nibbles(numbers) => numbers.aligned(),
            Self::Packed { bits, .. } => bits.cursor(),
        }
    }
}
