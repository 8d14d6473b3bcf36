//! What a precompiled .NET image says about unwinding through it.

use crate::unwind_codes::Frame;
use rustc_hash::FxHashMap;
use std::ops::Range;

/// Bytes of a row of the function table.
const ROW: usize = 12;

/// The largest unwind record: four bytes, 255 codes, padding and the row it is chained to.
const MAX_RECORD: u32 = 4 + 2 * 255 + 2 + 12;

/// Codes of unwind records that are read, besides one for each byte of the function table: no image comes near. A hostile one
/// could give each of its functions thousands, by chains of records that lie in each other.
const MIN_CODES: usize = 1 << 16;

/// What tells a frame from others: the bytes of its record, or where the record is when it is chained to another.
#[derive(PartialEq, Eq, Hash)]
enum RecordKey<'data> {
    Bytes(&'data [u8]),
    Chained(u32),
}

/// The unwind data of one precompiled image for amd64, shared by all processes that map it.
///
/// Made of the image's function table and unwind records (Windows x64 format, with one code of .NET's own). Few distinct
/// records serve all functions of an image, so it takes 12 bytes for each function and not much more; whatever the image says,
/// not more than 15 times the bytes of its function table and a mebibyte.
#[derive(Clone, Debug, Default)]
pub struct ReadyToRunUnwindData {
    /// In order of address; none overlaps another.
    functions: Box<[Function]>,
    frames: Box<[Frame]>,
}

/// A piece of code with one unwind record: the body of a method, a funclet, or a cold part.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Function {
    pub(crate) start: u32,
    end: u32,
    frame: u32,
}

#[derive(Clone, Copy)]
struct Row {
    start: u32,
    end: u32,
    record: u32,
}

impl ReadyToRunUnwindData {
    /// Reads the function table `rows` (the exception directory of the PE file). `record_at` gives the bytes from an RVA
    /// on, as far as they were read; [`Self::records`] says which are needed.
    ///
    /// Rows that are not in order and records that make no sense are left out: their code is walked like code outside of
    /// functions.
    pub fn parse<'data>(rows: &[u8], record_at: impl Fn(u32) -> Option<&'data [u8]>) -> Self {
        let mut frames = Vec::new();
        let mut codes_left = rows.len().saturating_add(MIN_CODES);
        let mut known: FxHashMap<RecordKey<'data>, Option<u32>> = FxHashMap::default();
        let mut functions = Vec::with_capacity(rows.len() / ROW);
        let mut end = 0;
        for row in read_rows(rows) {
            if row.start < end || row.end <= row.start {
                continue;
            }
            let Some(record) = record_at(row.record) else { continue };
            let frame = || {
                let frame = Frame::parse(record, &record_at, &mut codes_left)?;
                let index = u32::try_from(frames.len()).ok()?;
                frames.push(frame);
                Some(index)
            };
            let key = Frame::own_bytes(record).map_or(RecordKey::Chained(row.record), RecordKey::Bytes);
            if let Some(frame) = *known.entry(key).or_insert_with(frame) {
                end = row.end;
                functions.push(Function { start: row.start, end: row.end, frame });
            }
        }
        functions.shrink_to_fit();
        Self { functions: functions.into(), frames: frames.into() }
    }

    /// The RVAs that unwind records of a function table lie in; `None` when it has no row.
    pub fn records(rows: &[u8]) -> Option<Range<u32>> {
        let first = read_rows(rows).map(|row| row.record).min()?;
        let last = read_rows(rows).map(|row| row.record).max()?;
        Some(first..last.saturating_add(MAX_RECORD))
    }

    /// How many pieces of code it describes.
    pub fn len(&self) -> usize {
        self.functions.len()
    }

    /// Whether it describes no code.
    pub fn is_empty(&self) -> bool {
        self.functions.is_empty()
    }

    /// The function that holds an RVA, and its frame.
    pub(crate) fn function(&self, rva: u64) -> Option<(Function, &Frame)> {
        let rva = u32::try_from(rva).ok()?;
        let after = self.functions.partition_point(|function| function.start <= rva);
        let function = *self.functions.get(after.checked_sub(1)?)?;
        let frame = self.frames.get(usize::try_from(function.frame).ok()?)?;
        (rva < function.end).then_some((function, frame))
    }
}

fn read_rows(rows: &[u8]) -> impl Iterator<Item = Row> {
    rows.chunks_exact(ROW).filter_map(|row| {
        let (numbers, _) = row.as_chunks::<4>();
        let [start, end, record] = *numbers else { return None };
        Some(Row { start: u32::from_le_bytes(start), end: u32::from_le_bytes(end), record: u32::from_le_bytes(record) })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of (start, end, record).
    fn table(rows: &[[u32; 3]]) -> Vec<u8> {
        rows.iter().flatten().flat_map(|number| number.to_le_bytes()).collect()
    }

    #[test]
    fn functions_are_found_by_address_and_share_frames() {
        // push rbp; sub rsp,20h, and one without a frame.
        let records = [1_u8, 5, 2, 0, 5, 0x32, 1, 0x50, 1, 0, 0, 0];
        let rows = table(&[[0x100, 0x110, 0], [0x110, 0x118, 8], [0x130, 0x140, 0], [0x200, 0x210, 99]]);
        let data = ReadyToRunUnwindData::parse(&rows, |rva| records.get(rva as usize..));
        let at = |rva| data.function(rva).map(|(function, _)| function.start);
        assert_eq!([0xff, 0x100, 0x10f].map(at), [None, Some(0x100), Some(0x100)]);
        assert_eq!([0x110, 0x118, 0x12f, 0x13f].map(at), [Some(0x110), None, None, Some(0x130)]);
        assert_eq!([0x200, 0x1_0000_0100].map(at), [None, None], "no record; no RVA");
        assert_eq!((data.len(), data.frames.len()), (3, 2));
        assert_eq!(ReadyToRunUnwindData::records(&rows), Some(0..99 + MAX_RECORD));
        assert_eq!(ReadyToRunUnwindData::records(&[]), None);
    }

    #[test]
    fn rows_out_of_order_are_left_out() {
        let records = [1_u8, 0, 0, 0];
        let rows =
            table(&[[0x100, 0x200, 0], [0x180, 0x280, 0], [0x300, 0x300, 0], [0x50, 0x60, 0], [0x400, 0x410, 0]]);
        let data = ReadyToRunUnwindData::parse(&rows, |rva| records.get(rva as usize..));
        assert_eq!(data.len(), 2);
        assert!(data.function(0x200).is_none() && data.function(0x400).is_some());
    }

    #[test]
    fn a_hostile_table_gets_no_more_memory_than_its_size_justifies() {
        const HOT: u32 = u32::MAX;
        let mut hot = vec![1, 0, 255, 0];
        hot.extend([0, 0x50].repeat(255));
        // Wherever it is, the record is chained to the large one.
        let mut cold = vec![0x21, 0, 0, 0];
        cold.extend([0, 0, HOT].map(u32::to_le_bytes).as_flattened());
        let frames = |rows: &[[u32; 3]]| {
            let record_at = |rva| Some(if rva == HOT { &hot[..] } else { &cold });
            ReadyToRunUnwindData::parse(&table(rows), record_at).frames
        };
        let apart: Vec<_> = (0..20_000).map(|row| [row, row + 1, row]).collect();
        let steps: usize = frames(&apart).iter().map(Frame::steps).sum();
        assert!(steps > 0 && steps <= apart.len() * ROW + MIN_CODES, "{steps}");
        let shared: Vec<_> = apart.iter().map(|[start, end, _]| [*start, *end, 7]).collect();
        assert_eq!(frames(&shared).len(), 1, "one record");
    }
}
