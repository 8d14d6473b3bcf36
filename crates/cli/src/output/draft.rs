//! A file on its way to its place.

use rustix::fs::{AtFlags, CWD, Gid, Mode, OFlags, Uid};
use std::ffi::OsString;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Seek, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A file in the folder that it will be in. Until it is whole it has no name, where the file system can do that: then nothing
/// of it is left however strata ends.
pub(super) struct Draft {
    file: File,
    name: Option<PathBuf>,
}

/// Names of drafts that may be taken, by what was killed with the same process id, before this gives up.
const MOST_NAMES: u32 = 100;

impl Draft {
    /// A draft of what is to be at `path`.
    pub(super) fn of(path: &Path) -> io::Result<Self> {
        nameless(path).map_or_else(|| Self::named(path), |file| Ok(Self { file, name: None }))
    }

    /// One that has a name from the beginning.
    fn named(path: &Path) -> io::Result<Self> {
        // Nothing that someone else put there is opened, nor lost.
        let (name, file) =
            free_name(path, |name| OpenOptions::new().read(true).write(true).create_new(true).open(name))?;
        Ok(Self { file, name: Some(name) })
    }

    /// Gives it the rights and, where that is allowed, the owner of what it takes the place of: who may read that may read
    /// this, and no one else.
    pub(super) fn be_like(&self, there: &Metadata) -> io::Result<()> {
        self.file.set_permissions(there.permissions())?;
        let (owner, group) = (Uid::from_raw(there.uid()), Gid::from_raw(there.gid()));
        let _ = rustix::fs::fchown(&self.file, Some(owner), Some(group));
        Ok(())
    }

    /// What was written, from its beginning.
    pub(super) fn read_again(&self) -> io::Result<File> {
        let mut file = self.file.try_clone()?;
        file.rewind()?;
        Ok(file)
    }

    /// Puts it in its place, instead of what is there.
    pub(super) fn move_to(mut self, path: &Path) -> io::Result<()> {
        let name = match self.name.take() {
            Some(name) => name,
            None => {
                let file = open_file(&self.file);
                let link = |name: &Path| rustix::fs::linkat(CWD, &file, CWD, name, AtFlags::SYMLINK_FOLLOW);
                free_name(path, |name| Ok(link(name)?))?.0
            }
        };
        fs::rename(self.name.insert(name), path)?;
        self.name = None;
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
        if let Some(name) = &self.name {
            let _ = fs::remove_file(name);
        }
    }
}

/// A name for a draft of `path` that `take` could take because nothing had it, and what `take` gave.
fn free_name<T>(path: &Path, take: impl Fn(&Path) -> io::Result<T>) -> io::Result<(PathBuf, T)> {
    let mut number = 0;
    loop {
        let mut name = OsString::from(".");
        name.push(path.file_name().unwrap_or_default());
        name.push(format!(".{}.{number}.part", std::process::id()));
        let name = path.with_file_name(name);
        match take(&name) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && number < MOST_NAMES => number += 1,
            taken => return Ok((name, taken?)),
        }
    }
}

/// A file without a name in the folder of `path`; `None` where there can be none, or where it could not be named later.
fn nameless(path: &Path) -> Option<File> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // Less what the process's umask takes away, as for every new file.
    let mode = Mode::from_raw_mode(0o666);
    let file = rustix::fs::open(folder, OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC, mode).ok()?;
    let file = File::from(file);
    // Without /proc there is no way to it.
    open_file(&file).exists().then_some(file)
}

fn open_file(file: &File) -> PathBuf {
    format!("/proc/self/fd/{}", file.as_raw_fd()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draft_comes_to_its_place_whatever_was_left_there() {
        let folder = std::env::temp_dir().join(format!("strata-draft-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("out");
        let left = folder.join(format!(".out.{}.0.part", std::process::id()));
        fs::write(&left, "left by another").unwrap();
        for make in [Draft::of, Draft::named] {
            let mut draft = make(&path).unwrap();
            draft.write_all(b"whole").unwrap();
            draft.move_to(&path).unwrap();
            assert_eq!(fs::read(&path).unwrap(), b"whole");
            drop(make(&path).unwrap());
            let mut names: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
            names.sort();
            assert_eq!(names, [left.clone(), path.clone()]);
        }
        assert_eq!(fs::read(&left).unwrap(), b"left by another");
        fs::remove_dir_all(&folder).unwrap();
    }
}
