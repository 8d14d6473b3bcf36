//! Names for the stacks of events, one event after the other.

use super::images::FoundImages;
use super::machine::MachineCode;
use super::names::{CodeInTime, Role};
use super::runtime_code::RuntimeCode;
use super::{ImageFiles, TraceReader, moment};
use crate::symbols::Named;
use rustc_hash::FxHashMap;
use std::rc::Rc;
use strata_address::Avma;
use strata_nettrace::{Event, Summary, TraceInfo};
use strata_profile::{NameSource, Timestamp};
use strata_recording::StreamKind;

/// What was where in a traced process, or in those of a machine, and when, by all that its stream says.
pub struct TraceCode<'f> {
    code: Code<'f>,
    trace: Option<TraceInfo>,
}

enum Code<'f> {
    Process { code: RuntimeCode<'f>, known: FxHashMap<Avma, Known> },
    Machine(MachineCode),
}

/// What an address was called at a time, and at later ones before another.
struct Known {
    name: Option<Rc<FrameName>>,
    from: Timestamp,
    until: Timestamp,
}

/// One frame of an event's stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracedFrame {
    /// The instruction that was to run next, or a return address.
    pub address: Avma,
    /// What it is called, where that is known.
    pub name: Option<Rc<FrameName>>,
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
        let trace = self.trace;
        if self.tells_processes() {
            return TraceCode { code: Code::Machine(self.machine.into_code()), trace };
        }
        self.code.stream_ended(&self.file, summary, self.first_problem, StreamKind::Live);
        let images = FoundImages::find(&self.evidence, images);
        let code = RuntimeCode { managed: self.code.finish(), images };
        TraceCode { code: Code::Process { code, known: FxHashMap::default() }, trace }
    }
}

impl TraceCode<'_> {
    /// The frames of an event's stack, leaf first: the instruction that was to run next, then the return addresses of its
    /// callers.
    pub fn frames(&mut self, event: &Event<'_>) -> Vec<TracedFrame> {
        let at = moment(self.trace, event.header.time);
        let addresses = event.stack.iter().flat_map(|stack| stack.addresses());
        let frames = addresses.enumerate().map(|(position, address)| {
            let role = if position == 0 { Role::Leaf } else { Role::Caller };
            let looked_up = role.looked_up(address);
            let name = match &mut self.code {
                Code::Process { code, known } => name(code, known, looked_up, at),
                Code::Machine(code) => code.name(event, looked_up, at).and_then(frame_name),
            };
            TracedFrame { address, name }
        });
        frames.collect()
    }
}

fn name(
    code: &mut RuntimeCode<'_>,
    known: &mut FxHashMap<Avma, Known>,
    address: Avma,
    at: Timestamp,
) -> Option<Rc<FrameName>> {
    if let Some(known) = known.get(&address).filter(|known| (known.from..known.until).contains(&at)) {
        return known.name.clone();
    }
    let (named, until) = code.name(address, at);
    let name = frame_name(named);
    known.insert(address, Known { name: name.clone(), from: at, until });
    name
}

fn frame_name(named: Named) -> Option<Rc<FrameName>> {
    let Named { name, module, source, .. } = named;
    let is_named = !matches!(source, NameSource::None(_));
    is_named.then(|| Rc::new(FrameName { function: name, module: module.map(|module| module.name) }))
}
