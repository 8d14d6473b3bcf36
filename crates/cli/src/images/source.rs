//! Where images come from: a file is one or holds many, a process has loaded many.

use crate::failure::Failure;
use crate::say::typed;
use std::ops::ControlFlow;
use std::path::Path;
use strata_address::Avma;
use strata_clrimage::bundle::{self, Bundle};
use strata_resolve::files::{FileBytes, FileError, FileOrigin, FilePath, Files};

/// What helps when a file is no image.
pub(super) const HINT: &str = "an image is an assembly (.dll, .exe) or a single-file program";

/// An image.
#[derive(Clone, Copy)]
pub(super) struct Source<'d> {
    /// Path of the file; for an image in a single-file program, `PROGRAM!/PATH`.
    pub(super) path: &'d str,
    /// As they lie in the file.
    pub(super) bytes: &'d [u8],
    /// Where it is loaded, in a process.
    pub(super) base: Option<Avma>,
    /// Reads a file beside it, by its name.
    pub(super) beside: &'d dyn Fn(&str) -> Option<FileBytes>,
}

impl Source<'_> {
    /// Whether the image is called so: by its path, or by its file name with or without the extension.
    pub(super) fn is_called(&self, name: &str) -> bool {
        let file = self.path.rsplit('/').next().unwrap_or(self.path);
        let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
        [self.path, file, stem].iter().any(|known| known.eq_ignore_ascii_case(name))
    }
}

/// Takes one image after the other, or why one cannot be read; says whether it wants more.
pub(super) type Take<'t> = dyn FnMut(Result<Source<'_>, Failure>) -> ControlFlow<()> + 't;

/// A file with images.
pub(super) struct ImageFile<'p> {
    path: &'p Path,
    bytes: FileBytes,
    files: &'p dyn Files,
}

impl<'p> ImageFile<'p> {
    /// Reads a file that the user named.
    pub(super) fn read(path: &'p Path, files: &'p dyn Files) -> Result<Self, Failure> {
        let bytes = files.read(&FilePath::on_host(path)).map_err(|error| {
            let hint = match error {
                FileError::NotFound { .. } => "a file, or the pid of a running process, is wanted",
                _ => HINT,
            };
            Failure::unreadable(error, hint)
        })?;
        let file = Self { path, bytes, files };
        if file.is_image() {
            return Ok(file);
        }
        let problem = match Bundle::find(&file.bytes) {
            Ok(Some(_)) => return Ok(file),
            Ok(None) if file.bytes.is_empty() => "it is empty".to_owned(),
            Ok(None) => "it is neither an assembly nor a single-file .NET program".to_owned(),
            Err(error) => format!("the list of what the single-file program holds: {error}"),
        };
        Err(Failure::unreadable(format_args!("{}: {problem}", typed(path)), HINT))
    }

    /// Whether the file is itself an image.
    pub(super) fn is_image(&self) -> bool {
        self.bytes.starts_with(b"MZ")
    }

    /// Hands over the images in it.
    pub(super) fn for_each(&self, take: &mut Take<'_>) {
        let shown = self.path.to_string_lossy();
        if self.is_image() {
            let beside = |name: &str| self.files.read(&FilePath::on_host(self.path.with_file_name(name))).ok();
            let _ = take(Ok(Source { path: &shown, bytes: &self.bytes, base: None, beside: &beside }));
            return;
        }
        let Ok(Some(bundle)) = Bundle::find(&self.bytes) else { return };
        let beside = |name: &str| {
            let content = bundle::content(&self.bytes, bundle.entry(name)?).ok()?;
            Some(FileBytes::new(content.into_owned(), FileOrigin::Given))
        };
        for entry in bundle.entries().iter().filter(|entry| entry.may_be_image()) {
            let path = format!("{shown}!/{}", entry.path);
            let content = bundle::content(&self.bytes, entry);
            let source = match &content {
                Ok(bytes) => Ok(Source { path: &path, bytes, base: None, beside: &beside }),
                Err(error) => Err(Failure::unreadable(format_args!("{path}: {error}"), HINT)),
            };
            if take(source).is_break() {
                return;
            }
        }
    }
}
