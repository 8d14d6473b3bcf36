//! Import cells, and the thunks that fill them.

use super::pe::{self, Pe};

/// A group of import cells.
#[derive(Clone, Debug, Default)]
pub struct Imports {
    /// Flags: 1 for cells that are filled on loading, 4 for code.
    pub flags: u16,
    /// Signature of each cell.
    pub signatures: Vec<Vec<u8>>,
}

/// A thunk: what it looks like, the cell (group, number) it jumps through, and the cell whose first value it is.
#[derive(Clone, Copy, Debug)]
pub struct Thunk {
    /// Shape of its code.
    pub shape: Shape,
    /// Cell it jumps through.
    pub through: (usize, usize),
    /// Cell that holds its address at first, if any.
    pub held_by: Option<(usize, usize)>,
}

/// Shape of a thunk's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// One jump.
    Eager,
    /// Pushes group and module; the helper finds the cell itself.
    Helper,
    /// The same, the caller has put the cell into a register.
    MethodCall,
    /// The same, with the cell of a virtual call.
    VirtualCall,
}

/// Signature of a cell that holds a helper.
pub fn helper(id: u32) -> Vec<u8> {
    [vec![0x1a], super::encode::compressed(id)].concat()
}

/// Thunk code with zeros where distances go, and where those are: offset in the code and whether the module's cell is meant.
fn template(shape: Shape, group: u8) -> (Vec<u8>, Vec<usize>) {
    let push: &[u8] = &[0x6a, group, 0xff, 0x35, 0, 0, 0, 0, 0xff, 0x25, 0, 0, 0, 0];
    let before: &[u8] = match shape {
        Shape::Eager => return (vec![0xff, 0x25, 0, 0, 0, 0, 0xcc, 0xcc], vec![2]),
        Shape::Helper => &[0x33, 0xc0],
        Shape::MethodCall => &[],
        Shape::VirtualCall => &[0x49, 0x8b, 0xc3],
    };
    ([before, push].concat(), vec![before.len() + 4, before.len() + 10])
}

/// On arm64 addresses are literals behind the code.
fn arm64_template(shape: Shape, group: u8) -> (Vec<u8>, Vec<usize>) {
    let mut out = Vec::new();
    let code: &[u32] = if shape == Shape::Eager {
        // ldr x12, +16; ldr x12, [x12]; br x12; nop
        &[0x5800_008c, 0xf940_018c, 0xd61f_0180, 0xd503_201f]
    } else {
        // movz x9, group; ldr x10, +28; ldr x10, [x10]; ldr x12, +28; ldr x12, [x12]; br x12; nop; nop
        let group = 0xd280_0009 | u32::from(group) << 5;
        &[group, 0x5800_00ea, 0xf940_014a, 0x5800_00ec, 0xf940_018c, 0xd61f_0180, 0xd503_201f, 0xd503_201f]
    };
    code.iter().for_each(|word| out.extend(word.to_le_bytes()));
    let literals = if shape == Shape::Eager { vec![out.len()] } else { vec![out.len(), out.len() + 8] };
    out.resize(out.len() + literals.len() * 8, 0);
    (out, literals)
}

fn template_for(machine: u16, thunk: &Thunk) -> (Vec<u8>, Vec<usize>) {
    let group = thunk.held_by.map_or(0, |(group, _)| group as u8);
    if machine == pe::LINUX_ARM64 { arm64_template(thunk.shape, group) } else { template(thunk.shape, group) }
}

/// Puts the code of the thunks, without its distances; gives the addresses and lengths.
pub(super) fn put_thunks(out: &mut Pe, thunks: &[Thunk]) -> Vec<super::code::Function> {
    let mut placed = Vec::new();
    for thunk in thunks {
        out.align(8, 0xcc);
        let (code, _) = template_for(out.machine, thunk);
        placed.push(super::code::Function { start: out.put(&code), length: code.len() as u32 });
    }
    placed
}

/// Puts the cells and completes the thunks; gives the table of import sections. Signatures were put before, at `signatures`.
pub(super) fn put_cells(
    out: &mut Pe,
    groups: &[Imports],
    signatures: &[u32],
    thunks: &[Thunk],
    placed: &[super::code::Function],
) -> Vec<u8> {
    out.align(8, 0);
    let mut cells: Vec<u32> = Vec::new();
    for (number, group) in groups.iter().enumerate() {
        cells.push(out.here());
        for cell in 0..group.signatures.len() {
            let first = thunks.iter().position(|thunk| thunk.held_by == Some((number, cell)));
            let value = first.map_or(0, |thunk| pe::IMAGE_BASE + u64::from(placed[thunk].start));
            out.put(&value.to_le_bytes());
        }
    }
    for (thunk, function) in thunks.iter().zip(placed) {
        let jump = cells[thunk.through.0] + thunk.through.1 as u32 * 8;
        let (_, holes) = template_for(out.machine, thunk);
        // The last distance is the jump's, the one before leads to the first cell of all, which holds the module.
        for (hole, cell) in holes.iter().rev().zip([jump, cells[0]]) {
            let at = function.start + *hole as u32;
            if out.machine == pe::LINUX_ARM64 {
                out.patch(at, &(pe::IMAGE_BASE + u64::from(cell)).to_le_bytes());
            } else {
                out.patch(at, &cell.wrapping_sub(at + 4).to_le_bytes());
            }
        }
    }
    let mut table = Vec::new();
    for ((group, cells), signatures) in groups.iter().zip(cells).zip(signatures) {
        let size = group.signatures.len() as u32 * 8;
        table.extend(cells.to_le_bytes());
        table.extend(size.to_le_bytes());
        table.extend(group.flags.to_le_bytes());
        table.extend([0, 8]);
        table.extend(signatures.to_le_bytes());
        table.extend([0; 4]);
    }
    table
}

/// Puts the signatures of each group, then the addresses of them; gives where the addresses are.
pub(super) fn put_signatures(out: &mut Pe, groups: &[Imports]) -> Vec<u32> {
    let mut tables = Vec::new();
    for group in groups {
        let addresses: Vec<u32> = group.signatures.iter().map(|signature| out.put(signature)).collect();
        out.align(4, 0);
        let addresses: Vec<u8> = addresses.iter().flat_map(|address| address.to_le_bytes()).collect();
        tables.push(out.put(&addresses));
    }
    tables
}

/// The groups and thunks of a usual image: personalities, a lazy helper, a lazy call and a virtual call.
pub fn usual() -> (Vec<Imports>, Vec<Thunk>) {
    let groups = vec![
        Imports { flags: 1, signatures: vec![helper(0x01), helper(0xf0), helper(0xf1), helper(0x10), helper(0x08)] },
        Imports { flags: 4, signatures: vec![vec![0x13, 0x01], vec![0x13, 0x02]] },
        Imports { flags: 0, signatures: vec![vec![0x10, 0x08]] },
    ];
    let thunk = |shape, cell, held_by| Thunk { shape, through: (0, cell), held_by };
    let thunks = vec![
        thunk(Shape::Eager, 1, None),
        thunk(Shape::Eager, 2, None),
        thunk(Shape::Helper, 3, Some((2, 0))),
        thunk(Shape::MethodCall, 4, Some((1, 0))),
        thunk(Shape::VirtualCall, 4, Some((1, 1))),
    ];
    (groups, thunks)
}
