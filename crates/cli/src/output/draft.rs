//! A file on its way to its place.

use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

/// A file in the folder that it will be in. It has no name where the file system can do that: then nothing of it is left
/// however strata ends.
pub(super) struct Draft {
    file: File,
    /// The name it has, or gets on the way.
    name: PathBuf,
    has_name: bool,
}

impl Draft {
    /// A draft of what is to be at `path`.
    pub(super) fn of(path: &Path) -> io::Result<Self> {
        let mut name = OsString::from(".");
        name.push(path.file_name().unwrap_or_default());
        name.push(format!(".{}.part", std::process::id()));
        let name = path.with_file_name(name);
        if let Some(file) = nameless(path) {
            return Ok(Self { file, name, has_name: false });
        }
        // Nothing that someone else put there is opened, nor lost.
        let file = OpenOptions::new().write(true).create_new(true).open(&name)?;
        Ok(Self { file, name, has_name: true })
    }

    /// Who may use it, from when it is in its place.
    pub(super) fn permit(&self, permissions: Permissions) -> io::Result<()> {
        self.file.set_permissions(permissions)
    }

    /// Puts it in its place, instead of what is there.
    pub(super) fn move_to(mut self, path: &Path) -> io::Result<()> {
        if !self.has_name {
            rustix::fs::linkat(CWD, open_file(&self.file), CWD, &self.name, AtFlags::SYMLINK_FOLLOW)?;
            self.has_name = true;
        }
        fs::rename(&self.name, path)?;
        self.has_name = false;
        Ok(())
    }
}

impl Write for Draft {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for Draft {
    /// What there is of it helps no one.
    fn drop(&mut self) {
        if self.has_name {
            let _ = fs::remove_file(&self.name);
        }
    }
}

/// A file without a name in the folder of `path`; `None` where there can be none, or where it could not be named later.
fn nameless(path: &Path) -> Option<File> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let readable_by_all = Mode::from_raw_mode(0o666);
    let file = rustix::fs::open(folder, OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC, readable_by_all).ok()?;
    let file = File::from(file);
    // Without /proc there is no way to it.
    open_file(&file).exists().then_some(file)
}

fn open_file(file: &File) -> PathBuf {
    format!("/proc/self/fd/{}", file.as_raw_fd()).into()
}
