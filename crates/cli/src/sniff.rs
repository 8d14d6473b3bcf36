//! What a file is, by its first bytes.

use std::fmt::Write as _;

/// So many first bytes are enough to tell.
pub(crate) const ENOUGH: usize = 32;

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileKind {
    /// An event stream of a .NET runtime, in whatever version.
    Trace,
    /// Something else; what, where it is known.
    Other(Option<&'static str>),
}

/// Tells what begins with these bytes, of which there are [`ENOUGH`] unless the file is shorter.
pub(crate) fn file_kind(first: &[u8]) -> FileKind {
    const TRACES: [&[u8]; 3] = [b"Nettrace", b"!FastSerialization", b"\x14\0\0\0!FastSerialization"];
    const OTHERS: [(&[u8], &str); 10] = [
        (b"PK\x03\x04", "a zip archive"),
        (b"PK\x05\x06", "an empty zip archive"),
        (b"\x1f\x8b", "compressed by gzip"),
        (b"\x28\xb5\x2f\xfd", "compressed by zstd"),
        (b"PERFILE2", "a perf.data file"),
        (b"2ELIFREP", "a perf.data file of another byte order"),
        (b"\x7fELF", "an ELF file"),
        (b"MZ", "a Windows executable"),
        (b"{", "JSON"),
        (b"\0\0\0\0", "empty bytes"),
    ];
    if first.is_empty() {
        return FileKind::Other(Some("empty"));
    }
    // What is cut in its first bytes is still a trace.
    if TRACES.iter().any(|magic| first.starts_with(magic) || (first.len() >= 4 && magic.starts_with(first))) {
        return FileKind::Trace;
    }
    if let Some((_, kind)) = OTHERS.iter().find(|(magic, _)| first.starts_with(magic)) {
        return FileKind::Other(Some(kind));
    }
    if is_etl(first) {
        return FileKind::Other(Some("an ETW trace (.etl)"));
    }
    let is_text = first.iter().all(|byte| matches!(byte, b'\t' | b'\n' | b'\r' | b' '..=b'~'));
    FileKind::Other(is_text.then_some("text"))
}

/// Windows' own traces have no magic: they begin with the header of a buffer, which says its size and twice how much of it is
/// used.
fn is_etl(first: &[u8]) -> bool {
    let [Some(size), Some(saved), Some(current)] =
        [0, 4, 8].map(|at| first.get(at..).and_then(<[u8]>::first_chunk).map(|bytes| u32::from_le_bytes(*bytes)))
    else {
        return false;
    };
    size.is_power_of_two() && (1 << 10..=1 << 20).contains(&size) && saved == current && (72..=size).contains(&saved)
}

/// The first bytes as they are shown: `50 4b 03 04`.
pub(crate) fn hex(first: &[u8]) -> String {
    const SHOWN: usize = 8;
    let mut text = String::new();
    for byte in first.iter().take(SHOWN) {
        let gap = if text.is_empty() { "" } else { " " };
        let _ = write!(text, "{gap}{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_told_apart() {
        let check = |first: &[u8], expected| assert_eq!(file_kind(first), expected, "{first:?}");
        check(b"Nettrace\x14\0\0\0!FastSerialization.1", FileKind::Trace);
        check(b"Nettr", FileKind::Trace);
        check(b"!FastSerialization.1", FileKind::Trace);
        check(b"", FileKind::Other(Some("empty")));
        check(b"PK\x03\x04\x14\0", FileKind::Other(Some("a zip archive")));
        check(b"\x1f\x8b\x08", FileKind::Other(Some("compressed by gzip")));
        check(b"PERFILE2h\0", FileKind::Other(Some("a perf.data file")));
        check(b"hello\nworld", FileKind::Other(Some("text")));
        check(b"N", FileKind::Other(Some("text")));
        check(&[0xcf, 5, 0, 0x92], FileKind::Other(None));
        let etl = [0x1_0000_u32, 0x200, 0x200, 0, 7].map(u32::to_le_bytes).concat();
        check(&etl, FileKind::Other(Some("an ETW trace (.etl)")));
        assert_eq!(hex(b"PK\x03\x04\x14\0\0\0\x08\0"), "50 4b 03 04 14 00 00 00");
    }
}
