//! Rows of metadata blocks: definitions of events.

use super::attributes::{Attributes, read_text};
use super::fields::read_fields;
use crate::cursor::Cursor;
use crate::event::Guid;
use crate::fields::Fields;
use crate::metadata::Metadata;
use crate::problem::Damage;
use crate::runtime::{Known, Schema};
use crate::universal;

/// What only version 6 can say about a kind of event.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MetadataDetails {
    /// Text with places for the fields.
    pub message_template: Option<Box<str>>,
    /// What the event is about.
    pub description: Option<Box<str>>,
    /// GUID of the provider.
    pub provider_guid: Option<Guid>,
    /// What else there is to say.
    pub attributes: Attributes,
}

/// A definition, and what of it could not be read.
pub(super) struct Row {
    pub(super) metadata: Metadata,
    /// Kind of the first optional entry that is not known, which ended the reading of them.
    pub(super) unknown_entry: Option<u8>,
    /// Whether the optional entries end where they should not.
    pub(super) bad_entries: bool,
}

impl Row {
    /// Reads a row without its size. An unreadable field list leaves the rest of the definition usable.
    pub(super) fn read(row: &mut Cursor<'_>) -> Result<Self, Damage> {
        let id = row.varu32()?;
        let provider: Box<str> = read_text(row)?.into();
        let event_id = row.varu32()?;
        let name: Box<str> = read_text(row)?.into();
        let universal = universal::Kind::find(&provider, &name);
        let known = Known::find(&provider, event_id);
        let metadata = Metadata {
            id,
            provider,
            event_id,
            name,
            keywords: 0,
            version: 0,
            level: 0,
            stated_opcode: None,
            fields: Fields::Opaque,
            details: None,
            raw: Box::default(),
            known,
            universal,
            schema: None,
        };
        let mut read = Self { metadata, unknown_entry: None, bad_entries: false };
        if let Ok(fields) = read_fields(row, 0) {
            read.metadata.fields = Fields::Known(fields);
            read.bad_entries = read.read_optional(row).is_err();
        }
        let metadata = &mut read.metadata;
        metadata.schema = Schema::find(&metadata.provider, event_id, metadata.version, &metadata.name);
        Ok(read)
    }

    fn read_optional(&mut self, row: &mut Cursor<'_>) -> Result<(), Damage> {
        // A row that ends here has nothing more to say.
        if row.is_empty() {
            return Ok(());
        }
        let size = row.u16()?;
        let mut entries = Cursor::new(row.take(size.into())?);
        let metadata = &mut self.metadata;
        let mut details = MetadataDetails::default();
        let result = loop {
            if entries.is_empty() {
                break Ok(());
            }
            match read_entry(&mut entries, metadata, &mut details) {
                Ok(None) => {}
                Ok(unknown) => {
                    self.unknown_entry = unknown;
                    break Ok(());
                }
                Err(damage) => break Err(damage),
            }
        };
        if details != MetadataDetails::default() {
            metadata.details = Some(Box::new(details));
        }
        result
    }
}

/// Reads one optional entry; gives its kind when that is not known.
fn read_entry(
    entries: &mut Cursor<'_>,
    metadata: &mut Metadata,
    details: &mut MetadataDetails,
) -> Result<Option<u8>, Damage> {
    match entries.u8()? {
        1 => metadata.stated_opcode = Some(entries.u8()?),
        3 => metadata.keywords = entries.u64()?,
        4 => details.message_template = Some(read_text(entries)?.into()),
        5 => details.description = Some(read_text(entries)?.into()),
        6 => details.attributes.read_pair(entries)?,
        7 => details.provider_guid = Some(Guid(*entries.array()?)),
        8 => metadata.level = entries.u8()?.into(),
        9 => metadata.version = entries.u8()?.into(),
        unknown => return Ok(Some(unknown)),
    }
    Ok(None)
}
