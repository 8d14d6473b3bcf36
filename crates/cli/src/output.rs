//! Files that profiles are written to.

mod draft;

use crate::failure::Failure;
use draft::Draft;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use strata_export::{Compression, Format, write_profile};
use strata_profile::Profile;

/// The format that a file name asks for.
pub(crate) fn format(path: &Path) -> Result<(Format, Compression), Failure> {
    Format::from_extension(path).map_err(|error| {
        Failure::bad_arguments(
            error,
            "each may be followed by .gz; strata convert also writes .nettrace, and strata record keeps the recording itself \
             in a folder whose name ends in .strata",
        )
    })
}

/// Writes a profile.
pub(crate) fn write(profile: &Profile, format: (Format, Compression), path: &Path) -> Result<(), Failure> {
    replace(path, |out| write_profile(profile, format.0, format.1, out))
}

/// Why a file was not written.
#[derive(Debug)]
pub(crate) enum Unwritten {
    /// The place it should go to refused.
    Io(io::Error),
    /// There is nothing to write, for a reason of its own.
    Failure(Failure),
}

impl From<io::Error> for Unwritten {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<Failure> for Unwritten {
    fn from(failure: Failure) -> Self {
        Self::Failure(failure)
    }
}

/// Writes a file beside its place, or beside what a link there leads to, and moves it there, so that no half file is ever seen.
/// What is there and is no file (a device, a pipe) is written into.
pub(crate) fn replace(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
    replace_unless(path, |out| Ok(write(out)?))
}

/// The same for what may turn out, while it is written, to be not worth it: then what was there stays.
pub(crate) fn replace_unless<T>(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> Result<T, Unwritten>,
) -> Result<T, Failure> {
    let written = match fs::symlink_metadata(path) {
        Ok(there) if !there.is_file() && !there.is_symlink() => write_into(path, write),
        // A link that someone else put there, as anyone can in /tmp, must not lead us to other files: it is replaced.
        Ok(there) if there.is_symlink() && there.uid() == rustix::process::geteuid().as_raw() => {
            match fs::canonicalize(path) {
                Ok(behind) if behind.is_file() => write_beside(&behind, write),
                _ => write_into(path, write),
            }
        }
        _ => write_beside(path, write),
    };
    written.map_err(|unwritten| match unwritten {
        Unwritten::Io(error) => Failure::cannot_write(path, &error),
        Unwritten::Failure(failure) => failure,
    })
}

fn write_into<T>(path: &Path, write: impl FnOnce(&mut dyn Write) -> Result<T, Unwritten>) -> Result<T, Unwritten> {
    let file = OpenOptions::new().write(true).create(true).truncate(false).open(path)?;
    let mut out = BufWriter::new(Emptied { file, is_empty: false });
    let value = write(&mut out)?;
    out.flush()?;
    out.get_mut().empty()?;
    Ok(value)
}

/// A file that keeps what was there until something else is written.
struct Emptied {
    file: File,
    is_empty: bool,
}

impl Emptied {
    fn empty(&mut self) -> io::Result<()> {
        // A device or a pipe has nothing to lose.
        if !std::mem::replace(&mut self.is_empty, true) && self.file.metadata()?.is_file() {
            self.file.set_len(0)?;
        }
        Ok(())
    }
}

impl Write for Emptied {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.empty()?;
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Whether what is read (`-`: standard input) and what is written are one file.
pub(crate) fn is_same_file(read: &Path, written: &Path) -> bool {
    let read = if read == Path::new("-") { Path::new("/dev/stdin") } else { read };
    let places =
        [read, written].map(|path| fs::metadata(path).map(|there| (there.dev(), there.ino(), there.is_file())));
    matches!(places, [Ok((device, inode, true)), Ok(same)] if same == (device, inode, true))
}

fn write_elsewhere_first<T>(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> Result<T, Unwritten>,
) -> Result<T, Unwritten> {
    let mut draft = BufWriter::new(Draft::of(&std::env::temp_dir().join("strata"))?);
    let value = write(&mut draft)?;
    let mut whole = draft.into_inner().map_err(io::IntoInnerError::into_error)?.read_again()?;
    let mut file = OpenOptions::new().write(true).truncate(true).open(path)?;
    io::copy(&mut whole, &mut file)?;
    Ok(value)
}

fn write_beside<T>(path: &Path, write: impl FnOnce(&mut dyn Write) -> Result<T, Unwritten>) -> Result<T, Unwritten> {
    let there = fs::metadata(path).ok();
    if there.is_some() {
        // Moving something in its place would need no right to write it.
        rustix::fs::access(path, rustix::fs::Access::WRITE_OK).map_err(io::Error::from)?;
    }
    let draft = match Draft::of(path) {
        // Where no file may be made, the one that is there may still be written: with what is whole.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied && there.is_some() => {
            return write_elsewhere_first(path, write);
        }
        draft => draft?,
    };
    if let Some(there) = there {
        draft.be_like(&there)?;
    }
    let mut out = BufWriter::new(draft);
    let value = write(&mut out)?;
    out.into_inner().map_err(io::IntoInnerError::into_error)?.move_to(path)?;
    Ok(value)
}

/// Where a file of this format can be looked at.
pub(crate) const fn how_to_look(format: Format) -> &'static str {
    match format {
        Format::Firefox => "open it at https://profiler.firefox.com; it stays on your machine",
        Format::Speedscope => "open it at https://www.speedscope.app; it stays on your machine",
        Format::Folded => "one line for each distinct stack, for flame graph tools",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_replaces_files_and_goes_into_everything_else() {
        let folder = std::env::temp_dir().join(format!("strata-output-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let [file, link, linked] = ["file", "link", "linked"].map(|name| folder.join(name));
        let put = |path: &Path, text: &str| replace(path, |out| out.write_all(text.as_bytes()));
        fs::write(&file, "before").unwrap();
        put(&file, "after").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "after");
        assert!(replace(&file, |_| Err(io::Error::other("no"))).is_err());
        let nothing = Failure::nothing_to_show("nothing", "");
        assert!(
            replace_unless::<()>(&file, |_| Err(nothing.into())).is_err_and(|failure| failure.is_nothing_to_show())
        );
        assert_eq!(fs::read_to_string(&file).unwrap(), "after", "a failure leaves what was there");

        fs::write(&linked, "a longer text").unwrap();
        std::os::unix::fs::symlink(&linked, &link).unwrap();
        put(&link, "short").unwrap();
        assert_eq!(fs::read_to_string(&linked).unwrap(), "short");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        put(Path::new("/dev/null"), "gone").unwrap();
        assert!(put(Path::new("/dev/full"), "x").is_err());

        let names: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names.len(), 3, "no draft is left: {names:?}");
        fs::remove_dir_all(&folder).unwrap();
    }
}
