//! The first bytes of a stream, which say whether it is one and in which version.

use crate::dialect::Dialect;

/// Why a stream is not read at all.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Refused {
    /// Neither of the two magics is there.
    #[error("not a nettrace stream: it begins with {}", Hex(.first))]
    NotNettrace {
        /// Its first bytes, 8 at most.
        first: Vec<u8>,
    },
    /// A stream of .NET Core 2, in the format before nettrace.
    #[error("{} stream, which is not supported: nettrace versions 4 to 6 are", NetPerf(*.version))]
    NetPerf {
        /// 1 to 3; `None` when the stream ends before it says so.
        version: Option<i32>,
    },
    /// A stream of a version after 6.
    #[error("nettrace version {major}.{minor}, which is not supported: versions 4 to 6 are")]
    Newer {
        /// Major version.
        major: u32,
        /// Minor version.
        minor: u32,
    },
    /// The trace object asks for a newer reader.
    #[error("nettrace trace object version {version} asks for reader version {reader}: 4 is supported")]
    NewerTrace {
        /// Version of the object.
        version: i32,
        /// Version of the reader it asks for.
        reader: i32,
    },
}

struct Hex<'a>(&'a [u8]);

impl core::fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        if self.0.is_empty() {
            return f.write_str("nothing");
        }
        for (index, byte) in self.0.iter().enumerate() {
            let gap = if index == 0 { "" } else { " " };
            write!(f, "{gap}{byte:02x}")?;
        }
        Ok(())
    }
}

struct NetPerf(Option<i32>);

impl core::fmt::Display for NetPerf {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self.0 {
            Some(version) => write!(f, "NetPerf version {version}"),
            None => f.write_str("NetPerf"),
        }
    }
}

const MAGIC: &[u8] = b"Nettrace";
/// What follows the magic in versions 4 and 5, and begins a NetPerf stream.
const SERIALIZATION: &[u8] = b"\x14\0\0\0!FastSerialization.1";

/// The only major version in the framing that begins with four zero bytes.
const SIX: u32 = 6;

/// What the first bytes say so far.
#[derive(PartialEq, Eq, Debug)]
pub(crate) enum Start {
    /// This many bytes, counted from the start, are needed to go on.
    Need(usize),
    /// A stream in this dialect, whose objects begin after this many bytes.
    Objects(Dialect, usize),
    /// Not to be read.
    Refused(Refused),
}

/// Looks at the first bytes of a stream.
pub(crate) fn read_start(bytes: &[u8]) -> Start {
    let Some((first, rest)) = bytes.split_at_checked(MAGIC.len()) else { return Start::Need(MAGIC.len()) };
    if first != MAGIC {
        return read_netperf(first, bytes);
    }
    let Some(next) = rest.first_chunk::<4>() else { return Start::Need(12) };
    if u32::from_le_bytes(*next) == 0 {
        let Some([_, _, _, _, a, b, c, d, e, f, g, h]) = rest.first_chunk::<12>().copied() else {
            return Start::Need(20);
        };
        let (major, minor) = (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]));
        return match major {
            SIX => Start::Objects(Dialect::Six { minor }, 20),
            _ => Start::Refused(Refused::Newer { major, minor }),
        };
    }
    match rest.split_at_checked(SERIALIZATION.len()) {
        None => Start::Need(32),
        Some((header, _)) if header == SERIALIZATION => Start::Objects(Dialect::Four, 32),
        Some(_) => Start::Refused(Refused::NotNettrace { first: first.to_vec() }),
    }
}

fn read_netperf(first: &[u8], bytes: &[u8]) -> Start {
    // With or without the length in front of the text.
    let header = [SERIALIZATION, SERIALIZATION.get(4..).unwrap_or_default()]
        .into_iter()
        .find(|header| header.starts_with(first));
    let Some(header) = header else { return Start::Refused(Refused::NotNettrace { first: first.to_vec() }) };
    // Then the trace object: three tags and its version.
    let version_end = header.len().saturating_add(7);
    let Some(bytes) = bytes.get(..version_end) else { return Start::Need(version_end) };
    Start::Refused(match (bytes.starts_with(header), bytes.last_chunk()) {
        (true, Some(version)) => Refused::NetPerf { version: Some(i32::from_le_bytes(*version)) },
        _ => Refused::NotNettrace { first: first.to_vec() },
    })
}

/// Judges a stream that ended before its start was complete: `None` when it is a nettrace stream cut in its first bytes.
pub(crate) fn judge_short(bytes: &[u8]) -> Option<Refused> {
    let first = bytes.get(..MAGIC.len()).unwrap_or(bytes);
    if !bytes.is_empty() && MAGIC.starts_with(first) {
        return None;
    }
    let netperf =
        SERIALIZATION.starts_with(first) || SERIALIZATION.get(4..).is_some_and(|text| text.starts_with(first));
    if first.len() == MAGIC.len() && netperf {
        return Some(Refused::NetPerf { version: None });
    }
    Some(Refused::NotNettrace { first: first.to_vec() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_are_told_apart() {
        let nettrace = [MAGIC, SERIALIZATION].concat();
        let framed = |major: u32| [MAGIC, &[0; 4], &major.to_le_bytes(), &2u32.to_le_bytes()].concat();
        let (six, seven) = (framed(6), framed(7));
        let netperf = [SERIALIZATION, &[4, 4, 1], &3u32.to_le_bytes()].concat();
        let not = |first: &[u8]| Start::Refused(Refused::NotNettrace { first: first.to_vec() });
        let cases = [
            (&nettrace[..], Start::Objects(Dialect::Four, 32)),
            (&nettrace[..12], Start::Need(32)),
            (&nettrace[..8], Start::Need(12)),
            (&nettrace[..3], Start::Need(8)),
            (&six, Start::Objects(Dialect::Six { minor: 2 }, 20)),
            (&seven, Start::Refused(Refused::Newer { major: 7, minor: 2 })),
            (&six[..15], Start::Need(20)),
            (&netperf, Start::Refused(Refused::NetPerf { version: Some(3) })),
            (&netperf[4..], Start::Refused(Refused::NetPerf { version: Some(3) })),
            (&netperf[..20], Start::Need(31)),
            (b"PK\x03\x04\x14\0\0\0\x08", not(b"PK\x03\x04\x14\0\0\0")),
            (b"PERFILE2h\0\0\0", not(b"PERFILE2")),
        ];
        for (bytes, expected) in cases {
            assert_eq!(read_start(bytes), expected, "{bytes:02x?}");
        }
    }

    #[test]
    fn refusals_name_what_was_found() {
        let cases = [
            (Refused::NotNettrace { first: vec![0x1f, 0x8b] }, "not a nettrace stream: it begins with 1f 8b"),
            (Refused::NotNettrace { first: vec![] }, "not a nettrace stream: it begins with nothing"),
            (
                Refused::NetPerf { version: Some(2) },
                "NetPerf version 2 stream, which is not supported: nettrace versions 4 to 6 are",
            ),
            (
                Refused::Newer { major: 7, minor: 0 },
                "nettrace version 7.0, which is not supported: versions 4 to 6 are",
            ),
        ];
        for (refused, expected) in cases {
            assert_eq!(refused.to_string(), expected);
        }
    }
}
