//! The assemblies of a single-file program.

use super::{ImageBytes, Opened, Refused};
use crate::files::{FileBytes, FilePath};
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;
use strata_clrimage::bundle::{self, Bundle, EntryKind};
use strata_clrimage::{Image, ImageIdentity, Layout};

/// What is appended to a single-file program. Each of its images is read once.
pub(crate) struct Bundled {
    executable: FileBytes,
    path: Box<str>,
    entries: Vec<Entry>,
    /// Start of the stored content and index in `entries`, sorted.
    by_offset: Vec<(u64, usize)>,
    images: RefCell<FxHashMap<usize, Rc<Opened>>>,
}

struct Entry {
    path: Box<str>,
    is_assembly: bool,
    offset: u64,
    stored_size: u64,
}

impl Bundled {
    /// Looks for what is appended; the error is why it cannot be read.
    pub(super) fn find(executable: &FileBytes, path: &FilePath) -> Result<Option<Self>, String> {
        let Some(bundle) = Bundle::find(executable).map_err(|error| error.to_string())? else { return Ok(None) };
        let entries = bundle.entries().iter().map(|entry| Entry {
            path: entry.path.into(),
            is_assembly: matches!(entry.kind, EntryKind::Assembly | EntryKind::Unknown),
            offset: entry.offset,
            stored_size: entry.stored_size(),
        });
        let entries: Vec<Entry> = entries.collect();
        let mut by_offset: Vec<_> = entries.iter().enumerate().map(|(index, entry)| (entry.offset, index)).collect();
        by_offset.sort_unstable();
        let path = path.path().to_string_lossy().into();
        Ok(Some(Self { executable: executable.clone(), path, entries, by_offset, images: RefCell::default() }))
    }

    /// The entry whose stored content has this offset of the program, and where it begins.
    pub(super) fn entry_at(&self, offset: u64) -> Option<(usize, u64)> {
        let after = self.by_offset.partition_point(|(start, _)| *start <= offset);
        let (start, index) = *self.by_offset.get(after.checked_sub(1)?)?;
        let entry = self.entries.get(index)?;
        (offset.checked_sub(start)? < entry.stored_size).then_some((index, start))
    }

    /// The assemblies whose stored content shares bytes with these offsets of the program, and where they begin.
    pub(super) fn assemblies_within(&self, offsets: Range<u64>) -> impl Iterator<Item = (usize, u64)> + '_ {
        let all = self.entries.iter().enumerate();
        all.filter(move |(_, entry)| {
            let end = entry.offset.saturating_add(entry.stored_size);
            entry.is_assembly && entry.offset < offsets.end && end > offsets.start
        })
        .map(|(index, entry)| (index, entry.offset))
    }

    /// The entry of the assembly with this simple name. Of several, as for several languages, the one with this identity.
    pub(super) fn assembly(&self, name: &str, identity: Option<&[u8]>) -> Option<usize> {
        let named = |entry: &Entry| entry.is_assembly && stem(&entry.path) == name;
        let mut candidates = self.entries.iter().enumerate().filter(|(_, entry)| named(entry)).map(|(index, _)| index);
        let first = candidates.next()?;
        let Some(second) = candidates.next() else { return Some(first) };
        let is_it = |index: &usize| self.identity(*index).is_some_and(|id| Some(&id.as_bytes()[..]) == identity);
        [first, second].into_iter().chain(candidates).find(is_it)
    }

    fn identity(&self, index: usize) -> Option<ImageIdentity> {
        let bytes = self.content(index).ok()?;
        Image::parse(&bytes, Layout::File).ok().map(|image| image.identity())
    }

    /// The image of an entry; `read` makes it of its path and bytes.
    pub(super) fn image(
        &self,
        index: usize,
        read: impl FnOnce(&str, Result<ImageBytes, Refused>) -> Opened,
    ) -> Rc<Opened> {
        if let Some(known) = self.images.borrow().get(&index) {
            return Rc::clone(known);
        }
        let path = self.entries.get(index).map(|entry| &*entry.path).unwrap_or_default();
        let opened = Rc::new(read(&format!("{}!/{path}", self.path), self.content(index)));
        self.images.borrow_mut().insert(index, Rc::clone(&opened));
        opened
    }

    fn content(&self, index: usize) -> Result<ImageBytes, Refused> {
        let path = &self.entries.get(index).ok_or_else(Refused::not_in_bundle)?.path;
        content(&self.executable, |entry| entry.path == &**path)
    }
}

/// The assembly with this simple name in a program.
pub(super) fn assembly(executable: &FileBytes, name: &str) -> Option<ImageBytes> {
    content(executable, |entry| stem(entry.path) == name && entry.path.ends_with(".dll")).ok()
}

/// The file with this name in a program, in whichever folder.
pub(super) fn file(executable: &FileBytes, name: &str) -> Option<ImageBytes> {
    content(executable, |entry| entry.path.rsplit('/').next() == Some(name)).ok()
}

/// The bytes of the first entry that is meant.
fn content(executable: &FileBytes, is_meant: impl Fn(&bundle::Entry<'_>) -> bool) -> Result<ImageBytes, Refused> {
    let damaged = |error: strata_clrimage::Error| Refused::damaged(error.to_string());
    let bundle = Bundle::find(executable).map_err(damaged)?.ok_or_else(Refused::not_in_bundle)?;
    let entry = bundle.entries().iter().find(|entry| is_meant(entry)).ok_or_else(Refused::not_in_bundle)?;
    match bundle.content(entry).map_err(damaged)? {
        Cow::Owned(inflated) => Ok(ImageBytes::inflated(inflated)),
        Cow::Borrowed(_) => Ok(ImageBytes::part(executable.clone(), entry.offset, entry.size)),
    }
}

fn stem(path: &str) -> &str {
    let file_name = path.rsplit('/').next().unwrap_or(path);
    file_name.rsplit_once('.').map_or(file_name, |(stem, _)| stem)
}
