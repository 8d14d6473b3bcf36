//! Threads: the table of those the stream defined, and what it says about each.

use super::attributes::{Attributes, read_text};
use crate::cursor::Cursor;
use crate::places::Places;
use crate::problem::Damage;

/// What the stream says about a thread, or about whatever else emits events in turn (a fiber, a processor).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ThreadInfo {
    /// The index by which the stream names it.
    pub index: u64,
    /// Id that the operating system gave it.
    pub thread_id: Option<u64>,
    /// Id that the operating system gave its process.
    pub process_id: Option<u64>,
    /// Its name.
    pub name: Option<Box<str>>,
    /// What else there is to say.
    pub attributes: Attributes,
}

impl ThreadInfo {
    /// The number to call it by: the operating system's, or the stream's own where that is all there is.
    pub(super) fn id(&self) -> u64 {
        self.thread_id.unwrap_or(self.index)
    }

    /// Reads a row without its size; gives also the kind of the first entry it does not know, which ends the reading.
    pub(super) fn read(row: &mut Cursor<'_>) -> Result<(Self, Option<u8>), Damage> {
        let index = row.varu64()?;
        let mut info = Self { index, thread_id: None, process_id: None, name: None, attributes: Attributes::default() };
        while !row.is_empty() {
            match row.u8()? {
                1 => info.name = Some(read_text(row)?.into()),
                2 => info.process_id = Some(row.varu64()?),
                3 => info.thread_id = Some(row.varu64()?),
                4 => info.attributes.read_pair(row)?,
                kind => return Ok((info, Some(kind))),
            }
        }
        Ok((info, None))
    }

    /// Bytes of all its texts.
    pub(crate) fn text_bytes(&self) -> usize {
        self.name.as_deref().map_or(0, str::len).saturating_add(self.attributes.bytes())
    }
}

/// Threads kept at once. Linux has 4,194,304 ids for threads at most, and a writer lets those go that are gone.
const MAX_THREADS: usize = 1 << 20;
/// Bytes of names and other texts kept at once.
const MAX_TEXT_BYTES: usize = 64 << 20;

/// The threads that can be named at this point of the stream.
#[derive(Default)]
pub(crate) struct ThreadTable {
    threads: Vec<ThreadInfo>,
    places: Places,
    text_bytes: usize,
}

/// What became of a definition.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Defined {
    New,
    /// There was one with this index, which it replaced.
    Again,
    /// There are too many already.
    Not,
}

impl ThreadTable {
    pub(super) fn get(&self, index: u64) -> Option<&ThreadInfo> {
        self.threads.get(self.places.get(index)? as usize)
    }

    /// Threads that can be named.
    pub(super) fn len(&self) -> usize {
        self.threads.len()
    }

    pub(super) fn define(&mut self, info: ThreadInfo) -> Defined {
        let place = self.places.get(info.index);
        let known = place.and_then(|place| self.threads.get_mut(place as usize));
        let replaced_bytes = known.as_deref().map_or(0, ThreadInfo::text_bytes);
        let text_bytes = self.text_bytes.saturating_sub(replaced_bytes).saturating_add(info.text_bytes());
        if text_bytes > MAX_TEXT_BYTES {
            return Defined::Not;
        }
        if let Some(known) = known {
            *known = info;
            self.text_bytes = text_bytes;
            return Defined::Again;
        }
        if self.threads.len() >= MAX_THREADS {
            return Defined::Not;
        }
        self.places.set(info.index, self.threads.len() as u32);
        self.threads.push(info);
        self.text_bytes = text_bytes;
        Defined::New
    }

    /// Takes a thread out; says whether it was there.
    pub(super) fn remove(&mut self, index: u64) -> bool {
        let Some(place) = self.places.get(index).filter(|place| (*place as usize) < self.threads.len()) else {
            return false;
        };
        self.places.remove(index);
        let gone = self.threads.swap_remove(place as usize);
        self.text_bytes = self.text_bytes.saturating_sub(gone.text_bytes());
        if let Some(moved) = self.threads.get(place as usize) {
            self.places.set(moved.index, place);
        }
        true
    }

    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thread(index: u64, name: &str) -> ThreadInfo {
        let name = Some(name.into());
        ThreadInfo { index, thread_id: None, process_id: None, name, attributes: Attributes::default() }
    }

    #[test]
    fn removal_keeps_the_others_where_they_are_found() {
        let mut table = ThreadTable::default();
        let indexes = [1, 2, 3, 1 << 40, u64::MAX, 900];
        for index in indexes {
            assert!(table.define(thread(index, "name")) == Defined::New);
        }
        for (removed, index) in indexes.iter().enumerate() {
            assert!(table.remove(*index) && !table.remove(*index));
            let left = indexes.iter().skip(removed + 1);
            assert!(left.clone().all(|index| table.get(*index).is_some_and(|thread| thread.index == *index)));
            assert_eq!(table.text_bytes, 4 * left.len());
        }
    }

    #[test]
    fn the_table_is_bounded() {
        let mut table = ThreadTable::default();
        for index in 0..MAX_THREADS as u64 {
            table.define(thread(index, ""));
        }
        assert!(table.define(thread(u64::MAX, "")) == Defined::Not);
        assert!(table.define(thread(5, "again")) == Defined::Again);
        assert!(table.remove(7) && table.define(thread(u64::MAX, "")) == Defined::New);
        let long = "x".repeat(MAX_TEXT_BYTES / 4);
        let fits = (0..10).filter(|index| table.define(thread(*index, &long)) == Defined::Again).count();
        assert_eq!(fits, 4);
        table.forget();
        assert!(table.get(5).is_none());
        assert!(table.define(thread(5, &long)) == Defined::New);
    }
}
