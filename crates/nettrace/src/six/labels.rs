//! Labels: what an event can have beside its payload, in lists that many events can share.

use core::fmt;
use std::borrow::Cow;
use std::collections::HashMap;

use super::attributes::read_text;
use crate::cursor::Cursor;
use crate::event::Guid;
use crate::problem::{Damage, ProblemKind};

/// One label of an event.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Label<'a> {
    /// The activity the event belongs to.
    Activity(Guid),
    /// An activity related to it.
    RelatedActivity(Guid),
    /// Trace id of W3C Trace Context, in the byte order of its hexadecimal text.
    TraceId([u8; 16]),
    /// Span id of W3C Trace Context.
    SpanId(u64),
    /// A text under a key.
    Text(Cow<'a, str>, Cow<'a, str>),
    /// A number under a key.
    Number(Cow<'a, str>, i64),
    /// Overrules the opcode of the event's definition.
    Opcode(u8),
    /// Overrules the keywords of the event's definition.
    Keywords(u64),
    /// Overrules the level of the event's definition.
    Level(u8),
    /// Overrules the version of the event's definition.
    Version(u8),
}

/// Set in the kind of the last label of a list.
const LAST: u8 = 0x80;
const ACTIVITY: u8 = 1;
const RELATED_ACTIVITY: u8 = 2;

/// Why a label cannot be read.
enum Unreadable {
    Damaged(Damage),
    /// It has this kind, which is not known; how long it is, is not known then either.
    Unknown(u8),
}

impl From<Damage> for Unreadable {
    fn from(damage: Damage) -> Self {
        Self::Damaged(damage)
    }
}

impl<'a> Label<'a> {
    /// Reads a label; says also whether it is the last one of its list.
    fn read(cursor: &mut Cursor<'a>) -> Result<(Self, bool), Unreadable> {
        let kind = cursor.u8()?;
        let label = match kind & !LAST {
            ACTIVITY => Self::Activity(Guid(*cursor.array()?)),
            RELATED_ACTIVITY => Self::RelatedActivity(Guid(*cursor.array()?)),
            3 => Self::TraceId(*cursor.array()?),
            4 => Self::SpanId(cursor.u64()?),
            5 => Self::Text(read_text(cursor)?, read_text(cursor)?),
            6 => Self::Number(read_text(cursor)?, cursor.vari64()?),
            7 => Self::Opcode(cursor.u8()?),
            8 => Self::Keywords(cursor.u64()?),
            9 => Self::Level(cursor.u8()?),
            10 => Self::Version(cursor.u8()?),
            unknown => return Err(Unreadable::Unknown(unknown)),
        };
        Ok((label, kind & LAST != 0))
    }
}

/// The labels of one event.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Labels<'a>(&'a [u8]);

impl<'a> Labels<'a> {
    pub(crate) const NONE: Self = Self(&[]);

    /// Labels copied to another place.
    pub(crate) fn from_bytes(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// The labels as the stream has them.
    pub(crate) fn as_bytes(&self) -> &'a [u8] {
        self.0
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The labels in the order of the stream.
    pub fn iter(&self) -> impl Iterator<Item = Label<'a>> + 'a {
        let mut cursor = Cursor::new(self.0);
        core::iter::from_fn(move || Label::read(&mut cursor).ok().map(|(label, _)| label))
    }

    pub(super) fn activity(&self) -> Option<&'a [u8; 16]> {
        self.find_guid(ACTIVITY)
    }

    pub(super) fn related_activity(&self) -> Option<&'a [u8; 16]> {
        self.find_guid(RELATED_ACTIVITY)
    }

    fn find_guid(&self, kind: u8) -> Option<&'a [u8; 16]> {
        let mut cursor = Cursor::new(self.0);
        loop {
            let label = cursor.rest();
            if label.first()? & !LAST == kind {
                return label.get(1..)?.first_chunk();
            }
            Label::read(&mut cursor).ok()?;
        }
    }
}

impl fmt::Debug for Labels<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// Where a list is in the table's bytes.
#[derive(Clone, Copy)]
struct Place {
    start: usize,
    bytes: u32,
}

/// The lists defined since the last sequence point, as bytes known to be whole labels: lists are made when they are asked
/// for, so that a stream of many tiny ones costs little more memory than its bytes.
#[derive(Default)]
pub(crate) struct LabelTable {
    arena: Vec<u8>,
    /// Lists one after the other, from `first_id` on.
    run: Vec<Place>,
    first_id: u32,
    /// Lists whose id does not go on with the run.
    strays: HashMap<u32, Place>,
}

impl LabelTable {
    pub(super) fn get(&self, id: u32) -> Option<Labels<'_>> {
        let place = match self.run.get(id.wrapping_sub(self.first_id) as usize) {
            Some(place) => place,
            None => self.strays.get(&id)?,
        };
        let end = place.start.checked_add(place.bytes as usize)?;
        self.arena.get(place.start..end).map(Labels)
    }

    /// Forgets all lists: their ids start again after a sequence point.
    pub(super) fn forget(&mut self) {
        self.arena.clear();
        self.run.clear();
        self.strays.clear();
    }

    /// Takes in the content of a block. Lists before the damage, if there is any, stay.
    ///
    /// `problem` is told what was found, with its position in `content`.
    pub(super) fn read_block(
        &mut self,
        content: &[u8],
        mut problem: impl FnMut(ProblemKind, usize, i64),
    ) -> Result<(), (Damage, usize)> {
        let mut cursor = Cursor::new(content);
        let header = |cursor: &mut Cursor<'_>| Ok((cursor.u32()?, cursor.u32()?));
        let (first_id, count) = header(&mut cursor).map_err(|damage| (damage, 0))?;
        // The shortest list is a label of two bytes, so this bounds the work by the bytes present.
        if u64::from(count).saturating_mul(2) > cursor.remaining() as u64 {
            return Err((Damage::BadSize, 4));
        }
        let base = self.arena.len();
        self.arena.extend_from_slice(content);
        for index in 0..count {
            let start = cursor.position();
            loop {
                let at = cursor.position();
                match Label::read(&mut cursor) {
                    Ok((_, true)) => break,
                    Ok((_, false)) => {}
                    Err(Unreadable::Damaged(damage)) => return Err((damage, at)),
                    Err(Unreadable::Unknown(kind)) => {
                        problem(ProblemKind::UnknownEntry, at, kind.into());
                        return Ok(());
                    }
                }
            }
            let bytes = cursor.position().wrapping_sub(start) as u32;
            let id = first_id.checked_add(index).ok_or((Damage::BadSize, start))?;
            if id == 0 {
                problem(ProblemKind::ReservedLabels, start, 0);
            } else if !self.define(id, Place { start: base.saturating_add(start), bytes }) {
                problem(ProblemKind::DuplicateLabels, start, id.into());
            }
        }
        Ok(())
    }

    /// Adds a list, in the place of one with its id if there is one; says whether there was none.
    fn define(&mut self, id: u32, place: Place) -> bool {
        if self.run.is_empty() {
            self.first_id = id;
        }
        let in_run = id.wrapping_sub(self.first_id) as usize;
        if in_run == self.run.len() {
            self.run.push(place);
            self.strays.remove(&id).is_none()
        } else if let Some(defined) = self.run.get_mut(in_run) {
            *defined = place;
            false
        } else {
            self.strays.insert(id, place).is_none()
        }
    }
}
