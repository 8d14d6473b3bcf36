//! The fields of one payload.

use super::Value;
use super::list::List;
use super::reader::Reader;
use crate::event::Event;
use crate::fields::Field;
use crate::runtime::{MethodFlags, Schema};
use crate::stack::PointerSize;
use crate::universal;

/// Whether a payload is what its description says. Offsets are bytes from the start of the payload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fit {
    /// The fields are all there is.
    Whole,
    /// There are more bytes behind the fields: a newer version than this crate knows, or a description that lacks some.
    Longer {
        /// Where they begin.
        at: usize,
    },
    /// A field does not fit: the payload ends inside it, or its counts contradict the bytes that are there.
    Short {
        /// Where that field begins.
        at: usize,
    },
    /// Nothing describes the payload, which is not empty. Runtimes do so with events that a program describes as it writes
    /// them (`EventSource.Write`) if these have arrays: 3.1 to 10 define them without fields.
    Opaque,
}

/// Names and values of an event's fields, in the order of the payload.
///
/// Ends at the first field that does not fit; [`FieldsOfPayload::fit`] tells.
#[derive(Clone)]
pub struct FieldsOfPayload<'a> {
    payload: &'a [u8],
    /// `None` when nothing describes the payload.
    list: Option<List<'a>>,
    broken: bool,
}

impl<'a> FieldsOfPayload<'a> {
    pub(super) fn new(payload: &'a [u8], fields: Option<&'a [Field]>, pointer_size: PointerSize) -> Self {
        let list = fields.map(|fields| List::new(fields, Reader::new(payload, pointer_size)));
        Self { payload, list, broken: false }
    }

    /// Reads what has not been read yet, and says whether the payload is what its description says.
    pub fn fit(mut self) -> Fit {
        while self.next().is_some() {}
        let Some(list) = self.list else { return if self.payload.is_empty() { Fit::Whole } else { Fit::Opaque } };
        let at = list.reader().position();
        match (self.broken, list.reader().is_at_end()) {
            (true, _) => Fit::Short { at },
            (false, true) => Fit::Whole,
            (false, false) => Fit::Longer { at },
        }
    }

    /// The payload itself, whether or not it fits.
    pub fn bytes(&self) -> &'a [u8] {
        self.payload
    }
}

impl<'a> Iterator for FieldsOfPayload<'a> {
    type Item = (&'a str, Value<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.list.as_mut().filter(|_| !self.broken)?.next()?;
        self.broken = next.is_err();
        next.ok()
    }
}

impl<'a> Event<'a> {
    /// The fields of the payload: those that the event's definition names, or for the runtime's own events, whose
    /// definitions name none, those this crate knows. Events that tell of a machine have those of their conventions
    /// ([`crate::universal`]).
    pub fn fields(&self) -> FieldsOfPayload<'a> {
        let read = |fields| FieldsOfPayload::new(self.payload, fields, self.pointer_size);
        let schema = self.schema();
        let fields = read(self.metadata.payload_fields_with(schema));
        // Newer writers put more behind what they describe.
        if let Some(more) = self.metadata.universal.and_then(universal::Kind::fields_with_more)
            && matches!(fields.clone().fit(), Fit::Longer { .. })
        {
            return read(Some(more));
        }
        // A JIT helper has a name and nothing else that methods have.
        match schema.and_then(Schema::without_null_texts) {
            Some(left) if is_jit_helper(&fields) && matches!(fields.clone().fit(), Fit::Short { .. }) => {
                read(Some(left))
            }
            _ => fields,
        }
    }
}

impl Event<'_> {
    /// What this crate knows of the event in the version that it states itself, or else its definition.
    fn schema(&self) -> Option<&'static Schema> {
        let (metadata, version) = (self.metadata, self.version());
        if version == metadata.version {
            return metadata.schema;
        }
        Schema::find(&metadata.provider, metadata.event_id, version, &metadata.name)
    }
}

fn is_jit_helper(fields: &FieldsOfPayload<'_>) -> bool {
    fields.clone().any(|(name, value)| match value {
        Value::Named(flags) if name == "MethodFlags" => MethodFlags(flags.number() as u32).is_jit_helper(),
        _ => false,
    })
}
