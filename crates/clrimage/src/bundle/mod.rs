//! .NET single-file bundles: an executable with the program's files appended.

mod manifest;
mod marker;

use std::borrow::Cow;
use std::collections::HashSet;

use crate::inflate::inflate;
use crate::{Error, ErrorKind};
use manifest::Manifest;

/// The files appended to an executable, from majors 1 (.NET Core 3), 2 (.NET 5) and 6 (.NET 6 and later) of the manifest.
///
/// It holds what the manifest says and none of the executable's bytes: [`content`] takes those.
#[derive(Clone, Debug)]
pub struct Bundle {
    version: Version,
    is_extracted: bool,
    entries: Vec<Entry>,
    /// File offset and index in `entries` of those that are not empty, by offset.
    by_offset: Vec<(u64, usize)>,
    ignored: usize,
}

/// The version of a bundle's manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// Which fields there are.
    pub major: u32,
    /// Zero in every bundle seen.
    pub minor: u32,
}

/// One file inside a bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Where the file would lie, relative to the program's folder, with `/` between the parts. As the file says: it may
    /// be absolute or lead out of the folder.
    pub path: Box<str>,
    /// What the file is for.
    pub kind: EntryKind,
    /// File offset of the content in the executable, in bytes.
    pub offset: u64,
    /// Size of the file in bytes, inflated.
    pub size: u64,
    /// Size of the deflated content in bytes; none if it is stored as it is.
    pub compressed_size: Option<u64>,
}

impl Entry {
    /// How many bytes of the executable the content takes.
    #[must_use]
    pub fn stored_size(&self) -> u64 {
        self.compressed_size.unwrap_or(self.size)
    }

    /// Whether the file may be an image of managed code.
    #[must_use]
    pub fn may_be_image(&self) -> bool {
        match self.kind {
            EntryKind::Assembly => true,
            // The first major does not tell what its files are.
            EntryKind::Unknown => [".dll", ".exe"].iter().any(|extension| self.path.ends_with(extension)),
            _ => false,
        }
    }

    /// File offset behind the content. The entries of a [`Bundle`] end inside of the executable.
    fn end(&self) -> u64 {
        self.offset.saturating_add(self.stored_size())
    }
}

/// What a file of a bundle is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EntryKind {
    /// Not told: every file of major 1, and what the publisher did not recognise.
    Unknown,
    /// An assembly, precompiled or not.
    Assembly,
    /// A native library, which the host writes to disk.
    NativeBinary,
    /// The `.deps.json` file.
    Dependencies,
    /// The `.runtimeconfig.json` file.
    RuntimeConfiguration,
    /// A PDB.
    Symbols,
    /// Another number than the format has.
    Other(u8),
}

impl Bundle {
    /// Looks for a bundle in the whole bytes of an executable.
    ///
    /// The marker is searched in the first 128 MiB: it lies in the host's data, in front of all content. A marker that
    /// points to nowhere is passed over, because programs that read bundles have it too. Files that cannot be there are
    /// left out and counted by [`Bundle::ignored`]: content outside of the executable or shared with another file, a
    /// path that is not UTF-8, and a second file of the same path.
    ///
    /// # Errors
    /// The manifest is cut off or its major version is not known.
    pub fn find(executable: &[u8]) -> Result<Option<Self>, Error> {
        let mut first_error = None;
        for offset in marker::manifest_offsets(executable) {
            match Manifest::read(executable, offset) {
                Ok(manifest) => return Ok(Some(Self::new(executable.len(), manifest))),
                Err(error) => first_error = first_error.or(Some(error)),
            }
        }
        first_error.map_or(Ok(None), Err)
    }

    fn new(length: usize, manifest: Manifest) -> Self {
        let length = u64::try_from(length).unwrap_or(u64::MAX);
        let mut paths = HashSet::new();
        let mut entries = manifest.entries;
        entries.retain(|entry| {
            let end = entry.offset.checked_add(entry.stored_size());
            end.is_some_and(|end| end <= length) && paths.insert(entry.path.clone())
        });
        // One that reached into another would let few bytes be inflated again and again.
        let overlapping = overlapping(&entries);
        let mut index = 0_usize..;
        entries.retain(|_| index.next().is_none_or(|index| !overlapping.contains(&index)));
        let ignored = manifest.count.saturating_sub(entries.len());
        let by_offset = by_offset(&entries);
        Self { version: manifest.version, is_extracted: manifest.is_extracted, entries, by_offset, ignored }
    }

    /// The manifest's version.
    #[must_use]
    pub fn version(&self) -> Version {
        self.version
    }

    /// Whether the host writes every file to disk before it starts the program, so that no code is mapped from the
    /// executable.
    #[must_use]
    pub fn is_extracted(&self) -> bool {
        self.is_extracted
    }

    /// The files, in the manifest's order.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// How many files of the manifest were left out because they cannot be there.
    #[must_use]
    pub fn ignored(&self) -> usize {
        self.ignored
    }

    /// The file of this path, spelled exactly so.
    #[must_use]
    pub fn entry(&self, path: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| &*entry.path == path)
    }

    /// The file whose stored content holds the byte at this file offset of the executable.
    #[must_use]
    pub fn entry_at(&self, file_offset: u64) -> Option<&Entry> {
        let after = self.by_offset.partition_point(|(offset, _)| *offset <= file_offset);
        let (_, index) = self.by_offset.get(after.checked_sub(1)?)?;
        let found = self.entries.get(*index)?;
        (file_offset < found.end()).then_some(found)
    }
}

/// The bytes of a file of an executable's bundle: borrowed when stored, inflated when compressed.
///
/// # Errors
/// The content does not inflate to exactly the entry's size, which may be at most 1 GiB; or the entry is of another
/// executable's bundle and lies outside of this one.
pub fn content<'d>(executable: &'d [u8], entry: &Entry) -> Result<Cow<'d, [u8]>, Error> {
    let cut = Error { kind: ErrorKind::Cut { what: "bundle entry" }, offset: entry.offset };
    let start = usize::try_from(entry.offset).map_err(|_| cut)?;
    let length = usize::try_from(entry.stored_size()).map_err(|_| cut)?;
    let end = start.checked_add(length).ok_or(cut)?;
    let stored = executable.get(start..end).ok_or(cut)?;
    match entry.compressed_size {
        Some(_) => inflate(stored, entry.size, entry.offset).map(Cow::Owned),
        None => Ok(Cow::Borrowed(stored)),
    }
}

/// File offset and index of the entries that are not empty, by offset.
fn by_offset(entries: &[Entry]) -> Vec<(u64, usize)> {
    let stored = entries.iter().enumerate().filter(|(_, entry)| entry.stored_size() != 0);
    let mut by_offset: Vec<_> = stored.map(|(index, entry)| (entry.offset, index)).collect();
    by_offset.sort_unstable();
    by_offset
}

/// Which entries begin inside of one in front of them.
fn overlapping(entries: &[Entry]) -> HashSet<usize> {
    let mut taken_until = 0;
    let mut overlapping = HashSet::new();
    for (offset, index) in by_offset(entries) {
        if offset < taken_until {
            overlapping.insert(index);
        } else {
            taken_until = entries.get(index).map_or(offset, Entry::end);
        }
    }
    overlapping
}

#[cfg(test)]
mod tests {
    use super::*;

    const MARKER_TEXT: [u8; 32] = *b"\x8b\x12\x02\xb9\x6a\x61\x20\x38\x72\x7b\x93\x02\x14\xd7\xa0\x32\
        \x13\xf5\xb9\xe6\xef\xae\x33\x18\xee\x3b\x2d\xce\x24\xb3\x6a\xae";

    /// Offset, size, compressed size, path.
    type Row<'a> = (u64, u64, u64, &'a [u8]);

    /// A host of 72 bytes with `hello` and the deflated form of `aaaaaaaa` behind it, then the manifest.
    fn bundle(major: u32, rows: &[Row<'_>]) -> Vec<u8> {
        let mut file = vec![0x8b; 24];
        // The content takes ten bytes from offset 64 on.
        file.extend(74_u64.to_le_bytes());
        file.extend(MARKER_TEXT);
        file.extend(b"hello\x4b\x4c\x84\x00\x00");
        file.extend([major, 0, u32::try_from(rows.len()).unwrap()].map(u32::to_le_bytes).as_flattened());
        file.extend(b"\x02id");
        if major >= 2 {
            file.extend([0; 40]);
        }
        for (offset, size, compressed, path) in rows {
            file.extend(offset.to_le_bytes());
            file.extend(size.to_le_bytes());
            if major >= 6 {
                file.extend(compressed.to_le_bytes());
            }
            file.push(1);
            file.push(u8::try_from(path.len()).unwrap());
            file.extend(*path);
        }
        file
    }

    fn paths(file: &[u8]) -> (Vec<String>, usize) {
        let bundle = Bundle::find(file).unwrap().unwrap();
        (bundle.entries().iter().map(|entry| entry.path.to_string()).collect(), bundle.ignored())
    }

    #[test]
    fn every_major_version_is_read() {
        let check = |major, is_extracted| {
            let file = bundle(major, &[(64, 5, 0, b"a.dll"), (69, 0, 0, b"empty")]);
            let bundle = Bundle::find(&file).unwrap().unwrap();
            assert_eq!(bundle.version(), Version { major, minor: 0 });
            assert_eq!(bundle.is_extracted(), is_extracted);
            let entry = bundle.entry("a.dll").unwrap();
            assert_eq!(content(&file, entry).unwrap(), b"hello".as_slice());
            assert!(content(&file, bundle.entry("empty").unwrap()).unwrap().is_empty());
        };
        check(1, true);
        check(2, false);
        check(6, false);
        let unknown = Bundle::find(&bundle(7, &[])).unwrap_err();
        assert_eq!(unknown.to_string(), "impossible bundle manifest major version: 0x7 at offset 0x4a");
    }

    #[test]
    fn compressed_content_is_exactly_as_long_as_claimed() {
        let check = |size, expected: Option<&[u8]>| {
            let file = bundle(6, &[(69, size, 5, b"a.dll")]);
            let bundle = Bundle::find(&file).unwrap().unwrap();
            assert_eq!(content(&file, &bundle.entries()[0]).ok().as_deref(), expected, "{size}");
        };
        check(8, Some(b"aaaaaaaa"));
        check(7, None);
        check(9, None);
        check(u64::MAX, None);
    }

    #[test]
    fn files_that_cannot_be_there_are_left_out_and_counted() {
        let check = |rows: &[Row<'_>], left: &[&str]| {
            let (found, ignored) = paths(&bundle(6, rows));
            assert_eq!((found, ignored), (left.iter().map(ToString::to_string).collect(), rows.len() - left.len()));
        };
        // The same path.
        check(&[(64, 5, 0, b"a"), (69, 5, 0, b"a"), (69, 5, 0, b"b")], &["a", "b"]);
        // Outside of the executable.
        check(&[(u64::MAX, 5, 0, b"a"), (64, 1 << 40, 0, b"b")], &[]);
        check(&[(64, 5, 0, b"\xff"), (64, 1 << 40, 5, b"b")], &["b"]);
        // Content that another has already.
        check(
            &[(69, 8, 5, b"a"), (69, 1 << 30, 5, b"b"), (64, 5, 0, b"c"), (66, 0, 0, b"empty")],
            &["a", "c", "empty"],
        );
        check(&[(65, 6, 0, b"a"), (69, 8, 5, b"b"), (64, 4, 0, b"c"), (71, 2, 0, b"d")], &["b", "c"]);
    }

    #[test]
    fn the_file_of_an_offset() {
        let file = bundle(6, &[(69, 8, 5, b"late"), (64, 4, 0, b"early"), (66, 0, 0, b"empty"), (69, 0, 0, b"none")]);
        let bundle = Bundle::find(&file).unwrap().unwrap();
        let check =
            |offset, expected| assert_eq!(bundle.entry_at(offset).map(|entry| &*entry.path), expected, "{offset}");
        check(63, None);
        check(64, Some("early"));
        check(67, Some("early"));
        check(68, None);
        check(69, Some("late"));
        check(73, Some("late"));
        check(74, None);
        check(u64::MAX, None);
    }

    #[test]
    fn no_marker_no_bundle() {
        assert!(Bundle::find(b"").unwrap().is_none());
        let mut file = bundle(6, &[]);
        file[24..32].fill(0);
        assert!(Bundle::find(&file).unwrap().is_none(), "a host without a bundle");
        file[24..32].fill(0xff);
        assert!(Bundle::find(&file).unwrap().is_none(), "a program that reads bundles");
    }

    #[test]
    fn a_cut_manifest_is_an_error() {
        let file = bundle(6, &[(64, 5, 0, b"a.dll")]);
        for end in 0..file.len() {
            let found = Bundle::find(&file[..end]);
            assert!(if end <= 74 { found.unwrap().is_none() } else { found.is_err() }, "cut at {end}");
        }
    }
}
