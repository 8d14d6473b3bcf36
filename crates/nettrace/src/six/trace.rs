//! The trace block: clock and pointer size, and whatever else the writer has to say in pairs of text.

use super::attributes::Attributes;
use crate::cursor::Cursor;
use crate::dialect::{NoTrace, Opening};
use crate::problem::Damage;
use crate::trace::{FormatVersion, TraceInfo};

/// Reads the content of the trace block.
pub(crate) fn read_trace(content: &[u8], version: FormatVersion) -> Result<Opening, NoTrace> {
    let mut cursor = Cursor::new(content);
    let info = TraceInfo::read_clock(&mut cursor, version).map_err(|_| NoTrace::Unusable)?;
    let mut attributes = Attributes::default();
    let damage = read_pairs(&mut cursor, &mut attributes).err();
    let number = |key| attributes.get(key).and_then(|value| value.parse().ok());
    let info = TraceInfo {
        process_id: number("ProcessId"),
        processors: number("HardwareThreadCount"),
        sampling_period_ns: number("ExpectedCPUSamplingRate"),
        ..info
    };
    Ok(Opening { info, attributes, damage })
}

fn read_pairs(cursor: &mut Cursor<'_>, attributes: &mut Attributes) -> Result<(), (Damage, usize)> {
    let count = cursor.u32().map_err(|damage| (damage, cursor.position()))?;
    for _ in 0..count {
        let at = cursor.position();
        attributes.read_pair(cursor).map_err(|damage| (damage, at))?;
    }
    Ok(())
}
