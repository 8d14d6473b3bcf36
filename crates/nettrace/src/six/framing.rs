//! Blocks of version 6: where each begins and ends, and nothing of what is in them.

use crate::framing::{EndTag, Object, Step};
use crate::problem::BlockKind;

const END_OF_STREAM: u8 = 0;
/// Bytes in front of the content: its size in three, the kind in one.
const HEADER: usize = 4;

/// Finds the block at the front of `bytes`.
pub(crate) fn read_object(bytes: &[u8]) -> Step<'_> {
    let Some((&[a, b, c, number], rest)) = bytes.split_first_chunk::<HEADER>() else {
        return Step::Need { bytes: HEADER, begun: None };
    };
    let declared = u32::from_le_bytes([a, b, c, 0]) as usize;
    let whole = declared.saturating_add(HEADER);
    let kind = match number {
        END_OF_STREAM if rest.len() < declared => return Step::Need { bytes: whole, begun: None },
        END_OF_STREAM => return Step::End { bytes: whole },
        1 => BlockKind::Trace,
        2 => BlockKind::Event,
        3 => BlockKind::Metadata,
        4 => BlockKind::SequencePoint,
        5 => BlockKind::Stack,
        6 => BlockKind::Thread,
        7 => BlockKind::RemoveThread,
        8 => BlockKind::LabelList,
        _ => BlockKind::Unknown,
    };
    let content = rest.get(..declared);
    let object = Object {
        kind,
        number: Some(number.into()),
        version: 0,
        reader: 0,
        declared,
        content: content.unwrap_or(rest),
        content_at: HEADER,
    };
    match content {
        Some(_) => Step::Object { object, bytes: whole, end: EndTag::Good },
        None => Step::Need { bytes: whole, begun: Some(object) },
    }
}
