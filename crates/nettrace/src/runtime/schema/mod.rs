//! What the payloads of the runtime's own events hold: their definitions in a stream have neither names nor fields.
//!
//! The tables beside this file have a heading for each event (`ID Name`, several with the same fields share one), and a line
//! for each version with the fields that it adds to the version before. They are read once per process and asked once per
//! definition of a stream.

mod notation;

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::fields::Field;
use crate::value::Names;

/// What one version of an event holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Schema {
    name: &'static str,
    fields: Vec<Field>,
    without_null_texts: Option<Vec<Field>>,
}

impl Schema {
    /// The runtime's name for the event.
    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    pub(crate) fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// The fields as runtimes up to .NET 5 write them when texts are null, which they leave out altogether.
    pub(crate) fn without_null_texts(&self) -> Option<&[Field]> {
        self.without_null_texts.as_deref()
    }

    /// The schema of this version, or of the newest known one before it: payloads only grow at their end.
    pub(crate) fn find(provider: &str, event_id: u32, version: u32, name: &str) -> Option<&'static Self> {
        let events = SCHEMAS.get(provider)?;
        let versions = events.by_id.get(&event_id).or_else(|| events.by_name.get(name))?;
        versions.iter().rev().find(|(from, _)| *from <= version).map(|(_, schema)| schema)
    }
}

/// Every event whose payload this crate describes, in no certain order: provider, id (unless it is known by its name alone),
/// name, and a version that adds something. Later versions than the last are read as the last.
pub fn described_events() -> impl Iterator<Item = (&'static str, Option<u32>, &'static str, u32)> {
    SCHEMAS.iter().flat_map(|(provider, events)| {
        let by_id = events.by_id.iter().map(|(id, versions)| (Some(*id), versions));
        let by_name = events.by_name.values().map(|versions| (None, versions));
        by_id.chain(by_name).flat_map(move |(id, versions)| {
            versions.iter().map(move |(version, schema)| (*provider, id, schema.name, *version))
        })
    })
}

/// Versions of one event, rising.
type Versions = Vec<(u32, Schema)>;

/// Events of a provider.
#[derive(Default)]
struct Events {
    by_id: HashMap<u32, Versions>,
    by_name: HashMap<&'static str, Versions>,
}

/// By provider.
type Schemas = HashMap<&'static str, Events>;

static NAMES: LazyLock<HashMap<&'static str, Names>> =
    LazyLock::new(|| notation::read_names(include_str!("names.txt")).unwrap_or_default());

static SCHEMAS: LazyLock<Schemas> = LazyLock::new(|| {
    let mut schemas = Schemas::new();
    for table in TABLES {
        // A line that cannot be read ends its table; a test sees to it that there is none.
        let _ = notation::read_schemas(table, &NAMES, &mut schemas);
    }
    schemas
});

const TABLES: [&str; 3] = [include_str!("runtime.txt"), include_str!("rundown.txt"), include_str!("other.txt")];
