//! Events as JSON, one object a line.

use super::Told;
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};
use std::cell::RefCell;
use std::io::{self, Write};
use strata_digest::visible_json;
use strata_nettrace::{Event, FieldsOfPayload, Fit, Label, Labels, Value};
use strata_resolve::nettrace::TracedFrame;

pub(super) fn write(out: &mut dyn Write, told: &Told<'_, '_>) -> io::Result<()> {
    let json = serde_json::to_string(&Line(told)).map_err(io::Error::from)?;
    writeln!(out, "{}", visible_json(json))
}

/// The fields of an event as a JSON object, and how its payload differs from its description.
pub(super) fn fields(event: &Event<'_>) -> serde_json::Result<(String, Option<Misfit>)> {
    let fields = OfFields::new(event);
    let json = visible_json(serde_json::to_string(&fields)?);
    Ok((json, fields.misfit()))
}

/// Bytes as hexadecimal digits.
pub(super) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// How a payload differs from its description.
pub(super) struct Misfit {
    pub(super) problem: &'static str,
    /// Byte of the payload from which on.
    pub(super) at: Option<usize>,
}

struct Line<'a>(&'a Told<'a, 'a>);

impl Serialize for Line<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Told { event, time_ns, stack } = self.0;
        let (header, metadata) = (event.header, event.metadata);
        let mut line = serializer.serialize_map(None)?;
        line.serialize_entry("time_ns", time_ns)?;
        line.serialize_entry("thread", &header.thread)?;
        if header.capture_thread != header.thread {
            line.serialize_entry("written_by_thread", &header.capture_thread)?;
        }
        if let Some(process) = event.process_id() {
            line.serialize_entry("process", &process)?;
        }
        if let Some(name) = event.thread_name() {
            line.serialize_entry("thread_name", name)?;
        }
        line.serialize_entry("provider", &metadata.provider)?;
        line.serialize_entry("event", &metadata.display_name())?;
        line.serialize_entry("id", &metadata.event_id)?;
        line.serialize_entry("version", &event.version())?;
        line.serialize_entry("opcode", &event.opcode())?;
        line.serialize_entry("level", &event.level())?;
        line.serialize_entry("keywords", &event.keywords())?;
        if let Some(activity) = header.activity() {
            line.serialize_entry("activity", &activity.to_string())?;
        }
        if let Some(activity) = header.related_activity() {
            line.serialize_entry("related_activity", &activity.to_string())?;
        }
        if !event.labels().is_empty() {
            line.serialize_entry("labels", &OfLabels(event.labels()))?;
        }
        let fields = OfFields::new(event);
        line.serialize_entry("fields", &fields)?;
        if let Some(Misfit { problem, at }) = fields.misfit() {
            line.serialize_entry("payload_problem", problem)?;
            line.serialize_entry("payload_problem_at", &at)?;
            line.serialize_entry("payload", &hexadecimal(event.payload))?;
        }
        if let Some(stack) = stack {
            line.serialize_entry("stack", &OfStack(stack))?;
        }
        line.end()
    }
}

/// Frames, leaf first.
struct OfStack<'a>(&'a [TracedFrame]);

impl Serialize for OfStack<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shown<'a> {
            address: String,
            #[serde(skip_serializing_if = "Option::is_none")]
            function: Option<&'a str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            module: Option<&'a str>,
        }
        serializer.collect_seq(self.0.iter().map(|TracedFrame { address, name }| Shown {
            address: address.to_string(),
            function: name.as_ref().map(|name| &*name.function),
            module: name.as_ref().and_then(|name| name.module.as_deref()),
        }))
    }
}

/// What an event has beside its payload. What labels overrule, and activities, are told as the event's own.
struct OfLabels<'a>(Labels<'a>);

impl Serialize for OfLabels<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for label in self.0.iter() {
            match label {
                Label::TraceId(id) => map.serialize_entry("trace_id", &hexadecimal(&id))?,
                Label::SpanId(id) => map.serialize_entry("span_id", &format!("{id:016x}"))?,
                Label::Text(key, text) => map.serialize_entry(&key, &text)?,
                Label::Number(key, number) => map.serialize_entry(&key, &number)?,
                _ => {}
            }
        }
        map.end()
    }
}

/// Fields are read as they are written, and only then: what is read once tells whether it fits.
struct OfFields<'a>(RefCell<FieldsOfPayload<'a>>);

impl<'a> OfFields<'a> {
    fn new(event: &Event<'a>) -> Self {
        Self(RefCell::new(event.fields()))
    }

    /// Reads what was not written, which is nothing when all was.
    fn misfit(self) -> Option<Misfit> {
        let (problem, at) = match self.0.into_inner().fit() {
            Fit::Whole => return None,
            Fit::Longer { at } => ("longer than described", Some(at)),
            Fit::Short { at } => ("shorter than described", Some(at)),
            Fit::Opaque => ("not described", None),
        };
        Some(Misfit { problem, at })
    }
}

impl Serialize for OfFields<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (name, value) in self.0.borrow_mut().by_ref() {
            map.serialize_entry(name, &OfValue(value))?;
        }
        map.end()
    }
}

struct OfValue<'a>(Value<'a>);

impl Serialize for OfValue<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Value::Boolean(value) => serializer.serialize_bool(*value),
            Value::Signed(value) => serializer.serialize_i64(*value),
            Value::Unsigned(value) => serializer.serialize_u64(*value),
            // Not a number is null in JSON.
            Value::Single(value) => serializer.serialize_f32(*value),
            Value::Double(value) => serializer.serialize_f64(*value),
            Value::Bytes(bytes) => serializer.serialize_str(&hexadecimal(bytes)),
            Value::Array(array) => {
                let mut sequence = serializer.serialize_seq(Some(array.len()))?;
                for value in array.iter() {
                    sequence.serialize_element(&OfValue(value))?;
                }
                sequence.end()
            }
            Value::Object(object) => {
                let mut map = serializer.serialize_map(Some(object.len()))?;
                for (name, value) in object.iter() {
                    map.serialize_entry(name, &OfValue(value))?;
                }
                map.end()
            }
            // Everything that has one way to be written: text, names of numbers, addresses, times, ids.
            other => serializer.collect_str(other),
        }
    }
}
