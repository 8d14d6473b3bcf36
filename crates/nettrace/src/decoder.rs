//! The decoder: bytes in, items out.

use crate::block::{Block, Contents, Extent};
use crate::dialect::{Dialect, NoTrace};
use crate::event::Item;
use crate::framing::{EndTag, Object, Step};
use crate::header::{self, Refused, Start};
use crate::loss::Loss;
use crate::metadata::Metadata;
use crate::problem::{BlockKind, Problem, ProblemKind};
use crate::six::Attributes;
use crate::summary::{BlockCounts, CutBlock, StreamEnd, Summary};
use crate::trace::TraceInfo;

/// Turns the bytes of a nettrace stream into items, in whatever pieces the bytes come.
///
/// Keeps at most one incomplete block, and the definitions of events and stacks that later blocks refer to.
#[derive(Default)]
pub struct Decoder {
    stage: Stage,
    /// The bytes of an object that is not complete yet.
    pending: Vec<u8>,
    /// How many bytes `pending` needs before looking at it again is of use.
    needed: usize,
    /// Bytes of the stream before `pending`.
    offset: u64,
    /// Bytes fed.
    bytes: u64,
    trace: Option<TraceInfo>,
    attributes: Attributes,
    blocks: BlockCounts,
    contents: Contents,
}

#[derive(Default)]
enum Stage {
    #[default]
    Start,
    Objects(Dialect),
    Ended,
    Damaged {
        offset: u64,
    },
    Refused(Refused),
}

impl Decoder {
    /// A decoder at the start of a stream.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next bytes of the stream and hands to `sink` every item that they complete.
    ///
    /// # Errors
    ///
    /// [`Refused`] when this is not a stream that can be read at all; feeding more gives the same error again. What is
    /// damaged in a readable stream is an [`Item::Problem`], not an error.
    pub fn feed(&mut self, bytes: &[u8], sink: &mut impl FnMut(Item<'_>)) -> Result<(), Refused> {
        self.bytes = self.bytes.saturating_add(bytes.len() as u64);
        let mut bytes = bytes;
        while !self.pending.is_empty() && !bytes.is_empty() {
            let missing = self.needed.saturating_sub(self.pending.len());
            let (taken, rest) = bytes.split_at(missing.min(bytes.len()));
            self.pending.extend_from_slice(taken);
            bytes = rest;
            if self.pending.len() < self.needed {
                break;
            }
            let mut pending = core::mem::take(&mut self.pending);
            let used = self.advance(&pending, sink)?;
            pending.drain(..used);
            self.pending = pending;
        }
        if !bytes.is_empty() {
            let used = self.advance(bytes, sink)?;
            self.pending.extend_from_slice(bytes.get(used..).unwrap_or_default());
        }
        Ok(())
    }

    /// Says that no more bytes will come: reads what is whole of a block that was cut, and sums up.
    ///
    /// # Errors
    ///
    /// [`Refused`] as from [`Decoder::feed`], and also when the stream was too short to tell before.
    pub fn finish(mut self, sink: &mut impl FnMut(Item<'_>)) -> Result<Summary, Refused> {
        let end = self.end(sink)?;
        Ok(Summary {
            trace: self.trace,
            attributes: self.attributes,
            end,
            bytes: self.bytes,
            events: self.contents.counts.tally.events,
            events_without_stack: self.contents.counts.tally.without_stack,
            times: self.contents.counts.tally.times,
            metadata: self.contents.definitions.metadata.all().len() as u64,
            stacks: self.contents.definitions.stacks.defined(),
            blocks: self.blocks,
            loss: self.contents.counts.losses.loss(),
            problems: self.contents.counts.problems,
        })
    }

    /// What the stream said about itself, once it did.
    pub fn trace(&self) -> Option<&TraceInfo> {
        self.trace.as_ref()
    }

    /// What else the stream said about itself (version 6), in its own words: the pairs of its trace block.
    pub fn attributes(&self) -> &Attributes {
        &self.attributes
    }

    /// The kinds of events defined so far, in the order of the stream.
    pub fn metadata(&self) -> &[Metadata] {
        self.contents.definitions.metadata.all()
    }

    /// What the runtime dropped so far.
    pub fn loss(&self) -> Loss {
        self.contents.counts.losses.loss()
    }

    /// Whether the stream said that it is complete.
    pub fn is_complete(&self) -> bool {
        matches!(self.stage, Stage::Ended)
    }

    /// Reads as much from the front of `bytes` as is complete, and returns how much that is.
    fn advance(&mut self, bytes: &[u8], sink: &mut impl FnMut(Item<'_>)) -> Result<usize, Refused> {
        let mut used = 0usize;
        loop {
            let rest = bytes.get(used..).unwrap_or_default();
            let taken = match &self.stage {
                Stage::Start => self.read_start(rest),
                Stage::Objects(dialect) => self.read_object(*dialect, rest, sink),
                Stage::Ended => Some(self.skip_trailing(rest, sink)),
                Stage::Damaged { .. } => Some(rest.len()),
                Stage::Refused(refused) => return Err(refused.clone()),
            };
            let Some(taken) = taken else { return Ok(used) };
            used = used.saturating_add(taken);
            self.offset = self.offset.saturating_add(taken as u64);
            if used >= bytes.len() && !matches!(self.stage, Stage::Refused(_)) {
                return Ok(bytes.len());
            }
        }
    }

    fn read_start(&mut self, bytes: &[u8]) -> Option<usize> {
        match header::read_start(bytes) {
            Start::Need(needed) => {
                self.needed = needed;
                None
            }
            Start::Objects(dialect, taken) => {
                self.stage = Stage::Objects(dialect);
                Some(taken)
            }
            Start::Refused(refused) => {
                self.stage = Stage::Refused(refused);
                Some(0)
            }
        }
    }

    /// Reads one object; `None` when it is not complete.
    fn read_object(&mut self, dialect: Dialect, bytes: &[u8], sink: &mut impl FnMut(Item<'_>)) -> Option<usize> {
        match dialect.read_object(bytes, self.offset) {
            Step::Need { bytes, .. } => {
                self.needed = bytes;
                None
            }
            Step::End { bytes } => {
                self.stage = Stage::Ended;
                Some(bytes)
            }
            Step::Broken { kind, at, value } => Some(self.stop(kind, at, Some(value), sink)),
            Step::Object { object, bytes, end } => {
                let taken = self.take_object(dialect, &object, Extent::Whole, sink);
                match (taken, end) {
                    (Taken::Stopped, _) => Some(0),
                    (Taken::Read, EndTag::Good) => Some(bytes),
                    (Taken::Read, EndTag::Bad(tag)) => {
                        Some(self.stop(ProblemKind::BadFraming, bytes, Some(i64::from(tag)), sink))
                    }
                }
            }
        }
    }

    /// Stops reading at `at` bytes from here.
    fn stop(&mut self, kind: ProblemKind, at: usize, value: Option<i64>, sink: &mut impl FnMut(Item<'_>)) -> usize {
        let offset = self.offset.saturating_add(at as u64);
        self.stage = Stage::Damaged { offset };
        self.contents.problem(Problem { kind, offset, block: None, value }, sink);
        at
    }

    fn take_object(
        &mut self,
        dialect: Dialect,
        object: &Object<'_>,
        extent: Extent,
        sink: &mut impl FnMut(Item<'_>),
    ) -> Taken {
        let offset = self.offset.saturating_add(object.content_at as u64);
        let problem = |kind, value| Problem { kind, offset, block: Some(object.kind), value };
        if object.kind == BlockKind::Trace {
            return self.take_trace(dialect, object, offset, sink);
        }
        let Some(trace) = &self.trace else {
            self.stop(ProblemKind::BadTrace, 0, None, sink);
            return Taken::Stopped;
        };
        self.blocks.count(object.kind);
        if object.kind == BlockKind::Unknown {
            self.contents.problem(problem(ProblemKind::UnknownBlock, object.number), sink);
        } else if let Some(reader) = dialect.newer_reader(object) {
            self.contents.problem(problem(ProblemKind::NewerBlock, Some(reader.into())), sink);
        } else {
            let block = Block { kind: object.kind, content: object.content, offset, extent };
            dialect.read_block(&mut self.contents, block, trace.pointer_size, sink);
        }
        Taken::Read
    }

    fn take_trace(
        &mut self,
        dialect: Dialect,
        object: &Object<'_>,
        offset: u64,
        sink: &mut impl FnMut(Item<'_>),
    ) -> Taken {
        let problem = |kind, offset| Problem { kind, offset, block: Some(object.kind), value: None };
        // Whatever a second one says, what was read by the first stays readable.
        if self.trace.is_some() {
            self.contents.problem(problem(ProblemKind::DuplicateTrace, offset), sink);
            return Taken::Read;
        }
        let opening = match dialect.read_trace(object) {
            Ok(opening) => opening,
            Err(NoTrace::Refused(refused)) => {
                self.stage = Stage::Refused(refused);
                return Taken::Stopped;
            }
            Err(NoTrace::Unusable) => {
                self.stop(ProblemKind::BadTrace, 0, None, sink);
                return Taken::Stopped;
            }
        };
        self.trace = Some(opening.info);
        self.attributes = opening.attributes;
        sink(Item::Trace(opening.info));
        if let Some((damage, at)) = opening.damage {
            self.contents.problem(problem(damage.into(), offset.saturating_add(at as u64)), sink);
        }
        Taken::Read
    }

    fn skip_trailing(&mut self, bytes: &[u8], sink: &mut impl FnMut(Item<'_>)) -> usize {
        if !bytes.is_empty() && self.contents.counts.problems.get(ProblemKind::TrailingBytes) == 0 {
            let problem = Problem { kind: ProblemKind::TrailingBytes, offset: self.offset, block: None, value: None };
            self.contents.problem(problem, sink);
        }
        bytes.len()
    }

    fn end(&mut self, sink: &mut impl FnMut(Item<'_>)) -> Result<StreamEnd, Refused> {
        let pending = core::mem::take(&mut self.pending);
        let mut cut = None;
        let mut missing = None;
        match &self.stage {
            Stage::Refused(refused) => return Err(refused.clone()),
            Stage::Ended => return Ok(StreamEnd::Complete),
            Stage::Damaged { offset } => return Ok(StreamEnd::Damaged { offset: *offset }),
            Stage::Start => {
                if let Some(refused) = header::judge_short(&pending) {
                    return Err(refused);
                }
            }
            Stage::Objects(dialect) => {
                let dialect = *dialect;
                if let Step::Need { bytes, begun: Some(object) } = dialect.read_object(&pending, self.offset) {
                    missing = bytes.checked_sub(pending.len()).and_then(|bytes| i64::try_from(bytes).ok());
                    cut = Some(CutBlock {
                        kind: object.kind,
                        offset: self.offset.saturating_add(object.content_at as u64),
                        declared: object.declared as u64,
                        present: object.content.len() as u64,
                    });
                    let extent = if object.content.len() == object.declared { Extent::Whole } else { Extent::Cut };
                    // A trace object is of use only as a whole.
                    if object.kind != BlockKind::Trace || extent == Extent::Whole {
                        self.take_object(dialect, &object, extent, sink);
                    }
                }
            }
        }
        // A block that needed only its end tag may have been the one that is wrong.
        match &self.stage {
            Stage::Refused(refused) => return Err(refused.clone()),
            Stage::Damaged { offset } => return Ok(StreamEnd::Damaged { offset: *offset }),
            _ => {}
        }
        let offset = self.bytes;
        let block = cut.map(|block| block.kind);
        self.contents.problem(Problem { kind: ProblemKind::Cut, offset, block, value: missing }, sink);
        Ok(StreamEnd::Cut { offset, block: cut })
    }
}

enum Taken {
    Read,
    Stopped,
}
