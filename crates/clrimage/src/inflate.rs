//! Raw deflate streams whose inflated size is told beforehand, by bytes that may lie.

use flate2::{Decompress, FlushDecompress, Status};

use crate::{Error, ErrorKind};

/// No file inside a bundle and no PDB comes near this; a claim above it is an attack or damage.
const LARGEST: u64 = 1 << 30;

/// What is first made room for; from there on room is doubled, and only for what has really come out.
const FIRST_ROOM: usize = 64 << 10;

/// Inflates `compressed` to exactly `size` bytes; `offset` is where errors say it lies.
///
/// Memory grows with what comes out, which is at most about a thousand times what goes in, and never beyond `size`. What
/// follows the end of the stream is not looked at.
pub(crate) fn inflate(compressed: &[u8], size: u64, offset: u64) -> Result<Vec<u8>, Error> {
    let impossible = || Error { kind: ErrorKind::Impossible { what: "inflated size", value: size }, offset };
    if size > LARGEST {
        return Err(impossible());
    }
    let size = usize::try_from(size).map_err(|_| impossible())?;
    let mut stream = Decompress::new(false);
    let mut output = Vec::new();
    loop {
        // One byte more than claimed, so that a stream which goes on is seen to.
        let room = output.len().max(FIRST_ROOM).min(size.saturating_add(1).saturating_sub(output.len()));
        output.reserve_exact(room);
        let (read, written) = (stream.total_in(), output.len());
        let consumed = usize::try_from(read).unwrap_or(usize::MAX);
        let input = compressed.get(consumed..).unwrap_or_default();
        let status = stream.decompress_vec(input, &mut output, FlushDecompress::None).map_err(|_| Error {
            kind: ErrorKind::Not { what: "a deflate stream" },
            offset: offset.saturating_add(read),
        })?;
        if output.len() > size {
            return Err(impossible());
        }
        if status == Status::StreamEnd {
            return if output.len() == size { Ok(output) } else { Err(impossible()) };
        }
        if stream.total_in() == read && output.len() == written {
            let offset = offset.saturating_add(stream.total_in());
            return Err(Error { kind: ErrorKind::Cut { what: "deflate stream" }, offset });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn deflate(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn what_was_deflated_comes_out() {
        let check = |bytes: &[u8]| {
            let inflated = inflate(&deflate(bytes), bytes.len() as u64, 0).unwrap();
            assert!(inflated == bytes);
            // What is kept is what was claimed, but for the room that sees whether the stream goes on.
            assert!(inflated.capacity() <= (bytes.len() + 1).max(8), "{}", inflated.capacity());
        };
        check(b"");
        check(b"hello");
        check(&vec![7; FIRST_ROOM]);
        check(&(0..1_000_000_u32).flat_map(u32::to_le_bytes).collect::<Vec<_>>());
    }

    #[test]
    fn another_size_than_claimed_is_refused() {
        let stream = deflate(&[1; 100_000]);
        for size in [0, 1, 99_999, 100_001, 1 << 29, LARGEST + 1, u64::MAX] {
            let error = inflate(&stream, size, 3).unwrap_err();
            assert_eq!(error.kind, ErrorKind::Impossible { what: "inflated size", value: size });
        }
    }

    #[test]
    fn cut_and_damaged_streams_are_told_apart() {
        let stream = deflate(&(0..1000_u32).flat_map(|n| (n * n).to_le_bytes()).collect::<Vec<_>>());
        for end in 0..stream.len() {
            let error = inflate(&stream[..end], 4000, 7).unwrap_err();
            assert!(matches!(error.kind, ErrorKind::Cut { .. }), "{end}: {error}");
        }
        let error = inflate(&[0xff; 10], 10, 7).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Not { what: "a deflate stream" });
    }
}
