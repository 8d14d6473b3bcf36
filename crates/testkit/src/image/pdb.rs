//! Portable PDB files: documents, the lines of each method, and where sources are found.

use std::collections::BTreeMap;

use super::encode::compressed;
use super::tables::Tables;

const SOURCE_LINK: [u8; 16] =
    [0x56, 0x05, 0x11, 0xcc, 0x91, 0xa0, 0x38, 0x4d, 0x9f, 0xec, 0x25, 0xab, 0x9a, 0x35, 0x1a, 0x6a];

/// A portable PDB.
#[derive(Clone, Debug, Default)]
pub struct Pdb {
    /// Its id: GUID and timestamp.
    pub id: [u8; 20],
    /// Paths of the source files, with `/` between the parts.
    pub documents: Vec<String>,
    /// Lines of each method in the order of MethodDef rows.
    pub methods: Vec<Lines>,
    /// Content of the source link entry.
    pub source_link: Option<String>,
}

/// Lines of one method.
#[derive(Clone, Debug, Default)]
pub struct Lines {
    /// Row of the document it is in; 0 without lines.
    pub document: u32,
    /// Sequence points in the order of IL offsets.
    pub points: Vec<Point>,
}

/// Where the code from an IL offset on came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// IL offset.
    pub il: u32,
    /// First line and column, last line and column; nothing for hidden code.
    pub range: Option<[u32; 4]>,
}

impl Pdb {
    /// The bytes of the file.
    pub fn bytes(&self) -> Vec<u8> {
        let mut out = Tables::default();
        let entry_point = 0_u32.to_le_bytes();
        let counts = BTreeMap::from([(0x00, 1), (0x02, 2), (0x06, self.methods.len() as u32)]);
        out.pdb = Some(([&self.id[..], &entry_point].concat(), counts));
        for document in &self.documents {
            let parts: Vec<u32> = document.split('/').map(|part| out.blob(part.as_bytes())).collect();
            let name = [vec![b'/'], parts.into_iter().flat_map(compressed).collect()].concat();
            let name = out.blob(&name);
            out.row(0x30, &[name, 0, 0, 0]);
        }
        for lines in &self.methods {
            let points = if lines.points.is_empty() { 0 } else { out.blob(&points(&lines.points)) };
            out.row(0x31, &[lines.document, points]);
        }
        if let Some(link) = &self.source_link {
            let (kind, content) = (out.guid(SOURCE_LINK), out.blob(link.as_bytes()));
            // Parent: module, row 1.
            out.row(0x37, &[1 << 5 | 7, kind, content]);
        }
        out.bytes()
    }
}

fn points(points: &[Point]) -> Vec<u8> {
    // No local variables.
    let mut out = compressed(0);
    let mut last_il = 0;
    let mut last_start: Option<(u32, u32)> = None;
    for point in points {
        out.extend(compressed(point.il - last_il));
        last_il = point.il;
        let Some([line, column, end_line, end_column]) = point.range else {
            out.extend([0, 0]);
            continue;
        };
        let columns = end_column.wrapping_sub(column) as i32;
        out.extend(compressed(end_line - line));
        out.extend(if end_line == line { compressed(columns as u32) } else { signed(columns) });
        match last_start {
            None => out.extend([compressed(line), compressed(column)].concat()),
            Some((last_line, last_column)) => {
                out.extend(signed(line.wrapping_sub(last_line) as i32));
                out.extend(signed(column.wrapping_sub(last_column) as i32));
            }
        }
        last_start = Some((line, column));
    }
    out
}

/// The compressed signed integer of ECMA-335 II.23.2: rotated so that the sign is the lowest bit.
fn signed(value: i32) -> Vec<u8> {
    let sign = u32::from(value < 0);
    let rotated = |bits: u32| (value as u32) << 1 & ((1 << bits) - 1) | sign;
    match value {
        -0x40..0x40 => vec![rotated(7) as u8],
        -0x2000..0x2000 => (rotated(14) as u16 | 0x8000).to_be_bytes().to_vec(),
        _ => (rotated(29) | 0xc000_0000).to_be_bytes().to_vec(),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn signed_integers() {
        // The examples of ECMA-335 II.23.2.
        assert_eq!(super::signed(3), [0x06]);
        assert_eq!(super::signed(-3), [0x7b]);
        assert_eq!(super::signed(64), [0x80, 0x80]);
        assert_eq!(super::signed(-64), [0x01]);
        assert_eq!(super::signed(8192), [0xc0, 0x00, 0x40, 0x00]);
        assert_eq!(super::signed(-8192), [0x80, 0x01]);
    }
}
