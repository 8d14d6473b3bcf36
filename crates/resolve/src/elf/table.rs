//! The finished table: which function holds an address, without gaps being bridged.

use std::fmt::Write;

use strata_address::Rva;

use super::candidate::Candidate;
use super::{ElfPart, ElfProblem, Extent, Symbol, SymbolSource};
use crate::readable;

/// Sorted pieces of code, each belonging to one symbol, and the symbols' names in one piece of text.
///
/// A symbol has two pieces when another lies inside it.
#[derive(Clone, Debug, Default)]
pub(super) struct Table {
    pieces: Vec<Piece>,
    symbols: Vec<Entry>,
    names: String,
}

#[derive(Clone, Copy, Debug)]
struct Piece {
    start: u64,
    size: u32,
    symbol: u32,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    start: u64,
    size: u32,
    name: u32,
    name_length: u16,
    source: SymbolSource,
}

impl Table {
    /// `candidates`, `unwind_entries` and `code` are sorted by start. The names together take at most `names_limit` bytes:
    /// a table whose long names all overlap must not grow into many times the file.
    pub(super) fn build(
        candidates: &[Candidate<'_>],
        unwind_entries: &[Extent],
        code: &[Extent],
        names_limit: usize,
        problems: &mut Vec<ElfProblem>,
    ) -> Self {
        let chosen = choose(candidates, unwind_entries, code);
        let mut builder = Builder { table: Self::default(), names_limit, lost: 0 };
        builder.table.symbols.reserve(chosen.len());
        builder.lay_out(&chosen);
        builder.fill_gaps(&chosen, unwind_entries, code);
        if builder.lost > 0 {
            let reason = format!("{} functions do not fit", builder.lost);
            problems.push(ElfProblem { part: ElfPart::Names, offset: 0, reason });
        }
        let mut table = builder.table;
        table.pieces.shrink_to_fit();
        table.symbols.shrink_to_fit();
        table.names.shrink_to_fit();
        table
    }

    pub(super) fn lookup(&self, address: u64) -> Option<Symbol<'_>> {
        let after = self.pieces.partition_point(|piece| piece.start <= address);
        let piece = self.pieces.get(after.checked_sub(1)?)?;
        if address.checked_sub(piece.start)? >= u64::from(piece.size) {
            return None;
        }
        self.symbol(self.symbols.get(usize::try_from(piece.symbol).ok()?)?)
    }

    pub(super) fn symbols(&self) -> impl Iterator<Item = Symbol<'_>> {
        let mut order: Vec<&Entry> = self.symbols.iter().collect();
        order.sort_by_key(|entry| entry.start);
        order.into_iter().filter_map(|entry| self.symbol(entry))
    }

    fn symbol(&self, entry: &Entry) -> Option<Symbol<'_>> {
        let begin = usize::try_from(entry.name).ok()?;
        let name = self.names.get(begin..begin.checked_add(usize::from(entry.name_length))?)?;
        Some(Symbol { name, start: Rva(entry.start), size: entry.size.into(), source: entry.source })
    }

    pub(super) fn memory(&self) -> usize {
        let pieces = self.pieces.capacity().saturating_mul(size_of::<Piece>());
        let symbols = self.symbols.capacity().saturating_mul(size_of::<Entry>());
        pieces.saturating_add(symbols).saturating_add(self.names.capacity())
    }
}

/// A candidate that was chosen, with the code it covers.
struct Chosen<'c, 'd> {
    candidate: &'c Candidate<'d>,
    extent: Extent,
}

/// One name for each start and size, each with its extent inside one range of code.
fn choose<'c, 'd>(candidates: &'c [Candidate<'d>], unwind_entries: &[Extent], code: &[Extent]) -> Vec<Chosen<'c, 'd>> {
    let mut chosen: Vec<Chosen<'c, 'd>> = Vec::new();
    // The furthest end of any symbol so far that states a size: a label below it is inside a function, and is none.
    let mut covered = 0;
    let mut groups = candidates.chunk_by(|left, right| left.start == right.start).peekable();
    while let Some(group) = groups.next() {
        let Some(first) = group.first() else { continue };
        let start = first.start;
        let Some(range) = containing(code, start) else { continue };
        let before = chosen.len();
        let mut sized: Vec<&Candidate<'_>> = group.iter().filter(|candidate| candidate.size > 0).collect();
        sized.sort_by_key(|candidate| std::cmp::Reverse(candidate.size));
        for same in sized.chunk_by(|left, right| left.size == right.size) {
            let Some(best) = most_readable(same.iter().copied()) else { continue };
            let end = start.saturating_add(best.size).min(range.end);
            covered = covered.max(end);
            chosen.push(Chosen { candidate: best, extent: Extent { start, end } });
        }
        if chosen.len() > before || start < covered {
            continue;
        }
        let unwind = containing(unwind_entries, start);
        let begins_named = |entry: Extent| {
            let at = candidates.partition_point(|candidate| candidate.start < entry.start);
            candidates.get(at).is_some_and(|candidate| candidate.start == entry.start)
        };
        // Inside an unwind entry whose start has a name, this is a label of that function.
        if unwind.is_some_and(|entry| entry.start < start && begins_named(entry)) {
            continue;
        }
        let Some(best) = most_readable(group.iter()) else { continue };
        let next = groups.peek().and_then(|group| group.first()).map_or(u64::MAX, |next| next.start);
        let end = match unwind {
            Some(entry) if entry.start == start => entry.end.min(range.end),
            Some(entry) => entry.end.min(next).min(range.end),
            None => next.min(range.end),
        };
        chosen.push(Chosen { candidate: best, extent: Extent { start, end } });
    }
    chosen
}

fn most_readable<'c, 'd: 'c>(names: impl Iterator<Item = &'c Candidate<'d>>) -> Option<&'c Candidate<'d>> {
    names.min_by(|left, right| {
        let is_stub = |candidate: &Candidate<'_>| candidate.source == SymbolSource::Plt;
        is_stub(left)
            .cmp(&is_stub(right))
            .then_with(|| readable::compare((left.name, left.binding), (right.name, right.binding)))
            .then(left.source.cmp(&right.source))
    })
}

/// The range of `sorted` that begins last at or before `address`, if it holds `address`.
fn containing(sorted: &[Extent], address: u64) -> Option<Extent> {
    let after = sorted.partition_point(|range| range.start <= address);
    let range = sorted.get(after.checked_sub(1)?)?;
    (address < range.end).then_some(*range)
}

struct Builder {
    table: Table,
    names_limit: usize,
    lost: u64,
}

impl Builder {
    /// Lays the chosen symbols side by side; of two that overlap, the one that begins later has the common part, so that
    /// the innermost function names its code.
    fn lay_out(&mut self, chosen: &[Chosen<'_, '_>]) {
        let mut open: Vec<(Extent, u32)> = Vec::new();
        let mut cursor = 0;
        for Chosen { candidate, extent } in chosen {
            self.close_until(extent.start, &mut open, &mut cursor);
            let ending = if candidate.source == SymbolSource::Plt { "@plt" } else { "" };
            let name = String::from_utf8_lossy(candidate.name);
            let name_start = self.table.names.len();
            self.table.names.push_str(&name);
            self.table.names.push_str(ending);
            if let Some(symbol) = self.add_symbol(*extent, name_start, candidate.source) {
                open.push((*extent, symbol));
            }
        }
        self.close_until(u64::MAX, &mut open, &mut cursor);
    }

    /// Writes the pieces of the open symbols up to `until`.
    fn close_until(&mut self, until: u64, open: &mut Vec<(Extent, u32)>, cursor: &mut u64) {
        while let Some((extent, symbol)) = open.last().copied() {
            let piece = Extent { start: extent.start.max(*cursor), end: extent.end.min(until) };
            if !piece.is_empty() {
                self.add_piece(piece, symbol);
                *cursor = piece.end;
            }
            if extent.end > until {
                break;
            }
            open.pop();
        }
    }

    /// Names code that the unwind table knows and no symbol covers. Where a symbol begins with the unwind entry, the rest of
    /// the entry is that symbol's: it said too small a size.
    fn fill_gaps(&mut self, chosen: &[Chosen<'_, '_>], unwind_entries: &[Extent], code: &[Extent]) {
        let covered = std::mem::take(&mut self.table.pieces);
        let mut merged = Vec::with_capacity(covered.len());
        let mut next = covered.iter().copied().peekable();
        let mut cursor = 0;
        for entry in unwind_entries {
            let Some(range) = containing(code, entry.start) else { continue };
            let end = entry.end.min(range.end);
            let mut start = entry.start.max(cursor);
            // Pieces that end before this entry are done.
            while let Some(piece) = next.next_if(|piece| piece.end() <= start) {
                merged.push(piece);
            }
            let mut owner = None;
            while start < end {
                let gap_end = next.peek().map_or(end, |piece| piece.start.min(end));
                if start < gap_end {
                    let symbol = match owner {
                        Some(symbol) => Some(symbol),
                        None => self.owner(chosen, &covered, *entry, end),
                    };
                    owner = symbol;
                    if let Some(symbol) = symbol {
                        self.add_piece(Extent { start, end: gap_end }, symbol);
                        merged.append(&mut self.table.pieces);
                    }
                    start = gap_end;
                }
                match next.next_if(|piece| piece.start < end) {
                    Some(piece) => {
                        start = start.max(piece.end());
                        merged.push(piece);
                    }
                    None => break,
                }
            }
            cursor = cursor.max(start).max(end);
        }
        merged.extend(next);
        self.table.pieces = merged;
    }

    /// The symbol that code of `entry` without a name belongs to: the one that begins with the entry, or a new one.
    fn owner(&mut self, chosen: &[Chosen<'_, '_>], covered: &[Piece], entry: Extent, end: u64) -> Option<u32> {
        let at = chosen.partition_point(|chosen| chosen.extent.start < entry.start);
        let named = chosen
            .get(at)
            .is_some_and(|chosen| chosen.extent.start == entry.start && chosen.candidate.source != SymbolSource::Plt);
        if named {
            let at = covered.partition_point(|piece| piece.start < entry.start);
            let symbol = covered.get(at).filter(|piece| piece.start == entry.start)?.symbol;
            let stated = self.table.symbols.get_mut(usize::try_from(symbol).ok()?)?;
            stated.size = stated.size.max(u32::try_from(end.saturating_sub(entry.start)).unwrap_or(u32::MAX));
            return Some(symbol);
        }
        let name_start = self.table.names.len();
        // Writing into a `String` cannot fail.
        let _ = write!(self.table.names, "fun_{:x}", entry.start);
        self.add_symbol(Extent { start: entry.start, end }, name_start, SymbolSource::UnwindTable)
    }

    /// Takes the name from `name_start` to the end of the names; gives the symbol's number.
    fn add_symbol(&mut self, extent: Extent, name_start: usize, source: SymbolSource) -> Option<u32> {
        let length = self.table.names.len().saturating_sub(name_start);
        let fits = (|| {
            let number = u32::try_from(self.table.symbols.len()).ok()?;
            let name = u32::try_from(name_start).ok().filter(|_| self.table.names.len() <= self.names_limit)?;
            let name_length = u16::try_from(length).ok()?;
            let size = u32::try_from(extent.end.saturating_sub(extent.start)).unwrap_or(u32::MAX);
            Some((number, Entry { start: extent.start, size, name, name_length, source }))
        })();
        match fits {
            Some((number, entry)) => {
                self.table.symbols.push(entry);
                Some(number)
            }
            None => {
                self.table.names.truncate(name_start);
                self.lost = self.lost.saturating_add(1);
                None
            }
        }
    }

    fn add_piece(&mut self, extent: Extent, symbol: u32) {
        if !extent.is_empty() {
            let size = u32::try_from(extent.end.saturating_sub(extent.start)).unwrap_or(u32::MAX);
            self.table.pieces.push(Piece { start: extent.start, size, symbol });
        }
    }
}

impl Piece {
    fn end(&self) -> u64 {
        self.start.saturating_add(u64::from(self.size))
    }
}
