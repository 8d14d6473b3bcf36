//! The images that a file holds: itself, or those inside a single-file program.

use crate::failure::Failure;
use crate::say::typed;
use std::borrow::Cow;
use std::ops::Deref;
use std::path::Path;
use strata_address::Avma;
use strata_clrimage::Layout;
use strata_clrimage::bundle::{Bundle, Entry, EntryKind};
use strata_resolve::files::{FileBytes, FileError, FilePath, Files, HostFiles};

/// What helps when a file is no image.
pub(super) const HINT: &str = "an image is an assembly (.dll, .exe) or a single-file program";

/// The bytes of an image.
pub(super) struct Source<'d> {
    /// Path of the file; for an image in a single-file program, `PROGRAM!/PATH`.
    pub(super) path: String,
    pub(super) bytes: Box<dyn Deref<Target = [u8]> + 'd>,
    pub(super) layout: Layout,
    /// Where it is loaded, in a process.
    pub(super) base: Option<Avma>,
}

/// Images, each read when it is asked for; one that cannot be read is an error of its own.
pub(super) type Sources<'d> = Box<dyn Iterator<Item = Result<Source<'d>, Failure>> + 'd>;

/// What was asked for.
pub(super) enum Found<'d> {
    /// An image.
    One(Source<'d>),
    /// A program with any number of images.
    Many(Sources<'d>),
}

impl<'d> Found<'d> {
    /// The image of this file name, with or without its extension, or of this path.
    pub(super) fn named(self, name: &str) -> Result<Source<'d>, Failure> {
        let mut sources: Sources<'d> = match self {
            Found::One(source) => Box::new(std::iter::once(Ok(source))),
            Found::Many(sources) => sources,
        };
        let is_meant = |source: &Source<'_>| {
            let file = source.path.rsplit('/').next().unwrap_or(&source.path);
            let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
            [source.path.as_str(), file, stem].iter().any(|known| known.eq_ignore_ascii_case(name))
        };
        let found = sources.find(|source| source.as_ref().map_or(true, is_meant));
        found.unwrap_or_else(|| {
            Err(Failure::nothing_to_show(format_args!("no image is called {name}"), "without --image all are listed"))
        })
    }
}

/// Reads a file that the user named.
pub(super) fn read(path: &Path) -> Result<FileBytes, Failure> {
    HostFiles::default().read(&FilePath::on_host(path)).map_err(|error| {
        let hint = match error {
            FileError::NotFound { .. } => {
                "a number is taken for the pid of a process; ./NUMBER for a file of that name"
            }
            _ => HINT,
        };
        Failure::unreadable(error, hint)
    })
}

/// The images in a file.
pub(super) fn images<'d>(path: &Path, bytes: &'d [u8]) -> Result<Found<'d>, Failure> {
    const PE_MAGIC: &[u8] = b"MZ";
    let shown = path.to_string_lossy().into_owned();
    if bytes.starts_with(PE_MAGIC) {
        return Ok(Found::One(Source { path: shown, bytes: Box::new(bytes), layout: Layout::File, base: None }));
    }
    let unreadable = |what: &dyn std::fmt::Display| Failure::unreadable(format_args!("{} {what}", typed(path)), HINT);
    let bundle = Bundle::find(bytes).map_err(|error| unreadable(&format_args!("is damaged: {error}")))?;
    let Some(bundle) = bundle else {
        return Err(unreadable(match bytes.is_empty() {
            true => &"is empty",
            false => &"is neither an assembly nor a single-file .NET program",
        }));
    };
    let entries: Vec<Entry<'d>> = bundle.entries().iter().filter(|entry| may_be_image(entry)).copied().collect();
    let mut sources = entries.into_iter().map(move |entry| {
        let path = format!("{shown}!/{}", entry.path);
        match bundle.content(&entry) {
            Ok(content) => Ok(Source { path, bytes: owned(content), layout: Layout::File, base: None }),
            Err(error) => Err(Failure::unreadable(format_args!("{path}: {error}"), HINT)),
        }
    });
    Ok(Found::Many(Box::new(std::iter::from_fn(move || sources.next()))))
}

fn owned<'d>(content: Cow<'d, [u8]>) -> Box<dyn Deref<Target = [u8]> + 'd> {
    Box::new(content)
}

fn may_be_image(entry: &Entry<'_>) -> bool {
    match entry.kind {
        EntryKind::Assembly => true,
        // The first version does not tell what its files are.
        EntryKind::Unknown => [".dll", ".exe"].iter().any(|extension| entry.path.ends_with(extension)),
        _ => false,
    }
}
