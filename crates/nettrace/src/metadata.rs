//! Definitions of events.

use std::borrow::Cow;

use crate::cursor::Cursor;
use crate::fields::{self, Field, FieldType, Fields};
use crate::places::Places;
use crate::problem::Damage;
use crate::runtime::{Known, Schema};
use crate::six::MetadataDetails;
use crate::text::Utf16;
use crate::universal;

/// What the stream says about one kind of event.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Metadata {
    /// The id by which this stream's events name this definition.
    pub id: u32,
    /// Name of the provider, which is also its identity.
    pub provider: Box<str>,
    /// Id of the event within its provider.
    pub event_id: u32,
    /// Name of the event; empty for the runtime's own events.
    pub name: Box<str>,
    /// Keywords by which a session can ask for the event.
    pub keywords: u64,
    /// Version of the payload.
    pub version: u32,
    /// Level: 1 critical to 5 verbose, 0 always.
    pub level: u32,
    /// Opcode as stated by the stream (from version 5 on); see [`Metadata::opcode`].
    pub stated_opcode: Option<u8>,
    /// Fields of the payload.
    pub fields: Fields,
    /// What only version 6 can say, if the stream says any of it.
    pub details: Option<Box<MetadataDetails>>,
    /// Which of the runtime's events this is: looked up once, here, so that no event compares names.
    pub(crate) known: Option<Known>,
    /// Which event of the conventions for whole machines this is; looked up once, too.
    pub(crate) universal: Option<universal::Kind>,
    /// What this crate knows of the event where the stream says nothing; looked up once, too.
    pub(crate) schema: Option<&'static Schema>,
    /// The definition behind its id as the stream has it, for writing it again.
    pub(crate) raw: Box<[u8]>,
}

/// Opcode of an event that opens a span.
const START: u8 = 1;
/// Opcode of an event that closes a span.
const STOP: u8 = 2;

impl Metadata {
    /// The opcode that counts: 1 starts a span and 2 ends it.
    ///
    /// What the stream states wins unless it is 0 or absent; then a name that ends in `Start` means 1 and one that ends in
    /// `Stop` means 2, because older event sources say it only there. So pairs match whichever way they were written, and a
    /// stated opcode is never overruled by a name.
    pub fn opcode(&self) -> u8 {
        self.opcode_if_stated(self.stated_opcode)
    }

    /// The opcode that counts where this one is stated.
    pub(crate) fn opcode_if_stated(&self, stated: Option<u8>) -> u8 {
        match stated {
            Some(opcode) if opcode != 0 => opcode,
            _ if self.name.ends_with("Start") => START,
            _ if self.name.ends_with("Stop") => STOP,
            _ => 0,
        }
    }

    /// What to call the event: its name in the stream, else the runtime's name for it, else `Event(ID)`.
    pub fn display_name(&self) -> Cow<'_, str> {
        match self.schema {
            _ if !self.name.is_empty() => Cow::Borrowed(&self.name),
            Some(schema) => Cow::Borrowed(schema.name()),
            None => Cow::Owned(format!("Event({})", self.event_id)),
        }
    }

    /// The fields by which payloads are read: those the stream states, or for the runtime's own events, of which it states
    /// none, those this crate knows; `None` when nothing is known. Events that tell of a machine are read by their conventions
    /// ([`crate::universal`]), whatever the stream states.
    pub fn payload_fields(&self) -> Option<&[Field]> {
        self.payload_fields_with(self.schema)
    }

    /// The same where this is what the crate knows of the event.
    pub(crate) fn payload_fields_with(&self, schema: Option<&'static Schema>) -> Option<&[Field]> {
        if let Some(fields) = self.universal.and_then(universal::Kind::fields) {
            return Some(fields);
        }
        match (&self.fields, schema) {
            (Fields::Known(fields), _) if !fields.is_empty() => Some(match &fields[..] {
                // Event sources wrap what they are given as one object in a field without a name (their counters do).
                [Field { name, field_type: FieldType::Object(inner) }] if name.is_empty() => inner,
                fields => fields,
            }),
            (_, Some(schema)) => Some(schema.fields()),
            _ => None,
        }
    }

    /// Reads the payload of a metadata blob. An unreadable field list leaves the rest of the definition usable.
    pub(crate) fn read(payload: &[u8]) -> Result<Self, Damage> {
        let mut cursor = Cursor::new(payload);
        let id = cursor.u32()?;
        let raw = cursor.rest().into();
        let provider = Utf16::read(&mut cursor)?.to_string().into_boxed_str();
        let event_id = cursor.u32()?;
        let name = Utf16::read(&mut cursor)?.to_string().into_boxed_str();
        let keywords = cursor.u64()?;
        let version = cursor.u32()?;
        let level = cursor.u32()?;
        if id == 0 {
            return Err(Damage::BadSize);
        }
        let known = Known::find(&provider, event_id);
        let schema = Schema::find(&provider, event_id, version, &name);
        let universal = universal::Kind::find(&provider, &name);
        let mut metadata = Self {
            id,
            provider,
            event_id,
            name,
            keywords,
            version,
            level,
            stated_opcode: None,
            fields: Fields::Opaque,
            details: None,
            known,
            universal,
            schema,
            raw,
        };
        if let Ok(fields) = fields::read_v1(&mut cursor, 0) {
            metadata.fields = Fields::Known(fields);
            if metadata.read_tags(&mut cursor).is_err() {
                metadata.fields = Fields::Opaque;
            }
        }
        Ok(metadata)
    }

    fn read_tags(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Damage> {
        while !cursor.is_empty() {
            let size = cursor.u32()?;
            let kind = cursor.u8()?;
            let mut tag = Cursor::new(cursor.take(size as usize)?);
            match kind {
                1 => self.stated_opcode = Some(tag.u8()?),
                2 => {
                    let fields = fields::read_v2(&mut tag, 0)?;
                    if matches!(&self.fields, Fields::Known(v1) if v1.is_empty()) {
                        self.fields = Fields::Known(fields);
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// All definitions of the stream, found by id.
#[derive(Default)]
pub(crate) struct MetadataTable {
    all: Vec<Metadata>,
    /// Those that events can refer to.
    live: Places,
    /// The last one of each id, forgotten or not.
    latest: Places,
}

impl MetadataTable {
    pub(crate) fn all(&self) -> &[Metadata] {
        &self.all
    }

    #[inline]
    pub(crate) fn get(&self, id: u32) -> Option<&Metadata> {
        self.all.get(self.live.get(id.into())? as usize)
    }

    /// Adds a definition unless there is one with its id; says whether it did.
    pub(crate) fn define(&mut self, metadata: Metadata) -> bool {
        let id = u64::from(metadata.id);
        if self.live.get(id).is_some() {
            return false;
        }
        // A writer that lets its definitions be forgotten gives the same ones again and again.
        let latest = self.latest.get(id).filter(|place| self.all.get(*place as usize) == Some(&metadata));
        let Some(place) = latest.or(u32::try_from(self.all.len()).ok()) else { return false };
        if latest.is_none() {
            self.all.push(metadata);
            self.latest.set(id, place);
        }
        self.live.set(id, place);
        true
    }

    /// Forgets which ids stand for what; the definitions stay in [`MetadataTable::all`].
    pub(crate) fn forget(&mut self) {
        self.live = Places::default();
    }
}
