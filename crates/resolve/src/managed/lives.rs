//! Brings together what a runtime tells of one body: its birth, lists that have it, and its death.

use super::Method;
use crate::code_map::{CodeId, EARLY_NS, Life, Told};
use rustc_hash::FxHashMap;
use strata_address::AvmaRange;
use strata_profile::Timestamp;

/// One event about one body.
#[derive(Debug)]
pub(super) struct BodyEvent {
    pub(super) range: AvmaRange,
    /// The runtime's id of the method.
    pub(super) method_id: u64,
    pub(super) module_id: u64,
    pub(super) at: Timestamp,
    pub(super) what: What,
    pub(super) method: Method,
}

/// What happened to a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// It came to be.
    Born,
    /// It is there.
    Listed,
    /// It goes.
    Gone,
}

/// The lives of all bodies, in no order; each has a method, whose place is its code. `events` are in the order they were read,
/// whatever their times.
pub(super) fn lives(mut events: Vec<BodyEvent>) -> (Vec<Life>, Vec<BodyEvent>) {
    // (The sort is stable: events of one thread at one time keep their order.)
    events.sort_by_key(|event| event.at);
    let mut lives: Vec<Life> = Vec::with_capacity(events.len());
    let mut bodies: Vec<BodyEvent> = Vec::with_capacity(events.len());
    // Bodies that are there, as places in both tables.
    let mut alive: FxHashMap<(AvmaRange, u64), usize> = FxHashMap::default();
    for event in events {
        let BodyEvent { range, at, .. } = event;
        let key = (range, event.method_id);
        let known = alive.get(&key).and_then(|place| Some((lives.get_mut(*place)?, bodies.get_mut(*place)?)));
        let (told, until) = match (event.what, known) {
            (What::Born, Some((life, body))) if is_of_list_before(life, at) => {
                life.told = Told::Born(at);
                *body = event;
                continue;
            }
            (What::Listed, Some(_)) => continue,
            (What::Gone, Some((life, _))) => {
                life.until = Some(at);
                alive.remove(&key);
                continue;
            }
            (What::Born, _) => (Told::Born(at), None),
            (What::Listed, None) => (Told::Listed(at), None),
            (What::Gone, None) => (Told::Listed(at), Some(at)),
        };
        let Ok(code) = CodeId::try_from(lives.len()) else { break };
        if until.is_none() {
            alive.insert(key, lives.len());
        }
        lives.push(Life { range, told, until, code });
        bodies.push(event);
    }
    (lives, bodies)
}

/// Whether a life is that of a body which is born just now: a list may have it a moment before its birth is told of.
fn is_of_list_before(life: &Life, born: Timestamp) -> bool {
    matches!(life.told, Told::Listed(listed) if born.0.saturating_sub(listed.0) <= EARLY_NS)
}
