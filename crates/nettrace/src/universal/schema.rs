//! The same events as described fields, for those who show whatever there is.

use std::sync::LazyLock;

use super::Kind;
use crate::fields::{Field, FieldType};

impl Kind {
    /// The fields to read a payload by; `None` where the stream's own description is right.
    pub(crate) fn fields(self) -> Option<&'static [Field]> {
        Some(match self {
            Self::Cpu | Self::ContextSwitch | Self::ProcessExit => return None,
            Self::ExistingProcess | Self::ProcessCreate => &PROCESS,
            Self::Mapping => MAPPING.get(..MAPPING.len().saturating_sub(ADDED)).unwrap_or_default(),
            Self::MappingMetadata => &MAPPING_METADATA,
            Self::Symbol => &SYMBOL,
        })
    }

    /// The fields of a payload that has more than [`Kind::fields`].
    pub(crate) fn fields_with_more(self) -> Option<&'static [Field]> {
        (self == Self::Mapping).then(|| &**MAPPING)
    }
}

/// Fields at the end of a mapping that not all writers have.
const ADDED: usize = 2;

static PROCESS: LazyLock<Vec<Field>> =
    LazyLock::new(|| vec![number("NamespaceId"), text("Name"), text("NamespaceName")]);

static MAPPING: LazyLock<Vec<Field>> = LazyLock::new(|| {
    vec![
        number("Id"),
        address("StartAddress"),
        address("EndAddress"),
        address("FileOffset"),
        text("FileName"),
        number("MetadataId"),
        text("SymbolMetadata"),
        text("VersionMetadata"),
    ]
});

static MAPPING_METADATA: LazyLock<Vec<Field>> =
    LazyLock::new(|| vec![number("Id"), text("SymbolMetadata"), text("VersionMetadata")]);

static SYMBOL: LazyLock<Vec<Field>> = LazyLock::new(|| {
    vec![number("Id"), number("MappingId"), address("StartAddress"), address("EndAddress"), text("Name")]
});

fn number(name: &str) -> Field {
    Field { name: name.into(), field_type: FieldType::VarUInt }
}

fn address(name: &str) -> Field {
    Field { name: name.into(), field_type: FieldType::Hex(Box::new(FieldType::VarUInt)) }
}

fn text(name: &str) -> Field {
    Field { name: name.into(), field_type: FieldType::Array(Box::new(FieldType::Utf8Unit)) }
}
