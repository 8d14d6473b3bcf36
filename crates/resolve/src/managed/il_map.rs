//! Which IL the native code of jitted bodies comes from.

use rustc_hash::FxHashMap;
use std::rc::Rc;
use strata_address::AvmaRange;
use strata_clrimage::{IlOffset, NativeMapping};
use strata_nettrace::runtime::{IlOffset as Told, MethodEvent, MethodIlMap, Occasion};

/// A body: where it is, and the runtime's id of its method.
pub(super) type BodyKey = (AvmaRange, u64);

/// From bytes behind a body's start to IL, sorted by the former.
pub(crate) type IlMap = Rc<[NativeMapping]>;

fn map_of(event: &MethodIlMap<'_>) -> IlMap {
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
    map.into()
}

/// The map of a body that takes over in the middle of a method. What comes first in it is no beginning of the method, and
/// the JIT forgets which IL it is entered at.
pub(super) fn of_replacement(map: &IlMap) -> IlMap {
    let entry = |row: &NativeMapping| match row.il_offset {
        IlOffset::Prolog => NativeMapping { il_offset: IlOffset::NoMapping, ..*row },
        _ => *row,
    };
    map.iter().map(entry).collect()
}

/// Brings maps and bodies together. A map does not say where its body is: it comes right behind the event of a body that
/// was loaded, and right before that of one that is listed or goes, from the same thread.
#[derive(Debug, Default)]
pub(super) struct Pairing {
    last_of_thread: FxHashMap<u64, Last>,
    maps: FxHashMap<BodyKey, IlMap>,
}

#[derive(Debug)]
enum Last {
    Loaded { body: BodyKey, code_version: u64 },
    Map { method_id: u64, map: IlMap },
}

impl Pairing {
    /// The event of a body came from a thread.
    pub(super) fn body(&mut self, thread: u64, occasion: Occasion, event: &MethodEvent<'_>) {
        let last = self.last_of_thread.remove(&thread);
        let Some(range) = event.range() else { return };
        let body = (range, event.method_id);
        match (occasion, last) {
            (Occasion::Load, _) => {
                let loaded = Last::Loaded { body, code_version: event.code_version };
                self.last_of_thread.insert(thread, loaded);
            }
            (_, Some(Last::Map { method_id, map })) if method_id == event.method_id => {
                self.maps.insert(body, map);
            }
            _ => {}
        }
    }

    /// The event of a map came from a thread.
    pub(super) fn map(&mut self, thread: u64, event: &MethodIlMap<'_>) {
        let map = map_of(event);
        match self.last_of_thread.remove(&thread) {
            // Maps of older runtimes have no version.
            Some(Last::Loaded { body, code_version })
                if body.1 == event.method_id && [0, code_version].contains(&event.code_version) =>
            {
                self.maps.insert(body, map);
            }
            _ => {
                self.last_of_thread.insert(thread, Last::Map { method_id: event.method_id, map });
            }
        }
    }

    /// The maps of bodies, by body.
    pub(super) fn finish(self) -> FxHashMap<BodyKey, IlMap> {
        self.maps
    }
}
