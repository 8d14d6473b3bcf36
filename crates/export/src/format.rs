//! Which format a file name asks for.

use crate::{firefox, folded, speedscope};
use flate2::write::GzEncoder;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use strata_profile::Profile;

/// A file format that profiles can be written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// The Firefox Profiler's processed profile, JSON.
    Firefox,
    /// speedscope's own format, JSON.
    Speedscope,
    /// Folded stacks, one line per distinct stack.
    Folded,
}

/// How the bytes of a format are packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// Not at all.
    None,
    /// As one gzip member.
    Gzip,
}

/// No format has this file name's ending.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no output format ends like {}; known endings: {}", path.display(), Format::ENDINGS.map(|(ending, _)| ending).join(", "))]
pub struct UnknownExtension {
    /// The file name in question.
    pub path: PathBuf,
}

impl Format {
    /// File name endings in the order they are tried; each may be followed by `.gz`.
    pub const ENDINGS: [(&'static str, Format); 4] = [
        (".speedscope.json", Format::Speedscope),
        (".json", Format::Firefox),
        (".folded", Format::Folded),
        (".collapsed", Format::Folded),
    ];

    /// The format and packing that a file name asks for by its ending; upper and lower case are the same.
    ///
    /// # Errors
    /// [`UnknownExtension`] when no format has this ending.
    pub fn from_extension(path: &Path) -> Result<(Format, Compression), UnknownExtension> {
        let unknown = || UnknownExtension { path: path.to_owned() };
        let name = path.file_name().ok_or_else(unknown)?.to_string_lossy().to_ascii_lowercase();
        let (name, compression) = match name.strip_suffix(".gz") {
            Some(inner) => (inner, Compression::Gzip),
            None => (name.as_str(), Compression::None),
        };
        let found = Format::ENDINGS.iter().find(|(ending, _)| name.ends_with(ending));
        found.map(|&(_, format)| (format, compression)).ok_or_else(unknown)
    }
}

/// Writes a profile in one format.
///
/// # Errors
/// Those of `out`.
pub fn write_profile(
    profile: &Profile,
    format: Format,
    compression: Compression,
    out: &mut dyn Write,
) -> io::Result<()> {
    let write = match format {
        Format::Firefox => firefox::write,
        Format::Speedscope => speedscope::write,
        Format::Folded => folded::write,
    };
    match compression {
        Compression::None => write(profile, out),
        Compression::Gzip => {
            // The columns are so regular that higher levels cost several times the time for a tenth of the size.
            let mut packed = GzEncoder::new(out, flate2::Compression::new(2));
            write(profile, &mut packed)?;
            packed.finish()?.flush()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ending_names_the_format() {
        let check = |name: &str, expected| assert_eq!(Format::from_extension(Path::new(name)).ok(), expected, "{name}");
        check("/tmp/x/app.json", Some((Format::Firefox, Compression::None)));
        check("app.json.gz", Some((Format::Firefox, Compression::Gzip)));
        check("app.Speedscope.JSON", Some((Format::Speedscope, Compression::None)));
        check("app.speedscope.json.gz", Some((Format::Speedscope, Compression::Gzip)));
        check("app.folded", Some((Format::Folded, Compression::None)));
        check("app.gz", None);
        check("app", None);
        check("/", None);
        let error = Format::from_extension(Path::new("app.txt")).unwrap_err().to_string();
        assert!(error.contains("app.txt") && error.contains(".json"), "{error}");
    }
}
