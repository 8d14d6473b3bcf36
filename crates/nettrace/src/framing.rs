//! Objects of the container of versions 4 and 5: where each begins and ends, and nothing of what is in them.

use crate::problem::{BlockKind, ProblemKind};
use crate::trace::TRACE_BYTES;

/// Largest block accepted, bytes. Runtimes write about 100 KiB at most.
pub const MAX_BLOCK_BYTES: u32 = 16 << 20;

const MAX_NAME: u32 = 64;

const TAG_NULL: u8 = 1;
const TAG_BEGIN: u8 = 5;
const TAG_END: u8 = 6;

/// What is at the front of the bytes.
pub(crate) enum Step<'a> {
    /// This many bytes, counted from the front, are needed to go on. `begun` is the object they are for once enough of it
    /// is there to tell, with what there is of its content.
    Need { bytes: usize, begun: Option<Object<'a>> },
    /// An object, and the bytes it took, its end tag excluded when that is not as it should be.
    Object { object: Object<'a>, bytes: usize, end: EndTag },
    /// End of the stream, and the bytes of its mark.
    End { bytes: usize },
    /// No object is here.
    Broken { kind: ProblemKind, at: usize, value: i64 },
}

/// The byte after an object.
pub(crate) enum EndTag {
    Good,
    Bad(u8),
}

/// One object of the container.
pub(crate) struct Object<'a> {
    pub(crate) kind: BlockKind,
    /// The number that stands for the kind, in version 6.
    pub(crate) number: Option<i64>,
    /// Version of the object, 0 where the version of the stream says all.
    pub(crate) version: i32,
    /// Reader version the object asks for, 0 where the version of the stream says all.
    pub(crate) reader: i32,
    /// Bytes its content should have.
    pub(crate) declared: usize,
    pub(crate) content: &'a [u8],
    /// Where the content begins, from the front of the bytes.
    pub(crate) content_at: usize,
}

/// Finds the object at the front of `bytes`, which begin at `offset` of the stream.
pub(crate) fn read_object(bytes: &[u8], offset: u64) -> Step<'_> {
    const FIXED: usize = 15;
    let need = |bytes| Step::Need { bytes, begun: None };
    let broken = |kind, at, value| Step::Broken { kind, at, value };
    match bytes.first() {
        None => return need(1),
        Some(&TAG_NULL) => return Step::End { bytes: 1 },
        Some(&TAG_BEGIN) => {}
        Some(&tag) => return broken(ProblemKind::BadFraming, 0, i64::from(tag)),
    }
    let Some([_, begin, null, v0, v1, v2, v3, r0, r1, r2, r3, n0, n1, n2, n3]) = bytes.first_chunk::<FIXED>().copied()
    else {
        return need(FIXED);
    };
    for (at, tag, expected) in [(1, begin, TAG_BEGIN), (2, null, TAG_NULL)] {
        if tag != expected {
            return broken(ProblemKind::BadFraming, at, i64::from(tag));
        }
    }
    let (version, reader) = (i32::from_le_bytes([v0, v1, v2, v3]), i32::from_le_bytes([r0, r1, r2, r3]));
    let name_bytes = u32::from_le_bytes([n0, n1, n2, n3]);
    if name_bytes > MAX_NAME {
        return broken(ProblemKind::BadTypeName, FIXED.wrapping_sub(4), i64::from(name_bytes.cast_signed()));
    }
    let name_end = FIXED.wrapping_add(name_bytes as usize);
    let after_name = name_end.wrapping_add(1);
    let (Some(name), Some(&tag)) = (bytes.get(FIXED..name_end), bytes.get(name_end)) else { return need(after_name) };
    if tag != TAG_END {
        return broken(ProblemKind::BadFraming, name_end, i64::from(tag));
    }
    let kind = match name {
        b"Trace" => BlockKind::Trace,
        b"MetadataBlock" => BlockKind::Metadata,
        b"StackBlock" => BlockKind::Stack,
        b"EventBlock" => BlockKind::Event,
        b"SPBlock" => BlockKind::SequencePoint,
        _ => BlockKind::Unknown,
    };
    let (content_at, declared) = if kind == BlockKind::Trace {
        (after_name, TRACE_BYTES)
    } else {
        let Some(size) = bytes.get(after_name..).and_then(|rest| rest.first_chunk()) else {
            return need(after_name.wrapping_add(4));
        };
        let size = u32::from_le_bytes(*size);
        if size > MAX_BLOCK_BYTES {
            return broken(ProblemKind::BadBlockSize, after_name, i64::from(size.cast_signed()));
        }
        // Content begins at a multiple of 4 of the stream, not of the block.
        let after_size = after_name.wrapping_add(4);
        let padding = (offset.wrapping_add(after_size as u64).wrapping_neg() & 3) as usize;
        (after_size.wrapping_add(padding), size as usize)
    };
    let content_end = content_at.wrapping_add(declared);
    let object = |content| Object { kind, number: None, version, reader, declared, content, content_at };
    match (bytes.get(content_at..content_end), bytes.get(content_end)) {
        (Some(content), Some(&TAG_END)) => {
            Step::Object { object: object(content), bytes: content_end.wrapping_add(1), end: EndTag::Good }
        }
        (Some(content), Some(&tag)) => {
            Step::Object { object: object(content), bytes: content_end, end: EndTag::Bad(tag) }
        }
        _ => {
            let present = bytes.get(content_at..).unwrap_or_default();
            let present = present.get(..declared).unwrap_or(present);
            Step::Need { bytes: content_end.wrapping_add(1), begun: Some(object(present)) }
        }
    }
}
