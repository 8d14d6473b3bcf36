//! Payloads and definitions of the events by which collectors of whole machines tell of processes, code and samples, as
//! record-trace writes them.

use crate::nettrace::leb128;
use crate::nettrace6::{Definition, field};

/// Metadata ids of [`definitions`].
pub mod id {
    /// A sample.
    pub const CPU: u32 = 1;
    /// A context switch.
    pub const CSWITCH: u32 = 2;
    /// A process from before.
    pub const EXISTING: u32 = 3;
    /// A new process.
    pub const CREATE: u32 = 4;
    /// The end of a process.
    pub const EXIT: u32 = 5;
    /// A mapping.
    pub const MAPPING: u32 = 6;
    /// A symbol.
    pub const SYMBOL: u32 = 7;
    /// What mappings have in common.
    pub const METADATA: u32 = 8;
}

const NUMBER: u8 = 21;
/// One unit of UTF-8: what the writer says of its texts, which are not that.
const TEXT: u8 = 23;

/// The definitions as the writer has them.
pub fn definitions() -> Vec<Definition> {
    const SYSTEM: &str = "Universal.System";
    const PROCESS: [(&str, u8); 3] = [("NamespaceId", NUMBER), ("Name", TEXT), ("NamespaceName", TEXT)];
    let defined = |id, provider, event_id, name, fields: &[(&str, u8)]| Definition {
        fields: fields.iter().map(|(name, kind)| field(name, &[*kind], 0)).collect(),
        ..Definition::new(id, provider, event_id, name)
    };
    let of_events = |id, name| defined(id, "Universal.Events", id, name, &[("Value", NUMBER)]);
    vec![
        of_events(id::CPU, "cpu"),
        of_events(id::CSWITCH, "cswitch"),
        defined(id::EXISTING, SYSTEM, 0, "ExistingProcess", &PROCESS),
        defined(id::CREATE, SYSTEM, 1, "ProcessCreate", &PROCESS),
        defined(id::EXIT, SYSTEM, 2, "ProcessExit", &[]),
        defined(
            id::MAPPING,
            SYSTEM,
            3,
            "ProcessMapping",
            &[
                ("Id", NUMBER),
                ("StartAddress", NUMBER),
                ("EndAddress", NUMBER),
                ("FileOffset", NUMBER),
                ("FileName", TEXT),
                ("MetadataId", NUMBER),
            ],
        ),
        defined(
            id::SYMBOL,
            SYSTEM,
            4,
            "ProcessSymbol",
            &[("Id", NUMBER), ("MappingId", NUMBER), ("StartAddress", NUMBER), ("EndAddress", NUMBER), ("Name", TEXT)],
        ),
        defined(
            id::METADATA,
            SYSTEM,
            5,
            "ProcessMappingMetadata",
            &[("Id", NUMBER), ("SymbolMetadata", TEXT), ("VersionMetadata", TEXT)],
        ),
    ]
}

/// Text: its length in two bytes, then UTF-8.
pub fn text(text: &str) -> Vec<u8> {
    [&(text.len() as u16).to_le_bytes()[..], text.as_bytes()].concat()
}

/// A process.
pub fn process(namespace_pid: u64, name: &str, namespace: &str) -> Vec<u8> {
    [leb128(namespace_pid), text(name), text(namespace)].concat()
}

/// A mapping without what newer writers add.
pub fn mapping(id: u64, start: u64, last: u64, file_offset: u64, file: &str, metadata: u64) -> Vec<u8> {
    let numbers = [id, start, last, file_offset].map(leb128).concat();
    [numbers, text(file), leb128(metadata)].concat()
}

/// Metadata of mappings.
pub fn metadata(id: u64, symbol: &str, version: &str) -> Vec<u8> {
    [leb128(id), text(symbol), text(version)].concat()
}

/// A symbol.
pub fn symbol(id: u64, mapping: u64, start: u64, last: u64, name: &str) -> Vec<u8> {
    [[id, mapping, start, last].map(leb128).concat(), text(name)].concat()
}
