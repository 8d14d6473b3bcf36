//! Code that belongs to no method: it binds calls when they are first made, or jumps to the runtime.

use core::fmt;

use crate::bytes::Cursor;
use crate::methods::{ProblemKind, Problems};
use crate::{Architecture, Pe};

use super::imports::Imports;
use super::{CoreHeader, SectionKind};

/// The older compiler puts part of the code before its section; it is less than this many bytes.
const MOST_BEFORE_SECTION: u32 = 0x1000;

/// A piece of code through which a call reaches the runtime. It has no unwind data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thunk {
    /// RVA of the first byte.
    pub start: u32,
    /// Bytes, with the padding behind it.
    pub size: u32,
    /// What it does.
    pub kind: ThunkKind,
    /// Number of the runtime's helper that it goes to (`READYTORUN_HELPER_*`), if the image says so.
    pub helper: Option<u32>,
}

/// What a thunk does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ThunkKind {
    /// Jumps to a helper of the runtime.
    Jump,
    /// Passes the place of a call to a helper, which finds the target and remembers it for the next time.
    DelayLoad,
}

/// The label that is shown in place of a method's name.
impl fmt::Display for Thunk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            ThunkKind::Jump => "helper jump",
            ThunkKind::DelayLoad => "delay-load",
        };
        match (self.helper, self.helper.and_then(helper_name)) {
            (_, Some(name)) => write!(f, "[R2R {kind}: {name}]"),
            (Some(number), None) => write!(f, "[R2R {kind}: helper {number:#x}]"),
            (None, None) => write!(f, "[R2R {kind}]"),
        }
    }
}

fn helper_name(helper: u32) -> Option<&'static str> {
    Some(match helper {
        0x08 => "DelayLoad_MethodCall",
        0x10 => "DelayLoad_Helper",
        0x11 => "DelayLoad_Helper_Obj",
        0x12 => "DelayLoad_Helper_ObjObj",
        0x20 => "Throw",
        0x21 => "Rethrow",
        0x22 => "Overflow",
        0x23 => "RngChkFail",
        0x24 => "FailFast",
        0x50 => "GetString",
        0xf0 => "PersonalityRoutine",
        0xf1 => "PersonalityRoutineFilterFunclet",
        _ => return None,
    })
}

/// Every thunk of an image in the order of addresses; `personality` is the lowest address that unwind data names.
pub(crate) fn thunks(
    pe: &Pe<'_>,
    core: &CoreHeader<'_>,
    personality: Option<u32>,
    problems: &mut Problems,
) -> Vec<Thunk> {
    let Some(section) = core.section(SectionKind::DelayLoadMethodCallThunks) else { return Vec::new() };
    let is_just_before = |start: &u32| (1..=MOST_BEFORE_SECTION).contains(&section.rva.saturating_sub(*start));
    let start = personality.filter(is_just_before).unwrap_or(section.rva);
    let size = section.rva.saturating_sub(start).saturating_add(section.size);
    let decode = match pe.machine().map(|machine| machine.architecture) {
        Some(Architecture::Amd64) => amd64,
        Some(Architecture::Arm64) => arm64,
        _ => return Vec::new(),
    };
    let Ok(bytes) = pe.bytes_at(start, size) else { return Vec::new() };
    let imports = Imports::parse(pe, core);
    let imports = imports.map_err(|error| problems.add_error(ProblemKind::TableUnreadable, error)).ok();
    let mut thunks = Vec::new();
    let mut code = Code { cursor: Cursor::new(bytes, "thunk"), start };
    // Each takes at least four bytes, so there are never more than a quarter of the region's bytes.
    while let Some(Decoded { kind, cell }) = decode(&mut code, pe) {
        let first = thunks.last().map_or(start, |last: &Thunk| last.start.saturating_add(last.size));
        let size = code.rva().saturating_sub(first);
        let helper = cell.and_then(|cell| imports.as_ref()?.helper(cell));
        thunks.push(Thunk { start: first, size, kind, helper });
    }
    thunks
}

/// What the instructions of one thunk say.
struct Decoded {
    kind: ThunkKind,
    /// RVA of the cell that holds the target.
    cell: Option<u32>,
}

/// The instructions that are left.
struct Code<'d> {
    cursor: Cursor<'d>,
    start: u32,
}

impl Code<'_> {
    fn rva(&self) -> u32 {
        u32::try_from(self.cursor.offset()).unwrap_or(u32::MAX).saturating_add(self.start)
    }

    /// Passes over `opcode` if it is next.
    fn accept(&mut self, opcode: &[u8]) -> bool {
        let is_next = self.cursor.rest().starts_with(opcode);
        is_next && self.cursor.take(opcode.len()).is_ok()
    }

    /// The address that an operand relative to the next instruction means.
    fn relative(&mut self) -> Option<u32> {
        let distance = self.cursor.u32().ok()?;
        Some(self.rva().wrapping_add(distance))
    }
}

/// Instructions up to a jump through a cell, and the padding behind it.
fn amd64(code: &mut Code<'_>, _: &Pe<'_>) -> Option<Decoded> {
    let mut kind = ThunkKind::Jump;
    loop {
        if code.accept(&[0xff, 0x25]) {
            // jmp [rip + distance]
            let cell = code.relative();
            while code.accept(&[0xcc]) {}
            return Some(Decoded { kind, cell });
        }
        let is_known = if code.accept(&[0x6a]) {
            // push: number of the import section
            code.cursor.u8().is_ok()
        } else if code.accept(&[0x68]) || code.accept(&[0xff, 0x35]) || code.accept(&[0x48, 0x8b, 0x35]) {
            // push a longer number, push [module], mov rsi, [module]
            code.cursor.u32().is_ok()
        } else {
            // xor eax, eax; mov rax, r11
            code.accept(&[0x33, 0xc0]) || code.accept(&[0x49, 0x8b, 0xc3]) || code.accept(&[0x4c, 0x89, 0xd8])
        };
        if !is_known {
            return None;
        }
        kind = ThunkKind::DelayLoad;
    }
}

/// Instructions up to `br x12`, and the addresses behind it that they load.
fn arm64(code: &mut Code<'_>, pe: &Pe<'_>) -> Option<Decoded> {
    let (mut kind, mut literals_end, mut cell_place) = (ThunkKind::Jump, code.cursor, None);
    loop {
        let place = code.cursor;
        let instruction = code.cursor.u32().ok()?;
        match instruction {
            // br x12
            0xd61f_0180 => break,
            // ldr register, [address]: bits 5 to 23 are the distance in words
            _ if instruction >> 24 == 0x58 && instruction & 0x80_0000 == 0 => {
                let distance = usize::try_from(instruction >> 5 & 0x7_ffff).ok()?.checked_mul(4)?;
                let literal = place.at(place.offset().checked_add(distance)?);
                let end = literal.at(literal.offset().checked_add(8)?);
                literals_end = if end.offset() > literals_end.offset() { end } else { literals_end };
                if instruction & 0x1f == 12 {
                    cell_place = Some(literal);
                }
            }
            // ldr x10, [x10]; ldr x12, [x12]
            0xf940_014a | 0xf940_018c => {}
            // mov x9, number of the import section; mov x11, x12 and other moves
            _ if instruction >> 21 == 0x694 || instruction >> 24 == 0xaa => kind = ThunkKind::DelayLoad,
            _ => return None,
        }
    }
    if literals_end.offset() > code.cursor.offset() {
        code.cursor.take(literals_end.offset().checked_sub(code.cursor.offset())?).ok()?;
    }
    let address = cell_place.and_then(|mut place| place.u64().ok());
    let cell = address.and_then(|address| u32::try_from(address.checked_sub(pe.preferred_base())?).ok());
    Some(Decoded { kind, cell })
}
