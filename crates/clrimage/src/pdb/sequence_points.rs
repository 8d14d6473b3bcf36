//! Sequence points: where in a method's IL a new piece of source begins.
//!
//! Layout (Portable PDB format, blob of sequence points): the row of the local variables' signature; the first document's
//! row if the method has none; then records that tell how far the next point is from the one before. All numbers are
//! compressed integers of ECMA-335.

use crate::bytes::Cursor;
use crate::{Error, ErrorKind};

/// The place where a piece of source begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SequencePoint {
    /// Where its IL begins.
    pub(super) il_offset: u32,
    /// Row of the source file.
    pub(super) document: u32,
    /// Line and column, which count from 1; none for code of the compiler itself.
    pub(super) position: Option<(u32, u32)>,
}

/// The sequence points of one method, by ascending IL offset; ends after an error.
#[derive(Clone, Debug)]
pub(super) struct SequencePoints<'d> {
    cursor: Cursor<'d>,
    document: u32,
    il_offset: Option<u32>,
    position: Option<(u32, u32)>,
}

impl<'d> SequencePoints<'d> {
    /// The points of a blob that lies at `cursor` and ends with the bytes; `document` is that of the method or 0.
    pub(super) fn new(mut cursor: Cursor<'d>, document: u32) -> Result<Self, Error> {
        cursor.compressed()?;
        let document = if document == 0 { cursor.compressed()? } else { document };
        Ok(Self { cursor, document, il_offset: None, position: None })
    }

    fn point(&mut self) -> Result<SequencePoint, Error> {
        let mut distance = self.cursor.compressed()?;
        let start = self.cursor;
        let impossible = |what| start.error(ErrorKind::Impossible { what, value: 0 });
        if let Some(before) = self.il_offset {
            // No two points are at the same offset: zero is a change of the document.
            while distance == 0 {
                self.document = self.cursor.compressed()?;
                distance = self.cursor.compressed()?;
            }
            distance = before.checked_add(distance).ok_or_else(|| impossible("IL offset"))?;
        }
        self.il_offset = Some(distance);
        let position = self.position()?;
        Ok(SequencePoint { il_offset: distance, document: self.document, position })
    }

    fn position(&mut self) -> Result<Option<(u32, u32)>, Error> {
        let lines = self.cursor.compressed()?;
        let start = self.cursor;
        // On one line the end is behind the beginning; on several it may be anywhere.
        let columns = if lines == 0 { self.cursor.compressed()?.into() } else { signed(&mut self.cursor)? };
        if lines == 0 && columns == 0 {
            return Ok(None);
        }
        let (line, column) = match self.position {
            None => (self.cursor.compressed()?.into(), self.cursor.compressed()?.into()),
            Some((line, column)) => {
                let down = signed(&mut self.cursor)?;
                let right = signed(&mut self.cursor)?;
                (i64::from(line).saturating_add(down), i64::from(column).saturating_add(right))
            }
        };
        let number = |what, value: i64| {
            let kind = ErrorKind::Impossible { what, value: value.cast_unsigned() };
            u32::try_from(value).map_err(|_| start.error(kind))
        };
        self.position = Some((number("source line", line)?, number("source column", column)?));
        Ok(self.position)
    }
}

impl Iterator for SequencePoints<'_> {
    type Item = Result<SequencePoint, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.cursor.is_at_end() {
            return None;
        }
        let point = self.point();
        if point.is_err() {
            self.cursor = Cursor::new(&[], "sequence points");
        }
        Some(point)
    }
}

/// The compressed signed integer of ECMA-335 II.23.2: rotated left by one within the bits of its form.
fn signed(cursor: &mut Cursor<'_>) -> Result<i64, Error> {
    let before = cursor.offset();
    let value = cursor.compressed()?;
    let magnitude = i64::from(value >> 1);
    let range = match cursor.offset().saturating_sub(before) {
        1 => 1 << 6,
        2 => 1 << 13,
        _ => 1_i64 << 28,
    };
    Ok(if value & 1 == 0 { magnitude } else { magnitude.saturating_sub(range) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signed_integers_as_in_the_standard() {
        let check = |bytes: &[u8], expected| assert_eq!(signed(&mut Cursor::new(bytes, "test")).unwrap(), expected);
        check(&[0x06], 3);
        check(&[0x7b], -3);
        check(&[0x80, 0x80], 64);
        check(&[0x01], -64);
        check(&[0xc0, 0x00, 0x40, 0x00], 8192);
        check(&[0x80, 0x01], -8192);
        check(&[0xdf, 0xff, 0xff, 0xfe], 268_435_455);
        check(&[0xc0, 0x00, 0x00, 0x01], -268_435_456);
    }

    /// IL offset, document, line and column.
    type Point = (u32, u32, Option<(u32, u32)>);

    fn points(bytes: &[u8], document: u32) -> Vec<Option<Point>> {
        let points = SequencePoints::new(Cursor::new(bytes, "test"), document).unwrap();
        points.map(|point| point.ok().map(|point| (point.il_offset, point.document, point.position))).collect()
    }

    #[test]
    fn every_kind_of_record() {
        #[rustfmt::skip]
        let blob = [
            0, 3,                         // no locals; document 3
            0, 0, 1, 10, 5,               // IL 0: line 10, column 5, one column wide
            2, 0, 0,                      // IL 2: hidden
            4, 1, 0x7b, 0x04, 0x7d,       // IL 6: two lines down, two columns left; ends a line lower
            0, 4,                         // document 4
            1, 0, 7, 0x7f, 0x02,          // IL 7: one line up, one column right
        ];
        let expected = [(0, 3, Some((10, 5))), (2, 3, None), (6, 3, Some((12, 3))), (7, 4, Some((11, 4)))];
        assert_eq!(points(&blob, 0), expected.map(Some));
        let with_document = [&blob[..1], &blob[2..]].concat();
        assert_eq!(points(&with_document, 3), expected.map(Some));
    }

    #[test]
    fn damage_ends_the_points() {
        let check = |bytes: &[u8], before: usize| {
            let found = points(bytes, 1);
            assert_eq!((found.len(), found.last()), (before + 1, Some(&None)), "{bytes:x?}");
        };
        check(&[0, 0xff], 0);
        check(&[0, 0, 0, 1, 10, 5, 2], 1);
        // A line above the first.
        check(&[0, 0, 0, 1, 1, 5, 1, 0, 1, 0x7b, 0], 1);
        // Documents without an end.
        check(&[0, 0, 0, 1, 1, 5, 0, 1, 0, 1], 1);
        assert_eq!(points(&[0], 1), []);
    }
}
