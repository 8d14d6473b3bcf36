//! Which IL the native code of jitted bodies comes from.

use rustc_hash::FxHashMap;
use std::rc::Rc;
use strata_address::AvmaRange;
use strata_clrimage::{IlOffset, NativeMapping};
use strata_nettrace::runtime::{IlOffset as Told, MethodEvent, MethodIlMap, Occasion, Tier};

/// A body: where it is, and the runtime's id of its method.
pub(super) type BodyKey = (AvmaRange, u64);

/// From bytes behind a body's start to IL, sorted by the former.
pub(crate) type IlMap = Rc<[NativeMapping]>;

fn map_of(event: &MethodIlMap<'_>) -> Vec<NativeMapping> {
    let mapping = |(native_offset, il)| {
        let il_offset = match il {
            Told::At(offset) => IlOffset::Offset(offset),
            Told::Prolog => IlOffset::Prolog,
            Told::Epilog => IlOffset::Epilog,
            Told::None => IlOffset::NoMapping,
        };
        NativeMapping { native_offset, il_offset }
    };
    let mut map: Vec<_> = event.entries().map(mapping).collect();
    map.sort_by_key(|mapping| mapping.native_offset);
    map
}

/// Brings maps and bodies together. A map does not say where its body is: it comes right behind the event of a body that
/// was loaded, and right before that of one that is listed or goes, from the same thread.
#[derive(Debug, Default)]
pub(super) struct Pairing {
    last_of_thread: FxHashMap<u64, Last>,
    maps: FxHashMap<BodyKey, IlMap>,
    /// Maps whose body did not come.
    unpaired: u64,
}

#[derive(Debug)]
enum Last {
    Loaded { body: Body, code_version: u64 },
    Map { method_id: u64, map: Vec<NativeMapping> },
}

#[derive(Clone, Copy, Debug)]
struct Body {
    key: BodyKey,
    /// Whether it takes over in the middle of a method.
    is_replacement: bool,
}

impl Body {
    fn of(event: &MethodEvent<'_>) -> Option<Self> {
        let is_replacement = event.flags.tier() == Tier::OptimizedTier1Osr;
        Some(Self { key: (event.range()?, event.method_id), is_replacement })
    }
}

impl Pairing {
    /// The event of a body came from a thread.
    pub(super) fn body(&mut self, thread: u64, occasion: Occasion, event: &MethodEvent<'_>) {
        let last = self.last_of_thread.remove(&thread);
        let body = Body::of(event);
        match (occasion, body, last) {
            (Occasion::Load, Some(body), last) => {
                self.drop(last);
                let loaded = Last::Loaded { body, code_version: event.code_version };
                self.last_of_thread.insert(thread, loaded);
            }
            (_, Some(body), Some(Last::Map { method_id, map })) if method_id == event.method_id => {
                self.pair(body, map);
            }
            (.., last) => self.drop(last),
        }
    }

    /// The event of a map came from a thread.
    pub(super) fn map(&mut self, thread: u64, event: &MethodIlMap<'_>) {
        let map = map_of(event);
        match self.last_of_thread.remove(&thread) {
            // Maps of older runtimes have no version.
            Some(Last::Loaded { body, code_version })
                if body.key.1 == event.method_id && [0, code_version].contains(&event.code_version) =>
            {
                self.pair(body, map);
            }
            last => {
                self.drop(last);
                self.last_of_thread.insert(thread, Last::Map { method_id: event.method_id, map });
            }
        }
    }

    fn pair(&mut self, body: Body, mut map: Vec<NativeMapping>) {
        if body.is_replacement {
            // What comes first in it is no beginning of the method, and the JIT forgets which IL it is entered at.
            let first = map.iter_mut().filter(|row| row.il_offset == IlOffset::Prolog);
            first.for_each(|row| row.il_offset = IlOffset::NoMapping);
        }
        self.maps.insert(body.key, map.into());
    }

    fn drop(&mut self, last: Option<Last>) {
        if let Some(Last::Map { .. }) = last {
            self.unpaired = self.unpaired.saturating_add(1);
        }
    }

    /// The stream ends; in another one the same threads begin anew.
    pub(super) fn end_stream(&mut self) {
        for (_, last) in std::mem::take(&mut self.last_of_thread) {
            self.drop(Some(last));
        }
    }

    /// The maps of bodies, by body, and how many maps had none.
    pub(super) fn finish(self) -> (FxHashMap<BodyKey, IlMap>, u64) {
        (self.maps, self.unpaired)
    }
}
