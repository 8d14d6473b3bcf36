//! What the stream says of mappings and symbols, and what that makes of an address.

use super::super::names::{CodeInTime, Role};
use super::symbol_name::SymbolName;
use super::told::{Told, ToldRanges};
use crate::paths;
use crate::symbols::{Named, kind_of_image};
use rustc_hash::FxHashMap;
use std::rc::Rc;
use strata_address::Avma;
use strata_nettrace::Utf8;
use strata_nettrace::universal::{MappingEvent, MappingMetadataEvent, SymbolEvent};
use strata_perfdata::record::MappedAs;
use strata_profile::{CodeKind, Found, Module, NameSource, Timestamp, Unnamed};

/// Where the kernel's half of the address space begins. Collectors map the kernel as one file into every process that was
/// sampled in it.
const KERNEL: Avma = Avma(1 << 63);

/// One mapping of one process.
#[derive(Debug)]
struct Mapping {
    process: u32,
    id: u64,
    start: Avma,
    last: Avma,
    at: Timestamp,
    file_offset: u64,
    /// Place in [`CodeReader::texts`].
    file: u32,
    metadata_id: u64,
    build_id: Option<Box<str>>,
}

/// Takes what the stream says.
#[derive(Debug, Default)]
pub(super) struct CodeReader {
    mappings: Vec<Mapping>,
    build_ids: FxHashMap<u64, Box<str>>,
    /// By the id of their mapping; what is there is a place in `texts`.
    symbols: FxHashMap<u64, Vec<Told>>,
    /// What each range of a mapping was called last: a symbol is told again for every process that shares the mapping.
    last_names: FxHashMap<(u64, Avma, Avma), u32>,
    texts: Vec<Rc<str>>,
    known_texts: FxHashMap<Rc<str>, u32>,
}

impl CodeReader {
    /// Something is mapped; says whether that can be.
    pub(super) fn mapping(&mut self, process: u32, event: &MappingEvent<'_>, at: Timestamp) -> bool {
        let Some(file) = self.text(event.file).filter(|_| event.start <= event.last) else { return false };
        self.mappings.push(Mapping {
            process,
            id: event.id,
            start: event.start,
            last: event.last,
            at,
            file_offset: event.file_offset,
            file,
            metadata_id: event.metadata_id,
            build_id: event.symbol.and_then(build_id),
        });
        true
    }

    /// Something about the file of mappings.
    pub(super) fn metadata(&mut self, event: &MappingMetadataEvent<'_>) {
        if let Some(build_id) = build_id(event.symbol) {
            self.build_ids.insert(event.id, build_id);
        }
    }

    /// A range of a mapping has a name; says whether that can be.
    pub(super) fn symbol(&mut self, event: &SymbolEvent<'_>, at: Timestamp) -> bool {
        let Some(name) = self.text(event.name).filter(|_| event.start <= event.last) else { return false };
        if self.last_names.insert((event.mapping_id, event.start, event.last), name) != Some(name) {
            let told = Told { start: event.start, last: event.last, at, what: name };
            self.symbols.entry(event.mapping_id).or_default().push(told);
        }
        true
    }

    /// Each distinct text once.
    fn text(&mut self, text: Utf8<'_>) -> Option<u32> {
        let text = String::from_utf8_lossy(text.as_bytes());
        if let Some(known) = self.known_texts.get(&*text) {
            return Some(*known);
        }
        let new = u32::try_from(self.texts.len()).ok()?;
        let text: Rc<str> = text.into();
        self.texts.push(Rc::clone(&text));
        self.known_texts.insert(text, new);
        Some(new)
    }

    /// Everything was told: puts it in order. With it comes how many symbols are of mappings that nothing told of.
    pub(super) fn finish(self, processes: usize) -> (Code, u64) {
        let mut in_process: Vec<Vec<Told>> = Vec::new();
        in_process.resize_with(processes, Vec::new);
        let mut changes: Vec<Vec<Timestamp>> = Vec::new();
        changes.resize_with(processes, Vec::new);
        // Who has a mapping: one process, or several.
        let mut owners: FxHashMap<u64, Option<u32>> = FxHashMap::default();
        for (what, mapping) in (0_u32..).zip(&self.mappings) {
            let place = mapping.process as usize;
            let owner = owners.entry(mapping.id).or_insert(Some(mapping.process));
            *owner = owner.filter(|owner| *owner == mapping.process);
            if let (Some(told), Some(changes)) = (in_process.get_mut(place), changes.get_mut(place)) {
                told.push(Told { start: mapping.start, last: mapping.last, at: mapping.at, what });
                changes.push(mapping.at);
            }
        }
        let (mut shared, mut homeless) = (Vec::new(), 0_u64);
        for (mapping, symbols) in &self.symbols {
            let times = symbols.iter().map(|symbol| symbol.at);
            match owners.get(mapping) {
                None => homeless = homeless.saturating_add(symbols.len() as u64),
                Some(None) => shared.extend(times),
                Some(Some(owner)) => {
                    changes.get_mut(*owner as usize).into_iter().for_each(|all| all.extend(times.clone()))
                }
            }
        }
        let symbols = self.symbols.into_iter().map(|(mapping, told)| (mapping, ToldRanges::new(told)));
        let code = Code {
            in_process: in_process.into_iter().map(ToldRanges::new).collect(),
            changes: changes.into_iter().map(in_order).collect(),
            shared_changes: in_order(shared),
            mappings: self.mappings,
            build_ids: self.build_ids,
            symbols: symbols.collect(),
            texts: self.texts,
        };
        (code, homeless)
    }
}

fn in_order(mut times: Vec<Timestamp>) -> Vec<Timestamp> {
    times.sort_unstable();
    times.dedup();
    times
}

/// The build id of an ELF image, where the symbol metadata has one.
fn build_id(metadata: Utf8<'_>) -> Option<Box<str>> {
    let metadata: serde_json::Value = serde_json::from_slice(metadata.as_bytes()).ok()?;
    let build_id = metadata.get("build_id")?.as_str()?;
    let is_hex = !build_id.is_empty() && build_id.bytes().all(|digit| digit.is_ascii_hexdigit());
    is_hex.then(|| build_id.to_ascii_lowercase().into())
}

/// Mappings and symbols of all processes, at all times.
#[derive(Debug)]
pub(super) struct Code {
    mappings: Vec<Mapping>,
    /// By process: what is there is a place in `mappings`.
    in_process: Vec<ToldRanges>,
    /// By process: when what is known of it changes, in order.
    changes: Vec<Vec<Timestamp>>,
    /// When what is known of mappings of several processes changes.
    shared_changes: Vec<Timestamp>,
    build_ids: FxHashMap<u64, Box<str>>,
    symbols: FxHashMap<u64, ToldRanges>,
    texts: Vec<Rc<str>>,
}

impl Code {
    /// What is in a process.
    pub(super) fn of(&self, process: u32) -> Option<ProcessCode<'_>> {
        let place = process as usize;
        let (mappings, changes) = (self.in_process.get(place)?, self.changes.get(place)?);
        Some(ProcessCode { code: self, mappings, changes, shared_changes: &self.shared_changes })
    }

    /// What is at an address of a process at a time; `None` of a process that is none.
    pub(super) fn name(&self, process: u32, address: Avma, at: Timestamp) -> Option<Named> {
        Some(self.name_in(self.in_process.get(process as usize)?, address, at))
    }

    fn name_in(&self, mappings: &ToldRanges, address: Avma, at: Timestamp) -> Named {
        let mapping = mappings.find(address, at).and_then(|told| self.mappings.get(told.what as usize));
        mapping.map_or_else(|| unmapped(address), |mapping| self.named(mapping, address, at))
    }

    fn text(&self, place: u32) -> &str {
        self.texts.get(place as usize).map_or("", |text| text)
    }

    fn symbol(&self, mapping: &Mapping, address: Avma, now: Timestamp) -> Option<SymbolName> {
        let told = self.symbols.get(&mapping.id)?.find(address, now)?;
        Some(SymbolName::read(self.text(told.what)))
    }

    fn named(&self, mapping: &Mapping, address: Avma, now: Timestamp) -> Named {
        let path = self.text(mapping.file);
        let symbol = self.symbol(mapping, address, now);
        if address >= KERNEL {
            let (name, source) = match symbol {
                Some(symbol) => (symbol.name, NameSource::TraceSymbol),
                None => (format!("[kernel code at {address}]"), NameSource::None(Unnamed::NoSymbol)),
            };
            let module = Some(Module { name: "[kernel]".to_owned(), path: String::new(), build_id: None });
            return Named { name, module, kind: CodeKind::Kernel, source, line: None };
        }
        let image = match MappedAs::of(path.as_bytes(), None) {
            MappedAs::Memory if !path.starts_with('[') || path == "[anon]" => None,
            _ => Some(paths::file_name(path)),
        };
        let module = |name: &str| {
            let known = || self.build_ids.get(&mapping.metadata_id);
            let build_id = mapping.build_id.as_ref().or_else(known).map(|build_id| build_id.to_string());
            Module { name: name.to_owned(), path: path.to_owned(), build_id }
        };
        match (symbol, image) {
            (Some(SymbolName { name, kind, assembly }), image) => {
                let module = match (assembly, image) {
                    (None, image) => image.map(module),
                    (Some(assembly), Some(image)) if paths::stem(image) == assembly => Some(module(paths::stem(image))),
                    (Some(assembly), _) => Some(Module { name: assembly, path: String::new(), build_id: None }),
                };
                let kind = kind.unwrap_or_else(|| image.map_or(CodeKind::Unknown, kind_of_image));
                Named { name, module, kind, source: NameSource::TraceSymbol, line: None }
            }
            (None, Some(image)) => {
                let offset = address.offset_from(mapping.start).unwrap_or(0).saturating_add(mapping.file_offset);
                Named {
                    name: format!("{image}+{offset:#x}"),
                    module: Some(module(image)),
                    kind: kind_of_image(image),
                    source: NameSource::None(Unnamed::NoSymbol),
                    line: None,
                }
            }
            (None, None) => Named {
                name: format!("[code in memory at {address}]"),
                module: None,
                kind: CodeKind::Unknown,
                source: NameSource::None(Unnamed::NoSymbol),
                line: None,
            },
        }
    }
}

/// What is in one process, and when.
pub(super) struct ProcessCode<'c> {
    code: &'c Code,
    mappings: &'c ToldRanges,
    changes: &'c [Timestamp],
    shared_changes: &'c [Timestamp],
}

/// The first of these times after `now`.
fn next_of(changes: &[Timestamp], now: Timestamp) -> Timestamp {
    let passed = changes.partition_point(|at| *at <= now);
    changes.get(passed).copied().unwrap_or(Timestamp(u64::MAX))
}

impl CodeInTime for ProcessCode<'_> {
    fn name(&mut self, address: Avma, at: Timestamp) -> (Named, Timestamp) {
        let until = next_of(self.changes, at).min(next_of(self.shared_changes, at));
        (self.code.name_in(self.mappings, address, at), until)
    }

    fn found(&self, role: Role) -> Found {
        match role {
            Role::Leaf => Found::Ip,
            Role::Caller => Found::TraceStack,
        }
    }
}

fn unmapped(address: Avma) -> Named {
    let (name, kind) = match address >= KERNEL {
        true => (format!("[kernel code at {address}]"), CodeKind::Kernel),
        false => (format!("[unmapped {address}]"), CodeKind::Unknown),
    };
    Named { name, module: None, kind, source: NameSource::None(Unnamed::NoMapping), line: None }
}
