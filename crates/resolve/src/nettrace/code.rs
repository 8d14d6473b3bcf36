//! Names for the stacks of events, one event after the other.

use super::images::FoundImages;
use super::names::{CodeInTime, Role};
use super::runtime_code::RuntimeCode;
use super::{ImageFiles, TraceReader};
use crate::symbols::Named;
use rustc_hash::FxHashMap;
use std::rc::Rc;
use strata_address::Avma;
use strata_nettrace::{Event, Summary, TraceInfo};
use strata_profile::{NameSource, Timestamp};
use strata_recording::StreamKind;

/// What was where in a traced process, by all that its stream says, at a moment that only moves forward. A stream of a whole
/// machine names nothing here.
pub struct TraceCode<'f> {
    code: RuntimeCode<'f>,
    trace: Option<TraceInfo>,
    known: FxHashMap<Avma, Option<Rc<FrameName>>>,
}

/// What a frame is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrameName {
    /// The function.
    pub function: String,
    /// The short name of its module, where it has one.
    pub module: Option<String>,
}

impl TraceReader<'_> {
    /// The stream ended like this: gives what names the stacks of its events, instead of a profile.
    pub fn into_code<'f>(mut self, summary: &Summary, images: &ImageFiles<'f>) -> TraceCode<'f> {
        self.code.stream_ended(&self.file, summary, self.first_problem, StreamKind::Live);
        let images = FoundImages::find(&self.evidence, images);
        let code = RuntimeCode { managed: self.code.finish(), images };
        TraceCode { code, trace: self.trace, known: FxHashMap::default() }
    }
}

impl TraceCode<'_> {
    /// The frames of an event's stack, leaf first: the instruction that was to run next, then the return addresses of its
    /// callers; each with its name where one is known. Events come in the order of time.
    pub fn frames(&mut self, event: &Event<'_>) -> Vec<(Avma, Option<Rc<FrameName>>)> {
        let time = event.header.time;
        if self.code.advance(Timestamp(self.trace.map_or(time, |trace| trace.nanoseconds(time)))) {
            self.known.clear();
        }
        let addresses = event.stack.iter().flat_map(|stack| stack.addresses());
        let frames = addresses.enumerate().map(|(position, address)| {
            let role = if position == 0 { Role::Leaf } else { Role::Caller };
            (address, self.name(role.looked_up(address)))
        });
        frames.collect()
    }

    fn name(&mut self, address: Avma) -> Option<Rc<FrameName>> {
        let Self { code, known, .. } = self;
        known.entry(address).or_insert_with(|| frame_name(code.name(address))).clone()
    }
}

fn frame_name(named: Named) -> Option<Rc<FrameName>> {
    let Named { name, module, source, .. } = named;
    let is_named = !matches!(source, NameSource::None(_));
    is_named.then(|| Rc::new(FrameName { function: name, module: module.map(|module| module.name) }))
}
