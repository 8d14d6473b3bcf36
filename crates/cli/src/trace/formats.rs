//! What a file is that is no trace.

/// What the first bytes say, and what to do with such a file.
pub(super) fn hint(first: &[u8]) -> &'static str {
    match first {
        [] => "the file is empty",
        [0x1f, 0x8b, ..] => {
            "it is compressed with gzip: gunzip -c FILE, and - in place of the file reads what that gives"
        }
        [b'P', b'K', 3, 4, ..] => "it is a zip archive: unzip it; a .nettrace file inside of it can be read",
        [0x28, 0xb5, 0x2f, 0xfd, ..] => {
            "it is compressed with zstd: zstd -dc FILE, and - in place of the file reads what that gives"
        }
        b"PERFILE2" => "it is a perf.data file: perf report shows it; strata reads the recordings that it makes itself",
        [b'{' | b'[', ..] => "it looks like JSON: an exported profile is not a trace",
        // A trace buffer of Windows begins with its own size.
        [_, _, 0x00..=0x02, 0x00, _, _, 0x00, 0x00] => "if it is an .etl file of Windows, PerfView reads it",
        _ => {
            "a .nettrace file begins with the word Nettrace (one that was cut at its front cannot be read); a recording is the \
             folder that strata record makes"
        }
    }
}
