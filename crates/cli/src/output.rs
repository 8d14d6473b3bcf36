//! Files that profiles are written to.

use crate::failure::Failure;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use strata_export::{Compression, Format, write_profile};
use strata_profile::Profile;

/// The format that a file name asks for.
pub(crate) fn format(path: &Path) -> Result<(Format, Compression), Failure> {
    Format::from_extension(path).map_err(|error| {
        Failure::bad_arguments(error, "a folder name ending in .strata keeps the recording itself (strata record -o)")
    })
}

/// Writes a profile.
pub(crate) fn write(profile: &Profile, format: (Format, Compression), path: &Path) -> Result<(), Failure> {
    replace(path, |out| write_profile(profile, format.0, format.1, out))
}

/// Writes a file beside its place and moves it there, so that no half file is ever seen.
pub(crate) fn replace(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
    let mut draft = path.as_os_str().to_owned();
    draft.push(".part");
    let draft = Path::new(&draft);
    let written = File::create(draft).and_then(|file| {
        let mut out = BufWriter::new(file);
        write(&mut out)?;
        out.flush()?;
        std::fs::rename(draft, path)
    });
    written.map_err(|error| {
        // What there is of it helps no one.
        let _ = std::fs::remove_file(draft);
        Failure::cannot_write(path, &error)
    })
}

/// Where a file of this format can be looked at.
pub(crate) const fn how_to_look(format: Format) -> &'static str {
    match format {
        Format::Firefox => "open it at https://profiler.firefox.com; it stays on your machine",
        Format::Speedscope => "open it at https://www.speedscope.app; it stays on your machine",
        Format::Folded => "one line for each distinct stack, for flame graph tools",
    }
}
