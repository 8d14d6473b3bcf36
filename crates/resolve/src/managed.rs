//! Managed code of one process, from the event streams of its runtime.

mod il_map;
mod lives;
pub(crate) mod method_name;
mod modules;
#[cfg(test)]
mod tests;

pub use method_name::display as method_display_name;
pub(crate) use method_name::is_il_stub;
pub(crate) use modules::ModuleFile;

use crate::code_map::CodeMap;
pub(crate) use il_map::IlMap;
use il_map::Pairing;
use lives::{BodyEvent, What, lives};
use modules::Modules;
use rustc_hash::FxHashSet;
use std::rc::Rc;
use strata_address::{Avma, AvmaRange};
use strata_nettrace::runtime::{MethodEvent, ModuleEvent, Occasion, RuntimeEvent};
use strata_nettrace::{Decoder, Item, StreamEnd, Summary, TraceInfo};
use strata_profile::{CodeKind, Gap, Loss, NameSource, Tier, Timestamp};
use strata_recording::StreamKind;

/// One body of a method.
#[derive(Clone, Debug)]
pub(crate) struct Method {
    /// Display name.
    pub(crate) name: String,
    /// The module it is from; none for code that was made while running.
    pub(crate) module: Option<Rc<ModuleFile>>,
    pub(crate) kind: CodeKind,
    pub(crate) source: NameSource,
    pub(crate) home: Home,
    pub(crate) il: Il,
}

/// What a body was compiled from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Il {
    /// Metadata token of the method, 0 where it has none.
    pub(crate) token: u32,
    /// Where the body begins.
    pub(crate) start: Avma,
    pub(crate) map: Option<IlMap>,
}

impl Il {
    /// Row of the method in its module's table, its map, and how far behind the body's start an address is.
    pub(crate) fn place(&self, address: Avma) -> Option<(u32, &IlMap, u32)> {
        const METHOD_DEFINITION: u32 = 0x06;
        let row = self.token & 0x00ff_ffff;
        let native_offset = u32::try_from(address.offset_from(self.start)?).ok()?;
        let map = self.map.as_ref()?;
        (self.token >> 24 == METHOD_DEFINITION && row != 0).then_some((row, map, native_offset))
    }
}

/// Where the runtime keeps a body. A mapping of another kind at the address is something newer than the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Home {
    /// In memory it wrote itself.
    Memory,
    /// In an image with precompiled code: a `.dll`, a part of a single-file program, or a copy of either in memory.
    Image,
    /// In the runtime's own library, or in memory it copied it to: helpers of the JIT.
    Runtime,
}

/// All methods of one process and when they were where.
#[derive(Debug, Default)]
pub(crate) struct ManagedCode {
    methods: Vec<Method>,
    map: CodeMap,
    /// What is missing from the streams.
    pub(crate) missing: Missing,
    /// Whether the runtime listed all methods it had jitted, so that other code in its memory is no method.
    pub(crate) lists_all: bool,
    /// Streams that end early or are damaged.
    pub(crate) damage: Vec<Gap>,
}

impl ManagedCode {
    /// Adds what is missing from its streams to a profile's loss.
    pub(crate) fn tell_loss(&mut self, loss: &mut Loss) {
        loss.runtime_events = loss.runtime_events.saturating_add(self.missing.lost);
        loss.undecodable_events = loss.undecodable_events.saturating_add(self.missing.undecodable);
        loss.nameless_methods = loss.nameless_methods.saturating_add(self.missing.nameless);
        loss.unpaired_maps = loss.unpaired_maps.saturating_add(self.missing.unpaired_maps);
        loss.gaps.append(&mut self.damage);
    }

    /// These methods; the code of each life is a place among them.
    #[cfg(test)]
    pub(crate) fn of(methods: Vec<Method>, lives: Vec<crate::code_map::Life>) -> Self {
        Self { methods, map: CodeMap::new(&lives), ..Self::default() }
    }

    /// The process ended or runs another program from `at` on.
    pub(crate) fn end(&mut self, at: Timestamp) {
        self.map.begin_program(at);
    }

    /// The code at an address at a time; the answer is the same for later times before the one beside it.
    pub(crate) fn look_up(&self, address: Avma, at: Timestamp) -> (Option<&Method>, Timestamp) {
        let answer = self.map.look_up(address, at);
        (answer.code.and_then(|code| self.methods.get(code as usize)), answer.until)
    }

    /// What is there after all that the streams tell, in the order of addresses.
    pub(crate) fn remaining(&self) -> impl Iterator<Item = (AvmaRange, &Method)> {
        self.map.remaining().filter_map(|(range, code)| Some((range, self.methods.get(code as usize)?)))
    }
}

/// What is missing from the streams of one process, in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Missing {
    /// Events that the runtime dropped.
    pub(crate) lost: u64,
    /// Events that came but whose content is not what such an event holds.
    pub(crate) undecodable: u64,
    /// Bodies that were told of without a name, and that nothing else named.
    pub(crate) nameless: u64,
    /// Lists of which IL a body comes from, whose body nothing told of.
    pub(crate) unpaired_maps: u64,
}

/// Gathers what the streams of one process say.
#[derive(Debug, Default)]
pub(crate) struct ManagedReader {
    events: Vec<BodyEvent>,
    /// Bodies told of without a name: where, and the runtime's id of the method.
    nameless: FxHashSet<(AvmaRange, u64)>,
    modules: Modules,
    il_maps: Pairing,
    missing: Missing,
    lists_all: bool,
    damage: Vec<Gap>,
}

impl ManagedReader {
    /// Reads one stream. `monotonic_offset_ns` is how far the target's clock is ahead of the recorder's.
    pub(crate) fn read(&mut self, file: &str, kind: StreamKind, bytes: &[u8], monotonic_offset_ns: i64) {
        let mut decoder = Decoder::new();
        let mut trace: Option<TraceInfo> = None;
        let mut first_problem = None;
        let on_our_clock = |trace: Option<&TraceInfo>, ticks| {
            let nanoseconds = trace.map_or(ticks, |trace| trace.nanoseconds(ticks));
            Timestamp(nanoseconds.saturating_add_signed(monotonic_offset_ns.saturating_neg()))
        };
        let mut sink = |item: Item<'_>| match item {
            Item::Trace(info) => trace = Some(info),
            Item::Problem(problem) => first_problem = first_problem.or(Some(problem.offset)),
            Item::Event(event) => {
                let at = on_our_clock(trace.as_ref(), event.header.time);
                match RuntimeEvent::decode(&event) {
                    Ok(Some(decoded)) => self.event(&decoded, event.header.capture_thread, at, kind),
                    Ok(None) => {}
                    Err(_) => self.undecodable(),
                }
            }
            _ => {}
        };
        let read = decoder.feed(bytes, &mut sink).and_then(|()| decoder.finish(&mut sink));
        match read {
            Ok(summary) => self.stream_ended(file, &summary, first_problem, kind),
            Err(refused) => {
                self.il_maps.end_stream();
                self.damage.push(Gap::FileCut { file: file.to_owned(), offset: 0, problem: refused.to_string() });
            }
        }
    }

    /// Takes the next event of a stream.
    pub(crate) fn event(&mut self, event: &RuntimeEvent<'_>, capture_thread: u64, at: Timestamp, kind: StreamKind) {
        self.pair(capture_thread, event);
        self.take(event, at, kind);
    }

    /// The content of the next event is not what such an event holds.
    pub(crate) fn undecodable(&mut self) {
        self.missing.undecodable = self.missing.undecodable.saturating_add(1);
    }

    /// The stream ends; in the next one the same threads begin anew.
    pub(crate) fn stream_ended(&mut self, file: &str, summary: &Summary, first_problem: Option<u64>, kind: StreamKind) {
        self.il_maps.end_stream();
        let damage = |offset, problem| Gap::FileCut { file: file.to_owned(), offset, problem };
        let lost = summary.loss.lost.saturating_add(summary.loss.unknown);
        self.missing.lost = self.missing.lost.saturating_add(lost);
        match summary.end {
            StreamEnd::Cut { .. } => {
                self.damage.push(Gap::StreamCut { file: file.to_owned(), bytes: summary.bytes });
            }
            StreamEnd::Damaged { offset } => {
                self.damage.push(damage(offset, "it is no event stream any more".to_owned()));
            }
            StreamEnd::Complete if summary.problems.total() > 0 => {
                self.damage.push(damage(first_problem.unwrap_or(0), damaged_parts(summary.problems.total())));
            }
            StreamEnd::Complete => self.lists_all |= kind == StreamKind::Attach,
        }
    }

    fn pair(&mut self, thread: u64, event: &RuntimeEvent<'_>) {
        match event {
            RuntimeEvent::Method(occasion, method) => self.il_maps.body(thread, *occasion, method),
            RuntimeEvent::MethodIlMap(_, map) => self.il_maps.map(thread, map),
            _ => {}
        }
    }

    fn take(&mut self, event: &RuntimeEvent<'_>, at: Timestamp, kind: StreamKind) {
        match event {
            RuntimeEvent::Method(Occasion::Load, method) => self.body(method, at, What::Born, NameSource::JitEvent),
            // A runtime that ends tells of all its code once more, as unloads. Only code that was made while running is
            // really unloaded by itself; the others stay until something else takes their place.
            RuntimeEvent::Method(Occasion::Unload, method) => {
                self.lists_all |= !method.flags.is_dynamic();
                let what = if method.flags.is_dynamic() { What::Gone } else { What::Listed };
                self.body(method, at, what, NameSource::JitEvent);
            }
            RuntimeEvent::Method(Occasion::RundownStart | Occasion::RundownEnd, method) => {
                let source = match kind {
                    StreamKind::Attach => NameSource::Snapshot,
                    StreamKind::Live => NameSource::Rundown,
                };
                self.body(method, at, What::Listed, source);
            }
            RuntimeEvent::Module(_, module) => self.module(module, at),
            _ => {}
        }
    }

    fn module(&mut self, module: &ModuleEvent<'_>, at: Timestamp) {
        let path = module.il_path.to_string();
        let path = if path.is_empty() { module.native_path.to_string() } else { path };
        if !path.is_empty() {
            let pdb = module.managed_pdb.filter(|pdb| pdb.signature.0 != [0; 16]);
            let pdb = pdb.map(|pdb| (pdb.signature.0, pdb.build_path.to_string().into()));
            self.modules.told(module.module_id, at, ModuleFile { path: path.into(), pdb });
        }
    }

    fn body(&mut self, event: &MethodEvent<'_>, at: Timestamp, what: What, source: NameSource) {
        let Some(range) = event.range() else { return };
        // Without a name (a method announced at a lower level of detail) another event has to tell it.
        let Some(names) = &event.names else {
            self.nameless.insert((range, event.method_id));
            return;
        };
        let (namespace, name) = (names.namespace.to_string(), names.name.to_string());
        let method = Method {
            name: method_name::display(&namespace, &name, &names.signature.to_string()),
            module: None,
            kind: kind_of(event, &namespace, &name),
            source,
            home: home_of(event),
            il: Il { token: event.token, start: event.start, map: None },
        };
        let (method_id, module_id) = (event.method_id, event.module_id);
        self.events.push(BodyEvent { range, method_id, module_id, at, what, method });
    }

    /// Puts everything in its place in time.
    pub(crate) fn finish(self) -> ManagedCode {
        let Self { events, mut nameless, modules, il_maps, mut missing, lists_all, damage } = self;
        let (il_maps, unpaired_maps) = il_maps.finish();
        missing.unpaired_maps = unpaired_maps;
        for event in &events {
            nameless.remove(&(event.range, event.method_id));
        }
        missing.nameless = u64::try_from(nameless.len()).unwrap_or(u64::MAX);
        let (lives, bodies) = lives(events);
        let methods = bodies.into_iter().map(|BodyEvent { range, method_id, module_id, at, mut method, .. }| {
            method.module = modules.at(module_id, at).cloned();
            method.il.map = il_maps.get(&(range, method_id)).cloned();
            method
        });
        ManagedCode { methods: methods.collect(), map: CodeMap::new(&lives), missing, lists_all, damage }
    }
}

fn damaged_parts(count: u64) -> String {
    if count == 1 { "a part is damaged or cut".to_owned() } else { format!("{count} parts are damaged or cut") }
}

fn home_of(event: &MethodEvent<'_>) -> Home {
    if event.flags.is_jit_helper() {
        Home::Runtime
    } else if event.flags.is_jitted() || event.flags.is_dynamic() {
        Home::Memory
    } else {
        Home::Image
    }
}

fn kind_of(event: &MethodEvent<'_>, namespace: &str, name: &str) -> CodeKind {
    if event.flags.is_jit_helper() || event.flags.is_dynamic() && is_il_stub(namespace, name) {
        return CodeKind::Stub;
    }
    use strata_nettrace::runtime::Tier as Told;
    CodeKind::Jit(match event.flags.tier() {
        Told::ReadyToRun => return CodeKind::ReadyToRun,
        Told::MinOptJitted => Tier::MinOptJitted,
        Told::Optimized => Tier::Optimized,
        Told::QuickJitted => Tier::QuickJitted,
        Told::OptimizedTier1 => Tier::OptimizedTier1,
        Told::OptimizedTier1Osr => Tier::OptimizedTier1OSR,
        Told::QuickJittedInstrumented => Tier::QuickJittedInstrumented,
        Told::OptimizedTier1Instrumented => Tier::OptimizedTier1Instrumented,
        Told::Unknown => Tier::Unknown,
    })
}
