//! Both tables of entry points, brought into the order of code.

use core::ops::ControlFlow;

use crate::pe::usize_of;
use crate::r2r::{CoreHeader, InstanceSignature, NativeArray, NativeHashtable, SectionKind};
use crate::{Directory, Error, Pe};

use super::{Alias, MethodSource, ProblemKind, Problems};

/// Which method begins at which RuntimeFunction.
pub(super) struct Entries<'p> {
    /// By index of the RuntimeFunction.
    first: Vec<Option<MethodSource>>,
    aliases: Vec<Alias>,
    /// Bytes of tables that may still be read: tables of several assemblies do not share bytes.
    table_bytes: usize,
    problems: &'p mut Problems,
}

impl<'p> Entries<'p> {
    /// No entries yet, of an image of which `functions` RuntimeFunctions can be the beginning of a method.
    pub(super) fn new(functions: u32, pe: &Pe<'_>, problems: &'p mut Problems) -> Self {
        let first = vec![None; usize_of(functions)];
        Self { first, aliases: Vec::new(), table_bytes: pe.bytes().len(), problems }
    }

    /// The methods by RuntimeFunction, and the other methods with the same code.
    pub(super) fn into_parts(mut self) -> (Vec<Option<MethodSource>>, Vec<Alias>) {
        self.aliases.sort_unstable();
        (self.first, self.aliases)
    }

    /// Adds the methods of assembly number `component`.
    pub(super) fn add_definitions(&mut self, pe: &Pe<'_>, core: Result<CoreHeader<'_>, Error>, component: u32) {
        let core = match core {
            Ok(core) => core,
            Err(error) => return self.problems.add_error(ProblemKind::TableUnreadable, error),
        };
        let Some(place) = core.section(SectionKind::MethodDefEntryPoints) else { return };
        let start = pe.cursor(place, "MethodDef entry points").map_or(0, |section| section.offset());
        let array = self.table(place, || NativeArray::parse(pe, place, "MethodDef entry points"));
        let Some(array) = array else { return };
        let mut left = usize_of(place.size);
        array.entry_points(|entry| {
            match entry {
                Ok(entry) => {
                    let source = MethodSource::Definition { component, rid: entry.rid };
                    self.add(entry.function, source, entry.offset);
                }
                Err(error) => self.unreadable(error),
            }
            self.count_down(&mut left, 1, start)
        });
    }

    /// Adds the instantiations.
    pub(super) fn add_instances(&mut self, pe: &Pe<'_>, core: &CoreHeader<'_>) {
        let Some(place) = core.section(SectionKind::InstanceMethodEntryPoints) else { return };
        let section = match pe.cursor(place, "instance entry points") {
            Ok(section) => section,
            Err(error) => return self.problems.add_error(ProblemKind::TableUnreadable, error),
        };
        let table = self.table(place, || NativeHashtable::parse(pe, place, "instance entry points"));
        let Some(table) = table else { return };
        let mut left = usize_of(place.size);
        table.for_each(|object| {
            let mut length = 1;
            let entry = object.and_then(|mut cursor| {
                let start = cursor.offset();
                let found = InstanceSignature::with_function(&mut cursor);
                length = cursor.offset().saturating_sub(start).max(1);
                found.map(|(signature, function)| (start, signature.method.value(), function))
            });
            match entry {
                Ok((offset, token, function)) => {
                    let into = offset.checked_sub(section.offset()).and_then(|into| u32::try_from(into).ok());
                    match into {
                        Some(signature) => self.add(function, MethodSource::Instance { token, signature }, offset),
                        None => self.problems.add(ProblemKind::EntryUnreadable, offset),
                    }
                }
                Err(error) => self.unreadable(error),
            }
            self.count_down(&mut left, length, section.offset())
        });
    }

    /// Reads a table's header, if its bytes are not more than the image can hold in all.
    fn table<T>(&mut self, place: Directory, parse: impl FnOnce() -> Result<T, Error>) -> Option<T> {
        let Some(left) = self.table_bytes.checked_sub(usize_of(place.size)) else {
            self.problems.add(ProblemKind::TooManyEntries, 0);
            return None;
        };
        self.table_bytes = left;
        parse().map_err(|error| self.problems.add_error(ProblemKind::TableUnreadable, error)).ok()
    }

    /// Entries do not share bytes, so a table (at `table`) that goes on after as many as it has is a trap.
    fn count_down(&mut self, left: &mut usize, bytes: usize, table: usize) -> ControlFlow<()> {
        if let Some(rest) = left.checked_sub(bytes) {
            *left = rest;
            return ControlFlow::Continue(());
        }
        self.problems.add(ProblemKind::TooManyEntries, table);
        ControlFlow::Break(())
    }

    fn unreadable(&mut self, error: Error) {
        self.problems.add_error(ProblemKind::EntryUnreadable, error);
    }

    fn add(&mut self, function: u32, source: MethodSource, offset: usize) {
        let Some(slot) = self.first.get_mut(usize_of(function)) else {
            return self.problems.add(ProblemKind::EntryWithoutCode, offset);
        };
        let Some(known) = slot else {
            *slot = Some(source);
            return;
        };
        // The first by order is the one that is shown.
        let (shown, other) = if source < *known { (source, *known) } else { (*known, source) };
        *known = shown;
        self.aliases.push(Alias { entry: function, source: other });
    }
}
