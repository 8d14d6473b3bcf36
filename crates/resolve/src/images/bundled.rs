//! The files of a single-file program.

use super::{ImageBytes, Opened, Refused};
use crate::files::{FileBytes, FilePath};
use crate::paths;
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;
use strata_clrimage::bundle::{self, Bundle, Entry};
use strata_clrimage::{Image, Layout};

/// A single-file program and what is appended to it.
pub(crate) struct Program {
    executable: FileBytes,
    path: FilePath,
    bundle: Bundle,
}

impl Program {
    /// Looks for what is appended; the error is why it cannot be read.
    fn find(executable: &FileBytes, path: &FilePath) -> Result<Option<Self>, strata_clrimage::Error> {
        let bundle = Bundle::find(executable)?;
        Ok(bundle.map(|bundle| Self { executable: executable.clone(), path: path.clone(), bundle }))
    }

    pub(super) const fn path(&self) -> &FilePath {
        &self.path
    }

    /// The file with this name, in whichever folder, and how its path is shown.
    pub(super) fn file(&self, name: &str) -> Option<(String, ImageBytes)> {
        let entry = self.bundle.entries().iter().find(|entry| paths::file_name(&entry.path) == name)?;
        Some((self.shown(entry), self.content(entry).ok()?))
    }

    fn content(&self, entry: &Entry) -> Result<ImageBytes, Refused> {
        let content = bundle::content(&self.executable, entry);
        match content.map_err(|error| Refused::damaged(error.to_string()))? {
            Cow::Owned(inflated) => Ok(ImageBytes::inflated(inflated)),
            Cow::Borrowed(_) => Ok(ImageBytes::part(self.executable.clone(), entry.offset, entry.size)),
        }
    }

    fn shown(&self, entry: &Entry) -> String {
        format!("{}!/{}", self.path.path().display(), entry.path)
    }
}

/// The images of a single-file program, each read once.
pub(crate) struct Bundled {
    program: Rc<Program>,
    /// By the path of their entry.
    images: RefCell<FxHashMap<Box<str>, Rc<Opened>>>,
}

impl Bundled {
    /// Looks for what is appended; the error is why it cannot be read.
    pub(super) fn find(executable: &FileBytes, path: &FilePath) -> Result<Option<Self>, strata_clrimage::Error> {
        let program = Program::find(executable, path)?;
        Ok(program.map(|program| Self { program: Rc::new(program), images: RefCell::default() }))
    }

    pub(super) const fn program(&self) -> &Rc<Program> {
        &self.program
    }

    /// How many files of the list cannot be there.
    pub(super) fn ignored(&self) -> usize {
        self.program.bundle.ignored()
    }

    /// The entry whose stored content has this offset of the program.
    pub(super) fn entry_at(&self, offset: u64) -> Option<&Entry> {
        self.program.bundle.entry_at(offset)
    }

    /// The images whose stored content shares bytes with these offsets of the program.
    pub(super) fn images_within(&self, offsets: Range<u64>) -> impl Iterator<Item = &Entry> {
        self.program.bundle.entries().iter().filter(move |entry| {
            let end = entry.offset.saturating_add(entry.stored_size());
            entry.may_be_image() && entry.offset < offsets.end && end > offsets.start
        })
    }

    /// The entry of the assembly with this simple name. Of several, as for several languages, the one with this identity.
    pub(super) fn assembly(&self, name: &str, identity: Option<&[u8]>) -> Option<&Entry> {
        let entries = self.program.bundle.entries().iter();
        let mut candidates = entries.filter(|entry| entry.may_be_image() && paths::stem(&entry.path) == name);
        let first = candidates.next()?;
        let Some(second) = candidates.next() else { return Some(first) };
        [first, second].into_iter().chain(candidates).find(|entry| {
            let Ok(content) = self.program.content(entry) else { return false };
            let image = Image::parse(&content, Layout::File).ok();
            image.is_some_and(|image| identity == Some(image.identity().as_bytes()))
        })
    }

    /// The image of an entry; `read` makes it of its shown path and its bytes.
    pub(super) fn image(
        &self,
        entry: &Entry,
        read: impl FnOnce(&str, Result<ImageBytes, Refused>) -> Opened,
    ) -> Rc<Opened> {
        if let Some(known) = self.images.borrow().get(&entry.path) {
            return Rc::clone(known);
        }
        let opened = Rc::new(read(&self.program.shown(entry), self.program.content(entry)));
        self.images.borrow_mut().insert(entry.path.clone(), Rc::clone(&opened));
        opened
    }
}
