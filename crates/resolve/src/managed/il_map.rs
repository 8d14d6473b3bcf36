//! Which IL the native code of jitted bodies comes from.

use rustc_hash::FxHashMap;
use std::rc::Rc;
use strata_address::AvmaRange;
use strata_nettrace::runtime::{IlOffset, MethodEvent, MethodIlMap, Occasion};

/// A body: where it is, and the runtime's id of its method.
pub(super) type BodyKey = (AvmaRange, u64);

/// From bytes behind a body's start to IL, sorted by the former.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct IlMap(Box<[(u32, IlOffset)]>);

impl IlMap {
    pub(super) fn of(event: &MethodIlMap<'_>) -> Self {
        let mut entries: Box<[_]> = event.entries().collect();
        entries.sort_by_key(|(native, _)| *native);
        Self(entries)
    }

    /// The byte of the IL that the code at this offset does; `None` where no IL corresponds to it.
    pub(crate) fn at(&self, native: u32) -> Option<u32> {
        let before = self.0.get(..self.0.partition_point(|(start, _)| *start <= native))?;
        match before.last()?.1 {
            IlOffset::At(offset) => Some(offset),
            IlOffset::Prolog => Some(0),
            IlOffset::None => None,
            // It belongs to the return that it follows.
            IlOffset::Epilog => before.iter().rev().find_map(|(_, il)| match il {
                IlOffset::At(offset) => Some(*offset),
                _ => None,
            }),
        }
    }
}

/// Brings maps and bodies together. A map does not say where its body is: it comes right behind the event of a body that
/// was loaded, and right before that of one that is listed or goes, from the same thread.
#[derive(Debug, Default)]
pub(super) struct Pairing {
    last_of_thread: FxHashMap<u64, Last>,
    maps: FxHashMap<BodyKey, Rc<IlMap>>,
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
                self.maps.insert(body, Rc::new(map));
            }
            _ => {}
        }
    }

    /// The event of a map came from a thread.
    pub(super) fn map(&mut self, thread: u64, event: &MethodIlMap<'_>) {
        let map = IlMap::of(event);
        match self.last_of_thread.remove(&thread) {
            // Maps of older runtimes have no version.
            Some(Last::Loaded { body, code_version })
                if body.1 == event.method_id && [0, code_version].contains(&event.code_version) =>
            {
                self.maps.insert(body, Rc::new(map));
            }
            _ => {
                self.last_of_thread.insert(thread, Last::Map { method_id: event.method_id, map });
            }
        }
    }

    /// The maps of bodies, by body.
    pub(super) fn finish(self) -> FxHashMap<BodyKey, Rc<IlMap>> {
        self.maps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_belongs_to_the_il_that_begins_before_it() {
        let map = IlMap(Box::new([
            (0, IlOffset::Prolog),
            (4, IlOffset::At(0)),
            (9, IlOffset::At(5)),
            (9, IlOffset::At(6)),
            (20, IlOffset::None),
            (30, IlOffset::Epilog),
        ]));
        let check = |native, il| assert_eq!(map.at(native), il, "at {native}");
        check(0, Some(0));
        check(8, Some(0));
        check(9, Some(6));
        check(19, Some(6));
        check(25, None);
        check(400, Some(6));
        assert_eq!(IlMap(Box::default()).at(0), None);
    }
}
