//! From the tables of an image to methods.

use crate::pe::usize_of;
use crate::r2r::{
    ColdRows, CoreHeader, ExceptionTable, Function, HotColdMap, ReadyToRun, RuntimeFunctions, SectionKind, thunks,
};
use crate::{Architecture, Error, Pe};

use super::entries::Entries;
use super::{ColdFunctions, ColdPart, Method, MethodSource, MethodTable, ProblemKind, Problems};

/// Reads everything; `assemblies` are the headers of those whose methods the image has.
pub(crate) fn build<'d>(
    pe: &Pe<'d>,
    header: &ReadyToRun<'d>,
    assemblies: impl Iterator<Item = Result<CoreHeader<'d>, Error>>,
) -> Result<MethodTable, Error> {
    let core = header.core();
    let mut problems = Problems::default();
    let Some(place) = core.section(SectionKind::RuntimeFunctions) else {
        let thunks = thunks(pe, core, None, &mut problems);
        return Ok(MethodTable { thunks, problems: problems.into_sorted(), ..MethodTable::default() });
    };
    let runtime_functions = RuntimeFunctions::parse(pe, place)?;
    let functions = runtime_functions.ranges(&mut problems);
    let cold_map = cold_map(pe, core, &mut problems);
    let count = runtime_functions.len();
    let hot_count = cold_map.and_then(|map| map.first_cold()).map_or(count, |first| first.min(count));

    let mut entries = Entries::new(hot_count, pe, &mut problems);
    for (component, assembly) in (0..).zip(assemblies) {
        entries.add_definitions(pe, assembly, component);
    }
    entries.add_instances(pe, core);
    let (entries, aliases) = entries.into_parts();

    let mut builder = Builder { runtime_functions, functions, methods: Vec::new(), cold: Vec::new(), problems };
    builder.group(&entries);
    if let Some(place) = core.section(SectionKind::ExceptionInfo) {
        match ExceptionTable::parse(pe, place) {
            Ok(table) => builder.classify(&table),
            Err(error) => builder.problems.add_error(ProblemKind::TableUnreadable, error),
        }
    }
    if let Some(map) = cold_map {
        map.parts(count).for_each(|part| builder.add_cold_part(part, hot_count));
    }
    let thunks = thunks(pe, core, runtime_functions.personality(), &mut builder.problems);
    let end = builder.end_of_padding(thunks.first().map(|thunk| thunk.start));
    let Builder { functions, methods, cold, problems, .. } = builder;
    Ok(MethodTable { functions, methods, cold, aliases, thunks, end, problems: problems.into_sorted() })
}

fn cold_map<'d>(pe: &Pe<'d>, core: &CoreHeader<'d>, problems: &mut Problems) -> Option<HotColdMap<'d>> {
    let place = core.section(SectionKind::HotColdMap)?;
    HotColdMap::parse(pe, place).map_err(|error| problems.add_error(ProblemKind::TableUnreadable, error)).ok()
}

struct Builder<'d> {
    runtime_functions: RuntimeFunctions<'d>,
    functions: Vec<Function>,
    methods: Vec<Method>,
    cold: Vec<ColdFunctions>,
    problems: Problems,
}

impl Builder<'_> {
    /// Counts a problem with the RuntimeFunction that has `index`.
    fn problem(&mut self, kind: ProblemKind, index: u32) {
        self.problems.add(kind, self.runtime_functions.row_place(index));
    }

    /// Gives every function to the last method that began before it.
    fn group(&mut self, entries: &[Option<MethodSource>]) {
        let count = entries.iter().flatten().count();
        self.methods.reserve_exact(count);
        if entries.first().is_some_and(Option::is_none) {
            self.problem(ProblemKind::FirstFunctionUnowned, 0);
        }
        let is_aligned = self.is_aligned();
        let mut open: Option<Method> = None;
        for ((entry, source), function) in (0..).zip(entries).zip(&self.functions) {
            let Some(source) = source else {
                if let Some(method) = &mut open {
                    method.functions = method.functions.saturating_add(1);
                    method.size = function.end.saturating_sub(method.start);
                }
                continue;
            };
            self.methods.extend(open.take());
            if function.is_empty() {
                // Who owns the functions up to the next entry cannot be known.
                self.problems.add(ProblemKind::EntryWithoutCode, self.runtime_functions.row_place(entry));
                continue;
            }
            if is_aligned && function.start % 16 != 0 {
                self.problems.add(ProblemKind::EntryUnaligned, self.runtime_functions.row_place(entry));
            }
            let size = function.end.saturating_sub(function.start);
            let method = Method {
                source: *source,
                entry,
                functions: 1,
                start: function.start,
                size,
                body_size: size,
                cold: None,
            };
            open = Some(method);
        }
        self.methods.extend(open);
    }

    fn is_aligned(&self) -> bool {
        matches!(self.runtime_functions.architecture(), Architecture::Amd64 | Architecture::Arm64)
    }

    /// Finds out what each funclet handles.
    fn classify(&mut self, table: &ExceptionTable<'_>) {
        // Methods may claim the same clauses; looking through them stays bounded by the bytes there are.
        let mut left = self.runtime_functions.pe().bytes().len();
        for method in self.methods.iter().filter(|method| method.functions > 1) {
            let clauses = table.clauses(method.start);
            let (entry, count) = (usize_of(method.entry), usize_of(method.functions));
            let funclets = self.functions.iter_mut().skip(entry).take(count).skip(1);
            for funclet in funclets {
                let Some(rest) = left.checked_sub(clauses.map_or(0, |clauses| clauses.len())) else { return };
                left = rest;
                let offset = funclet.start.saturating_sub(method.start);
                funclet.handler = clauses.and_then(|clauses| clauses.handler_at(offset));
                if funclet.handler.is_none() && !funclet.is_empty() {
                    self.problems.add(ProblemKind::FuncletUnexplained, self.runtime_functions.row_place(method.entry));
                }
            }
        }
    }

    fn add_cold_part(&mut self, part: ColdRows, hot_count: u32) {
        if self.try_cold_part(part, hot_count).is_none() {
            self.problem(ProblemKind::ColdPartDamaged, part.first);
        }
    }

    fn try_cold_part(&mut self, part: ColdRows, hot_count: u32) -> Option<()> {
        let ColdRows { first, end, entry } = part;
        let begin = self.cold.last().map_or(hot_count, |cold| cold.end);
        if first < begin || end <= first {
            return None;
        }
        let start = self.functions.get(usize_of(first))?.start;
        let size = self.functions.get(usize_of(end.checked_sub(1)?))?.end.checked_sub(start)?;
        let index = self.methods.binary_search_by_key(&entry, |method| method.entry).ok()?;
        let method = self.methods.get_mut(index).filter(|method| method.cold.is_none() && size != 0)?;
        method.cold = Some(ColdPart { start, size });
        self.cold.push(ColdFunctions { first, end, method: index });
        Some(())
    }

    /// Where padding and constants behind the last function end at the latest.
    fn end_of_padding(&self, first_thunk: Option<u32>) -> u32 {
        let Some(last) = self.functions.last() else { return 0 };
        let aligned = last.end.checked_next_multiple_of(16).unwrap_or(last.end);
        let has_constants = self.runtime_functions.architecture() != Architecture::Amd64;
        match first_thunk.filter(|thunk| *thunk >= last.end) {
            Some(thunk) if has_constants || thunk < aligned => thunk,
            _ => aligned,
        }
    }
}
