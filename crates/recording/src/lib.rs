//! The folder a recording is: standard `perf.data` and `.nettrace` files and a manifest.
//!
//! ```text
//! app.strata/
//!   manifest.json             what was recorded, when and how; rewritten whole when something is learnt
//!   perf.data                 CPU samples, mappings, threads (perf's own format)
//!   dotnet-PID-live.nettrace  runtime events of one .NET process while it was recorded; further ones are numbered: -live-2
//!   dotnet-PID-attach.nettrace  the runtime's list of methods when strata attached
//! ```
//!
//! Mapping records in `perf.data` say which image is mapped, so that it is found and recognised later: their build id is that
//! of the ELF file, or for a .NET image its 20-byte identity (module version id, then CRC-32 of the PE headers). Of an image
//! that the runtime copied out of a compressed single-file program there is no file: its code has the path
//! `EXECUTABLE!/NAME.dll`, where `NAME` is the assembly's simple name, and the file offset is the RVA it begins with. A mapping
//! of a file `EXECUTABLE` itself at the place of a bundled image keeps the path, offset and build id of the executable.
//!
//! Everything is written as it comes, so that any prefix of a recording is a recording.

#![forbid(unsafe_code)]

mod manifest;

pub use manifest::{Host, Manifest, Moment, RuntimeProcess, Sampling, Stop, Stream, StreamKind};

use rustix::fs::FlockOperation;
use std::fs::{self, File};
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// What this crate reads and writes.
pub const FORMAT: u32 = 1;

const MANIFEST: &str = "manifest.json";
const DRAFT: &str = "manifest.json.draft";
const PERF_DATA: &str = "perf.data";

/// Manifests larger than this are not read: a real one has some kilobytes.
const MAX_MANIFEST_BYTES: u64 = 16 << 20;

/// One recording on disk.
#[derive(Clone, Debug)]
pub struct Recording {
    folder: PathBuf,
    origin: Origin,
    /// Held while it is being written.
    _lock: Option<Arc<File>>,
}

/// Whether a recording's folder was there before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    Made,
    Found,
}

/// Why a recording cannot be created or read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The folder holds something that is not a recording, so it is not written over.
    #[error("{} exists and is not a recording", .0.display())]
    Occupied(PathBuf),
    /// Another recorder is writing there right now.
    #[error("{} is being recorded to by another process", .0.display())]
    InUse(PathBuf),
    /// There is no recording here.
    #[error("{} is not a recording: it has no {MANIFEST}", .0.display())]
    NotARecording(PathBuf),
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A name that is no name of a file inside a recording, as no recorder writes it.
    #[error("{name:?} is no name of a file in a recording")]
    Name {
        /// What was named.
        name: String,
    },
    /// The manifest is damaged.
    #[error("{} is damaged at line {line}: {problem}", path.display())]
    Manifest {
        /// Which file.
        path: PathBuf,
        /// Line of the file, from 1.
        line: usize,
        /// What is wrong.
        problem: String,
    },
    /// The recording was written by a newer program.
    #[error("{} has format {found}, this program reads up to {FORMAT}", path.display())]
    Newer {
        /// Which file.
        path: PathBuf,
        /// The format it says.
        found: u32,
    },
}

impl Recording {
    /// Creates the folder of a new recording. An older recording there is replaced; anything else is left alone.
    ///
    /// # Errors
    /// When the parent folder is missing or not writable, or something else has this name.
    pub fn create(folder: &Path) -> Result<Self, Error> {
        let io_error = |source| Error::Io { path: folder.to_owned(), source };
        let origin = match fs::create_dir(folder) {
            Ok(()) => Origin::Made,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Origin::Found,
            Err(error) => return Err(io_error(error)),
        };
        let recording = Self { folder: folder.to_owned(), origin, _lock: lock(folder)? };
        if origin == Origin::Found {
            let mut entries = fs::read_dir(folder).map_err(|_| Error::Occupied(folder.to_owned()))?;
            if recording.path(MANIFEST).exists() {
                recording.remove_files()?;
            } else if entries.next().is_some() {
                return Err(Error::Occupied(folder.to_owned()));
            }
        }
        Ok(recording)
    }

    /// Removes what was written of a recording that came to nothing, and its folder if it was made for it.
    pub fn discard(&self) {
        // What cannot be removed is only in the way; the reason why nothing came of the recording is what matters.
        let _ = self.remove_files();
        if self.origin == Origin::Made {
            let _ = fs::remove_dir(&self.folder);
        }
    }

    /// Removes the files that a recording is made of, and nothing else.
    fn remove_files(&self) -> Result<(), Error> {
        let io_error = |source| Error::Io { path: self.folder.clone(), source };
        for entry in fs::read_dir(&self.folder).map_err(io_error)? {
            let path = entry.map_err(io_error)?.path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let ours = name == MANIFEST || name == DRAFT || name == PERF_DATA || name.ends_with(".nettrace");
            if ours {
                fs::remove_file(&path).map_err(|source| Error::Io { path: path.clone(), source })?;
            }
        }
        Ok(())
    }

    /// Opens a recording that exists.
    ///
    /// # Errors
    /// When the folder has no manifest.
    pub fn open(folder: &Path) -> Result<Self, Error> {
        let recording = Self { folder: folder.to_owned(), origin: Origin::Found, _lock: None };
        match fs::metadata(recording.path(MANIFEST)) {
            Ok(manifest) if manifest.is_file() => Ok(recording),
            Err(source) if source.kind() == io::ErrorKind::PermissionDenied => {
                Err(Error::Io { path: folder.to_owned(), source })
            }
            _ => {
                // What is not there at all is no other kind of file either.
                fs::symlink_metadata(folder).map_err(|source| Error::Io { path: folder.to_owned(), source })?;
                Err(Error::NotARecording(folder.to_owned()))
            }
        }
    }

    /// The recording's folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Where the CPU samples are.
    pub fn perf_data(&self) -> PathBuf {
        self.path(PERF_DATA)
    }

    /// Where a file of the recording is.
    pub fn path(&self, file: &str) -> PathBuf {
        self.folder.join(file)
    }

    /// Reads a whole file of the recording. A manifest may come from anywhere, so what it names is not believed to be a
    /// file inside.
    ///
    /// # Errors
    /// When it is not the name of a regular file inside the recording, or the system says so.
    pub fn read(&self, file: &str) -> Result<Vec<u8>, Error> {
        let mut parts = Path::new(file).components();
        if !matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None)) {
            return Err(Error::Name { name: file.to_owned() });
        }
        let path = self.path(file);
        let read = || {
            // A pipe or a device could be read for ever.
            if fs::metadata(&path)?.is_file() { fs::read(&path) } else { Err(io::Error::other("not a regular file")) }
        };
        read().map_err(|source| Error::Io { path: path.clone(), source })
    }

    /// Creates a file of the recording, truncating an old one.
    ///
    /// # Errors
    /// When the system says so.
    pub fn create_file(&self, file: &str) -> Result<File, Error> {
        let path = self.path(file);
        File::create(&path).map_err(|source| Error::Io { path, source })
    }

    /// Creates a file of the recording that is not there yet, so that no two write to one.
    ///
    /// # Errors
    /// When it is there, or the system says so.
    pub fn create_new_file(&self, file: &str) -> Result<File, Error> {
        let path = self.path(file);
        File::create_new(&path).map_err(|source| Error::Io { path, source })
    }

    /// Reads the manifest.
    ///
    /// # Errors
    /// When it is missing, too large, damaged, or of a newer format.
    pub fn manifest(&self) -> Result<Manifest, Error> {
        let path = self.path(MANIFEST);
        let io_error = |source| Error::Io { path: path.clone(), source };
        let size = fs::metadata(&path).map_err(io_error)?.len();
        if size > MAX_MANIFEST_BYTES {
            return Err(io_error(io::Error::other(format!("{size} bytes are too many for a manifest"))));
        }
        let bytes = fs::read(&path).map_err(io_error)?;
        let manifest: Manifest = serde_json::from_slice(&bytes).map_err(|error| Error::Manifest {
            path: path.clone(),
            line: error.line(),
            problem: error.to_string(),
        })?;
        if manifest.format > FORMAT {
            return Err(Error::Newer { path, found: manifest.format });
        }
        Ok(manifest)
    }

    /// Replaces the manifest in one step, so that no reader ever sees half of it.
    ///
    /// # Errors
    /// When the system says so.
    pub fn write_manifest(&self, manifest: &Manifest) -> Result<(), Error> {
        let path = self.path(MANIFEST);
        let draft = self.path(DRAFT);
        let json = serde_json::to_vec_pretty(manifest).unwrap_or_default();
        fs::write(&draft, json).and_then(|()| fs::rename(&draft, &path)).map_err(|source| Error::Io { path, source })
    }
}

/// Keeps other recorders out of a folder for as long as the file is open; `None` where the file system has no locks.
fn lock(folder: &Path) -> Result<Option<Arc<File>>, Error> {
    // What is no folder is told apart where its entries are read.
    let Ok(file) = File::open(folder) else { return Ok(None) };
    match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(Arc::new(file))),
        Err(rustix::io::Errno::WOULDBLOCK) => Err(Error::InUse(folder.to_owned())),
        Err(_) => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scratch(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("strata-recording-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        folder
    }

    #[test]
    fn a_manifest_survives_and_an_old_recording_is_replaced() {
        let folder = scratch("replace");
        let recording = Recording::create(&folder).unwrap();
        let manifest = Manifest { target: "pid 7".into(), ..Manifest::default() };
        recording.write_manifest(&manifest).unwrap();
        recording.create_file("dotnet-7-live.nettrace").unwrap();
        assert_eq!(Recording::open(&folder).unwrap().manifest().unwrap(), manifest);
        drop(recording);
        let again = Recording::create(&folder).unwrap();
        assert!(!again.path("dotnet-7-live.nettrace").exists());
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn two_recorders_do_not_write_into_one_folder() {
        let folder = scratch("in-use");
        let first = Recording::create(&folder).unwrap();
        first.write_manifest(&Manifest::default()).unwrap();
        assert!(matches!(Recording::create(&folder), Err(Error::InUse(_))));
        assert!(first.manifest().is_ok(), "the first one's files are still there");
        drop(first);
        Recording::create(&folder).unwrap();
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn what_is_not_a_recording_is_left_alone() {
        let folder = scratch("occupied");
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("precious.txt"), "x").unwrap();
        assert!(matches!(Recording::create(&folder), Err(Error::Occupied(_))));
        assert!(matches!(Recording::create(&folder.join("precious.txt")), Err(Error::Occupied(_))));
        assert!(matches!(Recording::open(&folder), Err(Error::NotARecording(_))));
        assert!(matches!(Recording::create(&folder.join("a/b")), Err(Error::Io { .. })));
        assert!(folder.join("precious.txt").exists());
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_recording_that_came_to_nothing_leaves_nothing() {
        let folder = scratch("nothing");
        let recording = Recording::create(&folder).unwrap();
        recording.write_manifest(&Manifest::default()).unwrap();
        recording.create_file("perf.data").unwrap();
        recording.discard();
        assert!(!folder.exists());
        fs::create_dir(&folder).unwrap();
        let recording = Recording::create(&folder).unwrap();
        recording.write_manifest(&Manifest::default()).unwrap();
        recording.discard();
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0, "a folder that was there stays");
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn streams_of_one_process_have_files_of_their_own() {
        let folder = scratch("streams");
        let recording = Recording::create(&folder).unwrap();
        recording.write_manifest(&Manifest::default()).unwrap();
        let names = [1, 2, 3].map(|number| Stream::new(7, StreamKind::Live, number).file);
        assert_eq!(names, ["dotnet-7-live.nettrace", "dotnet-7-live-2.nettrace", "dotnet-7-live-3.nettrace"]);
        assert_eq!(Stream::new(7, StreamKind::Attach, 2).file, "dotnet-7-attach-2.nettrace");
        for name in &names {
            recording.create_new_file(name).unwrap();
            assert!(matches!(recording.create_new_file(name), Err(Error::Io { .. })), "{name} is there already");
        }
        drop(recording);
        let again = Recording::create(&folder).unwrap();
        assert!(names.iter().all(|name| !again.path(name).exists()));
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn only_files_inside_are_read() {
        let folder = scratch("inside");
        let recording = Recording::create(&folder).unwrap();
        fs::write(recording.path("a.nettrace"), "x").unwrap();
        assert_eq!(recording.read("a.nettrace").unwrap(), b"x");
        for name in ["", ".", "..", "../a.nettrace", "/etc/passwd", "a/b", "/"] {
            assert!(matches!(recording.read(name), Err(Error::Name { .. })), "{name:?}");
        }
        fs::create_dir(recording.path("folder")).unwrap();
        assert!(matches!(recording.read("folder"), Err(Error::Io { .. })));
        assert!(matches!(recording.read("absent"), Err(Error::Io { .. })));
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_damaged_manifest_says_where() {
        let folder = scratch("damaged");
        let recording = Recording::create(&folder).unwrap();
        fs::write(recording.path(MANIFEST), "{\n\"format\": nonsense").unwrap();
        assert!(matches!(recording.manifest(), Err(Error::Manifest { line: 2, .. })));
        fs::write(recording.path(MANIFEST), "{\"format\": 99}").unwrap();
        assert!(matches!(recording.manifest(), Err(Error::Newer { found: 99, .. })));
        fs::remove_dir_all(&folder).unwrap();
    }
}
